// A suite on the report's page: the score, a table of all runs, a card for each task.
#pragma once

#include <string>
#include <vector>

#include "harness/kinds/suite/suite.hpp"
#include "harness/report/html_data.hpp"
#include "harness/report/report_data.hpp"

namespace harness {

/// Without the cards. What the runs' own files say counts where they are among `runs`.
PageSection suite_section(const ReportItem& item, const std::string& id,
                          const std::vector<ReportItem>& runs);

/// Adds the cards to `section`, that of `suite`. What the suite's own file does not hold comes from
/// those of its runs that are among `runs`.
void add_task_cards(PageSection& section, const Suite& suite, const std::vector<ReportItem>& runs);

/// The score of the latest suite, for the top of the page; empty where there is none.
std::vector<PageFact> score_tiles(const std::vector<ReportItem>& suites,
                                  const std::vector<ReportItem>& runs);

}  // namespace harness
