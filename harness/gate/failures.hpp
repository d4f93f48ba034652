// What becomes of a campaign in which a side failed: once may happen to anybody.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace harness {

// The sides of a campaign, by their places.
inline constexpr std::size_t kBaseline = 0;
inline constexpr std::size_t kCandidate = 1;
inline constexpr std::size_t kAnchor = 2;

struct FailedSide {
  std::size_t side = 0;
  std::string why{};
  bool invalid = false;  ///< it ran to its end, and broke a rule
};

enum class AfterFailure {
  kTryAgain,
  kRegressed,      ///< the candidate does not run
  kWithoutAnchor,  ///< the anchor does not, which costs nobody a verdict
};

class Failures {
 public:
  /// Of these sides, by their places; `out` has what they printed.
  Failures(std::vector<std::string> names, std::filesystem::path out)
      : names_(std::move(names)), out_(std::move(out)), counts_(names_.size()) {}

  /// `place` is where: "cluster 3". The first failure of a side is a note, and tried again. Throws
  /// Error for the second one of the baseline.
  AfterFailure count(const std::string& place, const FailedSide& failed);

  /// Whether this candidate has failed for the last time, and why.
  bool regressed() const { return counts_[kCandidate] > 1; }
  const std::string& why() const { return why_; }
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  std::vector<std::string> names_;
  std::filesystem::path out_;
  std::vector<int> counts_;
  std::vector<std::string> notes_{};
  std::string why_{};  ///< of the candidate's last failure
};

}  // namespace harness
