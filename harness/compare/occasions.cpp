#include "harness/compare/occasions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

#include "harness/base/text.hpp"
#include "harness/base/utc.hpp"
#include "harness/stats/stats.hpp"

namespace harness {

std::vector<std::size_t> occasions_of(const std::vector<const Result*>& runs, double span) {
  std::map<std::string, double> began;
  for (const Result* run : runs) {
    const double start = utc_seconds(run->identity.started_at).value_or(0);
    const auto [series, fresh] = began.emplace(run->identity.series_id, start);
    if (!fresh) series->second = std::min(series->second, start);
  }
  std::vector<std::pair<double, std::string>> in_order;
  for (const auto& [series, start] : began) in_order.emplace_back(start, series);
  std::sort(in_order.begin(), in_order.end());
  std::map<std::string, std::size_t> numbers;
  std::size_t number = 0;
  double first = 0;
  for (const auto& [start, series] : in_order) {
    if (numbers.empty()) {
      first = start;
    } else if (start - first >= span) {
      first = start;
      ++number;
    }
    numbers[series] = number;
  }
  std::vector<std::size_t> occasions;
  for (const Result* run : runs) occasions.push_back(numbers.at(run->identity.series_id));
  return occasions;
}

std::vector<std::size_t> hours_of(const Side& side) {
  std::vector<const Result*> runs;
  for (const Result& run : side.runs) runs.push_back(&run);
  return occasions_of(runs, kHourSeconds);
}

std::vector<std::size_t> seeds_of(const Side& side) {
  std::map<std::uint32_t, std::size_t> numbers;
  std::vector<std::size_t> seeds;
  for (const Result& run : side.runs) {
    seeds.push_back(numbers.emplace(run.seeds.run, numbers.size()).first->second);
  }
  return seeds;
}

std::size_t count_occasions(const std::vector<std::size_t>& occasions) {
  return occasions.empty() ? 0 : *std::max_element(occasions.begin(), occasions.end()) + 1;
}

std::string hours_text(const Side& side) {
  std::set<std::string> series;
  for (const Result& run : side.runs) series.insert(run.identity.series_id);
  return fmt::format("{} of {} series in {}", format_count(std::ssize(side.runs), "run"),
                     series.size(),
                     format_count(static_cast<long long>(count_occasions(hours_of(side))), "hour"));
}

std::string apart_text(const Side& a, const Side& b) {
  for (const Side* side : {&a, &b}) {
    if (count_occasions(hours_of(*side)) < kFewestHours) return {};
  }
  const auto began = [](const Result& run) {
    return utc_seconds(run.identity.started_at).value_or(0);
  };
  constexpr std::size_t kToTheMinute = 16;  // 2026-01-31T05:00
  const auto minute = [](const Result& run) {
    return printable(run.identity.started_at.substr(0, kToTheMinute));
  };
  const auto by_start = [&](const Result& x, const Result& y) { return began(x) < began(y); };
  for (const auto& [earlier, later] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    const Result& last = *std::max_element(earlier->runs.begin(), earlier->runs.end(), by_start);
    const Result& first = *std::min_element(later->runs.begin(), later->runs.end(), by_start);
    if (began(last) >= began(first)) continue;
    return fmt::format(
        "all runs of {} began before all of {} (until {}, from {}): what else changed on the "
        "machine in between is taken for a difference of theirs; measure them in turn",
        printable(earlier->name, 80), printable(later->name, 80), minute(last), minute(first));
  }
  return {};
}

std::vector<double> occasion_medians(const std::vector<std::size_t>& occasions,
                                     const std::vector<double>& values) {
  if (occasions.size() != values.size()) throw std::invalid_argument("values without an occasion");
  std::map<std::size_t, std::vector<double>> together;
  for (std::size_t i = 0; i < values.size(); ++i) together[occasions[i]].push_back(values[i]);
  std::vector<double> medians;
  for (const auto& [occasion, list] : together) medians.push_back(median(list));
  return medians;
}

Interval shift_of(std::span<const double> base, std::span<const double> candidate,
                  std::size_t fewest) {
  const Interval shift = unpaired_shift(base, candidate);
  if (std::min(base.size(), candidate.size()) >= fewest) return shift;
  return {shift.center, {}, {}, 0};
}

}  // namespace harness
