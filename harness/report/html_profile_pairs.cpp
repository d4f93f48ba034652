// Profiles of a workload side by side.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "harness/base/text.hpp"
#include "harness/profile/views.hpp"
#include "harness/report/html_groups.hpp"
#include "harness/report/html_parts.hpp"
#include "harness/report/profile_difference.hpp"
#include "harness/report/profile_tree.hpp"
#include "harness/report/report_lines.hpp"
#include "harness/report/set_up.hpp"

namespace harness {
namespace {

constexpr std::size_t kMostCompared = 12;
constexpr std::size_t kMostBars = 14;

/// One of the profiles that are compared, and what it is called.
struct ProfileSide {
  const ReportProfile* profile = nullptr;
  std::string id{};  ///< of its section; empty without one
  std::string name{};
  SetUp set_up{};

  const ProfileTables& tables() const { return profile->result.tables; }
};

bool is_measured(const ReportProfile& profile) {
  const RunState state = profile.result.status.state;
  return profile.file.problems.empty() && state != RunState::kDryRun &&
         state != RunState::kAborted && profile.result.tables.step_seconds > 0;
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
        alone ? names[i] : fmt::format("{} of {}", names[i], line_of(*sides[i].profile).started_at);
  }
  return sides;
}

PageCell seconds_cell(const std::optional<double>& seconds) {
  return seconds ? PageCell{format_quantity(*seconds, "s"), *seconds} : PageCell{"-"};
}

std::string signed_time(double seconds) {
  const std::string text = format_quantity(std::abs(seconds), "s");
  return seconds == 0 ? text : (seconds > 0 ? "+" : "-") + text;
}

std::optional<double> median_of(const Profile& profile, const char* tag) {
  const Metric* metric = find_metric(profile.metrics, tag);
  if (metric == nullptr || !metric->summary.median) return std::nullopt;
  return metric->summary.median->center;
}

PageTable steps_table(const std::vector<ProfileSide>& sides) {
  PageTable table;
  table.caption = "Steps of each profile";
  table.columns = {{"profile"},           {"plain step", true},       {"recorded step", true},
                   {"x first", true},     {"overhead", true},         {"in primitives", true},
                   {"in reorders", true}, {"rows of operators", true}};
  const double first = sides.front().tables().step_seconds;
  for (const ProfileSide& side : sides) {
    const Profile& profile = side.profile->result;
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
         seconds_cell(median_of(profile, kPlainStep)),
         seconds_cell(tables.step_seconds),
         {fmt::format("{:.3f}", times), times},
         profile.overhead
             ? PageCell{fmt::format("{:.3f}", profile.overhead->center), profile.overhead->center}
             : PageCell{"-"},
         share(primitives),
         share(reorders),
         {std::to_string(tables.operators.size()), static_cast<double>(tables.operators.size())}});
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
  PagePlot plot;
  plot.title = "Where the time of a step goes";
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
  std::erase_if(plot.series, [](const PlotSeries& series) { return series.points.empty(); });
  plot.description =
      "Time without the operators called, by part of the model. The tables below have the figures.";
  return plot;
}

std::string name_of(const DifferenceRow& row) {
  std::string name = row.name.empty() ? "(no module)" : spoken_operator(row.name);
  if (!row.detail.empty()) name += ", " + row.detail;
  return printable(name, 100);
}

/// What is lost and what is saved, to either side of 0.
PagePlot changes_plot(const char* title, const std::vector<DifferenceRow>& rows,
                      bool wide = false) {
  PagePlot plot;
  plot.wide = wide;
  plot.title = title;
  const double largest = rows.empty() ? 0 : std::abs(rows.front().change());
  const PlotUnit unit = plot_unit(largest, "s");
  plot.x = {"change of a step, " + unit.label, false, {}, true};
  PlotSeries longer{"takes longer", PlotStyle::kBars, kBadColour, {}};
  PlotSeries shorter{"takes less", PlotStyle::kBars, kGoodColour, {}};
  for (const DifferenceRow& row : rows) {
    if (plot.y.names.size() == kMostBars) break;
    const double change = row.change();
    if (std::abs(change) < 0.002 * largest) continue;
    PlotSeries& series = change > 0 ? longer : shorter;
    std::string label = signed_time(change);
    if (!row.first_seconds) label += ", new";
    if (!row.other_seconds) label += ", gone";
    series.points.push_back(
        {plotted(change * unit.factor), static_cast<double>(plot.y.names.size()), {}, {}, label});
    plot.y.names.push_back(name_of(row));
  }
  for (PlotSeries* series : {&longer, &shorter}) {
    if (!series->points.empty()) plot.series.push_back(std::move(*series));
  }
  plot.description = "The largest changes, whichever way. The table has all of them.";
  return plot;
}

