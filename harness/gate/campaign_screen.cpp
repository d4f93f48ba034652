#include "harness/gate/campaign_screen.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>

#include "harness/base/print.hpp"
#include "harness/base/text.hpp"
#include "harness/gate/narrowing.hpp"
#include "harness/gate/row_text.hpp"

namespace harness {
namespace {

constexpr double kMargins = 3;  // that the scale reaches to either side

/// The first row that waits for a verdict, as the pairs so far have it; its own interval is that of
/// the last look.
GateRow so_far(const GateReport& report) {
  const auto open = std::find_if(report.rows.begin(), report.rows.end(), [](const GateRow& row) {
    return is_open(row) && !row.improvements.empty();
  });
  GateRow row = open == report.rows.end() ? report.rows.front() : *open;
  row.improvement.reset();
  if (!row.improvements.empty())
    row.improvement = narrowed(row.improvements, row.exact).improvement;
  return row;
}

/// "time.step 0.9987 [0.9921, 1.0066] so far, no verdict".
std::string so_far_text(const GateRow& row) {
  return fmt::format("{} {} so far, no verdict", printable(row.tag, 40), improvement_text(row));
}

/// "look 1 of 4 in 3 min 12 s, at most 31 min 4 s left".
std::string time_text(const GateReport& report, const CampaignProgress& progress) {
  if (progress.planned == 0) return "the next one's cost decides how many";
  const auto done = static_cast<std::size_t>(progress.done);
  const auto taken = std::count_if(report.looks.begin(), report.looks.end(),
                                   [&](std::size_t look) { return look <= done; });
  return fmt::format("look {} of {} in {}, at most {} left", taken + 1, report.looks.size(),
                     format_time_left(progress.seconds_to_look),
                     format_time_left(progress.seconds_left));
}

std::string count_text(const GateReport& report, const CampaignProgress& progress) {
  if (progress.planned == 0) return fmt::format("{} {}", report.unit, progress.done);
  return fmt::format("{} {} of at most {}", report.unit, progress.done, progress.planned);
}

/// Empty where there is nothing to draw, or no room.
std::string picture(const GateRow& row, std::size_t columns) {
  constexpr std::size_t kWidest = 60;
  constexpr std::size_t kLeast = 20;
  if (!row.improvement || !(row.margin > 0)) return "";
  const double end = std::pow(1 + row.margin, kMargins);
  const std::string left = fmt::format("worse {:.3f} [", 1 / end);
  const std::string right = fmt::format("] {:.3f} better", end);
  const std::size_t taken = left.size() + right.size();
  if (columns < taken + kLeast) return "";
  return left + scale_text(*row.improvement, row.margin, std::min(kWidest, columns - taken)) +
         right;
}

}  // namespace

std::string scale_text(const Interval& improvement, double margin, std::size_t width) {
  const double steps = static_cast<double>(width - 1) / (2 * kMargins);
  // Where it would be drawn, which may be beyond either end.
  const auto place = [&](double ratio) {
    return std::lround((std::log(ratio) / std::log1p(margin) + kMargins) * steps);
  };
  std::string text(width, ' ');
  const auto last = static_cast<long>(width) - 1;
  const auto put = [&](double ratio, char sign) {
    text[static_cast<std::size_t>(std::clamp(place(ratio), 0L, last))] = sign;
  };
  if (improvement.low && improvement.high) {
    const long from = std::clamp(place(*improvement.low), 0L, last);
    const long to = std::clamp(place(*improvement.high), 0L, last);
    for (long at = from; at <= to; ++at) text[static_cast<std::size_t>(at)] = '=';
  }
  put(1 / (1 + margin), '(');
  put(1, '|');
  put(1 + margin, ')');
  put(improvement.center, 'o');
  if (place(improvement.low.value_or(improvement.center)) < 0) text.front() = '<';
  if (place(improvement.high.value_or(improvement.center)) > last) text.back() = '>';
  return text;
}

std::string progress_line(const GateReport& report, const CampaignProgress& progress) {
  return fmt::format("{}: {}; {}", count_text(report, progress), so_far_text(so_far(report)),
                     time_text(report, progress));
}

void CampaignScreen::show(const GateReport& report, const CampaignProgress& progress) {
  clear();
  if (columns_ <= 0) return say(progress_line(report, progress));
  const auto width = static_cast<std::size_t>(columns_ - 1);
  const GateRow row = so_far(report);
  for (const std::string& line : {count_text(report, progress) + "; " + time_text(report, progress),
                                  so_far_text(row), picture(row, width)}) {
    if (line.empty()) continue;
    write_text(out_, line.substr(0, width) + "\n");
    ++lines_;
  }
  std::fflush(out_);
}

void CampaignScreen::say(const std::string& line) {
  clear();
  write_text(out_, line + "\n");
  std::fflush(out_);
}

void CampaignScreen::clear() {
  if (lines_ == 0) return;
  // Back to the beginning of the first line, and everything from there on goes.
  write_text(out_, fmt::format("\x1b[{}A\x1b[J", lines_));
  std::fflush(out_);
  lines_ = 0;
}

}  // namespace harness
