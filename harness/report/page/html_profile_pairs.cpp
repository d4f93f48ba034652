#include "harness/report/page/html_profile_pairs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "harness/base/text.hpp"
#include "harness/compare/set_up.hpp"
#include "harness/profile/views.hpp"
#include "harness/report/page/html_facts.hpp"
#include "harness/report/page/html_groups.hpp"
#include "harness/report/page/html_profile_pair.hpp"
#include "harness/report/report_lines.hpp"

namespace harness {
namespace {

constexpr std::size_t kMostCompared = 12;

bool is_measured(const ReportItem& item) {
  const RunState state = item.result->status.state;
  return item.file.problems.empty() && state != RunState::kDryRun && state != RunState::kAborted &&
         as<Profile>(item).tables.step_seconds > 0;
}

/// Reference kernels first, then by start; of many the latest.
std::vector<ProfileSide> in_order(std::vector<ProfileSide> sides) {
  std::stable_partition(sides.begin(), sides.end(), [](const ProfileSide& side) {
    const auto kernels = side.set_up.find("kernels");
    return kernels != side.set_up.end() && kernels->second == "reference";
  });
  if (sides.size() > kMostCompared) {
    sides.erase(sides.begin() + 1, sides.end() - (kMostCompared - 1));
  }
  // The commit is named only where nothing else tells them apart.
  std::vector<SetUp> set_ups;
  std::set<SetUp> without_commit;
  for (const ProfileSide& side : sides) {
    set_ups.push_back(side.set_up);
    set_ups.back().erase("commit");
    without_commit.insert(set_ups.back());
  }
  if (without_commit.size() < sides.size()) {
    for (std::size_t i = 0; i < sides.size(); ++i) set_ups[i] = sides[i].set_up;
  }
  const std::vector<std::string> names = set_up_names(set_ups);
  std::map<std::string, std::size_t> seen;
  for (std::size_t i = 0; i < sides.size(); ++i) ++seen[names[i]];
  for (std::size_t i = 0; i < sides.size(); ++i) {
    const bool alone = seen[names[i]] == 1 && !names[i].starts_with("set-up ");
    sides[i].name =
        alone ? names[i] : fmt::format("{} of {}", names[i], line_of(*sides[i].item).started_at);
  }
  return sides;
}

PageTable steps_table(const std::vector<ProfileSide>& sides) {
  PageTable table{.caption = "Steps of each profile"};
  table.columns = {{"profile"},
                   {"plain step", true},
                   {"recorded step", true},
                   {"times as long", true},
                   {"overhead", true},
                   {"in primitives", true},
                   {"in reorders", true},
                   {"rows of operators", true}};
  const double first = sides.front().tables().step_seconds;
  for (const ProfileSide& side : sides) {
    const Profile& profile = side.profile();
    const ProfileTables& tables = profile.tables;
    double primitives = 0;
    double reorders = 0;
    for (const PrimitiveRow& row : tables.primitives) {
      primitives += row.seconds;
      if (row.primitive.kind == "reorder") reorders += row.seconds;
    }
    const auto share = [&](double seconds) -> PageCell {
      const double part = 100 * seconds / tables.step_seconds;
      return {fmt::format("{:.1f} %", part), part};
    };
    const double times = tables.step_seconds / first;
    table.rows.push_back(
        {{side.name, {}, Tone::kPlain, side.id},
         quantity_cell(median_of(profile.metrics, kPlainStep), "s"),
         quantity_cell(tables.step_seconds, "s"),
         {fmt::format("{:.3f}", times), times},
         profile.overhead
             ? PageCell{fmt::format("{:.3f}", profile.overhead->center), profile.overhead->center}
             : PageCell{"-"},
         share(primitives),
         share(reorders),
         count_cell(tables.operators.size())});
  }
  return table;
}

/// The parts of the model one after another, a bar for each profile.
PagePlot parts_plot(const std::vector<ProfileSide>& sides) {
  constexpr std::size_t kMostParts = 7;
  std::map<std::string, double> largest;
  double longest = 0;
  for (const ProfileSide& side : sides) {
    longest = std::max(longest, side.tables().step_seconds);
    for (const OperatorSum& sum : by_part(side.tables())) {
      double& seconds = largest[sum.name];
      seconds = std::max(seconds, sum.self_seconds);
    }
  }
  std::vector<std::pair<double, std::string>> order;
  for (const auto& [name, seconds] : largest) order.emplace_back(-seconds, name);
  std::sort(order.begin(), order.end());
  const std::size_t drawn = std::min(order.size(), kMostParts);
  const PlotUnit unit = plot_unit(longest, "s");
  PagePlot plot{.title = "Where the time of a step goes"};
  plot.x = {"recorded step, " + unit.label, false, {}, true};
  std::map<std::string, std::size_t> place_of;
  for (std::size_t i = 0; i < drawn; ++i) {
    place_of[order[i].second] = i;
    plot.series.push_back({printable(order[i].second, 60), PlotStyle::kBars, i, {}});
  }
  if (order.size() > drawn) plot.series.push_back({"others", PlotStyle::kBars, drawn, {}});
  for (std::size_t i = 0; i < sides.size(); ++i) {
    plot.y.names.push_back(sides[i].name);
    std::vector<double> seconds(plot.series.size(), 0);
    for (const OperatorSum& sum : by_part(sides[i].tables())) {
      const auto found = place_of.find(sum.name);
      seconds[found == place_of.end() ? drawn : found->second] += std::max(0.0, sum.self_seconds);
    }
    double end = 0;
    for (std::size_t k = 0; k < seconds.size(); ++k) {
      if (seconds[k] <= 0) continue;
      const double from = end;
      end += seconds[k] * unit.factor;
      plot.series[k].points.push_back({plotted(end), static_cast<double>(i), plotted(from)});
    }
  }
  drop_empty_series(plot);
  plot.description =
      "The time of each part of the model, as the operators in it took it themselves. The tables "
      "below list the numbers.";
  return plot;
}

}  // namespace

PageSection profile_pairs_section(const ReportData& data) {
  std::map<std::string, std::vector<ProfileSide>> by_workload;
  const std::vector<ReportItem>& profiles = data.of("profile");
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    if (!is_measured(profiles[i])) continue;
    const auto& profile = as<Profile>(profiles[i]);
    by_workload[profile.rules.workload].push_back(
        {&profiles[i], section_id(data, "profile", i), "", set_up_of(profile)});
  }
  PageSection section{.id = "profile-pairs", .title = "Profiles side by side"};
  section.paragraphs.push_back(
      "Each profile of a workload is compared with the first one. A profile with reference kernels "
      "counts as the first, wherever there is one. Green is time saved, red is time lost.");
  for (const auto& [workload, found] : by_workload) {
    if (found.size() < 2) continue;
    const std::vector<ProfileSide> sides = in_order(found);
    PageSection& part = section.parts.emplace_back();
    part.id = fmt::format("profile-pairs-{}", section.parts.size());
    part.title =
        fmt::format("{} · {}", printable(workload, 60), format_count(std::ssize(sides), "profile"));
    if (found.size() > sides.size()) {
      part.paragraphs.push_back(
          fmt::format("Only the first and the latest {} of {} profiles are compared.",
                      sides.size() - 1, found.size()));
    }
    part.plots.push_back(parts_plot(sides));
    part.tables.push_back(steps_table(sides));
    for (std::size_t i = 1; i < sides.size(); ++i) {
      part.parts.push_back(
          profile_pair_section(sides.front(), sides[i], fmt::format("{}-{}", part.id, i)));
      part.parts.back().folded = i > 1;
    }
  }
  return section;
}

}  // namespace harness
