#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
#include "harness/result/digest.hpp"
#include "harness/result/json_clean.hpp"
#include "harness/result/json_reader.hpp"
#include "harness/result/result_file.hpp"
#include "harness/result/result_json.hpp"
#include "harness/result/schema.hpp"
#include "harness/system/capture.hpp"
#include "harness/system/page_cache.hpp"
#include "tests/sample_result.hpp"
#include "tests/temporary_folder.hpp"

namespace fs = std::filesystem;
using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;

TEST_CASE("a result goes to JSON and back without loss", "[result]") {
  const Result result = sample_result();
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
  const std::string digest = write_result_file(sample_result(), folder / "r.json");
  const json document = read_json_file(folder / "r.json");
  CHECK(document.at("digest") == digest);
  CHECK(digest_of(document) == digest);
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

// The same questions asked of other people's programs: is the schema one, does the file fit it, and
// does its digest come out of Python's own JSON.
TEST_CASE("an independent validator agrees", "[result]") {
  if (std::system("python3 -W ignore -c 'import jsonschema' 2>/dev/null") != 0) {
    WARN("skipped: Python's jsonschema is not installed");
    return;
  }
  const TemporaryFolder folder;
  write_result_file(sample_result(), folder / "r.json");
  std::ofstream(folder / "check.py") << R"(
import decimal, hashlib, json, math, sys
from jsonschema import Draft7Validator

schema, document = (json.load(open(name)) for name in sys.argv[1:3])
Draft7Validator.check_schema(schema)
Draft7Validator(schema).validate(document)
broken = dict(document, unknown=1)
assert not Draft7Validator(schema).is_valid(broken), "unknown fields pass"

def number(x):
    if isinstance(x, int): return str(x)
    if x == 0: return "0"
    if x == math.floor(x) and abs(x) < 1e21: return str(int(x))
    text = repr(x)
    if "e" in text:
        mantissa, exponent = text.split("e")
        if -7 <= int(exponent) < 0: return format(decimal.Decimal(text), "f")
        return mantissa.removesuffix(".0") + "e" + ("+" if int(exponent) > 0 else "-") + str(abs(int(exponent)))
    return text

def canonical(v):
    if v is None or isinstance(v, bool) or isinstance(v, str): return json.dumps(v, ensure_ascii=False)
    if isinstance(v, (int, float)): return number(v)
    if isinstance(v, list): return "[" + ",".join(map(canonical, v)) + "]"
    keys = sorted(v, key=lambda k: k.encode("utf-16-be"))
    return "{" + ",".join(json.dumps(k, ensure_ascii=False) + ":" + canonical(v[k]) for k in keys) + "}"

digest = document.pop("digest")
assert hashlib.sha256(canonical(document).encode()).hexdigest() == digest, "another digest"
)";
  const std::string command = "python3 -W ignore '" + (folder / "check.py").string() + "' '" +
                              result_schema_path("run").string() + "' '" +
                              (folder / "r.json").string() + "'";
  CHECK(std::system(command.c_str()) == 0);
}
