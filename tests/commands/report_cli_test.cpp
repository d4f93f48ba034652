// End to end: what the command takes, names and refuses; and the files that the page's test in a
// browser looks at.
#include <stdlib.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>

#include "harness/base/files.hpp"
#include "harness/gate/verdict_file.hpp"
#include "harness/kinds/suite/suite_json.hpp"
#include "harness/result/canonical_json.hpp"
#include "harness/result/digest.hpp"
#include "harness/result/profile_json.hpp"
#include "harness/result/result_file.hpp"
#include "harness/result/schema.hpp"
#include "harness/stats/stats.hpp"
#include "tests/support/files_of_runs.hpp"
#include "tests/support/process.hpp"
#include "tests/support/sample_campaign.hpp"
#include "tests/support/sample_profile.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

/// The file of one measuring command.
fs::path measured(const fs::path& out, std::vector<std::string> command) {
  fs::create_directories(out);
  command.insert(command.end(), {"--out", out.string()});
  CHECK(run_harness(command).code != 1);
  const std::vector<fs::path> files = files_ending(out, ".json");
  REQUIRE_FALSE(files.empty());
  return files.front();
}

fs::path null_run(const fs::path& out, const std::string& kernels = "reference") {
  return measured(out, {"run", "--workload", "null", "--set", "step-ms=0", "--kernels", kernels});
}

void write_with_digest(json document, const fs::path& file) {
  document["digest"] = digest_of(document);
  std::ofstream(file) << readable_json(document);
}

json read_json(const fs::path& file) { return json::parse(read_file(file, 64 << 20)); }

/// Calls `visit` for every text below `value`.
void for_each_text(json& value, const std::function<void(json&)>& visit) {
  if (value.is_string()) return visit(value);
  if (value.is_structured()) {
    for (json& child : value) for_each_text(child, visit);
  }
}

const std::vector<std::string> kPayloads = {"<script>window.hostile=1</script>",
                                            "<img src=x onerror=\"window.hostile=1\">",
                                            "javascript:window.hostile=1",
                                            "</script><script>window.hostile=1</script>",
                                            "\"><svg onload=window.hostile=1>",
                                            "{{data}}<!-- ${window.hostile=1}",
                                            "'onmouseover='window.hostile=1' \xe2\x80\xa8"};

/// A copy whose every text that the schema leaves free is a payload; of every text at all where
/// `all`, which no schema takes.
void write_hostile(const fs::path& original, const fs::path& file, bool all) {
  json document = read_json(original);
  const fs::path schema = result_schema_path(document["kind"]);
  std::size_t number = 0;
  std::size_t changed = 0;
  for_each_text(document, [&](json& text) {
    const json before = text;
    text = kPayloads[number++ % kPayloads.size()];
    if (all || validate_schema(document, schema).empty()) {
      ++changed;
    } else {
      text = before;
    }
  });
  for (const char* key : {"kind", "schema_version"}) document[key] = read_json(original)[key];
  document["hyperparameters"][kPayloads[1]] = kPayloads[0];
  CHECK(changed > 30);
  write_with_digest(document, file);
}

/// Operators and primitives as a file has them: the longest first.
void put_in_order(ProfileTables& tables) {
  std::vector<std::size_t> order(tables.operators.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return tables.operators[a].self_seconds > tables.operators[b].self_seconds;
  });
  std::vector<OperatorRow> sorted;
  std::vector<std::size_t> place(order.size());
  for (const std::size_t i : order) {
    place[i] = sorted.size();
    sorted.push_back(tables.operators[i]);
  }
  tables.operators = std::move(sorted);
  for (PrimitiveRow& row : tables.primitives) {
    if (row.owner) row.owner = place[*row.owner];
  }
  std::stable_sort(
      tables.primitives.begin(), tables.primitives.end(),
      [](const PrimitiveRow& a, const PrimitiveRow& b) { return a.seconds > b.seconds; });
}

