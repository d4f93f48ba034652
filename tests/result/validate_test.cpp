#include "harness/result/validate.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <functional>

#include "harness/base/files.hpp"
#include "harness/base/json_reader.hpp"
#include "harness/result/canonical_json.hpp"
#include "harness/result/digest.hpp"
#include "harness/result/result_file.hpp"
#include "harness/result/result_json.hpp"
#include "tests/support/problem_names.hpp"
#include "tests/support/sample_result.hpp"
#include "tests/support/temporary_folder.hpp"

namespace fs = std::filesystem;
using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;

namespace {

class Fixture {
 public:
  Fixture() { write_result_file(sample_result(), file()); }

  fs::path file() const { return folder_ / "r.json"; }

  ValidationReport with_text(const std::string& text) const {
    std::ofstream(file()) << text;
    return validate_result_file(file());
  }

  /// Validates the sample after `edit`; with a digest that fits unless told otherwise.
  ValidationReport edited(const std::function<void(json&)>& edit, bool mend_digest = true) const {
    json document = to_json(sample_result());
    document["digest"] = digest_of(document);
    edit(document);
    if (mend_digest) document["digest"] = digest_of(document);
    return with_text(readable_json(document));
  }

 private:
  TemporaryFolder folder_;
};

}  // namespace

TEST_CASE_METHOD(Fixture, "a sound file of a valid run is valid", "[validate]") {
  const ValidationReport report = validate_result_file(file());
  CHECK(report.problems.empty());
  CHECK(report.code == ExitCode::kOk);
  CHECK(report.summary == "valid");
  REQUIRE(report.as<Result>() != nullptr);
  CHECK(report.result->rules.workload == "null");
}

TEST_CASE_METHOD(Fixture, "an edited number breaks the digest", "[validate]") {
  std::string text = read_file(file(), 1 << 20);
  const std::size_t at = text.find("0.53");
  REQUIRE(at != std::string::npos);
  text[at + 3] = '2';
  const ValidationReport report = with_text(text);
  CHECK(names(report, "/digest", "damaged or edited"));
  CHECK(report.code == ExitCode::kUsage);
  CHECK_THROWS_WITH(read_result_file(file()), Catch::Contains("damaged or edited"));
}

TEST_CASE_METHOD(Fixture, "white space and the order of keys do not matter", "[validate]") {
  const json document = read_json_file(file());
  CHECK(with_text(document.dump(7)).code == ExitCode::kOk);
}

TEST_CASE_METHOD(Fixture, "a file cut short anywhere is not JSON", "[validate]") {
  const std::string text = read_file(file(), 1 << 20);
  for (std::size_t size = 0; size + 2 < text.size(); size += 997) {
    const ValidationReport report = with_text(text.substr(0, size));
    CHECK(names(report, "", size == 0 ? "is empty" : "not JSON at line"));
    CHECK(report.code == ExitCode::kUsage);
    CHECK(report.result == nullptr);
  }
}

TEST_CASE_METHOD(Fixture, "a file that is missing, a folder or of 1 GB is unreadable",
                 "[validate]") {
  CHECK(validate_result_file(file().parent_path() / "none.json").code == ExitCode::kUsage);
  CHECK(validate_result_file(file().parent_path()).code == ExitCode::kUsage);
  fs::resize_file(file(), std::uintmax_t{1} << 30);
  const ValidationReport report = validate_result_file(file());
  CHECK(names(report, "", "over the limit"));
  CHECK(report.code == ExitCode::kUsage);
}

TEST_CASE_METHOD(Fixture, "NaN, deep nesting, a key twice and a huge string are refused",
                 "[validate]") {
  const std::string text = read_file(file(), 1 << 20);
  const auto replaced = [&](const std::string& from, const std::string& to) {
    std::string copy = text;
    const std::size_t at = copy.find(from);
    REQUIRE(at != std::string::npos);
    return copy.replace(at, from.size(), to);
  };
  CHECK(names(with_text(replaced("0.53", "NaN")), "", "not JSON"));
  CHECK(names(with_text(replaced("0.53", std::string(100000, '['))), "", "64 deep"));
  CHECK(names(with_text(replaced("\"kind\"", "\"digest\": 1, \"kind\"")), "", "there twice"));
  CHECK(
      names(with_text(replaced("Made-up 9000", std::string(1 << 20, 'x'))), "", "over the limit"));
  CHECK(names(with_text(replaced("Made-up 9000", std::string(5000, 'x'))), "/system/cpu/model_name",
              "over the limit"));
}

