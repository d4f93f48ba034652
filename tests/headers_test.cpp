// Headers and sources go together one by one, as far as a simple reading of them can tell.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cctype>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/source_files.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

namespace {

/// What a file says at the level of named namespaces.
struct Outline {
  std::set<std::string> declared{};  ///< functions that another file defines
  std::set<std::string> defined{};   ///< functions; `Type::name` for those of a type
  std::set<std::string> types{};     ///< with their members
};

/// The last word of `text`, with `Type::` before it where there is one.
std::string last_word(std::string_view text) {
  const std::size_t end = text.find_last_not_of(" \t\n");
  if (end == std::string_view::npos) return "";
  const auto of_a_word = [&](std::size_t i) {
    return std::isalnum(static_cast<unsigned char>(text[i])) != 0 || text[i] == '_' ||
           text[i] == ':' || text[i] == '~';
  };
  std::size_t begin = end + 1;
  while (begin > 0 && of_a_word(begin - 1)) --begin;
  return std::string(text.substr(begin, end + 1 - begin));
}

/// The function that `statement` declares or begins to define; empty where it is none.
std::string function_of(std::string_view statement) {
  const std::size_t open = statement.find('(');
  if (open == std::string_view::npos) return "";
  const std::string_view before = statement.substr(0, open);
  const std::string name = last_word(before);
  // `operator` and what is called or initialised, and not declared: no result stands before it.
  const bool result =
      before.find_last_not_of(" \t\n") + 1 > name.size() &&
      before.substr(0, before.rfind(name)).find_first_not_of(" \t\n") != std::string_view::npos;
  const bool constructs = name.find("::") != std::string::npos;
  if (before.find('=') != std::string_view::npos || (!result && !constructs)) return "";
  return name;
}

Outline outline_of(std::string_view text) {
  Outline outline;
  std::string statement;
  std::vector<bool> named;  // of the namespaces around
  std::size_t inner = 0;    // braces within a function, a type or an unnamed namespace
  std::size_t parens = 0;   // of the statement: what stands in them is a part of it
  const std::string code = code_of(text);
  for (std::size_t i = 0; i < code.size(); ++i) {
    const char letter = code[i];
    if (letter == '#' && (i == 0 || code[i - 1] == '\n')) {
      while (i < code.size() && (code[i] != '\n' || code[i - 1] == '\\')) ++i;
    } else if (inner == 0 && (parens > 0 || letter == '(')) {
      if (letter == '(') ++parens;
      if (letter == ')') --parens;
      statement += letter;
    } else if (letter == '{' && inner > 0) {
      ++inner;
    } else if (letter == '{') {
      const std::size_t space = statement.find("namespace");
      const bool type = statement.find("struct ") != std::string::npos ||
                        statement.find("class ") != std::string::npos;
      if (space != std::string::npos && last_word(statement) != "namespace") {
        named.push_back(true);
      } else {
        ++inner;
        if (space == std::string::npos && type && statement.find('(') == std::string::npos) {
          const std::string head = statement.substr(0, statement.find(" :"));
          outline.types.insert(last_word(head.substr(0, head.find(" final"))));
        } else if (const std::string name = function_of(statement); !name.empty()) {
          outline.defined.insert(name);
        }
      }
      statement.clear();
    } else if (letter == '}') {
      if (inner > 0) {
        --inner;
      } else if (!named.empty()) {
        named.pop_back();
      }
      statement.clear();
    } else if (inner > 0) {
      continue;
    } else if (letter == ';') {
      const std::string name = function_of(statement);
      const bool other = statement.find("using ") != std::string::npos ||
                         statement.find("inline ") != std::string::npos ||
                         statement.find("template <") != std::string::npos;
      if (!name.empty() && !other) outline.declared.insert(name);
      statement.clear();
    } else {
      statement += letter;
    }
  }
  return outline;
}

/// Where headers and sources do not go together one by one. What begins with one of `passed_over`
/// needs no header: commands are declared together, for the table that lists them.
std::vector<std::string> unmatched(const Sources& sources,
                                   const std::vector<std::string_view>& passed_over) {
  const auto stem = [](const std::string& path) { return path.substr(0, path.rfind('.')); };
  std::map<std::string, Outline> outlines;
  std::map<std::string, std::set<std::string>> definers;  // stems by function
  std::map<std::string, std::string> homes;               // stem by type
  for (const auto& [path, text] : sources) {
    const Outline& outline = outlines.emplace(path, outline_of(text)).first->second;
    if (path.ends_with(".hpp")) {
      for (const std::string& type : outline.types) homes.emplace(type, stem(path));
    } else {
      for (const std::string& name : outline.defined) definers[name].insert(stem(path));
    }
  }
  std::vector<std::string> found;
  for (const auto& [path, outline] : outlines) {
    if (std::any_of(passed_over.begin(), passed_over.end(),
                    [&](std::string_view folder) { return path.starts_with(folder); }))
      continue;
    if (path.ends_with(".hpp")) {
      for (const std::string& name : outline.declared) {
        const auto where = definers.find(name);
        if (where == definers.end() || where->second.contains(stem(path))) continue;
        found.push_back(path + " declares " + name + ", which " + *where->second.begin() +
                        ".cpp defines");
      }
      continue;
    }
    const auto header = outlines.find(stem(path) + ".hpp");
    if (header == outlines.end()) {
      found.push_back(path + " has no header of its name");
      continue;
    }
    for (const std::string& name : outline.defined) {
      const std::size_t colons = name.find("::");
      const auto home = homes.find(name.substr(0, colons));
      if (colons != std::string::npos ? home != homes.end() && home->second != stem(path)
                                      : !header->second.declared.contains(name)) {
        found.push_back(path + " defines " + name + ", which its header does not declare");
      }
    }
  }
  return found;
}

}  // namespace

TEST_CASE("a header declares what the source of its name defines", "[architecture]") {
  Sources sources;
  for (const std::string& path : cpp_files()) {
    if (!path.starts_with("harness/")) continue;
    sources.emplace(path, content(std::filesystem::path(HARNESS_SOURCE_DIR) / path));
  }
  // no_driver.cpp is built in place of driver.cpp, and defines what that one does.
  for (const std::string& found : unmatched(sources, {"harness/commands/", "harness/main.cpp",
                                                      "harness/scenario/loadgen/no_driver.cpp"})) {
    FAIL_CHECK(found);
  }

  const std::string open = "namespace harness {\n";
  const std::string header = open +
                             "struct A {\n  int size() const { return 1; }\n  void grow();\n};\n"
                             "int one(int x = {});\n}";
  const std::string source = open +
                             "namespace {\nint mine() { return 1; }\n}\n"
                             "void A::grow() {}\nint one(int) { return mine(); }\n}";
  CHECK(unmatched({{"a.hpp", header}, {"a.cpp", source}}, {}).empty());
  CHECK(unmatched({{"b.hpp", header}, {"b.cpp", open + "}"}, {"a.cpp", source}}, {}) ==
        std::vector<std::string>{"a.cpp has no header of its name",
                                 "b.hpp declares one, which a.cpp defines"});
  CHECK(unmatched({{"a.hpp", header},
                   {"a.cpp", source},
                   {"b.hpp", open + "}"},
                   {"b.cpp", open + "int two() { return 2; }\nvoid A::grow() {}\n}"}},
                  {}) ==
        std::vector<std::string>{"b.cpp defines A::grow, which its header does not declare",
                                 "b.cpp defines two, which its header does not declare"});
}