/// The profile of a made-up step with the file's set-up and times, and with a hundred operators
/// more, none of them long. `saved`: how much of the head's backward pass it does without.
void write_profile(const fs::path& original, const fs::path& file, double saved) {
  Profile profile = profile_from_json(read_json(original));
  ProfileTables tables = sample_tables();
  for (int i = 0; i < 100; ++i) {
    OperatorRow row = sample_operator("forward", "head.small", "aten::op", 0.001);
    row.name += std::to_string(i);
    row.self_seconds = 0.001;
    tables.between_seconds -= row.self_seconds;
    tables.operators.push_back(row);
  }
  OperatorRow& head = tables.operators[1];
  head.self_seconds *= 1 - saved;
  head.primitive_seconds *= 1 - saved;
  tables.primitives[1].seconds *= 1 - saved;
  tables.between_seconds += 2 * saved;
  tables.steps = profile.tables.steps;
  const double scale = profile.tables.step_seconds / tables.step_seconds;
  tables.step_seconds *= scale;
  tables.between_seconds *= scale;
  for (OperatorRow& row : tables.operators) {
    row.self_seconds *= scale;
    row.primitive_seconds *= scale;
    row.reorder_seconds *= scale;
  }
  for (PrimitiveRow& row : tables.primitives) row.seconds *= scale;
  put_in_order(tables);
  profile.tables = tables;
  write_with_digest(to_json(profile), file);
  CHECK(run_harness({"validate", file.string()}).code == 0);
}

fs::path null_profile(const fs::path& out, const std::string& kernels) {
  return measured(out,
                  {"profile", "--workload", "null", "--set", "step-ms=1", "--kernels", kernels});
}

/// Twenty nights of one run, 8 % slower from the eleventh on.
void write_history(const fs::path& original, const fs::path& folder) {
  const Result first = read_result_file(original);
  for (int night = 1; night <= 20; ++night) {
    Result run = first;
    const std::string two = std::to_string(100 + night).substr(1);
    run.identity.uuid.replace(0, 2, two);
    run.identity.series_id = run.identity.uuid;
    run.identity.git_commit = std::string(40, night > 10 ? 'b' : 'a');
    run.identity.git_dirty = false;
    run.identity.started_at = "2026-03-" + two + "T01:00:00.000Z";
    run.identity.ended_at = "2026-03-" + two + "T01:01:00.000Z";
    const double level = 0.5 * (night > 10 ? 1.08 : 1) * (1 + 0.002 * ((night * 7) % 5));
    // What follows from a step's time goes with it.
    const std::vector<Sample> before = find_metric(first.metrics, "time.step")->samples;
    for (Metric& metric : run.metrics) {
      if (metric.unit != "s" && metric.unit != "samples/s") continue;
      for (std::size_t i = 0; i < metric.samples.size(); ++i) {
        Sample& sample = metric.samples[i];
        const double now = level * (1 + 0.01 * std::sin(static_cast<double>(sample.step * night)));
        const double times = now / *before.at(i).value;
        *sample.value *= metric.unit == "s" ? times : 1 / times;
      }
      summarise(metric);
    }
    run.cost.reset();
    write_result_file(run, folder / ("night-" + two + ".json"));
  }
}

/// Names that differ in their middles, as those of set-ups may.
std::string long_version(int number) {
  return "2.13.0-built-from-a-branch-" + std::to_string(number) + "-whose-name-tells-what-it-is";
}

/// Four runs of two set-ups, whose metrics have long names that differ in their middles.
void write_long_runs(const fs::path& original, const fs::path& folder) {
  const Result first = read_result_file(original);
  for (int number = 1; number <= 4; ++number) {
    Result run = first;
    run.identity.uuid.replace(0, 2, "a" + std::to_string(number));
    run.identity.series_id = run.identity.uuid;
    run.system["software"]["libtorch"] = long_version(number % 2);
    for (const char* pass : {"forward", "backward-data", "backward-weights"}) {
      for (int level = 0; level < 4; ++level) {
        Metric& metric = run.metrics.emplace_back(*find_metric(first.metrics, "time.step"));
        metric.tag = "time.stage.model.classification_head.convolution_blocks." +
                     std::to_string(level) + ".attention_and_projection.weights.of_the_pass." +
                     pass;
        for (Sample& sample : metric.samples) sample.value = 1 + 0.1 * level + 0.01 * number;
        summarise(metric);
      }
    }
    write_result_file(run, folder / ("long-" + std::to_string(number) + ".json"));
  }
}

