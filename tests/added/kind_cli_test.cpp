// A kind of result that this folder adds, through all that is done with result files.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "harness/base/files.hpp"
#include "harness/base/json_reader.hpp"
#include "harness/result/canonical_json.hpp"
#include "harness/result/digest.hpp"
#include "tests/added/run_added.hpp"
#include "tests/support/files_of_runs.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/text_lines.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

void write(const fs::path& file, json document) {
  document["digest"] = digest_of(document);
  write_file_atomically(file, readable_json(document));
}

/// A score about what `harness run` has just measured in `folder`.
void write_score(const fs::path& folder, const fs::path& file) {
  REQUIRE(run_added({"run", "--workload", "null", "--out", folder.string()}).code == 0);
  json document = read_json_file(files_ending(folder, ".json").front());
  for (const char* member :
       {"kernels", "choices", "peaks", "metrics", "memory", "cost", "quality", "training"}) {
    document.erase(member);
  }
  document["kind"] = "score";
  document["identity"]["uuid"] = "00000000-0000-4000-8000-000000000001";
  document["schema_version"] = "1.0.0";
  document["items"] = {{{"name", "first"}, {"value", 2}}, {{"name", "second"}, {"value", 8}}};
  document["score"] = 4;
  write(file, std::move(document));
}

void edit(const fs::path& file, const std::string& pointer, const json& value) {
  json document = read_json_file(file);
  document[json::json_pointer(pointer)] = value;
  write(file, std::move(document));
}

}  // namespace

TEST_CASE("an added kind of result is validated, shown and shared", "[added]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "score.json";
  write_score(folder / "run", file);

  SECTION("validate") {
    const Outcome sound = run_added({"validate", file.string()});
    INFO(sound.out << sound.err);
    CHECK(sound.code == 0);
    edit(file, "/score", 5);
    CHECK_THAT(run_added({"validate", file.string()}).out, HasLines({"  /score: *"}));
    edit(file, "/score", -1);
    CHECK(run_added({"validate", file.string()}).code == 3);
  }
  SECTION("its own rules") {
    edit(file, "/items", json::array({{{"name", "first"}, {"value", 4}}}));
    const Outcome broken = run_added({"validate", file.string()});
    CHECK(broken.code == 3);
    CHECK_THAT(broken.out, Catch::Contains("breaks rule score-items"));
  }
  SECTION("report") {
    const Outcome lines = run_added({"report", folder.path().string()});
    INFO(lines.err);
    CHECK(lines.code == 0);
    CHECK_THAT(lines.out, HasLines({"*  null*score 4*"}));
    const json report = json::parse(run_added({"report", file.string(), "--json"}).out);
    CHECK(report.at("/results/0/kind"_json_pointer) == "score");
    CHECK(report.at("/results/0/headline/value"_json_pointer) == 4);
    CHECK_THAT(run_added({"report", file.string(), "--csv"}).out, HasLines({"score,,,,4*"}));
    const fs::path page = folder / "page.html";
    const Outcome written = run_added({"report", folder.path().string(), "-o", page.string()});
    CHECK_THAT(written.out, HasLines({"report   " + page.string() + " (1 score, 1 run, *"}));
    CHECK_THAT(read_file(page, 1 << 24), Catch::Contains("Score of null"));
  }
  SECTION("submit") {
    const Outcome shared = run_added({"submit", file.string(), "--to", (folder / "tree").string()});
    INFO(shared.out << shared.err);
    CHECK(shared.code == 0);
    const Outcome again = run_added({"validate", (folder / "tree").string()});
    CHECK(again.code == 0);
    CHECK_THAT(again.out, HasLines({(folder / "tree").string() + "*.json: valid*"}));
  }
  SECTION("it is not replaced by a report") {
    const Outcome refused = run_added({"report", (folder / "run").string(), "-o", file.string()});
    CHECK_THAT(refusal_in(refused), is_about(file.string(), {"holds a result"}));
  }
  SECTION("the program without it") {
    const Outcome unknown = run_harness({"validate", file.string()});
    CHECK(unknown.code == 3);
    CHECK_THAT(unknown.out, HasLines({"  /kind: 'score' is unknown to this version*"}));
  }
}
