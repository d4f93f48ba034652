// The one-way dependencies of the design, checked on the #include lines of the source tree itself.
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

namespace fs = std::filesystem;

namespace {

/// What the files of a folder may include of ours, by the beginning of the include path.
struct Rule {
  std::string_view folder;
  std::vector<std::string_view> allowed;
  std::string_view file{};  ///< holds only for paths that end so
};

const std::vector<Rule>& rules() {
  static const std::vector<Rule> table = {
      {"harness/base/", {"harness/base/"}},
      {"harness/stats/", {"harness/base/", "harness/stats/"}},
      {"harness/profile/", {"harness/base/", "harness/stats/", "harness/profile/"}},
      {"harness/system/", {"harness/base/", "harness/system/"}},
      {"harness/result/",
       {"harness/base/", "harness/stats/", "harness/profile/", "harness/result/"}},
      {"harness/workload/", {"harness/base/", "harness/result/", "harness/workload/"}},
      {"harness/scenario/",
       {"harness/base/", "harness/result/", "harness/workload/", "harness/scenario/"}},
      {"harness/plan/",
       {"harness/base/", "harness/system/", "harness/result/", "harness/workload/",
        "harness/scenario/", "harness/plan/"}},
      {"harness/check/",
       {"harness/base/", "harness/system/", "harness/result/", "harness/workload/",
        "harness/scenario/", "harness/plan/", "harness/check/"}},
      {"harness/mlperf/",
       {"harness/base/", "harness/result/", "harness/workload/", "harness/scenario/",
        "harness/plan/", "harness/mlperf/"}},
      {"harness/measure/",
       {"harness/base/", "harness/stats/", "harness/profile/", "harness/system/", "harness/result/",
        "harness/workload/", "harness/scenario/", "harness/plan/", "harness/check/",
        "harness/lockstep/", "harness/mlperf/", "harness/measure/"}},
      {"harness/lockstep/",
       {"harness/base/", "harness/stats/", "harness/system/", "harness/scenario/",
        "harness/lockstep/"}},
      {"harness/compare/",
       {"harness/base/", "harness/stats/", "harness/result/", "harness/compare/"}},
      {"harness/report/",
       {"harness/base/", "harness/stats/", "harness/profile/", "harness/result/",
        "harness/compare/", "harness/gate/", "harness/report/"}},
      {"harness/gate/",
       {"harness/base/", "harness/stats/", "harness/system/", "harness/result/",
        "harness/scenario/", "harness/lockstep/", "harness/compare/", "harness/gate/"}},
      {"harness/kinds/",
       {"harness/base/", "harness/stats/", "harness/profile/", "harness/system/", "harness/result/",
        "harness/workload/", "harness/scenario/", "harness/plan/", "harness/check/",
        "harness/lockstep/", "harness/measure/", "harness/report/", "harness/kinds/"}},
      {"harness/submit/",
       {"harness/base/", "harness/result/", "harness/check/", "harness/mlperf/",
        "harness/submit/"}},
      {"harness/cli/",
       {"harness/base/", "harness/result/", "harness/scenario/", "harness/plan/",
        "harness/measure/", "harness/report/", "harness/check/", "harness/cli/"}},
      {"harness/commands/", {"harness/"}},
      {"harness/main.cpp", {"harness/commands/"}},
      // A program, not a part: it measures the machine too.
      {"kernels/bench/", {"kernels/", "harness/base/", "harness/system/"}},
      // What `advise` may suggest, registered beside the kernel that brings it; it sees no tensor.
      {"kernels/", {"harness/base/", "harness/profile/remedy.hpp"}, "/remedy.cpp"},
      // A profile's words, in which it is told what to run again.
      {"kernels/replay/", {"kernels/", "harness/base/"}},
      {"kernels/", {"kernels/"}},
      {"workloads/",
       {"workloads/", "kernels/", "harness/base/", "harness/workload/workload.hpp",
        "harness/workload/capabilities.hpp", "harness/workload/ranks.hpp",
        "harness/workload/replayer.hpp", "harness/workload/registry.hpp"}},
      {"tests/", {"harness/", "workloads/", "kernels/", "tests/"}},
  };
  return table;
}

bool begins_with_any(std::string_view text, const std::vector<std::string_view>& beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [&](std::string_view beginning) { return text.starts_with(beginning); });
}

/// `"harness/base/text.hpp"` or `<vector>` of an include line, with its delimiters; empty
/// otherwise.
std::string_view included(std::string_view line) {
  const auto skip_blanks = [&line] {
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  };
  skip_blanks();
  if (!line.starts_with('#')) return {};
  line.remove_prefix(1);
  skip_blanks();
  if (!line.starts_with("include")) return {};
  line.remove_prefix(7);
  skip_blanks();
  const std::size_t end = line.find_first_of("\">", 1);
  return end == std::string_view::npos ? std::string_view{} : line.substr(0, end + 1);
}

