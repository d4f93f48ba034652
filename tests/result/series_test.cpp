// Whole series, and choices from them.
#include "harness/result/series.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "harness/result/canonical_json.hpp"
#include "harness/result/digest.hpp"
#include "tests/support/files_of_runs.hpp"
#include "tests/support/process.hpp"
#include "tests/support/sample_result.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

Result run_of(std::int64_t index, std::int64_t count, char uuid = '0') {
  Result result = sample_result();
  result.identity.run_index = index;
  result.identity.run_count = count;
  result.identity.uuid.back() = uuid;
  return result;
}

/// Three runs of one series.
std::vector<fs::path> measure_series(const fs::path& folder) {
  const Outcome outcome = run_harness({"run", "--workload", "null", "--runs", "3", "--set",
                                       "step-ms=0.1", "--out", folder.string()});
  CAPTURE(outcome.err);
  REQUIRE(outcome.code == 0);
  std::vector<fs::path> files = files_ending(folder, ".json");
  REQUIRE(files.size() == 3);
  return files;
}

void edit(const fs::path& from, const fs::path& to, const char* uuid_end) {
  json document = json::parse(read_file(from, 64 << 20));
  std::string uuid = document["identity"]["uuid"];
  document["identity"]["uuid"] = uuid.substr(0, 28) + uuid_end;
  document["digest"] = digest_of(document);
  write_file_atomically(to, readable_json(document));
}

}  // namespace

TEST_CASE("a series is whole when each of its runs is there once", "[series]") {
  SeriesBook book;
  for (int i = 1; i <= 3; ++i) book.add("x", run_of(i, 3, static_cast<char>('0' + i)));
  CHECK(book.contradictions().empty());
  CHECK(book.gaps().empty());
  Result other = run_of(1, 1, '9');
  other.identity.series_id.front() = 'f';
  book.add("by itself", other);
  CHECK(book.gaps().empty());
}

TEST_CASE("the best five of fifty are not a series", "[series]") {
  SeriesBook book;
  for (const int i : {3, 11, 12, 29, 50}) {
    book.add("x", run_of(i, 50, static_cast<char>('0' + i % 10)));
  }
  CHECK(book.contradictions().empty());
  REQUIRE(book.gaps().size() == 1);
  CHECK(book.gaps()[0] ==
        "series 9a1d2f3c: 5 of 50 runs are here, without 1 to 2, 4 to 10, 13 to 28 and 30 to 49");
}

TEST_CASE("two runs in one place of a series contradict each other", "[series]") {
  SeriesBook book;
  book.add("a", run_of(1, 2, 'a'));
  book.add("b", run_of(1, 2, 'b'));
  REQUIRE(book.contradictions().size() == 1);
  CHECK(book.contradictions()[0] == "series 9a1d2f3c: a and b are both run 1 of 2");
  SECTION("a run that was stopped was measured again") {
    SeriesBook again;
    Result stopped = run_of(1, 2, 'a');
    stopped.status.state = RunState::kAborted;
    again.add("a", stopped);
    again.add("b", run_of(1, 2, 'b'));
    CHECK(again.contradictions().empty());
    CHECK(again.gaps().empty());
  }
  SECTION("a copy of a file is the same run") {
    SeriesBook copies;
    copies.add("a", run_of(1, 1));
    copies.add("b", run_of(1, 1));
    CHECK(copies.contradictions().empty());
  }
  SECTION("runs that tell different lengths") {
    SeriesBook mixed;
    mixed.add("a", run_of(1, 2, 'a'));
    mixed.add("b", run_of(2, 5, 'b'));
    REQUIRE(mixed.contradictions().size() == 1);
    CHECK(mixed.contradictions()[0] == "series 9a1d2f3c: a is of 2 runs, b of 5");
  }
}

TEST_CASE("validate, compare and gate notice what is missing of a series", "[series][cli]") {
  const TemporaryFolder top;
  const fs::path folder = top / "runs";
  const std::vector<fs::path> files = measure_series(folder);
  const Outcome whole = run_harness({"validate", folder.string()});
  CHECK(whole.code == 0);
  CHECK_THAT(whole.out, !Catch::Contains("series"));
  fs::rename(files[1], top / "elsewhere.json");
  // Each file is sound, so this is no more than a note.
  const Outcome part = run_harness({"validate", folder.string()});
  CHECK(part.code == 0);
  CHECK_THAT(part.out, Catch::Contains("2 of 3 runs are here, without 2"));
  const fs::path other = top / "other";
  measure_series(other);
  check_one_error(run_harness({"compare", folder.string(), other.string()}), 1,
                  "2 of 3 runs are here, without 2");
  check_one_error(
      run_harness({"gate", "--baseline", folder.string(), "--candidate", other.string()}), 1,
      "2 of 3 runs are here, without 2");
  // A second first run cannot be.
  edit(files[0], files[1], "00000000");
  const Outcome twice = run_harness({"validate", folder.string()});
  CHECK(twice.code == 3);
  CHECK_THAT(twice.out, Catch::Contains("are both run 1 of 3"));
}

TEST_CASE("validate goes on after a path that is missing or empty", "[validate][cli]") {
  const TemporaryFolder top;
  const std::string good = measure_series(top / "runs")[0].string();
  fs::create_directories(top / "empty");
  for (const std::string& bad :
       {(top / "missing.json").string(), (top / "missing").string() + "/"}) {
    const Outcome outcome = run_harness({"validate", bad, good});
    CAPTURE(outcome.out, outcome.err);
    CHECK(outcome.code == 1);
    CHECK_THAT(outcome.out, Catch::Contains(bad + ": not valid: 1 problem"));
    CHECK_THAT(outcome.out, Catch::Contains(good + ": valid"));
  }
  const Outcome empty = run_harness({"validate", (top / "empty").string(), good});
  check_one_error(empty, 1, "holds no result file");
  CHECK_THAT(empty.out, Catch::Contains(good + ": valid"));
  // What cannot be read goes before what breaks a rule, in either order.
  json broken = json::parse(read_file(good, 64 << 20));
  broken["identity"]["run_index"] = 9;
  broken["digest"] = digest_of(broken);
  const std::string wrong = (top / "wrong.json").string();
  write_file_atomically(wrong, readable_json(broken));
  const std::string missing = (top / "missing.json").string();
  CHECK(run_harness({"validate", wrong}).code == 3);
  CHECK(run_harness({"validate", wrong, missing}).code == 1);
  CHECK(run_harness({"validate", missing, wrong}).code == 1);
}

TEST_CASE("validate passes over schemas, however they are named", "[validate][cli]") {
  const TemporaryFolder top;
  const std::string good = measure_series(top / "runs")[0].string();
  const std::string schema = (home_folder() / "results/schema/run.schema.json").string();
  const Outcome outcome = run_harness({"validate", schema, good});
  CAPTURE(outcome.out);
  CHECK(outcome.code == 0);
  CHECK_THAT(outcome.out, !Catch::Contains("schema.json"));
  CHECK(run_harness({"validate", schema}).code == 0);
}
