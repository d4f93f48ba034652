#include "harness/result/schema.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

// valijson keeps one error for every broken item, without a limit: a hostile file with millions of
// wrong items would cost gigabytes. Its own list is therefore put aside under another name, and
// ours with the same interface, which counts what it does not keep, takes its place. This is the
// only file that includes valijson, and all of it lies in a namespace of another name here: whoever
// links this library and has valijson, too, has the real one.
#define valijson harness_valijson
// Without exceptions it would end the program over a bad schema.
#define VALIJSON_USE_EXCEPTIONS 1
#define ValidationResults UnboundedValidationResults
#include <valijson/validation_results.hpp>
#undef ValidationResults

namespace valijson {
class ValidationResults {
 public:
  struct Error {
    std::vector<std::string> context;
    std::string description;
  };

  // NOLINTNEXTLINE(readability-identifier-naming): called by valijson
  void pushError(const std::vector<std::string>& context, const std::string& description) {
    // "Failed to validate ..." only repeats at each outer level that something inside is wrong.
    const bool repeats = description.starts_with("Failed to validate");
    std::deque<Error>& list = repeats ? repeats_ : errors_;
    if (list.size() < harness::kMostProblems) {
      list.push_back({context, description});
    } else if (!repeats) {
      ++dropped_;
    }
  }

  // NOLINTNEXTLINE(readability-identifier-naming): called by valijson
  bool popError(Error& error) {
    std::deque<Error>& list = errors_.empty() ? repeats_ : errors_;
    if (list.empty()) return false;
    error = std::move(list.front());
    list.pop_front();
    return true;
  }

  bool only_repeats() const { return errors_.empty(); }
  std::size_t dropped() const { return dropped_; }

 private:
  std::deque<Error> errors_;
  std::deque<Error> repeats_;
  std::size_t dropped_ = 0;
};
}  // namespace valijson

#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
#include "harness/base/json_reader.hpp"
#include "harness/base/text.hpp"

