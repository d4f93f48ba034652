// A suite and its tasks in one line each.
#pragma once

#include <string>
#include <vector>

#include "harness/kinds/suite/suite.hpp"
#include "harness/report/report_lines.hpp"

namespace harness {

/// "top-1 0.868, target 0.850"; empty without a quality; safe to print.
std::string quality_text(const SuiteTask& task);

/// "valid", "INVALID", "MISSED" (its quality target), "no result", ...; a word or two.
std::string state_text(const SuiteTask& task);
Tone tone_of(const SuiteTask& task);

/// "classify/offline: throughput.offline 355 samples/s, top-1 0.868, target 0.850, valid, 12.3 s":
/// a run that has ended, for people who wait for the next.
std::string task_line(const SuiteTask& task);

/// "1.23 x the reference, over 4 of 8", or why there is no score; safe to print.
std::string plain_score_text(const Suite& suite);
/// The same, and how many of the runs that count are mistrusted.
std::string score_text(const Suite& suite);
/// Of the runs that count in it.
std::ptrdiff_t mistrusted_in_score(const Suite& suite);

/// What the score lacks, a line for each reason; without a reference only what could not count
/// anyway. Safe to print.
std::vector<std::string> left_out_lines(const Suite& suite);

ReportLine line_of_suite(const Suite& suite, const ReportFile& file);

}  // namespace harness
