#include "harness/kinds/suite/trust.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace harness {
namespace {

/// How many of the runs are what.
struct Counts {
  std::ptrdiff_t damaged = 0;
  std::ptrdiff_t invalid = 0;
  std::ptrdiff_t incomplete = 0;
  std::ptrdiff_t mistrusted = 0;
};

Counts count(const Suite& suite, const std::vector<ReportItem>& runs) {
  Counts counts;
  for (const SuiteTask& task : suite.tasks) {
    if (!task.run) {
      // What the program cannot do is a departure, and told as one.
      counts.incomplete += task.available ? 1 : 0;
      continue;
    }
    const ReportItem* own = run_of(task, runs);
    const bool damaged = own != nullptr && !own->file.problems.empty();
    const bool mistrusted = own != nullptr && own->result->status.mistrusted;
    counts.damaged += damaged ? 1 : 0;
    counts.invalid += task.run->state == RunState::kInvalid ? 1 : 0;
    counts.incomplete +=
        task.run->state == RunState::kAborted || task.run->state == RunState::kDryRun ? 1 : 0;
    counts.mistrusted += task.run->mistrusted || mistrusted ? 1 : 0;
  }
  return counts;
}

int rank(Tone tone) {
  switch (tone) {
    case Tone::kGood:
      return 0;
    case Tone::kPlain:
      return 1;
    case Tone::kDoubt:
      return 2;
    case Tone::kBad:
      break;
  }
  return 3;
}

}  // namespace

const ReportItem* run_of(const SuiteTask& task, const std::vector<ReportItem>& runs) {
  if (!task.run) return nullptr;
  const auto found = std::find_if(runs.begin(), runs.end(), [&](const ReportItem& item) {
    return item.result->identity.uuid == task.run->uuid;
  });
  return found == runs.end() ? nullptr : &*found;
}

ScoreTrust trust_in_score(const ReportItem& item, const std::vector<ReportItem>& runs) {
  const auto& suite = as<Suite>(item);
  ScoreTrust trust;
  const auto lower = [&](Tone tone, const std::string& reason) {
    if (rank(tone) > rank(trust.tone)) trust.tone = tone;
    if (!reason.empty()) trust.reasons.push_back(reason);
  };
  const auto lower_by = [&](Tone tone, std::ptrdiff_t number, const char* what) {
    if (number == 0) return;
    lower(tone, fmt::format("{} of {} runs {} {}", number, suite.tasks.size(),
                            number == 1 ? "is" : "are", what));
  };
  if (!suite.score.value) lower(Tone::kDoubt, "");  // the score's own text says why
  if (!item.file.problems.empty()) lower(Tone::kBad, "its file is not valid");
  const Counts counts = count(suite, runs);
  lower_by(Tone::kBad, counts.damaged, "in a file that is not valid");
  lower_by(Tone::kDoubt, counts.invalid, "invalid");
  lower_by(Tone::kDoubt, counts.incomplete, "not complete");
  lower_by(Tone::kDoubt, counts.mistrusted, "mistrusted");
  const Status& status = suite.status;
  if (status.state != RunState::kValid && counts.invalid + counts.incomplete == 0) {
    lower(Tone::kDoubt, was_stopped(status) ? "the suite is not complete" : "the suite is invalid");
  }
  if (status.mistrusted && counts.mistrusted == 0) {
    lower(Tone::kDoubt, "the suite is mistrusted");
  }
  if (suite.rules.division != "closed") lower(Tone::kPlain, "its division is open");
  // What does not count for another reason than those above, so the score is of less than all.
  if (!suite.score.missing.empty()) lower(Tone::kPlain, "");
  return trust;
}

}  // namespace harness
