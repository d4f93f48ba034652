#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>

#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
#include "harness/base/json_reader.hpp"
#include "harness/result/digest.hpp"
#include "harness/result/json_clean.hpp"
#include "harness/result/result_file.hpp"
#include "harness/result/result_json.hpp"
#include "harness/result/schema.hpp"
#include "harness/system/capture.hpp"
#include "harness/system/environment.hpp"
#include "harness/system/page_cache.hpp"
#include "tests/support/python_check.hpp"
#include "tests/support/sample_result.hpp"
#include "tests/support/temporary_folder.hpp"

namespace fs = std::filesystem;
using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;

TEST_CASE("a result goes to JSON and back without loss", "[result]") {
  Result result = sample_result();
  SECTION("as it was measured") {}
  SECTION("as it was submitted") {
    result.submission = {std::string(64, 'c'), {"/identity/command_line/0"}};
  }
  const json document = to_json(result);
  const json again = to_json(result_from_json(document));
  CHECK(again == document);
  CHECK(json::diff(document, again) == json::array());
}

TEST_CASE("an aborted result with nothing measured goes to a file and back", "[result]") {
  const TemporaryFolder folder;
  Result result = sample_result();
  result.metrics.clear();
  result.peaks.clear();
  result.dataset.reset();
  result.cost.reset();
  result.quality.reset();
  result.identity.git_commit.clear();
  result.environment_after = json::object();
  result.status = {};
  write_result_file(result, folder / "r.json");
  CHECK(to_json(read_result_file(folder / "r.json")) == to_json(result));
}

TEST_CASE("a written result carries its digest and reads back", "[result]") {
  const TemporaryFolder folder;
  write_result_file(sample_result(), folder / "r.json");
  const json document = read_json_file(folder / "r.json");
  CHECK(digest_of(document) == document.at("digest").get<std::string>());
  CHECK(to_json(read_result_file(folder / "r.json")) == to_json(sample_result()));
}

TEST_CASE("a number that is not finite cannot slip into a file", "[result]") {
  const TemporaryFolder folder;
  Result result = sample_result();
  SECTION("in a sample") {
    result.metrics[0].samples[3].value = std::nan("");
    CHECK_THROWS_WITH(write_result_file(result, folder / "r.json"),
                      Catch::Contains("/metrics/0/samples/3/value"));
  }
  SECTION("in a free-form section") {
    result.environment_after["load_average"] = {0.5, HUGE_VAL};
    CHECK_THROWS_WITH(write_result_file(result, folder / "r.json"),
                      Catch::Contains("/environment/after/load_average/1"));
  }
  SECTION("nor an integer that readers would round") {
    result.system["memory"]["total_bytes"] = std::uint64_t{1} << 60;
    CHECK_THROWS_WITH(write_result_file(result, folder / "r.json"),
                      Catch::Contains("/system/memory/total_bytes"));
  }
  CHECK_FALSE(fs::exists(folder / "r.json"));
}

TEST_CASE("a result that breaks its schema is not written", "[result]") {
  const TemporaryFolder folder;
  Result result = sample_result();
  result.identity.uuid = "not a uuid";
  CHECK_THROWS_WITH(write_result_file(result, folder / "r.json"),
                    Catch::Contains("/identity/uuid"));
  CHECK_FALSE(fs::exists(folder / "r.json"));
}

TEST_CASE("files before 1.3.0 counted convolutions only, and still do", "[result]") {
  json document = to_json(sample_result());
  CHECK(document["cost"]["calls"] == json{{"convolutions", 111}});
  const auto problems = [&] {
    json stamped = document;
    stamped["digest"] = digest_of(stamped);
    return validate_schema(stamped, home_folder() / "results/schema/run.schema.json");
  };
  CHECK(problems().empty());
  document["cost"].erase("calls");
  CHECK_FALSE(problems().empty());
  document["cost"]["convolution_calls"] = 111;
  CHECK(problems().empty());
  CHECK(to_json(result_from_json(document)) == to_json(sample_result()));
  document["cost"]["convolution_calls"] = 0;
  CHECK(result_from_json(document).cost.value().cost.calls.empty());
}

TEST_CASE("what the machine tells fits into a result", "[result]") {
  const TemporaryFolder folder;
  Result result = sample_result();
  result.system = capture_system();
  result.environment_before = capture_environment();
  result.environment_after = capture_environment();
  result.preparation["cache_clear"] = to_json(PageCacheRecord{});
  write_result_file(result, folder / "r.json");
  CHECK(to_json(read_result_file(folder / "r.json")) == to_json(result));
}

TEST_CASE("odd text does not cost a run its result", "[result]") {
  const TemporaryFolder folder;
  Result result = sample_result();
  result.identity.command_line = {"harness", "--set", "x=\xff\xfe", std::string(100000, 'y')};
  result.hyperparameters["\x80"] = "\xc3\x28";
  write_result_file(result, folder / "r.json");
  const Result back = read_result_file(folder / "r.json");
  CHECK(back.identity.command_line[2] == "x=\xEF\xBF\xBD\xEF\xBF\xBD");
  CHECK(back.identity.command_line[3].size() == kLongestText);
  CHECK(back.identity.command_line[3].ends_with("y..."));
}

TEST_CASE("long text is cut between characters", "[result]") {
  std::string euros;
  for (int i = 0; i < 2000; ++i) euros += "\xE2\x82\xAC";
  const std::string cut = text_for_result(euros);
  CHECK(cut.size() <= kLongestText);
  CHECK(cut == text_for_result(cut));
  CHECK(cut.ends_with("\xE2\x82\xAC..."));
}

TEST_CASE("a document that does not fit is one clear error", "[result]") {
  CHECK_THROWS_WITH(result_from_json(json::object()), Catch::Contains("does not fit the schema"));
}

TEST_CASE("an independent validator agrees", "[result]") {
  const TemporaryFolder folder;
  write_result_file(sample_result(), folder / "r.json");
  check_with_python("run", folder / "r.json");
}
