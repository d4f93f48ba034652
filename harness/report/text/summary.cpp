#include "harness/report/text/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "harness/base/text.hpp"
#include "harness/report/common_text.hpp"
#include "harness/report/report_lines.hpp"
#include "harness/report/text/loadgen_text.hpp"
#include "harness/report/text/training_summary.hpp"

namespace harness {
namespace {

constexpr std::size_t kColumns = 80;

std::string quartiles_shown(const Summary& summary, const std::string& unit) {
  if (!summary.quartiles) return "-";
  const auto [low, high] = bounds_texts(*summary.quartiles, unit);
  return fmt::format("{} .. {}", low, high);
}

// "412 GFLOP/s, 88 % peak" for a phase whose FLOPs or bytes are known.
std::string rate_shown(const Result& result, const Metric& metric) {
  static const std::string phase = "time.phase.";
  if (!result.cost || metric.tag.rfind(phase, 0) != 0) return "";
  const double seconds = metric.summary.median->center;
  const auto against = [&](const std::map<std::string, double>& work, const std::string& peak_tag) {
    const auto amount = work.find(metric.tag.substr(phase.size()));
    for (const Peak& peak : result.peaks) {
      if (amount == work.end() || seconds <= 0 || peak.tag != peak_tag) continue;
      const double rate = amount->second / seconds;
      std::string text = "  " + format_quantity(rate, peak.unit);
      const std::optional<double> best = peak_of(result.peaks, peak_tag);
      return best ? text + fmt::format(", {:.0f} % peak", 100 * rate / *best) : text;
    }
    return std::string();
  };
  const Cost& cost = result.cost->cost;
  return against(cost.phase_flops, "fma." + cost.precision) +
         against(cost.phase_bytes, "copy.bandwidth");
}

/// A warning, and the tags of the metrics that it is about.
struct Said {
  std::string warning{};
  std::vector<std::string> tags{};
};

void note_warning(std::vector<Said>& all, const std::string& tag, const std::string& warning) {
  const auto known = std::find_if(all.begin(), all.end(),
                                  [&](const Said& said) { return said.warning == warning; });
  Said& said = known == all.end() ? all.emplace_back(Said{warning, {}}) : *known;
  said.tags.push_back(printable(tag, 60));
}

/// What holds for many metrics is said once, and only of the first few metrics.
std::string warning_lines(std::vector<Said> all) {
  constexpr std::size_t kMostLines = 4;
  constexpr std::size_t kMostNamed = 3;
  const std::size_t left_out = all.size() > kMostLines ? all.size() - kMostLines : 0;
  all.resize(all.size() - left_out);
  std::string text;
  for (Said& said : all) {
    const std::size_t more = said.tags.size() > kMostNamed ? said.tags.size() - kMostNamed : 0;
    said.tags.resize(said.tags.size() - more);
    const std::string others = more > 0 ? fmt::format(" and {} more", more) : "";
    text += wrap(fmt::format("  note: {}{}: {}", join(said.tags, ", "), others,
                             printable(said.warning)),
                 kColumns, 8) +
            "\n";
  }
  if (left_out > 0) {
    text += fmt::format("  note: {}: the result file has them all\n",
                        format_count(static_cast<std::int64_t>(left_out), "more warning"));
  }
  return text;
}

void add_metrics(std::string& text, const Result& result) {
  std::size_t width = 26;
  for (const Metric& metric : result.metrics) width = std::max(width, metric.tag.size());
  width = std::min<std::size_t>(width, 60);
  text +=
      fmt::format("\n{:<{}} {:>16}  {:<26} {:>4}\n", "metric", width, "median", "quartiles", "n");
  std::vector<Said> warned;
  for (const Metric& metric : result.metrics) {
    if (result.training && shown_by_epoch(metric.tag)) continue;
    for (const std::string& warning : metric.warnings) note_warning(warned, metric.tag, warning);
    if (!metric.summary.median) continue;
    const Interval& median = *metric.summary.median;
    text += fmt::format("{:<{}} {:>16}  {:<26} {:>4}{}\n", printable(metric.tag, width), width,
                        format_quantity(median.center, metric.unit),
                        quartiles_shown(metric.summary, metric.unit), metric.summary.n,
                        rate_shown(result, metric));
  }
  text += warning_lines(warned);
}

/// Why no peak is known, where that is one reason.
std::string no_peaks(const std::vector<Peak>& peaks) {
  if (peaks.size() < 2) return "";
  const bool one = std::all_of(peaks.begin(), peaks.end(), [&](const Peak& peak) {
    return !peak_of({peak}, peak.tag) && peak.reason == peaks.front().reason;
  });
  return one ? peaks.front().reason : "";
}

void add_peaks(std::string& text, const std::vector<Peak>& peaks) {
  if (const std::string reason = no_peaks(peaks); !reason.empty()) {
    text += wrap(fmt::format("{:<26} unknown: {}", "peaks of the machine", printable(reason)),
                 kColumns, 27) +
            "\n";
    return;
  }
  for (const Peak& peak : peaks) {
    const std::optional<double> best = peak_of({peak}, peak.tag);
    const std::string row =
        best ? fmt::format("{:>16}  usually {}; {}", format_quantity(*best, peak.unit),
                           format_quantity(peak.value->center, peak.unit),
                           printable(peak.method, 80))
             : "unknown: " + printable(peak.reason) +
                   (peak.method.empty() ? "" : "; " + printable(peak.method, 80));
    text += wrap(fmt::format("peak {:<21} {}", printable(peak.tag, 21), row), kColumns,
                 peak.value ? 45 : 29) +
            "\n";
  }
}

void add_machine(std::string& text, const Result& result) {
  add_peaks(text, result.peaks);
  if (result.cost) {
    const CostReport& cost = *result.cost;
    if (cost.cost.step_flops > 0) {
      std::string calls;
      for (const auto& [name, count] : cost.cost.calls) {
        calls += fmt::format(", {} {}", count, printable(name, 21));
      }
      text += wrap(fmt::format("{:<26} {:>16}  forward {}{}", "work per step",
                               format_quantity(cost.cost.step_flops, "FLOP"),
                               format_quantity(cost.cost.forward_flops, "FLOP"), calls),
                   kColumns, 45) +
              "\n";
    } else {
      text += fmt::format("{:<26} {:>16}  read or written at least\n", "traffic per step",
                          format_quantity(cost.cost.step_bytes, "B"));
    }
    if (cost.achieved_flops_per_second) {
      text += wrap(fmt::format("{:<26} {:>16}  {}", "achieved",
                               format_quantity(*cost.achieved_flops_per_second, "FLOP/s"),
                               achieved_text(cost)),
                   kColumns, 45) +
              "\n";
    }
  }
  if (result.memory.peak_bytes) {
    text += fmt::format("{:<26} {:>16}\n", "peak memory",
                        format_quantity(*result.memory.peak_bytes, "B"));
  }
}

/// What the ranks waited for each other, and which one they waited for.
void add_world(std::string& text, const Result& result) {
  if (!result.world || result.world->members.empty()) return;
  const WorldReport& world = *result.world;
  std::string row =
      fmt::format("{} samples a step, by {}", world.global_batch_size, printable(world.engine, 60));
  const RankReport* slowest = slowest_rank(world);
  const RankReport& shown = slowest == nullptr ? world.members.front() : *slowest;
  if (shown.own_seconds) {
    row +=
        fmt::format("; {} works {} a step",
                    slowest == nullptr ? "each" : fmt::format("the slowest, rank {},", shown.rank),
                    format_quantity(*shown.own_seconds, "s"));
    if (shown.wait_seconds) row += " and waits " + format_quantity(*shown.wait_seconds, "s");
    if (const auto hidden = shown.hidden()) {
      row += fmt::format(", {:.0f} % of the gradients' way being hidden", 100 * *hidden);
    }
  }
  text += wrap(fmt::format("{:<26} {:>16}  {}", "ranks", world.ranks, row), kColumns, 45) + "\n";
  for (const RankReport& rank : world.members) {
    if (!rank.cpus.empty()) continue;
    text += wrap(fmt::format("{:<26} {:>16}  {}", fmt::format("rank {}", rank.rank), "lost",
                             printable(rank.missing)),
                 kColumns, 45) +
            "\n";
  }
}

void add_quality(std::string& text, const Result& result) {
  if (!result.quality) return;
  const QualityReport& report = *result.quality;
  const auto failed = std::count_if(report.quality.checks.begin(), report.quality.checks.end(),
                                    [](const Check& check) { return !check.passed; });
  std::string line = fmt::format(
      "{:<26} {:>16}  {}", "quality: " + printable(report.quality.metric, 17),
      report.quality.value ? fmt::format("{:.6g}", *report.quality.value) : "none",
      report.target ? fmt::format("target {} {:.6g}: {}",
                                  report.quality.direction == Direction::kHigher ? ">=" : "<=",
                                  *report.target, report.passed.value_or(false) ? "met" : "MISSED")
                    : "no target");
  if (!report.quality.value) line += " (" + printable(report.quality.reason) + ")";
  if (!report.quality.checks.empty()) {
    const auto count = static_cast<long long>(report.quality.checks.size());
    line += fmt::format(" ({}, {} failed)", format_count(count, "check"), failed);
  }
  text += wrap(line, kColumns, 45) + "\n";
}

}  // namespace

std::string render_summary(const Result& result) {
  std::string text = fmt::format(
      "{} {} · tier {} · division {} · run {} of {}\n", printable(result.rules.workload, 40),
      printable(result.rules.version, 16), printable(result.rules.tier, 16),
      printable(result.rules.division, 16), result.identity.run_index, result.identity.run_count);
  text += wrap(fmt::format("{} · seed {}", set_up_text(result.settings, result.kernels),
                           result.seeds.run),
               kColumns, 2) +
          "\n";
  text += data_text(result.dataset);
  text += training_text(result);
  // What LoadGen found is what the run was for.
  if (result.loadgen) {
    text += "\n" + loadgen_text(result);
    add_quality(text, result);
  }
  add_metrics(text, result);
  text += "\n";
  add_machine(text, result);
  add_world(text, result);
  if (!result.loadgen) add_quality(text, result);
  text += closing_text(result);
  return text;
}

}  // namespace harness