/// The profile in `original`, with long names of its modules, operators and primitives. `more`: how
/// much longer some operators take.
void write_long_profile(const fs::path& original, const fs::path& file, double more) {
  Profile profile = profile_from_json(read_json(original));
  profile.system["software"]["libtorch"] = long_version(more > 0 ? 1 : 0);
  ProfileTables& tables = profile.tables;
  for (std::size_t i = 0; i < tables.operators.size(); ++i) {
    OperatorRow& row = tables.operators[i];
    row.module = "model.classification_head.convolution_blocks." + std::to_string(i % 14) +
                 ".attention_and_projection.weights";
    row.name += "_with_normalisation_of_each_channel_and_group_" + std::to_string(i) + "_in_place";
    const double longer =
        row.primitive_seconds > 0 ? 0 : row.self_seconds * more * static_cast<double>(i % 9);
    row.self_seconds += longer;
    tables.between_seconds -= longer;
  }
  for (std::size_t i = 0; i < tables.primitives.size(); ++i) {
    tables.primitives[i].primitive.implementation +=
        "_amx+brgconv_strided_with_padding_" + std::to_string(i) + "_and_more";
  }
  put_in_order(tables);
  write_with_digest(to_json(profile), file);
  CHECK(run_harness({"validate", file.string()}).code == 0);
}

/// A regression, what is the same, and what did not come to its end; names that are too long; texts
/// that attack.
void write_campaigns(const fs::path& sound, const fs::path& long_names, const fs::path& hostile) {
  const auto write = [](const fs::path& folder, const GateReport& report) {
    fs::create_directories(folder);
    write_verdict(folder, report);
  };
  write(sound / "campaign-1", sample_campaign(0.95));
  write(sound / "campaign-2", sample_campaign(1));
  GateReport report = sample_campaign(0.99, 96, 96);
  for (GateRow& row : report.rows) {
    row.tag = "time.stage.model.classification_head.convolution_blocks.7.attention." + row.tag;
    row.note = "a note that says much of what there is to say and goes on for some lines more";
  }
  report.rows.resize(14, report.rows.front());
  write(long_names / "campaign", report);
  report = sample_campaign(0.95);
  report.subject = report.baseline = report.method = kPayloads[0];
  for (GateRow& row : report.rows) row.tag = row.note = kPayloads[1];
  report.notes = kPayloads;
  write(hostile / "campaign", report);
}

/// A suite from the results tree, held against figures of its own that lie from 10 to 70 % off.
void write_suite(const fs::path& file) {
  const std::vector<fs::path> frozen =
      files_ending(home_folder() / "results" / "reference" / "intel-xeon-2-cores", ".json");
  REQUIRE(frozen.size() == 1);
  Suite suite = suite_from_json(read_json(frozen.front()));
  suite.reference->tier = suite.rules.tier;
  double factor = 1.1;
  for (SuiteTask& task : suite.tasks) {
    task.reference = task.figure->value * factor;
    task.ratio = ratio_of(*task.figure, *task.reference);
    task.no_ratio.clear();
    factor += 0.05;
  }
  suite.score = score_of(suite);
  write_with_digest(to_json(suite), file);
}

}  // namespace

TEST_CASE("files for the page's test are written", "[.]") {
  const char* wanted = ::getenv("HARNESS_WRITE_RESULTS");
  REQUIRE(wanted != nullptr);
  const fs::path folder = wanted;
  const TemporaryFolder scratch;
  const fs::path original = null_run(scratch / "run");
  const fs::path sound = folder / "sound";
  const fs::path hostile = folder / "hostile";
  const fs::path long_names = folder / "long";
  for (const fs::path& each : {sound, hostile, long_names}) fs::create_directories(each);
  write_history(original, sound);
  fs::copy_file(null_run(scratch / "custom", "custom"), sound / "custom.json");
  fs::copy_file(measured(scratch / "ablation",
                         {"ablate", "--workload", "null", "--clusters", "2", "--set", "step-ms=1"}),
                sound / "ablation.json");
  for (const char* kernels : {"reference", "custom"}) {
    measured(sound / kernels, {"run", "--workload", "null", "--tier", "training", "--kernels",
                               kernels, "--set", "quality=0.1,0.3,0.6"});
  }
  const fs::path recorded = null_profile(scratch / "recorded", "reference");
  write_profile(recorded, sound / "profile.json", 0);
  write_profile(null_profile(scratch / "recorded-custom", "custom"), sound / "profile-custom.json",
                0.5);
  write_long_runs(original, long_names);
  write_long_profile(sound / "profile.json", long_names / "profile.json", 0);
  write_long_profile(sound / "profile-custom.json", long_names / "profile-custom.json", 0.1);
  write_profile(recorded, scratch / "profile.json", 0);
  write_hostile(scratch / "profile.json", hostile / "profile.json", false);
  write_hostile(scratch / "profile.json", hostile / "profile-all.json", true);
  write_hostile(original, hostile / "<img src=x onerror=window.hostile=1>.json", false);
  write_hostile(original, hostile / "all.json", true);
  write_suite(sound / "suite.json");
  write_campaigns(sound, long_names, hostile);
  CHECK(run_harness({"report", sound.string()}).code == 0);
}