namespace harness {
namespace {

using nlohmann::json;
using valijson::adapters::NlohmannJsonAdapter;

// `pattern` runs std::regex, whose matcher recurses once or more for each character.
constexpr std::size_t kLongestString = 4096;
constexpr std::size_t kLargestSchema = std::size_t{1} << 20;

/// Whether any string or key is too long. A document may hold a million values: no path is made.
bool any_long_string(const json& document) {
  std::vector<const json*> rest = {&document};
  while (!rest.empty()) {
    const json& value = *rest.back();
    rest.pop_back();
    if (value.is_string() && value.get_ref<const std::string&>().size() > kLongestString) {
      return true;
    }
    for (auto child = value.begin(); value.is_structured() && child != value.end(); ++child) {
      if (value.is_object() && child.key().size() > kLongestString) return true;
      if (child->is_structured() || child->is_string()) rest.push_back(&*child);
    }
  }
  return false;
}

// Visits every string (keys too) without recursion; reports those that are too long.
std::vector<SchemaProblem> long_strings(const json& document) {
  std::vector<SchemaProblem> problems;
  if (!any_long_string(document)) return problems;
  std::vector<std::pair<std::string, const json*>> rest = {{"", &document}};
  const auto check = [&](const std::string& path, const std::string& text) {
    if (text.size() <= kLongestString || problems.size() >= kMostProblems) return;
    problems.push_back({path, fmt::format("a string of {} bytes, over the limit of {}", text.size(),
                                          kLongestString)});
  };
  while (!rest.empty()) {
    const auto [path, value] = std::move(rest.back());
    rest.pop_back();
    if (value->is_string()) check(path, value->get_ref<const std::string&>());
    if (!value->is_structured()) continue;
    std::size_t index = 0;
    for (auto child = value->begin(); child != value->end(); ++child, ++index) {
      if (value->is_object()) check(path, child.key());
      if (!child->is_structured() && !child->is_string()) continue;
      rest.emplace_back(
          path + "/" + pointer_step(value->is_object() ? child.key() : std::to_string(index)),
          &*child);
    }
  }
  return problems;
}

// valijson mixes up the documents when a schema refers into another file, so the other file is put
// whole under this one's definitions, and references to it and within it lead there.
// `own_place` is where the document that `node` is part of stands: "" for the first one.
void gather_references(json& node, const std::string& own_place, std::vector<std::string>& files) {
  std::vector<json*> rest = {&node};
  while (!rest.empty()) {
    json& value = *rest.back();
    rest.pop_back();
    if (!value.is_structured()) continue;
    if (value.is_object() && value.contains("$ref") && value.at("$ref").is_string()) {
      const std::string reference = value.at("$ref");
      const std::size_t hash = std::min(reference.find('#'), reference.size());
      const std::string file = reference.substr(0, hash);
      const std::string place = file.empty() ? own_place : "/definitions/" + pointer_step(file);
      const std::string pointer = reference.substr(std::min(hash + 1, reference.size()));
      if (!file.empty() && std::find(files.begin(), files.end(), file) == files.end()) {
        files.push_back(file);
      }
      value["$ref"] = "#" + place + pointer;
    }
    for (json& child : value) rest.push_back(&child);
  }
}

/// A schema ready for use, and the texts it was made of.
struct CompiledSchema {
  std::vector<std::pair<std::filesystem::path, std::string>> sources{};
  json document{};
  valijson::Schema schema{};
  valijson::Validator validator{};  ///< keeps the patterns it has compiled
};

// Schemas are ours, so a file they refer to is one that lies beside them.
json read_schema(const std::filesystem::path& path, CompiledSchema& compiled) {
  const auto read = [&](const std::filesystem::path& file) {
    std::string text = read_file(file, kLargestSchema);
    json document = parse_json(text, file.string());
    compiled.sources.emplace_back(file, std::move(text));
    return document;
  };
  json schema = read(path);
  std::vector<std::string> files;
  gather_references(schema, "", files);
  for (std::size_t i = 0; i < files.size(); ++i) {
    json other = read(path.parent_path() / files[i]);
    gather_references(other, "/definitions/" + pointer_step(files[i]), files);
    schema["definitions"][files[i]] = std::move(other);
  }
  return schema;
}

std::unique_ptr<CompiledSchema> compile(const std::filesystem::path& path) {
  auto compiled = std::make_unique<CompiledSchema>();
  compiled->document = read_schema(path, *compiled);
  try {
    valijson::SchemaParser parser;
    parser.populateSchema(NlohmannJsonAdapter(compiled->document), compiled->schema);
  } catch (const std::exception& error) {
    std::string why = printable(error.what());
    while (why.ends_with('.')) why.pop_back();
    throw Error(printable(path.string()), "not a JSON Schema: " + why);
  }
  return compiled;
}

// Compiling costs many times what most documents take, and thousands may be checked in one call.
// Reading the few files again costs next to nothing, and none is taken for what it was before.
CompiledSchema& compiled_schema(const std::filesystem::path& path) {
  static std::map<std::string, std::unique_ptr<CompiledSchema>> known;
  std::unique_ptr<CompiledSchema>& entry = known[path.string()];
  const auto unchanged = [](const auto& source) {
    return read_file(source.first, kLargestSchema) == source.second;
  };
  if (!entry || !std::all_of(entry->sources.begin(), entry->sources.end(), unchanged)) {
    entry = compile(path);
  }
  return *entry;
}

// What valijson says, in words that name the value that is wrong.
SchemaProblem problem_from(const valijson::ValidationResults::Error& error, const json& document) {
  SchemaProblem problem;
  const json* at = &document;
  for (std::size_t i = 1; i < error.context.size(); ++i) {
    std::string step = error.context[i];  // "[name]" or "[3]"
    if (step.size() >= 2) step = step.substr(1, step.size() - 2);
    problem.path += "/" + pointer_step(step);
    if (at != nullptr && at->is_object() && at->contains(step)) {
      at = &at->at(step);
    } else if (const auto index = parse_integer(step);
               at != nullptr && at->is_array() && index && *index >= 0 &&
               static_cast<std::size_t>(*index) < at->size()) {
      at = &(*at)[static_cast<std::size_t>(*index)];
    } else {
      at = nullptr;
    }
  }
  std::string_view text = error.description;
  constexpr std::string_view kUnknown = "Object contains a property that could not be validated";
  if (text.starts_with(kUnknown)) {
    const std::size_t colon = text.rfind(": '");
    const std::string_view name =
        colon == std::string_view::npos ? "" : text.substr(colon + 3, text.size() - colon - 5);
    problem.reason = "unknown field '" + printable(name, 80) + "'";
    return problem;
  }
  if (text.ends_with('.')) text.remove_suffix(1);
  problem.reason = printable(text, 200);
  if (at != nullptr && !at->is_structured()) {
    problem.reason +=
        ": " + printable(at->dump(-1, ' ', false, json::error_handler_t::replace), 80);
  }
  return problem;
}

}  // namespace

std::string pointer_step(const std::string& token) {
  std::string step;
  for (const char c : token) {
    if (c == '~') {
      step += "~0";
    } else if (c == '/') {
      step += "~1";
    } else {
      step += c;
    }
  }
  return step;
}

std::vector<SchemaProblem> validate_schema(const json& document,
                                           const std::filesystem::path& schema_path) {
  static std::mutex mutex;  // what is compiled is shared
  const std::lock_guard<std::mutex> lock(mutex);
  CompiledSchema& compiled = compiled_schema(schema_path);
  std::vector<SchemaProblem> problems = long_strings(document);
  if (!problems.empty()) return problems;

  valijson::ValidationResults results;
  if (compiled.validator.validate(compiled.schema, NlohmannJsonAdapter(document), &results)) {
    return problems;
  }
  const std::size_t dropped = results.dropped();
  valijson::ValidationResults::Error error;
  const bool only_repeats = results.only_repeats();
  while (problems.size() < kMostProblems && results.only_repeats() == only_repeats &&
         results.popError(error)) {
    problems.push_back(problem_from(error, document));
  }
  if (problems.empty()) problems.push_back({"", "does not match the schema"});
  if (dropped > 0) problems.push_back({"", fmt::format("and {} more problems", dropped)});
  return problems;
}

std::string problem_text(const SchemaProblem& problem) {
  const std::string place = problem.path.empty() ? "(file)" : printable(problem.path);
  return place + ": " + printable(problem.reason, 400);
}

std::filesystem::path result_schema_path(const std::string& kind) {
  return home_folder() / "results" / "schema" / (kind + ".schema.json");
}

}  // namespace harness
