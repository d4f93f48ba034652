// LoadGen's log, whole, half and hostile.
#include "harness/scenario/loadgen/log_reader.hpp"

#include <catch2/catch.hpp>
#include <fstream>
#include <string>

#include "harness/base/error.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace harness;           // NOLINT(google-build-using-namespace)
using namespace harness::loadgen;  // NOLINT(google-build-using-namespace)

namespace {

std::string line(const std::string& key, const std::string& value, bool error = false) {
  return ":::MLLOG {\"key\": \"" + key + "\", \"value\": " + value +
         ", \"time_ms\": 1.0, \"metadata\": {\"is_error\": " + (error ? "true" : "false") + "}}\n";
}

TestLog read(const std::string& content, bool judged = true) {
  const TemporaryFolder folder;
  std::ofstream(folder / "log.txt") << content;
  return read_log(folder / "log.txt", judged);
}

const std::string kValid =
    line("loadgen_version", "\"6.0 @ abc\"") + line("requested_min_query_count", "64") +
    line("requested_qsl_rng_seed", "14276810075590677512") +
    line("effective_target_qps", "1000.5") + line("result_50.00_percentile_latency_ns", "2000000") +
    line("result_99.90_percentile_latency_ns", "3000000") + line("result_min_queries_met", "true") +
    line("early_stopping_latency_ss", "2500000");

}  // namespace

TEST_CASE("figures, settings and judgement come from LoadGen's log", "[loadgen]") {
  const TestLog log = read(kValid + line("result_validity", "\"VALID\""));
  CHECK(log.valid);
  CHECK(log.reasons.empty());
  CHECK(log.number("early_stopping_latency_ss") == 2.5e6);
  CHECK(log.number("result_min_queries_met") == 1.0);
  CHECK_FALSE(log.number("result_no_such_thing").has_value());
  CHECK(log.requested.at("min_query_count") == 64);
  // Beyond what a double holds exactly.
  CHECK(log.requested.at("qsl_rng_seed") == "14276810075590677512");
  CHECK(log.effective.at("target_qps") == 1000.5);
  const auto percentiles = percentiles_of(log);
  REQUIRE(percentiles.size() == 2);
  CHECK(percentiles[0].percentile == 50);
  CHECK(percentiles[1].seconds == Approx(3e-3));
}

TEST_CASE("logs that the disk had no room for are found", "[loadgen]") {
  const TemporaryFolder folder;
  const auto refusal = [&](bool answers) {
    return refusal_of([&] { require_whole_logs(folder.path(), answers); });
  };
  const auto about = [&](bool answers) { return refusal(answers).about; };
  const std::string summary = (folder / "mlperf_log_summary.txt").string();
  const std::string accuracy = (folder / "mlperf_log_accuracy.json").string();
  CHECK(about(false) == summary);
  std::ofstream(summary).flush();
  CHECK_THAT(refusal(false), is_about(summary, {"could not write all of it"}));
  std::ofstream(summary) << "No errors\n";
  CHECK(about(false).empty());
  CHECK(about(true) == accuracy);
  for (const char* cut : {"", "[\n{ \"data\" : \"00", "[\n{ \"data\" : \"00\" },\n"}) {
    std::ofstream(accuracy) << cut;
    CHECK(about(true) == accuracy);
  }
  std::ofstream(accuracy) << "[\n{ \"data\" : \"00\" }\n]\n";
  CHECK(about(true).empty());
}

TEST_CASE("percentiles are those of queries where the log tells them from samples", "[loadgen]") {
  const auto percentiles =
      percentiles_of(read(kValid + line("result_validity", "\"VALID\"") +
                          line("result_50.00_percentile_per_query_latency_ns", "9000000")));
  REQUIRE(percentiles.size() == 1);
  CHECK(percentiles[0].seconds == Approx(9e-3));
}

TEST_CASE("an invalid test has its reasons, each once, and so has one with errors", "[loadgen]") {
  const TestLog log =
      read(kValid + line("result_validity", "\"INVALID\"") +
           line("result_invalid_reason", "\" * Too short.\\n * Too short.\\n * Too few.\""));
  CHECK_FALSE(log.valid);
  CHECK(log.reasons == std::vector<std::string>{"Too short.", "Too few."});
  const TestLog broken = read(kValid + line("error_runtime", "\"Ended early\"", true) +
                              line("result_validity", "\"INVALID\""));
  CHECK(broken.errors == 1);
  CHECK(broken.reasons == std::vector<std::string>{"Ended early"});
  CHECK_FALSE(read(kValid + line("result_validity", "\"INVALID\"")).reasons.empty());
  // LoadGen gives no reason where only early stopping fails.
  const TestLog early = read(
      kValid + line("result_validity", "\"INVALID\"") + line("early_stopping_met", "false") +
      line("early_stopping_result", "\" * Run unsuccessful.  * Run at least  458 queries. \""));
  CHECK(early.reasons == std::vector<std::string>{"Run unsuccessful. Run at least 458 queries."});
}

TEST_CASE("a log that is cut off, empty or something else is no outcome", "[loadgen]") {
  CHECK_THROWS_AS(read(""), Error);
  CHECK_THROWS_AS(read("no log at all\n"), Error);
  CHECK_THROWS_AS(read(kValid), Error);
  CHECK_NOTHROW(read(kValid, false));
  CHECK_THROWS_AS(read_log("/nonexistent/log", true), Error);
  // Half a line, and values of other types, are left out.
  const TestLog log = read(kValid + line("result_validity", "\"VALID\"") +
                           line("result_validity_note", "[1, 2]") + ":::MLLOG {\"key\": \"resu");
  CHECK(log.valid);
}
