#include "harness/report/page/html_profile_roofline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "harness/base/text.hpp"
#include "harness/report/profile_tree.hpp"
#include "harness/report/thinning.hpp"

namespace harness {
namespace {

constexpr double kGiga = 1e-9;
/// Of each, the longest; the others would lie on top of each other.
constexpr std::size_t kMostRoofPoints = 300;

bool fits(double value) { return value > 1e-6 && value < 1e30; }

/// By what its tensors are, the tag of the peak that bounds it: "fma.fp32".
std::string peak_tag(const std::string& type) {
  if (type == "f64") return "fma.fp64";
  if (type == "u8" || type == "s8" || type == "int8") return "fma.int8";
  return type == "bf16" ? "fma.bf16" : "fma.fp32";
}

std::optional<double> peak_that_fits(const Profile& profile, const std::string& tag) {
  const std::optional<double> peak = peak_of(profile.peaks, tag);
  return peak && fits(*peak) ? peak : std::nullopt;
}

/// One mark of the roofline: something that took `seconds` of a step for `flops` and `bytes`.
struct Work {
  std::string series{};
  std::string label{};
  double seconds = 0;
  double flops = 0;
  double bytes = 0;
  bool reference = false;

  bool known() const {
    return fits(flops) && fits(bytes) && seconds > 0 && fits(flops / seconds) &&
           fits(flops / bytes);
  }
};

std::vector<Work> longest(std::vector<Work> list) {
  std::stable_sort(list.begin(), list.end(),
                   [](const Work& a, const Work& b) { return a.seconds > b.seconds; });
  if (list.size() > kMostRoofPoints) list.resize(kMostRoofPoints);
  return list;
}

std::vector<Work> primitive_work(const ProfileTables& tables, std::set<std::string>& peaks) {
  std::vector<Work> list;
  for (const PrimitiveRow& row : tables.primitives) {
    const Primitive& p = row.primitive;
    Work work;
    const std::string direction = p.direction.starts_with("forward") ? "forward" : p.direction;
    work.series = pass_name(p.kind, direction);
    work.seconds = row.seconds;
    work.flops = row.flops.value_or(0) * row.calls;
    work.bytes = row.bytes.value_or(0) * row.calls;
    work.reference = is_reference_implementation(p.implementation);
    if (!work.known()) continue;
    work.label = fmt::format("{} {}, {}, {}", work.series, p.implementation,
                             format_quantity(work.seconds, "s"), p.problem);
    if (row.owner && *row.owner < tables.operators.size()) {
      work.label += ", " + tables.operators[*row.owner].module;
    }
    for (const TensorLayout& tensor : p.tensors) {
      if (tensor.type.empty() || tensor.type == "undef") continue;
      peaks.insert(peak_tag(tensor.type));
      break;
    }
    list.push_back(std::move(work));
  }
  return longest(std::move(list));
}

std::vector<Work> operator_work(const ProfileTables& tables, const std::string& precision,
                                std::set<std::string>& peaks) {
  std::vector<Work> list;
  for (const OperatorRow& row : tables.operators) {
    Work work;
    work.series = row.kernel ? "kernels of this project" : "operators, all they do";
    work.seconds = row.self_seconds;
    work.flops = row.flops;
    work.bytes = row.bytes;
    if (!work.known()) continue;
    work.label = fmt::format("{} {}, {}", spoken_operator(row.name), row.module,
                             format_quantity(work.seconds, "s"));
    peaks.insert(peak_tag(precision));
    list.push_back(std::move(work));
  }
  return longest(std::move(list));
}

/// Points by series; those that oneDNN has nothing better for as one of their own.
std::vector<PlotSeries> series_of(const std::vector<Work>& works, double most,
                                  std::size_t& colour) {
  std::map<std::string, PlotSeries> found;
  std::vector<std::string> order;
  for (const Work& work : works) {
    const std::string name = printable(work.reference ? "no fast implementation" : work.series, 60);
    const auto [entry, is_new] = found.emplace(name, PlotSeries{});
    PlotSeries& series = entry->second;
    if (is_new) {
      order.push_back(name);
      series.name = name;
      series.style = PlotStyle::kPoints;
      series.colour = work.reference ? kBadColour : colour++;
    }
    PlotPoint point{plotted(work.flops / work.bytes), plotted(work.flops / work.seconds * kGiga)};
    point.label = printable(work.label, 240);
    point.size = plotted(work.seconds / most);
    series.points.push_back(std::move(point));
  }
  std::vector<PlotSeries> list;
  for (const std::string& name : order) list.push_back(std::move(found[name]));
  return list;
}

/// Under `flops` and `bandwidth`, as far as they are known, from `least` to `most` FLOP per byte.
PlotSeries roof(const std::string& name, const std::optional<double>& flops,
                const std::optional<double>& bandwidth, double least, double most) {
  PlotSeries series{name, PlotStyle::kLine, 7, {}};
  const auto add = [&](double x, double rate, const std::string& label) {
    series.points.push_back({plotted(x), plotted(rate * kGiga), {}, {}, label});
  };
  const std::string slope =
      bandwidth ? "copy bandwidth " + format_quantity(*bandwidth, "B/s") : std::string();
  const std::string flat = flops ? "peak " + format_quantity(*flops, "FLOP/s") : std::string();
  if (!flops) {
    add(least, least * *bandwidth, slope);
    add(most, most * *bandwidth, slope);
    return series;
  }
  if (bandwidth && *flops / *bandwidth > least) {
    add(least, least * *bandwidth, slope);
    if (*flops / *bandwidth < most) add(*flops / *bandwidth, *flops, "ridge");
  } else {
    add(least, *flops, flat);
  }
  const double end = bandwidth ? std::min(*flops, most * *bandwidth) : *flops;
  add(most, end, flat);
  return series;
}

}  // namespace

std::optional<PagePlot> profile_roofline(const Profile& profile) {
  std::set<std::string> tags;
  const auto precision = profile.settings.effective.find("precision");
  const bool named = precision != profile.settings.effective.end() && precision->is_string();
  const std::vector<Work> primitives = primitive_work(profile.tables, tags);
  const std::vector<Work> operators =
      operator_work(profile.tables, named ? precision->get<std::string>() : "fp32", tags);
  if (primitives.empty() && operators.empty()) return std::nullopt;
  PagePlot plot{.title = "Roofline: what runs, under the peaks of the machine"};
  plot.x = {"FLOP per byte that has to move", true, {}, false, {}};
  plot.y = {"GFLOP/s", true, {}, false, {}};
  std::size_t colour = 0;
  double longest_of_all = 0;
  for (const std::vector<Work>* list : {&primitives, &operators}) {
    for (const Work& work : *list) longest_of_all = std::max(longest_of_all, work.seconds);
  }
  plot.series = series_of(primitives, longest_of_all, colour);
  for (PlotSeries& series : series_of(operators, longest_of_all, colour))
    plot.series.push_back(std::move(series));
  double least = 1e30;
  double most = 0;
  for (const PlotSeries& series : plot.series) {
    for (const PlotPoint& point : series.points) {
      least = std::min(least, point.x / 2);
      most = std::max(most, point.x * 2);
    }
  }
  const std::optional<double> bandwidth = peak_that_fits(profile, "copy.bandwidth");
  std::vector<std::string> missing;
  if (!bandwidth) missing.emplace_back("copy.bandwidth");
  bool drawn = false;
  for (const std::string& tag : tags) {
    const std::optional<double> flops = peak_that_fits(profile, tag);
    if (!flops) missing.push_back(tag);
    if (!flops && (!bandwidth || drawn)) continue;
    const double ridge = flops && bandwidth ? *flops / *bandwidth : 0;
    const double from = ridge > 0 ? std::min(least, ridge / 4) : least;
    plot.series.push_back(roof(flops ? "peak " + tag : "copy bandwidth", flops, bandwidth, from,
                               std::max(most, ridge * 4)));
    drawn = true;
  }
  plot.description = fmt::format(
      "The longest {} primitives and {} operators whose work and traffic are known. The larger a "
      "point, the more of a step it takes. Bytes are the least that must move. The roof is that of "
      "direct convolution: what multiplies less can pass it.",
      primitives.size(), operators.size());
  if (!missing.empty()) {
    plot.description += " Peaks that were not measured: " + join(missing, ", ") + ".";
  }
  return plot;
}

}  // namespace harness