TEST_CASE_METHOD(Fixture, "the digest is 64 small hex digits, no more, no less", "[validate]") {
  for (const char* digest : {"", "ABCDEF", "0"}) {
    const auto report = edited([&](json& document) { document["digest"] = digest; }, false);
    CHECK(report.code == ExitCode::kUsage);
  }
  CHECK(edited([](json& document) { document.erase("digest"); }, false).code == ExitCode::kUsage);
  const auto upper = edited(
      [](json& document) {
        std::string digest = document["digest"];
        for (char& c : digest) c = static_cast<char>(std::toupper(c));
        document["digest"] = digest;
      },
      false);
  CHECK(names(upper, "/digest", "damaged"));
  CHECK(names(upper, "/digest", "pattern"));
  CHECK(upper.code == ExitCode::kUsage);
}

TEST_CASE_METHOD(Fixture, "what is no result of a known kind and version says so", "[validate]") {
  CHECK(names(with_text("[]"), "", "not a result file"));
  CHECK(names(with_text("{}"), "/kind", "not a result file"));
  const auto kind = edited([](json& document) { document["kind"] = "sketch"; });
  CHECK(names(kind, "/kind", "'sketch' is unknown"));
  CHECK(kind.code == ExitCode::kInvalid);
  const auto with_version = [&](const char* version) {
    return edited([&](json& document) { document["schema_version"] = version; });
  };
  CHECK(with_version("1.0.7").problems.empty());
  CHECK(with_version("1.1.0").problems.empty());
  CHECK(names(with_version("1.99.0"), "/schema_version", "use a newer harness"));
  CHECK(names(with_version("2.0.0"), "/schema_version", "use a newer harness"));
  CHECK(names(with_version("0.9.0"), "/schema_version", "the harness that wrote it"));
  CHECK(names(with_version("one"), "/schema_version", "not of the form"));
}

TEST_CASE_METHOD(Fixture, "each break of the schema is named by path", "[validate]") {
  const auto report = edited([](json& document) {
    document["surprise"] = 1;
    document["metrics"][0]["samples"][1]["value"] = "fast";
    document["seeds"]["run"] = 4294967296;
    document["notice"] = "Verified.";
    document["workload"].erase("tier");
  });
  CHECK(names(report, "", "unknown field 'surprise'"));
  CHECK(names(report, "/metrics/0/samples/1/value", "fast"));
  CHECK(names(report, "/seeds/run", "4294967296"));
  CHECK(names(report, "/notice", "Verified."));
  CHECK(names(report, "/workload", "Missing required property 'tier'"));
  CHECK(report.code == ExitCode::kInvalid);
}

TEST_CASE_METHOD(Fixture, "parts that disagree are named by path", "[validate]") {
  struct Case {
    std::function<void(json&)> edit;
    const char* path;
    const char* reason;
  };
  const Case cases[] = {
      {[](json& d) { d["metrics"][0]["summary"]["median"]["center"] = 0.4; },
       "/metrics/0/summary/median/center", "0.4, but the samples give 0.505"},
      {[](json& d) { d["metrics"][0]["summary"]["n"] = 7; }, "/metrics/0/summary/n", "give 6"},
      {[](json& d) { d["metrics"][0]["summary"]["max"] = 0.6; }, "/metrics/0/summary/max", "0.53"},
      {[](json& d) { d["metrics"][0]["summary"]["p90"] = 0.53; }, "/metrics/0/summary/p90",
       "give null"},
      {[](json& d) { d["metrics"][0]["samples"][5]["value"] = 5; }, "/metrics/0/summary/max",
       "give 5"},
      {[](json& d) { d["metrics"][1]["samples"][2]["warmup"] = true; },
       "/metrics/1/samples/2/warmup", "true at step 3"},
      {[](json& d) { d["metrics"][1]["samples"][2]["step"] = 1; }, "/metrics/1/samples/2/step",
       "goes back"},
      {[](json& d) { d["metrics"][1]["samples"][2]["value"] = nullptr; },
       "/metrics/1/samples/2/reason", "null"},
      {[](json& d) { d["identity"]["run_index"] = 4; }, "/identity/run_index", "run_count 3"},
      {[](json& d) { d["identity"]["ended_at"] = "2026-01-31T11:59:59.999Z"; },
       "/identity/ended_at", "before started_at"},
      {[](json& d) { d["workload"]["division"] = "open"; }, "/workload/division",
       "without a departure"},
      {[](json& d) {
         d["workload"]["departures"] = {{{"path", "/a"}, {"expected", "1"}, {"actual", "2"}}};
       },
       "/workload/division", "closed, with"},
      {[](json& d) { d["status"]["state"] = "invalid"; }, "/status/state", "without a violation"},
      {[](json& d) {
         d["status"]["violations"] = {
             {{"rule", "r"}, {"path", "/p"}, {"expected", ""}, {"actual", ""}, {"hint", ""}}};
       },
       "/status/state", "valid, with violations"},
      {[](json& d) { d["status"]["mistrusted"] = true; }, "/status/mistrusted", "without a reason"},
      {[](json& d) { d["quality"]["value"] = 0.1; }, "/quality/passed", "checks give false"},
      {[](json& d) { d["quality"]["direction"] = "lower"; }, "/quality/passed", "give false"},
      {[](json& d) { d["quality"]["checks"][0]["error"] = 1; }, "/quality/checks/0/passed",
       "over the tolerance"},
      {[](json& d) { d["quality"]["passed"] = false; }, "/status/state", "not reached"},
      {[](json& d) { d["peaks"][0]["value"]["center"] = 2e12; }, "/peaks/0/value/center",
       "1000000000000"},
      {[](json& d) { d["peaks"][1].erase("reason"); }, "/peaks/1/reason", "null"},
      {[](json& d) { d["peaks"][0]["reason"] = "none"; }, "/peaks/0/reason", "only with one"},
      {[](json& d) { d["cost"]["achieved_flops_per_second"] = 1e12; },
       "/cost/achieved_flops_per_second", "over the median step"},
      {[](json& d) { d["cost"]["utilisation"] = 0.9; }, "/cost/utilisation", "fma.fp32"},
      {[](json& d) { d["system"].erase("missing"); }, "/system/cpu/microcode", "without a reason"},
      {[](json& d) { d["data"] = nullptr; }, "/data", "without a reason"},
  };
  for (const Case& one : cases) {
    const ValidationReport report = edited(one.edit);
    INFO(one.path);
    CHECK(names(report, one.path, one.reason));
    CHECK(report.code == ExitCode::kInvalid);
    CHECK_THAT(report.summary, Catch::Contains("not valid"));
  }
}

