// A gate's report as Markdown: a comment on a pull request.
#pragma once

#include <cstddef>
#include <string>

#include "harness/gate/report.hpp"

namespace harness {

/// GitHub takes no comment of so many characters or more.
inline constexpr std::size_t kMostMarkdown = 65536;

/// The verdict and one sentence, a table of ten rows at most, all else folded. Shorter than
/// kMostMarkdown, in bytes; says how much was left out for that. No text of the report is markup.
std::string render_markdown(const GateReport& report);

/// In place of a report where there is none.
std::string markdown_error(const std::string& what);

}  // namespace harness
