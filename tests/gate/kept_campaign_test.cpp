// Campaigns that are read from their folders.
#include "harness/gate/kept_campaign.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
#include "harness/gate/campaign_folder.hpp"
#include "harness/gate/plan_file.hpp"
#include "harness/gate/verdict_file.hpp"
#include "tests/support/gate_sides.hpp"
#include "tests/support/sample_campaign.hpp"
#include "tests/support/sample_clusters.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

namespace fs = std::filesystem;

namespace {

GateRules rules_in_lockstep() {
  GateRules rules = rules_for_steps();
  rules.command_metric = {"time.wall", 0.015};
  rules.lockstep.metrics = {{"time.unit", 0.015}, {"time.total", 0.015}};
  return rules;
}

void plan_of(const fs::path& folder, std::size_t clusters) {
  PlannedCampaign campaign;
  campaign.id = kCampaign;
  campaign.baseline.text = "a";
  campaign.candidate.text = "b";
  campaign.plan.nights = {Night{clusters, std::nullopt}};
  write_plan(folder, campaign);
}

/// So many clusters of a candidate that takes `times` as long, of which the third was tried twice.
void write_clusters(const fs::path& folder, std::int64_t count, double times) {
  std::ofstream file(folder / "campaign.jsonl");
  file << R"({"kind":"campaign","id":")" << kCampaign << R"(","baseline":"a","candidate":"b"})"
       << "\n";
  for (std::int64_t i = 1; i <= count; ++i) {
    const double noise = 1 + 0.004 * std::sin(static_cast<double>(i));
    const std::vector<MadeUpStep> before(10, {1.0, 2.5});
    const std::vector<MadeUpStep> now(10, {times * noise, 2.5});
    const ClusterRecord record =
        made_up_cluster(i, made_up_side("baseline", 4, before), made_up_side("candidate", 4, now));
    if (i == 3) {
      ClusterRecord failed = record;
      failed.sides.back().turns.clear();
      failed.failed = "candidate";
      failed.failure = "died";
      file << kept_line({failed, {}}) << "\n";
    }
    file << kept_line({record, {}}) << "\n";
  }
  file << R"({"cluster":)";  // the gate was killed here
}

}  // namespace

TEST_CASE("a campaign without its verdict is judged by its clusters", "[gate][folder]") {
  const TemporaryFolder folder;
  write_clusters(folder.path(), 30, 1.1);
  plan_of(folder.path(), 40);
  const KeptCampaign open = read_campaign(folder.path(), {}, rules_in_lockstep());
  CHECK(open.report.rows.front().tag == "time.step");
  CHECK(open.report.rows.front().improvements.size() == 30);
  CHECK(open.report.rows.front().improvements[0] ==
        Approx(1 / (1.1 * (1 + 0.004 * std::sin(1.0)))));
  CHECK(open.report.baseline == "a");
  // Both metrics were clear at a look: that is the campaign's end, whatever came behind it.
  CHECK(open.ended);
  CHECK(overall_word(open.report) == "regressed");
  write_clusters(folder.path(), 7, 1.1);
  const KeptCampaign early = read_campaign(folder.path(), {}, rules_in_lockstep());
  CHECK_FALSE(early.ended);
  CHECK(early.report.rows.front().improvements.size() == 7);
  CHECK(early.report.notes.back().ends_with(line_to_go_on(folder.path())));
  // What the gate said at the end goes before what would be said now.
  write_verdict(folder.path(), sample_campaign(1));
  CHECK(overall_word(read_campaign(folder.path(), {}, rules_in_lockstep()).report) == "same");
}