TEST_CASE_METHOD(
    Fixture, "script in any text is refused or harmless, and no message carries control characters",
    "[validate]") {
  const std::string evil = "<img src=x onerror=alert(1)>\"'&\x1b]0;x\x07\n../../etc/passwd\u202e";
  const json document = to_json(sample_result()).flatten();
  int texts = 0;
  for (const auto& [pointer, value] : document.items()) {
    if (!value.is_string()) continue;
    ++texts;
    CAPTURE(pointer);
    const auto report = edited([&, &at = pointer](json& d) { d[json::json_pointer(at)] = evil; });
    CHECK(report.code == (report.problems.empty() ? ExitCode::kOk : ExitCode::kInvalid));
    std::string said = report.summary;
    for (const SchemaProblem& problem : report.problems) said += problem.path + problem.reason;
    CHECK(said.find_first_of("\x1b\x07\n") == std::string::npos);
    // Names and identifiers take part in paths and comparisons: nothing of the kind is one.
    const bool bound = pointer.starts_with("/workload/name") || pointer.ends_with("/uuid") ||
                       pointer.ends_with("_at") || pointer.starts_with("/kernels/") ||
                       pointer == "/kind" || pointer == "/notice" || pointer == "/status/state";
    CHECK((!bound || !report.problems.empty()));
  }
  CHECK(texts > 40);
}

TEST_CASE_METHOD(Fixture, "numbers at the ends of what a double holds are judged like any other",
                 "[validate]") {
  const double values[] = {1e308,
                           -1e308,
                           1.7976931348623157e308,
                           5e-324,
                           2.2250738585072014e-308,
                           -0.0,
                           9007199254740991.0};
  for (const double value : values) {
    CAPTURE(value);
    Result result = sample_result();
    result.metrics[1] = sample_metric("loss.total", "1", std::vector<double>(60, value));
    write_result_file(result, file());
    CHECK(validate_result_file(file()).problems.empty());
    CHECK(to_json(read_result_file(file())) == to_json(result));
    // In the place of any number: whatever it is called, there is a report.
    const json document = to_json(sample_result()).flatten();
    for (const auto& [pointer, old] : document.items()) {
      if (!old.is_number() || (value != 1e308 && value != 5e-324)) continue;
      CAPTURE(pointer);
      const auto report =
          edited([&, &at = pointer](json& d) { d[json::json_pointer(at)] = value; });
      CHECK(report.code == (report.problems.empty() ? ExitCode::kOk : ExitCode::kInvalid));
    }
  }
  // One of a million digits is no double, and one beyond all bounds neither.
  CHECK(names(with_text("[1e309]"), "", "1e309 is too large"));
  CHECK(with_text("[" + std::string(1 << 20, '9') + "]").code == ExitCode::kUsage);
}

TEST_CASE_METHOD(Fixture, "a million sound samples are read and judged", "[validate]") {
  Result result = sample_result();
#ifdef __SANITIZE_ADDRESS__
  constexpr int kSamples = 100'000;  // of a million: five minutes
#else
  constexpr int kSamples = 1'000'000;
#endif
  std::vector<double> values;
  for (int i = 0; i < kSamples; ++i) values.push_back(1e-7 * (1 + i % 97 / 97.0));
  result.metrics = {sample_metric("loss.total", "1", values)};
  result.cost.reset();
  write_result_file(result, file());
  const ValidationReport report = validate_result_file(file());
  CHECK(report.problems.empty());
  REQUIRE(report.as<Result>() != nullptr);
  CHECK(report.as<Result>()->metrics.at(0).summary.n == kSamples - 2);
}

