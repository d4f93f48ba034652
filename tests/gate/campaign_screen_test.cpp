// A campaign in the terminal.
#include "harness/gate/campaign_screen.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/text.hpp"
#include "tests/support/sample_campaign.hpp"
#include "tests/support/text_screen.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

TEST_CASE("a ratio is drawn on a scale of its margins", "[gate][screen]") {
  const double margin = 0.015;
  const auto times = [&](double margins) { return std::pow(1 + margin, margins); };
  // Ten characters for a margin: 1 stands in the middle.
  const std::string text = scale_text({times(-0.5), times(-1.5), times(0.5), 0.95}, margin, 61);
  CHECK(text.size() == 61);
  CHECK(text[30] == '|');
  CHECK(text[20] == '(');
  CHECK(text[40] == ')');
  CHECK(text[25] == 'o');
  CHECK(text.substr(15, 5) == "=====");
  CHECK(text[14] == ' ');
  CHECK(text[35] == '=');
  CHECK(text[36] == ' ');
  // What lies beyond an end is told there.
  const std::string wide = scale_text({times(-5), times(-9), times(9), 0.95}, margin, 61);
  CHECK(wide.front() == '<');
  CHECK(wide.back() == '>');
  // Few clusters have an estimate and no interval.
  const std::string alone = scale_text({times(2), std::nullopt, std::nullopt, 0}, margin, 61);
  CHECK(std::count(alone.begin(), alone.end(), '=') == 0);
  CHECK(alone[50] == 'o');
}

TEST_CASE("where nobody watches a cluster is one line without a verdict", "[gate][screen]") {
  const TextScreen screen;
  {
    CampaignScreen shown(screen.file.get(), 0);
    shown.show(sample_campaign(0.9, 7), {7, 40, 180, 1980});
    shown.show(sample_campaign(0.9, 8), {8, 40, 120, 1920});
    shown.say("a side was tried again");
  }
  const std::vector<std::string> lines = split(screen.text(), '\n');
  REQUIRE(lines.size() == 4);
  CHECK_THAT(lines[0], Catch::StartsWith("cluster 7 of at most 40: time.step 0.9") &&
                           Catch::Contains("so far, no verdict; look 1 of 4 in 3 min") &&
                           Catch::Contains("at most 33 min"));
  CHECK_THAT(lines[0], Catch::Contains("[") && Catch::Contains("]"));
  CHECK(lines[2] == "a side was tried again");
  CHECK(screen.text().find('\x1b') == std::string::npos);
  // Surely slower, and beyond its first look: still nothing that looks like a verdict.
  const std::string later = progress_line(sample_campaign(0.9, 15), {15, 40, 300, 1500});
  CHECK_THAT(later, Catch::Contains("no verdict; look 2 of 4") && !Catch::Contains("regressed"));
  // What a look has settled keeps nothing going: shown is what waits for a verdict.
  GateReport settled = sample_campaign(1, 15);
  settled.rows[0].verdict = Verdict::kSame;
  settled.rows[1].verdict = Verdict::kInconclusive;
  CHECK_THAT(progress_line(settled, {15, 40, 300, 1500}),
             Catch::StartsWith("cluster 15 of at most 40: time.total "));
  // Before there is a plan nobody knows how long it takes.
  const std::string first = progress_line(sample_campaign(0.9, 1), {1});
  CHECK_THAT(first,
             Catch::StartsWith("cluster 1: time.step 0.8") &&
                 Catch::EndsWith("so far, no verdict; the next one's cost decides how many"));
}

TEST_CASE("a terminal is redrawn in place", "[gate][screen]") {
  for (const int columns : {120, 80, 30}) {
    CAPTURE(columns);
    const TextScreen screen;
    {
      CampaignScreen shown(screen.file.get(), columns);
      shown.show(sample_campaign(1, 7), {7, 40, 180, 1980});
      shown.show(sample_campaign(1, 8), {8, 40, 120, 1920});
      shown.say("a side was tried again");
    }
    const std::string text = screen.text();
    const bool picture = columns > 60;
    const std::string back = picture ? "\x1b[3A\x1b[J" : "\x1b[2A\x1b[J";
    const std::size_t second = text.find(back + "cluster 8");
    REQUIRE(second != std::string::npos);
    CHECK((text.find("] 1.046 better") != std::string::npos) == picture);
    // What was shown goes before a line that stays, and at the end nothing is left.
    CHECK_THAT(text, Catch::EndsWith(back + "a side was tried again\n"));
    for (const std::string& line : split(text, '\n')) {
      const std::size_t from = line.rfind('J') == std::string::npos ? 0 : line.rfind('J') + 1;
      if (line.find("tried") == std::string::npos) {
        CHECK(line.size() - from < static_cast<std::size_t>(columns));
      }
    }
  }
}
