// End to end: what an edited result states otherwise than its facts and the rules give is found,
// although its digest fits.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "harness/result/canonical_json.hpp"
#include "harness/result/digest.hpp"
#include "tests/support/files_of_runs.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

/// A file of a measuring command, to be edited and validated again and again.
class Original {
 public:
  explicit Original(std::vector<std::string> command) {
    const std::string name = command.front();
    command = with_step_ms("0", {command.begin() + 1, command.end()});
    command.insert(command.begin(), {name, "--out", folder_.path().string()});
    CHECK(run_harness(command).code != 1);
    const std::vector<fs::path> files = files_ending(folder_.path(), ".json");
    REQUIRE(files.size() == 1);
    file_ = files[0];
    document_ = json::parse(read_file(file_, 64 << 20));
  }

  Outcome validated(const std::function<void(json&)>& edit) const {
    json copy = document_;
    edit(copy);
    copy["digest"] = digest_of(copy);
    std::ofstream(file_) << readable_json(copy);
    return run_harness({"validate", file_.string()});
  }

  void refuses(const std::function<void(json&)>& edit, const std::string& part) const {
    const Outcome outcome = validated(edit);
    CAPTURE(outcome.out, outcome.err);
    CHECK(outcome.code == 3);
    CHECK_THAT(outcome.out, Catch::Contains(": not valid: "));
    CHECK_THAT(outcome.out, Catch::Contains(part));
  }

  void accepts(const std::function<void(json&)>& edit, const std::string& part = "") const {
    const Outcome outcome = validated(edit);
    CAPTURE(outcome.out, outcome.err);
    CHECK(outcome.code == 0);
    CHECK_THAT(outcome.out, Catch::Contains(part));
  }

 private:
  TemporaryFolder folder_;
  fs::path file_;
  json document_;
};

json& effective(json& document) { return document["settings"]["effective"]; }

/// As if each step had consumed seven samples instead of one.
void use_batch_of_seven(json& document) {
  effective(document)["batch_size"] = 7;
  for (json& metric : document["metrics"]) {
    if (metric["tag"] != "throughput.samples") continue;
    const auto scale = [](json& value) {
      if (value.is_number()) value = 7 * value.get<double>();
    };
    for (json& sample : metric["samples"]) scale(sample["value"]);
    json& summary = metric["summary"];
    for (const char* key : {"min", "max", "p90", "p99"}) scale(summary[key]);
    scale(summary["median"]["center"]);
    for (const char* key : {"low", "high"}) scale(summary["quartiles"][key]);
  }
}

void swapping(json& document) {
  document["environment"]["before"]["swapped_pages"] = 0;
  document["environment"]["after"]["swapped_pages"] = 100000;
}

}  // namespace

TEST_CASE("a run's division and departures are derived again", "[recheck]") {
  const Original run({"run", "--workload", "null"});
  run.accepts([](json&) {});
  run.refuses(
      [](json& d) { effective(d)["precision"] = "bf16"; },
      "/workload/departures: breaks rule departures: expected /settings/effective/precision "
      "(\"bf16\" instead of \"fp32\"), is not listed");
  run.refuses([](json& d) { effective(d)["batch_size"] = 7; },
              "/settings/effective/batch_size (7 instead of 1), is not listed");
  run.refuses([](json& d) { d["workload"]["mlperf_equivalent"] = true; },
              "/workload/mlperf_equivalent");
  run.refuses(
      [](json& d) {
        d["workload"]["division"] = "open";
        d["workload"]["departures"] = {
            {{"path", "/settings/effective/threads"}, {"expected", "1"}, {"actual", "2"}}};
      },
      "/workload/departures/0");
  // With its departure listed the same file is one of the open division.
  const auto open = [](json& d) {
    use_batch_of_seven(d);
    d["workload"]["division"] = "open";
    d["workload"]["departures"] = {
        {{"path", "/settings/effective/batch_size"}, {"expected", "1"}, {"actual", "7"}}};
  };
  run.accepts(open);
  run.refuses(
      [&](json& d) {
        open(d);
        d["workload"]["departures"][0]["actual"] = "2";
      },
      "is /settings/effective/batch_size (2 instead of 1)");
}

TEST_CASE("whoever asked for the open division is in it", "[recheck]") {
  const Original run({"run", "--workload", "null", "--division", "open"});
  run.accepts([](json&) {});
  run.refuses([](json& d) { d["workload"]["division"] = "closed"; }, "/workload/division");
}

TEST_CASE("departures that a run lists are those that are derived", "[recheck]") {
  const Original run({"run", "--workload", "null", "--precision", "bf16", "--batch-size", "2",
                      "--quality-target", "0.25", "--tier", "standard", "--runs", "1", "--set",
                      "step-ms=5"});
  run.accepts([](json& d) { REQUIRE(d["workload"]["departures"].size() == 4); });
  for (int i = 0; i < 4; ++i) {
    run.refuses([&](json& d) { d["workload"]["departures"].erase(i); }, "is not listed");
  }
  run.refuses(
      [](json& d) {
        d["workload"]["departures"] = json::array();
        d["workload"]["division"] = "closed";
      },
      "/workload/division: breaks rule division: expected open, is closed");
}

