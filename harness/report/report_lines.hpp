// Each result as one line, for the terminal and for the page.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/report/html_data.hpp"
#include "harness/report/report_data.hpp"
#include "harness/result/profile.hpp"

namespace harness {

/// What is said of a result first.
struct Headline {
  std::string name{};  ///< of the metric, or of what was compared
  std::string text{};  ///< a median (with its quartiles), a ratio [with its interval]
  std::optional<double> value{};
};

struct ReportLine {
  std::string started_at{};
  std::string workload{};
  std::string tier{};
  std::string machine{};  ///< eight digits of its fingerprint
  std::string commit{};
  std::string stack{};  ///< precision and kernels
  Headline headline{};
  std::string quality{};
  std::optional<double> quality_value{};
  std::string status{};
  Tone tone = Tone::kPlain;
  std::string file{};
};

/// As its kind has it.
ReportLine line_of(const ReportItem& item);
ReportLine line_of_run(const Result& run, const ReportFile& file);
/// Told by the part of the model that a step spends most of its time in.
ReportLine line_of_profile(const Profile& profile, const ReportFile& file);
/// What lines of all kinds say, without stack, headline and quality.
ReportLine common_line(const ResultCommon& result, const ReportFile& file);

/// The metric that a run's speed is told by: time to quality where its target was reached, else its
/// step, else the first one that is better when lower; null without any.
const Metric* headline_metric(const Result& run);

/// Two bounds, the unit once where it is the same: "1.200", "1.250 s".
std::pair<std::string, std::string> bounds_texts(const Quartiles& bounds, const std::string& unit);
/// The median with the quartiles: "1.234 s (1.200 .. 1.250 s)". Precondition: it has a median.
std::string with_quartiles(const Summary& summary, const std::string& unit);
/// "1.234 s [1.200, 1.250 s]", without brackets where there is no interval.
std::string with_interval(const Interval& interval, const std::string& unit);
/// "533 GFLOP/s at best, 527 GFLOP/s usually"; or why it is unknown.
std::string peak_text(const Peak& peak);
/// "1.26 [1.22, 1.30]".
std::string ratio_text(const Interval& ratio);

/// First digits of a fingerprint or a commit; "unknown" where there is none.
std::string short_name(const std::string& digits, std::size_t length = 8);
std::string machine_of(const ResultCommon& result);
std::string commit_of(const Identity& identity);

/// Status of a result whose file has `file`'s problems, and its tone.
std::string status_text(const Status& status, const ReportFile& file);
Tone status_tone(const Status& status, const ReportFile& file);

}  // namespace harness
