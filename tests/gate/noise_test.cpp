// Recordings of noise: what they hold, and that nothing else is taken for one.
#include "tests/gate/noise.hpp"

#include <catch2/catch.hpp>
#include <fstream>
#include <stdexcept>

#include "tests/support/made_up_noise.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

namespace {

NoiseRecording read(const std::string& text) {
  const TemporaryFolder folder;
  std::ofstream(folder / "noise.txt") << text;
  return read_recording(folder / "noise.txt");
}

}  // namespace

TEST_CASE("a recording of runs is times and nothing else", "[gate][trials]") {
  std::string good = "# a machine\n";
  for (int i = 0; i < 70; ++i) good += "0.5\n";
  CHECK(read(good).seconds.size() == 70);
  CHECK(read(good).description == " a machine");
  CHECK_FALSE(read(good).resident());
  for (const char* bad :
       {"fast\n", "-1\n", "0\n", "nan\n", "inf\n", "0.5 0.5\n", "\n", "sides 2\n", "start 1 1\n"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(read(good + bad), std::runtime_error);
  }
  CHECK_THROWS_AS(read("0.5\n"), std::runtime_error);
  CHECK_THROWS_AS(read(""), std::runtime_error);
}

TEST_CASE("a recording of resident sides is clusters of rounds", "[gate][trials]") {
  const NoiseRecording recording = read(made_up_noise({12, 5, 3}));
  REQUIRE(recording.resident());
  CHECK(recording.seconds.empty());
  CHECK(recording.clusters.size() == 12);
  for (const NoiseCluster& cluster : recording.clusters) {
    CHECK(cluster.starts.size() == 3);
    REQUIRE(cluster.rounds.size() == 5);
    for (const std::vector<double>& round : cluster.rounds) CHECK(round.size() == 3);
  }
  CHECK(recording.description.find("made up") != std::string::npos);
}

TEST_CASE("clusters that are none are refused", "[gate][trials]") {
  const std::string good = made_up_noise({12, 5, 2});
  CHECK(read(good).clusters.size() == 12);
  for (const char* bad :
       {"round 1\n", "round 1 2 3\n", "round 1 0\n", "round 1 -2\n", "round 1 x\n", "start 1\n",
        "start 1 2\n", "1 2\n", "0.5\n", "sides 2\n", "round\n", "\n", "start 1 2\nstart 1 2\n"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(read(good + bad), std::runtime_error);
  }
  for (const char* bad : {"sides 1\n", "sides 9\n", "sides x\n", "sides\n", "sides 2 2\n",
                          "sides 2\nround 1 2\n", "start 1 2\n"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(read(bad), std::runtime_error);
  }
  CHECK_THROWS_AS(read(made_up_noise({7, 5, 2})), std::runtime_error);
}
