// The report as a comment on a pull request.
#include "harness/gate/markdown_form.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/text.hpp"
#include "tests/support/sample_campaign.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

namespace {

std::string before_details(const std::string& text) {
  return text.substr(0, text.find("<details>"));
}

std::vector<std::string> table_lines(const std::string& text) {
  std::vector<std::string> lines = split(text, '\n');
  std::erase_if(lines, [](const std::string& line) { return !line.starts_with('|'); });
  return lines;
}

/// A report whose every text is `text`, with so many rows, notes and differences.
GateReport filled(const std::string& text, std::size_t count) {
  GateReport report = sample_campaign(0.97);
  GateRow row = report.rows.front();
  row.tag = row.note = row.repeat = text;
  report.rows.assign(count, row);
  report.notes.assign(count, text);
  report.differences.assign(count, {text, text, text});
  report.subject = report.method = report.repeat = report.baseline = report.candidate = text;
  return report;
}

}  // namespace

TEST_CASE("Markdown begins with the verdict and what decided it", "[gate][markdown]") {
  const std::string text = render_markdown(sample_campaign(0.95));
  const std::vector<std::string> lines = split(text, '\n');
  CHECK_THAT(lines[0], Catch::StartsWith("### Gate: regressed"));
  CHECK_THAT(lines[2], Catch::StartsWith("time.step got worse: 0.9") &&
                           Catch::Contains("margin 1.5 %") && Catch::Contains("clusters"));
  CHECK_THAT(before_details(text), Catch::Contains("| time.step | **regressed** |"));
  // The rest is folded, and still there.
  CHECK_THAT(before_details(text), !Catch::Contains("old/harness run"));
  CHECK_THAT(text, Catch::Contains("<pre>old/harness run --workload null</pre>\n"));
  CHECK_THAT(text, Catch::Contains("\n</details>\n"));
  CHECK_THAT(render_markdown(sample_campaign(1)), Catch::StartsWith("### Gate: same"));
}

TEST_CASE("Markdown shows ten rows and folds the others", "[gate][markdown]") {
  GateReport report = sample_campaign(1);
  const GateRow same = report.rows.front();
  report.rows.assign(14, same);
  for (std::size_t i = 0; i < report.rows.size(); ++i) {
    report.rows[i].tag = "metric." + std::to_string(i);
  }
  report.rows.back().verdict = Verdict::kRegressed;
  const std::string text = render_markdown(report);
  // Head and rule, and the one that regressed first.
  const std::vector<std::string> shown = table_lines(before_details(text));
  REQUIRE(shown.size() == 2 + 10);
  CHECK_THAT(shown[2], Catch::Contains("metric.13"));
  CHECK(table_lines(text).size() == 2 + 10 + 2 + 4);
}

TEST_CASE("Markdown stays below the limit of a comment, whatever is reported", "[gate][markdown]") {
  for (const std::string& text :
       {std::string(20000, '|'), std::string(20000, '\n'), std::string(20000, '`'),
        std::string(20000, 'x'), std::string("<b>|\x1b\n")}) {
    for (const std::size_t count : {1U, 10U, 1000U}) {
      const std::string page = render_markdown(filled(text, count));
      CAPTURE(text.substr(0, 4), count, page.size());
      CHECK(page.size() < kMostMarkdown);
      CHECK_THAT(page, Catch::StartsWith("### Gate: regressed"));
      CHECK_THAT(page, Catch::Contains("</details>"));
      CHECK(table_lines(before_details(page)).size() <= 12);
    }
    CHECK(markdown_error(text).size() < kMostMarkdown);
  }
  CHECK_THAT(render_markdown(filled(std::string(5000, '|'), 1000)), Catch::Contains("No room for"));
}

TEST_CASE("no text of a report is Markdown", "[gate][markdown]") {
  const std::string hostile = "a|b\n### c </pre><img src=x> [d](e) @f `g` ``` **h** $x$ #1";
  const std::string text = render_markdown(filled(hostile, 12));
  for (const std::string& line : table_lines(text)) {
    CAPTURE(line);
    CHECK(std::count(line.begin(), line.end(), '|') == 8);
  }
  CHECK_THAT(text, !Catch::Contains("\n### c"));
  CHECK_THAT(text, !Catch::Contains("<img") && !Catch::Contains("@f") && !Catch::Contains("`g`"));
  CHECK_THAT(text, Catch::Contains("&#60;img src=x&#62;"));
  // Three commands, none of which ends its element.
  std::size_t elements = 0;
  for (std::size_t at = text.find("<pre>"); at != std::string::npos;
       at = text.find("<pre>", at + 1)) {
    CHECK(text.find('\n', at) == text.find("</pre>\n", at) + 6);
    ++elements;
  }
  CHECK(elements == 3);
}