TEST_CASE_METHOD(Fixture, "what was redacted is there, and says what the file was", "[validate]") {
  const auto submission = [&](const json& redacted) {
    return edited([&](json& d) {
      d["submission"] = {{"original_digest", std::string(64, 'c')}, {"redacted", redacted}};
    });
  };
  CHECK(submission(json::array()).problems.empty());
  CHECK(submission({"/identity/command_line/0", "/data/source"}).problems.empty());
  for (const char* wrong : {"/identity/command_line/99", "/identity/command_line/x", "/none",
                            "none", "/identity/command_line/99999999999999999999", "/~7"}) {
    CAPTURE(wrong);
    CHECK(names(submission(json::array({wrong})), "/submission/redacted/0", "points to nothing"));
  }
  CHECK(names(edited([](json& d) { d["submission"] = json::object(); }), "/submission",
              "Missing required property 'original_digest'"));
}

TEST_CASE_METHOD(Fixture, "a million wrong samples cost neither memory nor patience",
                 "[validate]") {
  const auto report = edited([](json& document) {
    document["metrics"][0]["samples"] = json::array();
    for (int i = 0; i < 20000; ++i) document["metrics"][0]["samples"].push_back(i);
  });
  CHECK(report.problems.size() == kMostProblems + 1);
}

TEST_CASE_METHOD(Fixture, "a sound file of a run that is no measurement says so", "[validate]") {
  Result result = sample_result();
  SECTION("invalid") {
    result.status.state = RunState::kInvalid;
    result.status.violations = {{"minimum-steps", "/metrics", "20", "6", "run longer"}};
    write_result_file(result, file());
    const ValidationReport report = validate_result_file(file());
    CHECK(report.problems.empty());
    CHECK(report.summary == "sound file of an invalid run: 1 violation");
    CHECK(report.code == ExitCode::kInvalid);
  }
  SECTION("aborted") {
    result.status.state = RunState::kAborted;
    write_result_file(result, file());
    const ValidationReport report = validate_result_file(file());
    CHECK(report.problems.empty());
    CHECK(report.summary == "sound file of an aborted run");
    CHECK(report.code == ExitCode::kInvalid);
  }
  SECTION("target missed") {
    result.status.state = RunState::kAborted;
    result.status.violations = {{kConvergedRule, "/quality", "0.9", "0.8", "train longer"}};
    write_result_file(result, file());
    const ValidationReport report = validate_result_file(file());
    CHECK(report.problems.empty());
    CHECK(report.summary == "sound file of a run that missed its target");
    CHECK(report.code == ExitCode::kInvalid);
  }
  SECTION("dry run") {
    result.status.state = RunState::kDryRun;
    write_result_file(result, file());
    const ValidationReport report = validate_result_file(file());
    CHECK_THAT(report.summary, Catch::Contains("no measurement"));
    CHECK(report.code == ExitCode::kOk);
  }
  CHECK(read_result_file(file()).status.state == result.status.state);
}

TEST_CASE_METHOD(Fixture, "the rules are asked again", "[validate]") {
  const Violation violation{"minimum-steps", "/metrics", "at least 20", "6", "run longer"};
  const RulesCheck strict = [&](const ResultKind&, const ResultCommon&, const json&) {
    return std::vector{violation};
  };
  const ValidationReport report = validate_result_file(file(), strict);
  CHECK(names(report, "/metrics", "minimum-steps: expected at least 20, is 6"));
  CHECK(report.code == ExitCode::kInvalid);

  Result honest = sample_result();
  honest.status.state = RunState::kInvalid;
  honest.status.violations = {violation};
  write_result_file(honest, file());
  CHECK(validate_result_file(file(), strict).problems.empty());

  const RulesCheck lost = [](const ResultKind&, const ResultCommon&,
                             const json&) -> std::vector<Violation> {
    throw Error("rules/null.json", "No such file or directory");
  };
  CHECK(names(validate_result_file(file(), lost), "/workload/rules_file", "No such file"));
}

TEST_CASE("the reference results in the repository are valid", "[validate]") {
  int checked = 0;
  for (const auto& entry : fs::recursive_directory_iterator(home_folder() / "results")) {
    const bool schema = entry.path().parent_path().filename() == "schema";
    if (entry.path().extension() != ".json" || schema) continue;
    CAPTURE(entry.path());
    CHECK(validate_result_file(entry.path()).code == ExitCode::kOk);
    ++checked;
  }
  CHECK(checked >= 3);
}
