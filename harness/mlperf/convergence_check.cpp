#include "harness/mlperf/convergence_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"

namespace harness {
namespace {

constexpr double kMillisecondsOfMinute = 60e3;
constexpr double kNever = std::numeric_limits<double>::infinity();

[[noreturn]] void refuse(const std::string& what, const std::string& why, const std::string& hint) {
  throw Error(printable(what), why, hint, ExitCode::kInvalid);
}

void require_set(const ConvergencePoints& points, const std::vector<LoggedRun>& runs) {
  if (runs.size() != points.runs) {
    refuse(
        "check of convergence",
        fmt::format("{} given, a set has {}", format_count(std::ssize(runs), "log"), points.runs),
        fmt::format("'harness run --runs {}' makes as many", points.runs));
  }
  const std::optional<double> size = runs.front().batch_size;
  for (const LoggedRun& run : runs) {
    if (run.benchmark != points.benchmark) {
      refuse(run.file,
             fmt::format("is of '{}', the points are those of '{}'", printable(run.benchmark, 64),
                         printable(points.benchmark, 64)),
             "--rcp-file takes points of another benchmark");
    }
    if (!run.batch_size || *run.batch_size < 1) {
      refuse(run.file, "has no global_batch_size, a number from 1 on", "give logs of whole runs");
    }
    if (run.batch_size != size) {
      refuse(run.file,
             fmt::format("has a global_batch_size of {}, the first log {}", *run.batch_size, *size),
             "a set has one");
    }
    if (run.converged && (!run.epochs || *run.epochs <= 0)) {
      refuse(run.file, "stops with success, and no evaluation before that has an epoch_num above 0",
             "'harness check-log' lists what a log needs");
    }
  }
}

/// The second that missed its target, which is left when the slowest is dropped; null: none did.
const LoggedRun* second_missed(const std::vector<LoggedRun>& runs) {
  std::size_t missed = 0;
  const auto found = std::find_if(runs.begin(), runs.end(), [&](const LoggedRun& run) {
    return !run.converged && ++missed == 2;
  });
  return found == runs.end() ? nullptr : &*found;
}

}  // namespace

bool ConvergenceCheck::passed() const {
  return outcome == ConvergenceOutcome::kAsReference ||
         outcome == ConvergenceOutcome::kWithinChance || outcome == ConvergenceOutcome::kSmallBatch;
}

ConvergenceCheck check_convergence(const ConvergencePoints& points,
                                   const std::vector<LoggedRun>& runs) {
  require_set(points, runs);
  ConvergenceCheck check;
  check.batch_size = *runs.front().batch_size;
  check.stand_in = runs.front().stand_in;
  if (const LoggedRun* second = second_missed(runs)) {
    check.second_missed = second->file;
    return check;
  }
  std::vector<double> epochs;
  for (const LoggedRun& run : runs) epochs.push_back(run.converged ? *run.epochs : kNever);
  check.epochs = mean_without_extremes(epochs);
  const bool small = check.batch_size < points.points.front().batch_size;
  check.reference = small ? points.points.front() : point_at(points, check.batch_size);
  if (!check.reference) {
    check.outcome = ConvergenceOutcome::kLargeBatch;
    return check;
  }
  check.factor = std::max(1.0, check.reference->mean / check.epochs);
  if (check.epochs < check.reference->least) {
    check.outcome = small ? ConvergenceOutcome::kTooFastOfSmall : ConvergenceOutcome::kTooFast;
  } else if (small) {
    check.outcome = ConvergenceOutcome::kSmallBatch;
  } else {
    check.outcome =
        check.factor > 1 ? ConvergenceOutcome::kWithinChance : ConvergenceOutcome::kAsReference;
  }
  return check;
}

std::string convergence_text(const ConvergenceCheck& check) {
  std::string text = fmt::format("global batch size {}", check.batch_size);
  if (check.outcome == ConvergenceOutcome::kNotConverged) {
    return text + ", more than one run did not reach its target";
  }
  text += fmt::format(", {:.2f} epochs", check.epochs);
  if (!check.reference) return text + "; MLPerf's reference has no batch so large";
  text += fmt::format("; the reference takes {:.2f}", check.reference->mean);
  const bool small = check.outcome == ConvergenceOutcome::kSmallBatch ||
                     check.outcome == ConvergenceOutcome::kTooFastOfSmall;
  if (small) text += fmt::format(" at its smallest, {}", check.reference->batch_size);
  text += fmt::format(", and no fewer than {:.2f} are asked for", check.reference->least);
  if (check.passed() && check.factor > 1) {
    text += fmt::format("; the score is multiplied by {:.4f}", check.factor);
  }
  if (!check.stand_in.empty()) {
    text += fmt::format("; the runs are of {}, not of MLPerf's own benchmark",
                        printable(check.stand_in, 64));
  }
  return text;
}

std::optional<double> score_minutes(const std::vector<LoggedRun>& runs, double factor) {
  if (second_missed(runs) != nullptr) return std::nullopt;
  std::vector<double> minutes;
  for (const LoggedRun& run : runs) {
    if (run.converged && !run.milliseconds) return std::nullopt;
    minutes.push_back(run.converged ? *run.milliseconds / kMillisecondsOfMinute : kNever);
  }
  return factor * mean_without_extremes(minutes);
}

}  // namespace harness
