// The promises of the gate, kept on noise that was recorded on real machines.
#include "tests/gate/trials.hpp"

#include <catch2/catch.hpp>
#include <fstream>
#include <stdexcept>

#include "tests/support/temporary_folder.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

TEST_CASE("campaigns of recorded noise get the right verdicts", "[gate][trials]") {
  constexpr std::size_t kCampaigns = 5000;
  const std::vector<NoiseRecording> recordings = all_recordings(HARNESS_SOURCE_DIR);
  REQUIRE(recordings.size() >= 3);
  for (const NoiseRecording& recording : recordings) {
    CAPTURE(recording.name);
    // The same program on both sides: hardly ever an alarm.
    const TrialCounts alike = try_campaigns(recording, 1.0, kCampaigns, {}, 1);
    CHECK(alike.share(alike.regressed + alike.faster) <= 0.01);
    // 2 % slower is beyond the margin of 1.5 %, if hardly so: not to be called the same.
    const TrialCounts slower = try_campaigns(recording, 1.02, kCampaigns, {}, 1);
    CHECK(slower.share(slower.same) <= 0.05);
    CHECK(slower.share(slower.faster) <= 0.01);
    // 5 % slower is to be found; but not where a process measures for 13 ms, which differ by more.
    const TrialCounts slow = try_campaigns(recording, 1.05, kCampaigns, {}, 1);
    if (recording.name.starts_with("steps")) CHECK(slow.share(slow.regressed) >= 0.95);
    CHECK(slow.same == 0);
    CHECK(slow.faster == 0);
  }
}

TEST_CASE("trials are the same for the same seed and differ for another", "[gate][trials]") {
  NoiseRecording recording{"made up", "", {}};
  for (int i = 0; i < 500; ++i) recording.seconds.push_back(1 + 0.02 * ((i * 7919) % 100) / 100.0);
  const TrialCounts one = try_campaigns(recording, 1.02, 300, {}, 5);
  const TrialCounts same = try_campaigns(recording, 1.02, 300, {}, 5);
  const TrialCounts other = try_campaigns(recording, 1.02, 300, {}, 6);
  CHECK(one.pairs == same.pairs);
  CHECK(one.inconclusive == same.inconclusive);
  CHECK(one.pairs != other.pairs);
  CHECK(one.same + one.faster + one.regressed + one.inconclusive == 300);
}

TEST_CASE("a recording is times and nothing else", "[gate][trials]") {
  const TemporaryFolder folder;
  const auto read = [&](const std::string& text) {
    std::ofstream(folder / "noise.txt") << text;
    return read_recording(folder / "noise.txt");
  };
  std::string good = "# a machine\n";
  for (int i = 0; i < 70; ++i) good += "0.5\n";
  CHECK(read(good).seconds.size() == 70);
  CHECK(read(good).description == " a machine");
  CHECK_THROWS_AS(read(good + "fast\n"), std::runtime_error);
  CHECK_THROWS_AS(read(good + "-1\n"), std::runtime_error);
  CHECK_THROWS_AS(read("0.5\n"), std::runtime_error);
}