/// One line for each include of `text`, the content of `path`, that its folder's rule forbids.
std::vector<std::string> include_violations(const std::string& path, std::string_view text) {
  const auto rule = std::find_if(rules().begin(), rules().end(), [&](const Rule& r) {
    return path.starts_with(r.folder) && path.ends_with(r.file);
  });
  if (rule == rules().end()) return {path + ": no rule for this folder in architecture_test.cpp"};
  std::vector<std::string> found;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const std::string_view target = included(line);
    if (target.empty()) continue;
    const std::string_view name = target.substr(1, target.size() - 2);
    const bool ours = target.front() == '"' ||
                      begins_with_any(name, {"harness/", "workloads/", "kernels/", "tests/"});
    const bool tensors = begins_with_any(name, {"torch/", "ATen/", "c10/", "dnnl", "oneapi/"});
    const bool bench =
        name.starts_with("kernels/bench/") && !begins_with_any(path, {"kernels/bench/", "tests/"});
    const bool forbidden =
        ours ? bench || !begins_with_any(name, rule->allowed)
             : tensors && (rule->folder.starts_with("harness/") || !rule->file.empty());
    if (forbidden) found.push_back(path + " must not include " + std::string(target));
  }
  return found;
}

/// `text` names a model or an operator of one, which the instrument knows nothing of.
bool names_a_model(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text.find("retinanet") != std::string::npos || text.find("focal") != std::string::npos;
}

/// The names by which a file is known to use a header of harness/base/precompiled.hpp.
const std::map<std::string_view, std::vector<std::string_view>>& names_of_headers() {
  static const std::map<std::string_view, std::vector<std::string_view>> table = {
      {"algorithm", {"std::any_of(",      "std::all_of(",  "std::none_of(",     "std::clamp(",
                     "std::copy(",        "std::count(",   "std::count_if(",    "std::fill(",
                     "std::find(",        "std::find_if(", "std::lower_bound(", "std::max(",
                     "std::max_element(", "std::min(",     "std::min_element(", "std::remove_if(",
                     "std::replace(",     "std::reverse(", "std::sort(",        "std::stable_sort(",
                     "std::transform(",   "std::unique(",  "std::upper_bound("}},
      {"array", {"std::array<"}},
      {"chrono", {"std::chrono::"}},
      {"cmath",
       {"std::exp(", "std::floor(", "std::isfinite(", "std::isnan(", "std::llround(", "std::log(",
        "std::pow(", "std::round(", "std::sqrt("}},
      {"cstdint",
       {"std::int64_t", "std::int32_t", "std::uint64_t", "std::uint32_t", "std::uint8_t"}},
      {"filesystem", {"std::filesystem"}},
      {"fmt/format.h", {"fmt::"}},
      {"fstream", {"std::ifstream", "std::ofstream"}},
      {"functional", {"std::function<", "std::less<", "std::greater<"}},
      {"limits", {"std::numeric_limits<"}},
      {"map", {"std::map<", "std::multimap<"}},
      {"memory",
       {"std::unique_ptr<", "std::shared_ptr<", "std::make_unique<", "std::make_shared<"}},
      {"nlohmann/json.hpp", {"nlohmann::"}},
      {"optional", {"std::optional<", "std::nullopt"}},
      {"set", {"std::set<", "std::multiset<"}},
      {"stdexcept", {"std::runtime_error", "std::logic_error", "std::invalid_argument"}},
      {"string", {"std::string ", "std::string&", "std::string(", "std::string>"}},
      {"string_view", {"std::string_view"}},
      {"vector", {"std::vector<"}},
  };
  return table;
}

/// What `path` includes, by itself or through files of ours, without delimiters.
std::set<std::string> all_included(const Sources& sources, const std::string& path) {
  std::set<std::string> found;
  std::vector<std::string> rest = {path};
  while (!rest.empty()) {
    const auto source = sources.find(rest.back());
    rest.pop_back();
    if (source == sources.end()) continue;
    std::string_view text = source->second;
    while (!text.empty()) {
      const std::string_view target = included(text.substr(0, text.find('\n')));
      text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
      if (target.empty()) continue;
      const std::string name(target.substr(1, target.size() - 2));
      if (found.insert(name).second) rest.push_back(name);
    }
  }
  return found;
}