TEST_CASE("a file of clusters that was cut keeps each whole one", "[gate][folder]") {
  const TemporaryFolder folder;
  write_clusters(folder.path(), 3, 1);
  const fs::path file = folder / "campaign.jsonl";
  std::string text = read_file(file, 1 << 20);
  text.resize(text.rfind('\n') + 1);
  const auto cut_to = [&](std::size_t size) {
    std::ofstream(file) << text.substr(0, size);
    return read_clusters(file);
  };
  // The third was tried twice.
  CHECK(cut_to(text.size()).clusters.size() == 4);
  CHECK(cut_to(text.size()).unended.empty());
  const KeptClusters unended = cut_to(text.size() - 1);
  CHECK(unended.clusters.size() == 4);
  CHECK(kept_line(unended.clusters.back()) == unended.unended);
  CHECK_FALSE(unended.cut_off);
  const KeptClusters half = cut_to(text.size() - 2);
  CHECK(half.clusters.size() == 3);
  CHECK(half.cut_off);
  CHECK(half.lines.size == unended.lines.size);
  const KeptClusters none = cut_to(text.find('\n') / 2);
  CHECK(none.clusters.empty());
  CHECK(none.cut_off);
  CHECK(none.lines.size == 0);
}

TEST_CASE("a campaign of whole runs, or of any commands, is judged by these", "[gate][folder]") {
  const TemporaryFolder folder;
  std::vector<Result> runs;
  for (const Side& side : {of_campaign("baseline", 20, 0.5), of_campaign("candidate", 20, 0.45)}) {
    runs.insert(runs.end(), side.runs.begin(), side.runs.end());
  }
  plan_of(folder.path(), 20);
  const KeptCampaign of_runs = read_campaign(folder.path(), runs, rules_in_lockstep());
  CHECK(of_runs.ended);
  CHECK(overall_word(of_runs.report) == "faster");
  std::ofstream times(folder / "times.jsonl");
  for (int pair = 1; pair <= 20; ++pair) {
    times << R"({"side":"baseline","pair":)" << pair << R"(,"seconds":1.0})"
          << "\n"
          << R"({"side":"candidate","pair":)" << pair << R"(,"seconds":1.2})"
          << "\n";
  }
  times.close();
  const KeptCampaign of_times = read_campaign(folder.path(), {}, rules_in_lockstep());
  CHECK(of_times.ended);
  CHECK(overall_word(of_times.report) == "regressed");
  CHECK(of_times.report.rows.front().tag == "time.wall");
  // Without its plan nobody knows whether it ended.
  fs::remove(folder / "plan.jsonl");
  CHECK_THROWS_AS(read_campaign(folder.path(), {}, rules_in_lockstep()), Error);
}

TEST_CASE("what is no campaign is refused, and folders of campaigns are found", "[gate][folder]") {
  const TemporaryFolder folder;
  for (const char* name : {"night/b", "night/a", "other"}) fs::create_directories(folder / name);
  CHECK(campaign_folders({folder.path().string(), "/nowhere"}).empty());
  write_verdict(folder / "night" / "b", sample_campaign(1));
  write_clusters(folder / "night" / "a", 3, 1);
  const std::vector<fs::path> found =
      campaign_folders({folder.path().string(), (folder / "night").string()});
  REQUIRE(found.size() == 2);
  CHECK(found[0].filename() == "a");
  CHECK(found[1].filename() == "b");
  plan_of(folder / "other", 40);
  for (const char* text :
       {"\n", "{\n", "[]\n", "{\"cluster\":1}\n", "{\"cluster\":1,\"seconds\":1,\"sides\":[]}\n",
        "{\"cluster\":1,\"seconds\":1,\"sides\":[3,4]}\n", "{\"kind\":\"campaign\"}\n"}) {
    CAPTURE(text);
    std::ofstream(folder / "other" / "campaign.jsonl") << text;
    CHECK_THROWS_AS(read_campaign(folder / "other", {}, rules_in_lockstep()), Error);
  }
  fs::remove(folder / "other" / "campaign.jsonl");
  CHECK_THROWS_AS(read_campaign(folder / "other", {}, rules_in_lockstep()), Error);
}
