// `harness tune` and `--tuning`: from a measured table to the result of a run that followed it.
#include <catch2/catch.hpp>

#include <fstream>
#include <string>
#include <vector>

#include "harness/base/files.hpp"
#include "harness/base/hash.hpp"
#include "tests/added/run_added.hpp"
#include "tests/support/files_of_runs.hpp"
#include "tests/support/process.hpp"
#include "tests/support/profile_of_null.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/text_lines.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

const std::string kRules = HARNESS_SOURCE_DIR "/tests/added/stub-tuned.json";

class Tuned {
 public:
  Tuned() {
    const Outcome outcome =
        run_added({"tune", "--rules", kRules, "--rounds", "3", "--out", table()});
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    said = outcome.out;
  }

  std::string table() const { return (folder.path() / "tuning.json").string(); }
  std::string file(const std::string& name) const { return (folder.path() / name).string(); }

  Outcome run(const std::string& out, std::vector<std::string> more) const {
    std::vector<std::string> arguments = {"run", "--rules", kRules, "--json", "--out", file(out)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_added(arguments);
  }

  /// How a run refuses the table with `text` replaced by `other` in it.
  ErrorParts refused(const std::string& text, const std::string& other) const {
    std::string content = read_file(table(), 1 << 20);
    content.replace(content.find(text), text.size(), other);
    std::ofstream(file("other.json")) << content;
    const ErrorParts found = refusal_in(run("refused", {"--tuning", file("other.json")}));
    CHECK((found.about == file("other.json") || found.about == "the tuning table"));
    return found;
  }

  TemporaryFolder folder{};
  std::string said{};
};

}  // namespace

TEST_CASE("tune times every kernel and writes the fastest of each problem", "[tuning]") {
  const Tuned tuned;
  CHECK_THAT(tuned.said, Catch::Contains("2 of 2 problems"));
  CHECK_THAT(tuned.said,
             Catch::Contains("broken") && HasLines({"*--tuning " + tuned.table() + "*"}));
  const json table = json::parse(read_file(tuned.table(), 1 << 20));
  CHECK(table.at("instruction_set") == "stub_isa");
  REQUIRE(table.at("lines").size() == 2);
  for (const json& line : table.at("lines")) {
    CHECK(line.at("kernel") == "fast");
    CHECK(line.at("seconds").at("slow") >= 0.003);
    CHECK(line.at("seconds").at("fast") < line.at("seconds").at("slow"));
    CHECK_FALSE(line.at("seconds").contains("broken"));
  }
}

TEST_CASE("a run follows a table, names it by its hash, and says what it took", "[tuning]") {
  const Tuned tuned;
  const json without = json::parse(tuned.run("without", {}).out);
  CHECK(without.at("/settings/effective/tuning"_json_pointer).is_null());
  CHECK(without.at("/choices/0/kernel"_json_pointer) == "slow");
  const Outcome outcome = tuned.run("with", {"--tuning", tuned.table()});
  INFO(outcome.err);
  REQUIRE(outcome.code == 0);
  const json with = json::parse(outcome.out);
  CHECK(with.at("/settings/effective/tuning"_json_pointer) ==
        "sha256:" + sha256_of_file(tuned.table()));
  REQUIRE(with.at("choices").size() == 2);
  CHECK(with.at("/choices/1/kernel"_json_pointer) == "fast");
  CHECK(with.at("/choices/1/pass"_json_pointer) == "backward_data");
  const std::vector<fs::path> files = files_ending(tuned.file("with"), ".json");
  REQUIRE(files.size() == 1);
  CHECK(run_added({"validate", files.front().string()}).code == 0);

  // The reference follows nothing, so no table sets its results apart.
  const json reference = json::parse(
      tuned.run("reference", {"--kernels", "reference", "--tuning", tuned.table()}).out);
  CHECK(reference.at("/settings/effective/tuning"_json_pointer).is_null());
  CHECK_FALSE(reference.contains("choices"));

  const json again = json::parse(
      run_added({"run", "--from", files.front().string(), "--json", "--out", tuned.file("again")})
          .out);
  CHECK(again.at("/settings/effective"_json_pointer) ==
        with.at("/settings/effective"_json_pointer));
  const Outcome compared = run_added({"compare", tuned.file("without"), tuned.file("with")});
  CHECK_THAT(compared.out, HasLines({"  tuning *"}));
}

TEST_CASE("a profile holds the kernels that a table chose, as a run does", "[tuning][profile]") {
  const Tuned tuned;
  const Outcome profiled = run_added(
      {"profile", "--rules", kRules, "--tuning", tuned.table(), "--out", tuned.file("profile")});
  INFO(profiled.err);
  REQUIRE(profiled.code == 0);
  const fs::path file = only_file(tuned.file("profile"), ".json");
  CHECK(read_json(file).at("/choices/0/kernel"_json_pointer) == "fast");
  CHECK(run_added({"validate", file.string()}).code == 0);
}

TEST_CASE("a table is extended, and what is measured again replaced", "[tuning]") {
  const Tuned tuned;
  std::string content = read_file(tuned.table(), 1 << 20);
  const std::string problem = "mb1_ic8";
  for (std::size_t at = 0; (at = content.find(problem, at)) != std::string::npos; ++at) {
    content.replace(at, problem.size(), "mb7_ic8");
  }
  std::ofstream(tuned.file("old.json")) << content;
  const Outcome outcome = run_added({"tune", "--rules", kRules, "--rounds", "1", "--extend",
                                     tuned.file("old.json"), "--out", tuned.file("both.json")});
  INFO(outcome.err);
  REQUIRE(outcome.code == 0);
  CHECK(json::parse(read_file(tuned.file("both.json"), 1 << 20)).at("lines").size() == 4);
}

TEST_CASE("a table that is none, of other instructions or of unknown kernels is refused",
          "[tuning]") {
  const Tuned tuned;
  CHECK(tuned.refused("stub_isa", "avx9").names("avx9"));
  CHECK(tuned.refused(R"("kernel":"fast")", R"("kernel":"faster")").names("'faster'"));
  CHECK(tuned.refused(R"("kernel":"fast")", R"("kernel":"\u001b[31m")").place() ==
        "/lines/0/kernel");
  CHECK(tuned.refused("harness-tuning/1", "harness-tuning/9").place() == "/format");
  CHECK(tuned.refused(R"("pass":"forward")", R"("pass":"backward_data")").names("twice"));
  CHECK(tuned.refused(R"("threads":)", R"("threads":-)").place() == "/lines/0/threads");
  CHECK(tuned.refused("}", "]").names("not JSON"));
  CHECK(refusal_in(tuned.run("missing", {"--tuning", tuned.file("missing.json")})).about ==
        tuned.file("missing.json"));
  CHECK_THAT(refusal_in(run_harness({"run", "--workload", "null", "--tuning", tuned.table()})),
             is_about("--tuning", {"'null'"}));
  CHECK(refusal_in(run_harness({"tune", "--workload", "null", "--out", tuned.file("n")}))
            .names("nothing to tune"));
}