TEST_CASE("a lowered quality target is found", "[recheck]") {
  const Original run({"run", "--workload", "null", "--set", "quality=0.3"});
  const auto pass = [](json& d) {
    d["quality"]["target"] = 0.2;
    d["quality"]["passed"] = true;
    d["quality"]["reached_at_step"] = 22;
    d["quality"].erase("missing");
    d["status"]["state"] = "valid";
    d["status"]["violations"] = json::array();
  };
  run.refuses(pass, "/quality/target: 0.2, but the settings have 0.5");
  run.refuses(
      [&](json& d) {
        pass(d);
        effective(d)["quality_target"] = 0.2;
      },
      "/settings/effective/quality_target (0.2 instead of 0.5), is not listed");
}

TEST_CASE("the quality is that of the rules", "[recheck]") {
  const Original run({"run", "--workload", "null"});
  run.refuses([](json& d) { d["quality"]["metric"] = "another"; }, "/quality/metric");
  run.refuses(
      [](json& d) {
        d["quality"]["direction"] = "lower";
        d["quality"]["value"] = 0.1;
      },
      "/quality/direction");
}

TEST_CASE("a kernel that the workload does not have is found", "[recheck]") {
  const Original run({"run", "--workload", "null"});
  run.refuses([](json& d) { d["kernels"]["nothing"] = "bogus"; },
              "/kernels/nothing: breaks rule kernels: expected one of reference, custom, "
              "elsewhere, is bogus");
  run.refuses([](json& d) { d["kernels"]["all"] = "custom"; }, "/kernels/all");
}

TEST_CASE("reasons for mistrust that were removed are found", "[recheck]") {
  const Original run({"run", "--workload", "null"});
  const auto trust = [](json& d) {
    swapping(d);
    d["status"]["mistrusted"] = false;
    d["status"]["mistrust_reasons"] = json::array();
  };
  run.refuses(trust, "/status/mistrust_reasons: breaks rule mistrust: expected '100000 pages");
  // Another commit may word it otherwise, but not leave it out.
  const auto other_commit = [&](json& d) {
    trust(d);
    d["identity"]["git_commit"] = std::string(40, 'a');
    d["identity"].erase("missing");
  };
  run.refuses(other_commit, "/status/mistrust_reasons");
}

TEST_CASE("under other rules only what can be judged is judged", "[recheck]") {
  const Original run({"run", "--workload", "null"});
  run.accepts(
      [](json& d) {
        d["workload"]["rules_version"] = "0.9.0";
        use_batch_of_seven(d);
      },
      "note: not judged by its rules: it was made under version 0.9.0");
  run.refuses(
      [](json& d) {
        d["workload"]["rules_version"] = "0.9.0";
        d["kernels"]["nothing"] = "bogus";
      },
      "/kernels/nothing");
  run.refuses([](json& d) { d["workload"]["rules_sha256"] = std::string(64, 'a'); },
              "/workload/rules_sha256");
}

TEST_CASE("an ablation's division and bases are derived again", "[recheck]") {
  const Original ablation({"ablate", "--workload", "null", "--rounds", "1"});
  ablation.accepts([](json&) {});
  ablation.refuses([](json& d) { effective(d)["batch_size"] = 9; },
                   "/settings/effective/batch_size (9 instead of 1), is not listed");
  ablation.refuses([](json& d) { d["variants"][1]["settings"]["kernels"]["nothing"] = "bogus"; },
                   "/variants/1/settings/kernels/nothing");
  // Against the first instead of 'pooled', with the ratio that belongs to it.
  ablation.refuses(
      [](json& d) {
        json& variant = d["variants"][2];
        variant["ratio_to_previous"] = variant["ratio_to_first"];
      },
      "/variants/2/ratio_to_previous/to: breaks rule variant-base: expected 'pooled', is "
      "'out-of-the-box'");
}

TEST_CASE("an ablation with fewer rounds or variants is sound as it is", "[recheck]") {
  Original({"ablate", "--workload", "null", "--rounds", "3", "--clusters", "2", "--variants",
            "out-of-the-box,bf16"})
      .accepts(
          [](json& d) { CHECK(d["variants"][1]["ratio_to_previous"]["to"] == "out-of-the-box"); });
}

TEST_CASE("aborted and dry runs are sound as they are", "[recheck]") {
  const Original aborted({"run", "--workload", "null", "--set", "fail-at=9", "--batch-size", "2"});
  const Outcome outcome = aborted.validated([](json&) {});
  CHECK_THAT(outcome.out, Catch::Contains("sound file of an aborted run"));
  aborted.refuses([](json& d) { effective(d)["batch_size"] = 7; }, "/workload/departures");
  Original({"run", "--workload", "null", "--tier", "standard", "--dry-run"}).accepts([](json&) {});
}
