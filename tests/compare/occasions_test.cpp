// Which runs are one observation together.
#include "harness/compare/occasions.hpp"

#include <catch2/catch.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/sample_result.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

namespace {

/// Runs of the given series and starts, in one day.
Side side_of(const std::vector<std::pair<std::string, std::string>>& runs) {
  Side side{"side", {}};
  for (const auto& [series, time] : runs) {
    side.runs.push_back(sample_result());
    side.runs.back().identity.series_id = series;
    side.runs.back().identity.started_at = "2026-01-31T" + time + ".000Z";
  }
  return side;
}

using Numbers = std::vector<std::size_t>;

}  // namespace

TEST_CASE("series that began within an hour are one occasion", "[compare]") {
  CHECK(hours_of(side_of({{"a", "10:59:00"}, {"b", "11:30:00"}, {"c", "11:58:59"}})) ==
        Numbers{0, 0, 0});
  // Counted from the first of an occasion, so that none grows without end.
  CHECK(hours_of(side_of({{"a", "10:00:00"}, {"b", "10:40:00"}, {"c", "11:00:00"}})) ==
        Numbers{0, 0, 1});
  // In the order of their starts, whatever the order of the files.
  CHECK(hours_of(side_of({{"a", "15:00:00"}, {"b", "09:00:00"}, {"c", "12:00:00"}})) ==
        Numbers{2, 0, 1});
}

TEST_CASE("a series is one occasion, however long it takes", "[compare]") {
  const Side side = side_of({{"a", "10:00:00"},
                             {"a", "13:00:00"},
                             {"b", "10:30:00"},
                             {"c", "13:01:00"},
                             {"a", "16:00:00"}});
  CHECK(hours_of(side) == Numbers{0, 0, 0, 1, 0});
  CHECK(count_occasions(hours_of(side)) == 2);
  CHECK(hours_text(side) == "5 runs of 3 series in 2 hours");
  CHECK(occasion_medians(hours_of(side), {1, 2, 9, 5, 4}) == std::vector<double>{3, 5});
}

TEST_CASE("starts that are no times are one moment", "[compare]") {
  Side side = side_of({{"a", "10:00:00"}, {"b", "12:00:00"}, {"c", "14:00:00"}});
  for (Result& run : side.runs) run.identity.started_at = "yesterday";
  CHECK(count_occasions(hours_of(side)) == 1);
  CHECK(count_occasions({}) == 0);
  CHECK_THROWS_AS(occasion_medians({0, 1}, {1}), std::invalid_argument);
}

TEST_CASE("a shift has bounds where both sides have enough", "[compare]") {
  const std::vector<double> six = {1, 2, 3, 4, 5, 6};
  const std::vector<double> five = {1, 2, 3, 4, 5};
  CHECK(shift_of(six, six, kFewestHours).low);
  CHECK_FALSE(shift_of(six, five, kFewestHours).low);
  CHECK_FALSE(shift_of(five, six, kFewestHours).high);
  CHECK(shift_of(five, six, kFewestHours).center == 0.5);
}

TEST_CASE("sides that were not measured in turn are named", "[compare]") {
  const auto at_hours = [](const char* name, int first, int every) {
    std::vector<std::pair<std::string, std::string>> runs;
    for (int i = 0; i < 6; ++i) {
      const int hour = first + every * i;
      runs.emplace_back(std::to_string(hour),
                        (hour < 10 ? "0" : "") + std::to_string(hour) + ":00:00");
    }
    Side side = side_of(runs);
    side.name = name;
    return side;
  };
  const Side monday = at_hours("a", 0, 1);
  const Side tuesday = at_hours("b", 10, 1);
  CHECK_THAT(apart_text(monday, tuesday),
             Catch::Contains("all runs of a began before all of b (until 2026-01-31T05:00, from "
                             "2026-01-31T10:00)"));
  CHECK(apart_text(tuesday, monday) == apart_text(monday, tuesday));
  CHECK(apart_text(at_hours("a", 0, 2), at_hours("b", 1, 2)).empty());
  // Too few hours give no verdict that could be doubted.
  CHECK(apart_text(side_of({{"a", "09:00:00"}}), tuesday).empty());
}