PagePlot work_plot(const ProfileDifference& difference, const std::string& first,
                   const std::string& other) {
  PagePlot plot;
  plot.title = "Primitives by what they compute";
  plot.wide = true;
  plot.paired = true;
  double longest = 0;
  for (const DifferenceRow& row : difference.work) {
    longest = std::max({longest, row.first_seconds.value_or(0), row.other_seconds.value_or(0)});
  }
  const PlotUnit unit = plot_unit(longest, "s");
  plot.x = {"time in a step, " + unit.label, false, {}, true};
  PlotSeries before{first, PlotStyle::kBars, 7, {}};
  PlotSeries after{other, PlotStyle::kBars, 0, {}};
  for (const DifferenceRow& row : difference.work) {
    if (plot.y.names.size() == kMostBars) break;
    const auto place = static_cast<double>(plot.y.names.size());
    const auto add = [&](PlotSeries& series, const std::optional<double>& seconds, double calls) {
      if (!seconds) return;
      series.points.push_back(
          {plotted(*seconds * unit.factor),
           place,
           {},
           {},
           fmt::format("{}, {:.4g} calls", format_quantity(*seconds, "s"), calls)});
    };
    add(before, row.first_seconds, row.first_calls);
    add(after, row.other_seconds, row.other_calls);
    plot.y.names.push_back(name_of(row));
  }
  plot.series = {before, after};
  plot.description =
      "By kind, direction and type, whatever implementation oneDNN chose; kernels of this project "
      "among them.";
  return plot;
}

PageTable changes_table(const char* caption, const char* name, const char* detail,
                        const std::vector<DifferenceRow>& rows, double step_change,
                        const ProfileSide& first, const ProfileSide& other) {
  PageTable table;
  table.caption = caption;
  table.columns = {{name}};
  if (detail != nullptr) table.columns.push_back({detail});
  table.columns.insert(table.columns.end(), {{"change", true},
                                             {"of the step's", true},
                                             {first.name, true},
                                             {other.name, true},
                                             {"times", true},
                                             {"calls", true},
                                             {"calls now", true}});
  for (const DifferenceRow& row : rows) {
    if (table.rows.size() == kMostRows) break;
    const double change = row.change();
    std::vector<PageCell> cells = {
        {row.name.empty() ? "-" : printable(spoken_operator(row.name), 120)}};
    if (detail != nullptr) cells.push_back({row.detail.empty() ? "-" : printable(row.detail, 100)});
    cells.push_back({signed_time(change), change});
    const double share = step_change != 0 ? 100 * change / step_change : 0;
    cells.push_back(step_change != 0 ? PageCell{fmt::format("{:.1f} %", share), share}
                                     : PageCell{"-"});
    cells.push_back(seconds_cell(row.first_seconds));
    cells.push_back(seconds_cell(row.other_seconds));
    const bool both = row.first_seconds.value_or(0) > 0 && row.other_seconds;
    const double times = both ? *row.other_seconds / *row.first_seconds : 0;
    cells.push_back(both ? PageCell{fmt::format("{:.3g}", times), times}
                         : PageCell{row.first_seconds ? "gone" : "new"});
    cells.push_back({fmt::format("{:.4g}", row.first_calls), row.first_calls});
    cells.push_back({fmt::format("{:.4g}", row.other_calls), row.other_calls});
    table.rows.push_back(std::move(cells));
  }
  if (rows.size() > table.rows.size()) {
    table.note = fmt::format("The first {} of {} rows.", table.rows.size(), rows.size());
  }
  return table;
}

