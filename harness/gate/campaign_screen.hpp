// A campaign in the terminal as it narrows: lines that redraw themselves, plain lines where
// nobody watches. What is shown between the looks of the plan is no verdict, and says so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

#include "harness/base/metric.hpp"
#include "harness/gate/report.hpp"

namespace harness {

/// Where a campaign is, behind a pair or cluster that did not end it.
struct CampaignProgress {
  std::int64_t done = 0;
  std::int64_t planned = 0;    ///< 0: what the next one costs decides
  double seconds_to_look = 0;  ///< until the next look of the plan, about
  double seconds_left = 0;     ///< at most, about
};

/// "cluster 7 of at most 96: time.step 0.9987 [0.9921, 1.0066] so far, no verdict; look 1 of 4 in
/// 3 min 12 s, at most 31 min 4 s left"; "cluster 1: time.step 0.9987 so far, no verdict; the next
/// one's cost decides how many". Precondition: `report` has rows, of pairs.
std::string progress_line(const GateReport& report, const CampaignProgress& progress);

/// `improvement` on a scale of `width` characters from three margins worse to three better: the
/// margins ( and ), the same |, the interval = and its middle o; < and > for what lies beyond.
/// Precondition: `margin` and the center above 0.
std::string scale_text(const Interval& improvement, double margin, std::size_t width = 60);

class CampaignScreen {
 public:
  /// `columns` 0: `out` is no terminal, or one that cannot go back a line.
  CampaignScreen(std::FILE* out, int columns) : out_(out), columns_(columns) {}
  ~CampaignScreen() { clear(); }
  CampaignScreen(const CampaignScreen&) = delete;
  CampaignScreen& operator=(const CampaignScreen&) = delete;

  /// In place of what was shown last.
  void show(const GateReport& report, const CampaignProgress& progress);
  /// A line that stays.
  void say(const std::string& line);

 private:
  void clear();

  std::FILE* out_;
  int columns_;
  int lines_ = 0;  ///< that are shown now, the cursor behind them
};

}  // namespace harness
