// End to end: commands that train to a target are gated by their steps and by whole trainings.
#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/base/files.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

/// A home whose `null` trains to a target unless told otherwise.
class TrainingHome {
 public:
  TrainingHome() {
    for (const char* part : {"rules", "results"}) {
      fs::copy(home_folder() / part, folder_ / part, fs::copy_options::recursive);
    }
    json rules = json::parse(read_file(home_folder() / "rules" / "null.json", 1 << 20));
    rules["default_tier"] = "training";
    write_file_atomically(folder_ / "rules" / "null.json", rules.dump());
  }

  std::string run(const std::string& more) const {
    return harness_program() + " run --workload null --set step-ms=1 " + more;
  }

  Outcome gate(const std::string& baseline, const std::string& candidate,
               std::vector<std::string> more) const {
    more.insert(more.begin(), {"gate", "--ab-base", baseline, "--ab-cand", candidate, "--out",
                               "campaign", "--pairs", "14", "--allow-debug", "--format", "json",
                               "--on-inconclusive", "pass"});
    return run_harness(more, {"HARNESS_HOME=" + folder_.path().string()}, folder_.path());
  }

  const TemporaryFolder& folder() const { return folder_; }

 private:
  TemporaryFolder folder_{};
};

json row_of(const json& report, const std::string& tag) {
  for (const json& row : report.at("rows")) {
    if (row.at("metric") == tag) return row;
  }
  return {};
}

}  // namespace

TEST_CASE("equal trainings are the same after one pair", "[gate][convergence][cli][long]") {
  const TrainingHome home;
  const Outcome outcome = home.gate(home.run(""), home.run(""), {});
  CAPTURE(outcome.out, outcome.err);
  const json report = json::parse(outcome.out);
  CHECK(row_of(report, "epochs.to-quality").at("verdict") == "same");
  CHECK(row_of(report, "losses").at("verdict") == "same");
  CHECK(fs::exists(home.folder() / "campaign/convergence/candidate/001"));
  CHECK_FALSE(fs::exists(home.folder() / "campaign/convergence/candidate/002"));
}

TEST_CASE("trainings may be left out", "[gate][convergence][cli][long]") {
  const TrainingHome home;
  const Outcome outcome = home.gate(home.run(""), home.run(""), {"--convergence-budget", "0"});
  CAPTURE(outcome.out, outcome.err);
  const json report = json::parse(outcome.out);
  CHECK(row_of(report, "epochs.to-quality").is_null());
  CHECK_THAT(report.at("notes").dump(), Catch::Contains("convergence is not judged"));
}