/// The headers of the precompiled one that `path` uses and does not include.
std::vector<std::string> missing_includes(const Sources& sources, const std::string& path) {
  const std::string code = code_of(sources.at(path));
  const std::set<std::string> have = all_included(sources, path);
  const auto has_any = [&](const std::vector<std::string_view>& beginnings) {
    return std::any_of(have.begin(), have.end(),
                       [&](const std::string& name) { return begins_with_any(name, beginnings); });
  };
  std::vector<std::string> missing;
  for (const auto& [header, names] : names_of_headers()) {
    const bool used = std::any_of(names.begin(), names.end(), [&](std::string_view name) {
      return code.find(name) != std::string::npos;
    });
    if (!used || have.count(std::string(header)) > 0) continue;
    if (header == "fmt/format.h" ? has_any({"fmt/"})
        : header == "nlohmann/json.hpp"
            ? path.ends_with(".hpp") && have.count("nlohmann/json_fwd.hpp") > 0
            : has_any({"ATen/", "torch/"})) {  // they bring all of the standard library
      continue;
    }
    missing.push_back(path + " uses <" + std::string(header) + "> and does not include it");
  }
  return missing;
}

}  // namespace

TEST_CASE("the include checker catches planted violations", "[architecture]") {
  const auto violations = [](const std::string& path, std::string_view text) {
    return include_violations(path, text).size();
  };
  CHECK(violations("harness/base/a.cpp", "#include \"harness/base/b.hpp\"\n#include <vector>") ==
        0);
  CHECK(violations("harness/base/a.cpp", "#include \"harness/stats/b.hpp\"") == 1);
  CHECK(violations("harness/base/a.cpp", "\n  #  include\t<harness/stats/b.hpp>\n") == 1);
  CHECK(violations("harness/stats/a.cpp", "#include \"harness/result/b.hpp\"") == 1);
  CHECK(violations("harness/gate/a.cpp", "#include \"harness/report/b.hpp\"") == 1);
  CHECK(violations("harness/measure/a.cpp", "#include \"harness/commands/b.hpp\"") == 1);
  CHECK(violations("harness/commands/a.cpp",
                   "#include \"workloads/b.hpp\"\n#include <ATen/a.h>\n") == 2);
  CHECK(violations("kernels/a.cpp", "#include <ATen/a.h>\n#include \"kernels/b.hpp\"\n") == 0);
  CHECK(violations("kernels/a.cpp", "#include \"harness/base/b.hpp\"") == 1);
  CHECK(violations("kernels/a.cpp", "#include \"workloads/b.hpp\"") == 1);
  CHECK(violations("kernels/replay/a.cpp", "#include \"harness/base/b.hpp\"") == 0);
  CHECK(violations("kernels/replay/a.cpp", "#include \"harness/profile/b.hpp\"") == 1);
  CHECK(violations("kernels/a/b.cpp", "#include \"harness/profile/remedy.hpp\"") == 1);
  CHECK(violations("kernels/a/remedy.cpp", "#include \"harness/profile/remedy.hpp\"") == 0);
  CHECK(violations("kernels/a/remedy.cpp",
                   "#include \"kernels/registry.hpp\"\n#include <ATen/a.h>\n") == 2);
  CHECK(violations("kernels/bench/a.cpp",
                   "#include \"harness/system/affinity.hpp\"\n#include \"kernels/bench/b.hpp\"") ==
        0);
  CHECK(violations("kernels/bench/a.cpp", "#include \"harness/scenario/steps.hpp\"") == 1);
  CHECK(violations("kernels/bench/a.cpp", "#include \"workloads/a/b.hpp\"") == 1);
  CHECK(violations("kernels/a.cpp", "#include \"kernels/bench/b.hpp\"") == 1);
  CHECK(violations("workloads/a.cpp", "#include \"harness/workload/workload.hpp\"") == 0);
  CHECK(violations("workloads/a.cpp", "#include \"harness/scenario/steps.hpp\"") == 1);
  CHECK(violations("workloads/a.cpp", "#include \"harness/profile/primitive.hpp\"") == 1);
  CHECK(violations("workloads/a.cpp", "#include \"harness/workload/rules.hpp\"") == 1);
  // Paths start at the root of the repository, and every folder has a rule.
  CHECK(violations("kernels/a.cpp", "#include \"b.hpp\"") == 1);
  CHECK(violations("harness/new/a.cpp", "") == 1);
  CHECK(violations("kernels/a.cpp", "// #include \"harness/base/b.hpp\"\n#include") == 0);
  CHECK(include_violations("kernels/a.cpp", "#include \"harness/b.hpp\"\r\n").at(0) ==
        "kernels/a.cpp must not include \"harness/b.hpp\"");
}

