// The one-way dependencies of the design, checked on the #include lines of the source tree itself.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace fs = std::filesystem;

namespace {

/// What the files of a folder may include of ours, by the beginning of the include path.
struct Rule {
  std::string_view folder;
  std::vector<std::string_view> allowed;
};

const std::vector<Rule>& rules() {
  static const std::vector<Rule> table = {
      {"harness/base/", {"harness/base/"}},
      {"harness/stats/", {"harness/base/", "harness/stats/"}},
      {"harness/profile/", {"harness/base/", "harness/stats/", "harness/profile/"}},
      {"harness/system/", {"harness/base/", "harness/system/"}},
      {"harness/result/",
       {"harness/base/", "harness/stats/", "harness/profile/", "harness/result/"}},
      {"harness/run/",
       {"harness/base/", "harness/stats/", "harness/profile/", "harness/system/", "harness/result/",
        "harness/run/"}},
      {"harness/mlperf/", {"harness/base/", "harness/result/", "harness/run/", "harness/mlperf/"}},
      {"harness/report/",
       {"harness/base/", "harness/stats/", "harness/profile/", "harness/result/",
        "harness/report/"}},
      {"harness/gate/",
       {"harness/base/", "harness/stats/", "harness/result/", "harness/run/", "harness/report/",
        "harness/gate/"}},
      {"harness/commands/", {"harness/"}},
      {"harness/main.cpp", {"harness/commands/"}},
      // A program, not a part: it measures the machine too, at a workload's shapes.
      {"kernels/bench/",
       {"kernels/", "harness/base/", "harness/system/", "workloads/retinanet/anchors.hpp",
        "workloads/retinanet/architecture.hpp", "workloads/conv_blocks/block.hpp",
        "workloads/conv_blocks/problems.hpp"}},
      {"kernels/", {"kernels/"}},
      {"workloads/",
       {"workloads/", "kernels/", "harness/base/", "harness/run/workload.hpp",
        "harness/run/registry.hpp", "harness/result/json_reader.hpp"}},
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
  const auto rule = std::find_if(rules().begin(), rules().end(),
                                 [&](const Rule& r) { return path.starts_with(r.folder); });
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
    const bool forbidden = ours ? bench || !begins_with_any(name, rule->allowed)
                                : tensors && rule->folder.starts_with("harness/");
    if (forbidden) found.push_back(path + " must not include " + std::string(target));
  }
  return found;
}

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// All C++ files of ours, relative to the source tree.
std::vector<std::string> cpp_files() {
  std::vector<std::string> files;
  for (const char* folder : {"harness", "workloads", "kernels", "tests"}) {
    for (const auto& entry :
         fs::recursive_directory_iterator(fs::path(HARNESS_SOURCE_DIR) / folder)) {
      const std::string extension = entry.path().extension().string();
      if (entry.is_regular_file() && (extension == ".cpp" || extension == ".hpp")) {
        files.push_back(fs::relative(entry.path(), HARNESS_SOURCE_DIR).generic_string());
      }
    }
  }
  return files;
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
  CHECK(violations("harness/report/a.cpp", "#include \"harness/run/b.hpp\"") == 1);
  CHECK(violations("harness/run/a.cpp", "#include \"harness/commands/b.hpp\"") == 1);
  CHECK(violations("harness/commands/a.cpp",
                   "#include \"workloads/b.hpp\"\n#include <ATen/a.h>\n") == 2);
  CHECK(violations("kernels/a.cpp", "#include <ATen/a.h>\n#include \"kernels/b.hpp\"\n") == 0);
  CHECK(violations("kernels/a.cpp", "#include \"harness/base/b.hpp\"") == 1);
  CHECK(violations("kernels/a.cpp", "#include \"workloads/b.hpp\"") == 1);
  CHECK(violations("kernels/bench/a.cpp",
                   "#include \"harness/system/affinity.hpp\"\n#include \"kernels/bench/b.hpp\"") ==
        0);
  CHECK(violations("kernels/bench/a.cpp", "#include \"harness/run/runner.hpp\"") == 1);
  CHECK(violations("kernels/a.cpp", "#include \"kernels/bench/b.hpp\"") == 1);
  CHECK(violations("workloads/a.cpp", "#include \"harness/run/workload.hpp\"") == 0);
  CHECK(violations("workloads/a.cpp", "#include \"harness/run/runner.hpp\"") == 1);
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

TEST_CASE("files are small enough to hold in the head", "[architecture]") {
  constexpr std::ptrdiff_t kMostLines = 400;
  for (const std::string& file : cpp_files()) {
    INFO(file);
    const std::string text = content(fs::path(HARNESS_SOURCE_DIR) / file);
    CHECK(std::count(text.begin(), text.end(), '\n') < kMostLines);
  }
}