/// What is not the same of the two, by name.
std::vector<PageFact> set_up_facts(const ProfileSide& first, const ProfileSide& other) {
  std::vector<PageFact> facts;
  for (const auto& [name, value] : first.set_up) {
    const auto found = other.set_up.find(name);
    const std::string theirs = found == other.set_up.end() ? "none" : found->second;
    if (theirs != value) {
      facts.push_back({printable(name, 60), printable(value, 90) + " → " + printable(theirs, 90)});
    }
  }
  for (const auto& [name, value] : other.set_up) {
    if (first.set_up.count(name) == 0) {
      facts.push_back({printable(name, 60), "none → " + printable(value, 90)});
    }
  }
  for (const ProfileSide* side : {&first, &other}) {
    if (!side->profile->result.status.mistrusted) continue;
    facts.push_back(
        {"mistrusted",
         side->name + ": the machine was not fit to measure on (its own section says why)",
         Tone::kDoubt});
  }
  return facts;
}

PageSection pair_section(const ProfileSide& first, const ProfileSide& other,
                         const std::string& id) {
  const ProfileDifference difference = difference_of(first.tables(), other.tables());
  const double change = difference.other_step - difference.first_step;
  PageSection section;
  section.id = id;
  section.title = fmt::format("{} against {}", other.name, first.name);
  section.paragraphs.push_back(fmt::format(
      "A recorded step takes {} instead of {}: {}, {:.3f} times as long. Changes by part, by "
      "module "
      "and by operator each add up to that; one profile a side tells no spread.",
      format_quantity(difference.other_step, "s"), format_quantity(difference.first_step, "s"),
      signed_time(change), difference.other_step / difference.first_step));
  section.facts = set_up_facts(first, other);
  for (PagePlot& plot :
       std::vector<PagePlot>{changes_plot("Change by part of the model", difference.parts),
                             changes_plot("Change by operator", difference.operators),
                             changes_plot("Change by module and phase", difference.modules, true),
                             work_plot(difference, first.name, other.name)}) {
    if (!plot.y.names.empty()) section.plots.push_back(std::move(plot));
  }
  const auto add = [&](const char* caption, const char* name, const char* detail,
                       const std::vector<DifferenceRow>& rows) {
    if (rows.empty()) return;
    section.tables.push_back(changes_table(caption, name, detail, rows, change, first, other));
  };
  add("Change by part of the model", "part", nullptr, difference.parts);
  add("Change by operator", "operator", nullptr, difference.operators);
  add("Change by module and phase", "module", "phase", difference.modules);
  add("Change by primitive", "primitive", "implementation", difference.primitives);
  return section;
}

}  // namespace

PageSection profile_pairs_section(const ReportData& data) {
  std::map<std::string, std::vector<ProfileSide>> by_workload;
  for (std::size_t i = 0; i < data.profiles.size(); ++i) {
    const ReportProfile& profile = data.profiles[i];
    if (!is_measured(profile)) continue;
    const bool shown = is_detailed_profile(i, data.profiles.size());
    by_workload[profile.result.rules.workload].push_back(
        {&profile, shown ? profile_id(i) : "", "", set_up_of(profile.result)});
  }
  PageSection section;
  section.id = "profile-pairs";
  section.title = "Profiles side by side";
  section.paragraphs.push_back(
      "Each later profile of a workload against its first one (with reference kernels, where there "
      "is one). Green is time saved, red is time lost.");
  for (const auto& [workload, found] : by_workload) {
    if (found.size() < 2) continue;
    const std::vector<ProfileSide> sides = in_order(found);
    PageSection& part = section.parts.emplace_back();
    part.id = fmt::format("profile-pairs-{}", section.parts.size());
    part.title =
        fmt::format("{} · {}", printable(workload, 60), format_count(std::ssize(sides), "profile"));
    if (found.size() > sides.size()) {
      part.paragraphs.push_back(
          fmt::format("Of {} profiles the first and the latest.", found.size()));
    }
    part.plots.push_back(parts_plot(sides));
    part.tables.push_back(steps_table(sides));
    for (std::size_t i = 1; i < sides.size(); ++i) {
      part.parts.push_back(pair_section(sides.front(), sides[i], fmt::format("{}-{}", part.id, i)));
      part.parts.back().folded = i > 1;
    }
  }
  return section;
}

}  // namespace harness