TEST_CASE("report writes a page or lines, and says what it left out", "[report][cli]") {
  const TemporaryFolder folder;
  const fs::path run = null_run(folder / "runs");
  const fs::path page = folder / "report.html";
  Outcome outcome = run_harness({"report", (folder / "runs").string(), "-o", page.string()});
  CHECK(outcome.code == 0);
  CHECK(outcome.out ==
        "report   " + page.string() + " (1 run, 0 ablations, 0 profiles, 0 suites)\n");
  CHECK_THAT(read_file(page, 64 << 20), Catch::StartsWith("<!DOCTYPE html>"));
  outcome = run_harness({"report", run.string()});
  CHECK(outcome.code == 0);
  CHECK_THAT(outcome.out, Catch::Contains("null") && Catch::Contains("time.step"));
  const fs::path profile = null_profile(folder / "profile", "reference");
  outcome = run_harness({"report", profile.string()});
  CHECK(outcome.code == 0);
  CHECK_THAT(outcome.out, Catch::Contains("profile") && Catch::Contains(" % of "));
  outcome = run_harness({"report", profile.string(), "-o", page.string()});
  CHECK(outcome.out ==
        "report   " + page.string() + " (0 runs, 0 ablations, 1 profile, 0 suites)\n");
  // The same file by two ways, a copy, and what is no result.
  fs::copy_file(run, folder / "runs" / "copy.json");
  std::ofstream(folder / "runs" / "other.json") << "{\"kind\": \"recipe\"}\n";
  outcome = run_harness({"report", (folder / "runs").string(), run.string()});
  CHECK(outcome.code == 0);
  CHECK_THAT(outcome.out, Catch::Contains("the same run as in") && Catch::Contains("'recipe'"));
}

TEST_CASE("report names bad files and still shows the good ones", "[report][cli]") {
  const TemporaryFolder folder;
  const fs::path run = null_run(folder / "runs");
  json document = read_json(run);
  const fs::path invalid = folder / "runs" / "invalid.json";
  document["identity"]["run_count"] = 0;
  write_with_digest(document, invalid);
  const std::string page = (folder / "report.html").string();
  Outcome outcome = run_harness({"report", (folder / "runs").string(), "-o", page});
  CHECK(outcome.code == 3);
  CHECK_THAT(outcome.err, Catch::Contains("invalid.json: /identity/run_count"));
  const std::string html = read_file(page, 64 << 20);
  CHECK_THAT(html, Catch::Contains("/identity/run_count") && Catch::Contains("time.step"));
  // What cannot be read goes first.
  std::ofstream(folder / "runs" / "damaged.json") << "{";
  outcome = run_harness({"report", (folder / "runs").string(), "-o", page});
  CHECK(outcome.code == 1);
  CHECK_THAT(outcome.err, Catch::Contains("damaged.json") && Catch::Contains("invalid.json"));
  CHECK(run_harness({"report", run.string(), (folder / "absent.json").string()}).code == 1);
}

TEST_CASE("report refuses what leaves nothing to show", "[report][cli]") {
  const TemporaryFolder folder;
  check_one_error(run_harness({"report"}), 1, "no file or folder");
  check_one_error(run_harness({"report", folder.path().string()}), 1, "there is no result");
  check_one_error(run_harness({"report", (folder / "absent.json").string()}), 1,
                  "absent.json: No such file or directory");
  const fs::path run = null_run(folder / "runs");
  check_one_error(run_harness({"report", run.string(), "-o", (folder / "no" / "r.html").string()}),
                  1, "no/r.html");
  CHECK_FALSE(fs::exists(folder / "no"));
}
