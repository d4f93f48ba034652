// Whether two sides converge alike.
#include "harness/gate/convergence.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <random>
#include <string>
#include <vector>

using namespace harness;  // NOLINT(google-build-using-namespace)

namespace {

const ConvergenceRules kRules{};
const GateOptions kOptions{};

/// Trainings of at most 12 epochs; 0: the target was missed. No two have one course.
std::vector<TrainedRun> runs_of(const std::vector<std::int64_t>& epochs, double of_an_epoch = 20) {
  static double loss = 1;
  std::vector<TrainedRun> runs;
  for (const std::int64_t count : epochs) {
    TrainedRun run;
    run.reached = count > 0;
    run.epochs = run.reached ? count : 12;
    run.max_epochs = 12;
    run.seconds = of_an_epoch * static_cast<double>(run.epochs);
    run.course = {{loss += 0.001, 0.5}};
    runs.push_back(run);
  }
  return runs;
}

const GateRow& row(const Convergence& found, const std::string& tag) {
  for (const GateRow& one : found.rows) {
    if (one.tag == tag) return one;
  }
  throw std::runtime_error("no row " + tag);
}

Convergence judged(const std::vector<TrainedRun>& baseline,
                   const std::vector<TrainedRun>& candidate) {
  return judge_convergence(baseline, candidate, baseline.size(), kRules, kOptions);
}

Verdict epochs_verdict(const std::vector<std::int64_t>& baseline,
                       const std::vector<std::int64_t>& candidate) {
  return row(judged(runs_of(baseline), runs_of(candidate)), "epochs.to-quality").verdict;
}

}  // namespace

TEST_CASE("trainings that are equal to the last bit are the same at once", "[gate][convergence]") {
  const std::vector<TrainedRun> one = runs_of({9});
  const Convergence found = judge_convergence(one, one, 12, kRules, kOptions);
  CHECK(found.same_bits);
  CHECK(row(found, "epochs.to-quality").verdict == Verdict::kSame);
  // One bit, one step, or one epoch more.
  for (int change = 0; change < 4; ++change) {
    std::vector<TrainedRun> other = one;
    if (change == 0) other[0].course[0][0] = std::nextafter(other[0].course[0][0], 2.0);
    if (change == 1) other[0].course[0].push_back(0.5);
    if (change == 2) other[0].epochs = 10;
    if (change == 3) other[0].course.clear();
    const Convergence differs = judge_convergence(one, other, 12, kRules, kOptions);
    CHECK_FALSE(differs.same_bits);
    CHECK(row(differs, "epochs.to-quality").verdict == Verdict::kInconclusive);
  }
  // What tells nothing shows nothing.
  std::vector<TrainedRun> silent = one;
  silent[0].course.clear();
  CHECK_FALSE(judge_convergence(silent, silent, 12, kRules, kOptions).same_bits);
}

TEST_CASE("other bits need six seeds a side", "[gate][convergence]") {
  CHECK(epochs_verdict({9, 9, 9, 9, 9}, {9, 9, 9, 9, 9}) == Verdict::kInconclusive);
  CHECK(epochs_verdict({9, 9, 9, 10, 9, 9}, {9, 9, 9, 9, 10, 9}) == Verdict::kSame);
  // Not before all that were planned are there.
  const Convergence early = judge_convergence(runs_of({9, 9, 9, 10, 9, 9}),
                                              runs_of({9, 9, 9, 9, 10, 9}), 8, kRules, kOptions);
  CHECK(row(early, "epochs.to-quality").verdict == Verdict::kInconclusive);
}

TEST_CASE("slower convergence has regressed, and misses are slower than all",
          "[gate][convergence]") {
  CHECK(epochs_verdict({8, 9, 9, 9, 9, 10, 9, 9}, {11, 12, 12, 11, 12, 12, 12, 11}) ==
        Verdict::kRegressed);
  CHECK(epochs_verdict({8, 9, 9, 9, 9, 10, 9, 9}, {0, 0, 0, 0, 0, 0, 0, 0}) == Verdict::kRegressed);
  CHECK(epochs_verdict({11, 12, 12, 11, 12, 12, 12, 11}, {8, 9, 9, 9, 9, 10, 9, 9}) ==
        Verdict::kFaster);
  // An epoch more is more than the margin's worth, and nothing can be said.
  CHECK(epochs_verdict({9, 9, 9, 9, 9, 10}, {9, 12, 9, 12, 9, 12}) == Verdict::kInconclusive);
}

TEST_CASE("one miss is chance, four in five are not", "[gate][convergence]") {
  const std::vector<std::int64_t> clean(96, 9);
  std::vector<std::int64_t> one_miss = clean;
  one_miss[40] = 0;
  const Convergence rare = judged(runs_of(clean), runs_of(one_miss));
  CHECK(row(rare, "misses").verdict == Verdict::kInconclusive);
  CHECK(row(rare, "misses").alarm_only);
  CHECK(row(rare, "epochs.to-quality").verdict == Verdict::kSame);
  ConvergenceRules five = kRules;
  five.fewest_seeds = 5;
  const Convergence often =
      judge_convergence(runs_of({9, 9, 9, 9, 9}), runs_of({0, 0, 9, 0, 0}), 5, five, kOptions);
  CHECK(row(often, "misses").verdict == Verdict::kRegressed);
  // The baseline's own are no alarm.
  CHECK(row(judged(runs_of({0, 0, 0, 0, 9, 9}), runs_of({9, 9, 9, 9, 9, 9})), "misses").verdict ==
        Verdict::kSame);
}

TEST_CASE("epochs that take longer raise an alarm by the clock", "[gate][convergence]") {
  const std::vector<std::int64_t> epochs(10, 9);
  const Convergence found = judged(runs_of(epochs, 20), runs_of(epochs, 30));
  CHECK(row(found, "epochs.to-quality").verdict == Verdict::kSame);
  CHECK(row(found, "time.to-quality").verdict == Verdict::kRegressed);
}

TEST_CASE("convergence is called wrong as seldom as it says", "[gate][convergence][trials]") {
  // Epochs as ten seeds of the small RetinaNet have them, and one epoch and a half more.
  std::mt19937 random(20261123);
  const auto draw = [&](double mean) {
    std::vector<std::int64_t> epochs;
    std::normal_distribution<double> noise(mean, 0.7);
    for (int i = 0; i < 8; ++i)
      epochs.push_back(std::min<std::int64_t>(std::lround(noise(random)), 12));
    return epochs;
  };
  constexpr int kTrials = 400;
  int alarms = 0;
  int greens = 0;
  int false_greens = 0;
  for (int i = 0; i < kTrials; ++i) {
    const Verdict clean = epochs_verdict(draw(9), draw(9));
    alarms += clean == Verdict::kRegressed ? 1 : 0;
    greens += clean == Verdict::kSame ? 1 : 0;
    false_greens += epochs_verdict(draw(9), draw(10.6)) == Verdict::kSame ? 1 : 0;
  }
  CHECK(alarms <= 4);
  CHECK(greens >= kTrials * 3 / 4);
  CHECK(false_greens <= kTrials / 20);
}
