#include "harness/measure/ranks/outcome.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"
#include "harness/check/judgement.hpp"

namespace harness {
namespace {

namespace fs = std::filesystem;

/// What came of all ranks, by rank.
class Outcome {
 public:
  Outcome(const std::vector<MemberEnd>& members, const std::vector<RankSite>& sites,
          fs::path samples)
      : sites_(sites), samples_(std::move(samples)) {
    for (const MemberEnd& member : members) {
      if (!member.lost.empty() && cause_.empty() && !member.given_up) {
        cause_ = fmt::format("rank {}: {}", ends_.size(), member.lost);
      }
      ends_.push_back(rank_end(member.handed_over));
      lost_.push_back(member.lost);
    }
  }

  /// Of the first rank that has a result, with what all tell of themselves.
  Result merged() const {
    const auto first = std::find_if(ends_.begin(), ends_.end(),
                                    [](const RankEnd& end) { return end.result.has_value(); });
    if (first == ends_.end()) throw_error();
    Result result = *first->result;
    result.world->members.clear();
    for (std::size_t rank = 0; rank < ends_.size(); ++rank) {
      RankReport& report = result.world->members.emplace_back();
      if (const auto& theirs = ends_[rank].result) {
        report = theirs->world->members.front();
      } else {
        report.rank = static_cast<std::int64_t>(rank);
        report.missing = why_missing_of(rank);
      }
      report.node = sites_[rank].node;
      report.cpu_model = sites_[rank].cpu_model;
      result.world->nodes = std::max<std::int64_t>(result.world->nodes, report.node + 1);
    }
    if (result.status.state == RunState::kAborted) {
      name_cause(result);
    } else if (!cause_.empty()) {
      result.status.recommendations.push_back(cause_ + ", after the last step");
    }
    return result;
  }

 private:
  std::string why_missing_of(std::size_t rank) const {
    if (!lost_[rank].empty()) return lost_[rank];
    return ends_[rank].error ? ends_[rank].error->what() : "unknown";
  }

  /// The error that another rank's end follows from, before those that only say that one is gone.
  [[noreturn]] void throw_error() const {
    const Error* error = nullptr;
    for (const RankEnd& end : ends_) {
      if (end.error && !end.lost_another) throw Error(*end.error);
      if (end.error && error == nullptr) error = &*end.error;
    }
    if (cause_.empty() && error != nullptr) throw Error(*error);
    throw Error("--ranks", cause_,
                holds_a_step() ? "what was measured is in " + printable(samples_.string())
                               : "nothing was measured",
                ExitCode::kAborted);
  }

  bool holds_a_step() const {
    std::ifstream file(samples_);
    std::string line;
    return std::getline(file, line) && std::getline(file, line);
  }

  /// A result of a rank that was left alone says only that; what was behind it says another.
  void name_cause(Result& result) const {
    std::string cause = cause_;
    for (std::size_t rank = 0; cause.empty() && rank < ends_.size(); ++rank) {
      const RankEnd& end = ends_[rank];
      const bool own = !end.lost_another && end.result;
      if (own && end.result->status.state == RunState::kAborted) {
        result.status.violations = end.result->status.violations;
        return;
      }
      if (!end.lost_another && end.error) {
        cause = fmt::format("rank {}: {}", rank, end.error->what());
      }
    }
    for (Violation& violation : result.status.violations) {
      if (!cause.empty() && violation.rule == kCompletedRule) violation.actual = cause;
    }
  }

  const std::vector<RankSite>& sites_;
  fs::path samples_;  ///< of the first rank
  std::vector<RankEnd> ends_;
  std::vector<std::string> lost_;  ///< how each was lost, by rank; empty: it handed something over
  std::string cause_;              ///< of the first that was lost
};

}  // namespace

Result merged_result(const std::vector<MemberEnd>& ends, const std::vector<RankSite>& sites,
                     const fs::path& samples) {
  return Outcome(ends, sites, samples).merged();
}

}  // namespace harness