TEST_CASE("dependencies point one way", "[architecture]") {
  const std::vector<std::string> files = cpp_files();
  for (const char* known : {"harness/base/error.hpp", "tests/architecture_test.cpp"}) {
    REQUIRE(std::count(files.begin(), files.end(), known) == 1);
  }
  for (const std::string& file : files) {
    for (const std::string& violation :
         include_violations(file, content(fs::path(HARNESS_SOURCE_DIR) / file))) {
      FAIL_CHECK(violation);
    }
  }
}

TEST_CASE("workloads reach the interface and the base, by whatever they include",
          "[architecture]") {
  Sources sources;
  for (const std::string& file : cpp_files()) {
    sources[file] = content(fs::path(HARNESS_SOURCE_DIR) / file);
  }
  for (const auto& [path, text] : sources) {
    if (!path.starts_with("workloads/")) continue;
    for (const std::string& reached : all_included(sources, path)) {
      if (reached.starts_with("harness/") &&
          !begins_with_any(reached, {"harness/base/", "harness/workload/"})) {
        FAIL_CHECK(path + " reaches " + reached);
      }
    }
  }
}

TEST_CASE("workloads and kernels time nothing", "[architecture]") {
  // A recorder says when something was; a script sleeps until then.
  const std::set<std::string> told = {"kernels/runtime/profiler.cpp", "workloads/null/script.cpp",
                                      "workloads/null/scripted_recorder.cpp"};
  for (const std::string& file : cpp_files()) {
    if (!begins_with_any(file, {"workloads/", "kernels/"}) || told.count(file) > 0) continue;
    if (file.starts_with("kernels/bench/")) continue;
    if (code_of(content(fs::path(HARNESS_SOURCE_DIR) / file)).find("_clock::") !=
        std::string::npos) {
      FAIL_CHECK(file + " reads a clock");
    }
  }
}

TEST_CASE("the instrument knows no model", "[architecture]") {
  CHECK(names_a_model("// for RetinaNet's head"));
  CHECK(names_a_model("if (name == \"focal-loss\") return;"));
  CHECK_FALSE(names_a_model("if (name == \"nothing\") return;"));
  for (const std::string& file : cpp_files()) {
    if (!file.starts_with("harness/")) continue;
    INFO(file);
    CHECK_FALSE(names_a_model(content(fs::path(HARNESS_SOURCE_DIR) / file)));
  }
}

TEST_CASE("a file that leans on the precompiled header is found", "[architecture]") {
  const auto missing = [](const std::string& path, const std::string& text) {
    const Sources sources = {{path, text},
                             {"a.hpp", "#include \"b.hpp\"\n#include <nlohmann/json_fwd.hpp>\n"},
                             {"b.hpp", "#include \"a.hpp\"\n#include <vector>"}};
    return missing_includes(sources, path).size();
  };
  CHECK(missing("c.cpp", "std::vector<int> a;\nnlohmann::json b;\n") == 2);
  CHECK(missing("c.cpp", "#include \"a.hpp\"\nstd::vector<int> a;\n") == 0);
  CHECK(missing("c.cpp", "// std::vector<int> \nconst char* a = \"fmt::format(\";") == 0);
  CHECK(missing("c.cpp", "int a = 1'000; const char b = '\"'; std::set<int> c;") == 1);
  CHECK(missing("c.cpp", "#include <fmt/chrono.h>\nfmt::format();") == 0);
  // What is only declared needs no definition, until it is used.
  CHECK(missing("c.hpp", "#include \"a.hpp\"\nvoid f(const nlohmann::json& a);") == 0);
  CHECK(missing("c.cpp", "#include \"a.hpp\"\nvoid f(const nlohmann::json& a) { a.size(); }") == 1);
}

TEST_CASE("no file leans on the precompiled header", "[architecture]") {
  Sources sources;
  for (const std::string& file : cpp_files()) {
    sources.emplace(file, content(fs::path(HARNESS_SOURCE_DIR) / file));
  }
  for (const auto& [file, text] : sources) {
    for (const std::string& missing : missing_includes(sources, file)) FAIL_CHECK(missing);
  }
  // <string> brings these two.
  const Sources precompiled = {{"", sources.at("harness/base/precompiled.hpp")}};
  for (const std::string& header : all_included(precompiled, "")) {
    INFO(header);
    CHECK((names_of_headers().count(header) == 1 || header == "cstddef" || header == "utility"));
  }
}

TEST_CASE("files are small enough to hold in the head", "[architecture]") {
  constexpr std::ptrdiff_t kMostLines = 400;
  for (const std::string& file : cpp_files()) {
    INFO(file);
    const std::string text = content(fs::path(HARNESS_SOURCE_DIR) / file);
    CHECK(std::count(text.begin(), text.end(), '\n') < kMostLines);
  }
}
