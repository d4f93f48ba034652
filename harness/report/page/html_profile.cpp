#include "harness/report/page/html_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "harness/base/text.hpp"
#include "harness/profile/views.hpp"
#include "harness/report/page/html_facts.hpp"
#include "harness/report/page/html_profile_plots.hpp"
#include "harness/report/page/html_profile_roofline.hpp"
#include "harness/report/page/html_profile_tables.hpp"
#include "harness/report/profile_tree.hpp"
#include "harness/report/report_lines.hpp"

namespace harness {
namespace {

/// By the place of their colour; 4 is that of copies into another layout.
constexpr std::array kPhases = {"forward", "backward", "loss", "optimizer"};
constexpr std::size_t kData = 6;
constexpr std::size_t kOtherPhase = 5;

const char* word_of(NodeKind kind) {
  switch (kind) {
    case NodeKind::kStep:
      return "step";
    case NodeKind::kPhase:
      return "phase";
    case NodeKind::kModule:
      return "module";
    case NodeKind::kOperator:
      return "operator";
    case NodeKind::kPrimitive:
      return "primitive";
    case NodeKind::kBetween:
    case NodeKind::kRest:
      break;
  }
  return "";
}

std::string text_of(const ProfileNode& node, double step_seconds) {
  std::string text = format_quantity(node.seconds, "s");
  if (step_seconds > 0)
    text += fmt::format(" · {:.2f} % of the step", 100 * node.seconds / step_seconds);
  if (node.calls > 0)
    text += fmt::format(" · {:.4g} call{}", node.calls, node.calls == 1 ? "" : "s");
  if (node.flops > 0 && node.seconds > 0) {
    text += " · " + format_quantity(node.flops / node.seconds, "FLOP/s");
  } else if (node.bytes > 0 && node.seconds > 0) {
    text += " · " + format_quantity(node.bytes / node.seconds, "B/s");
  }
  return text;
}

PageTree page_tree(const char* choice, const ProfileTables& tables, TreeOrder order) {
  const std::vector<ProfileNode> nodes = profile_tree(tables, order);
  // A file's sums may be off by what was rounded; what is drawn must fit.
  std::vector<double> inside(nodes.size(), 0);
  for (std::size_t i = 1; i < nodes.size(); ++i) inside[nodes[i].parent] += nodes[i].seconds;
  PageTree tree;
  tree.choice = choice;
  std::vector<double> scale(nodes.size(), 1);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const ProfileNode& node = nodes[i];
    if (i > 0) {
      const ProfileNode& parent = nodes[node.parent];
      const double fit = inside[node.parent] > parent.seconds && inside[node.parent] > 0
                             ? parent.seconds / inside[node.parent]
                             : 1;
      scale[i] = scale[node.parent] * fit;
    }
    PageNode& drawn = tree.nodes.emplace_back();
    drawn.name =
        printable(node.kind == NodeKind::kOperator ? spoken_operator(node.name) : node.name, 120);
    drawn.kind = word_of(node.kind);
    drawn.parent = node.parent;
    drawn.value = plotted(std::min(node.seconds, kLargestPlotted) * scale[i]);
    drawn.text = text_of(node, tables.step_seconds);
    drawn.colour = node.phase ? phase_colour(*node.phase) : kMutedColour;
    drawn.tone = node.reference ? Tone::kBad : node.reorder ? Tone::kDoubt : Tone::kPlain;
  }
  return tree;
}

std::string steps_text(const Profile& profile) {
  const auto median_of = [&](const char* tag) -> std::string {
    const Metric* metric = find_metric(profile.metrics, tag);
    if (metric == nullptr || !metric->summary.median) return "unknown";
    return with_quartiles(metric->summary, metric->unit);
  };
  const ProfileTables& tables = profile.tables;
  std::string text = fmt::format("A plain step takes {}, a recorded step {}", median_of(kPlainStep),
                                 median_of(kRecordedStep));
  if (profile.overhead) {
    text += fmt::format(": recording makes it {} times as long", ratio_text(*profile.overhead));
  }
  return text + fmt::format(". Times and shares below are of the mean of {}: {}.",
                            format_count(static_cast<long long>(tables.steps), "recorded step"),
                            format_quantity(tables.step_seconds, "s"));
}

void add_facts(std::vector<PageFact>& facts, const Profile& profile) {
  constexpr std::size_t kMostNotes = 8;
  const ProfileTables& tables = profile.tables;
  // The last of the remarks are the file's own notes, which may be many.
  const std::vector<std::string> said = remarks(tables);
  const std::size_t own = said.size() - tables.notes.size();
  for (std::size_t i = 0; i < std::min(said.size(), own + kMostNotes); ++i) {
    facts.push_back({"note", printable(said[i], 400), i < own ? Tone::kDoubt : Tone::kPlain});
  }
  if (said.size() > own + kMostNotes) {
    facts.push_back({"note", fmt::format("{} more, in the file", said.size() - own - kMostNotes)});
  }
  facts.push_back({"kernels", kernels_text(profile.kernels)});
  facts.push_back({"overhead of recording",
                   profile.overhead ? fmt::format("x {}", ratio_text(*profile.overhead))
                                    : "unknown: " + printable(profile.overhead_reason)});
  facts.push_back(
      {"attributed", fmt::format("{:.2f} % of the time in primitives belongs to an operator",
                                 100 * tables.attributed_share)});
  std::vector<std::string> libraries;
  for (const std::string& library : tables.libraries) libraries.push_back(printable(library, 40));
  facts.push_back({"oneDNN versions recorded", libraries.empty() ? "none" : join(libraries, ", ")});
  const std::string counters = counters_text(tables);
  if (!counters.empty()) facts.push_back({"hardware counters", printable(counters, 400)});
  facts.push_back({"rows", fmt::format("{} distinct operators, {} distinct primitives",
                                       tables.operators.size(), tables.primitives.size())});
  for (const Peak& peak : profile.peaks) {
    facts.push_back({"peak " + printable(peak.tag, 40), peak_text(peak)});
  }
  if (!profile.trace_file.empty()) {
    facts.push_back({"trace, for Perfetto", printable(profile.trace_file, 200)});
  }
}

}  // namespace

std::size_t phase_colour(const std::string& phase) {
  if (phase.empty()) return kMutedColour;
  if (phase == "data") return kData;
  const auto found = std::find(kPhases.begin(), kPhases.end(), phase);
  return found == kPhases.end() ? kOtherPhase : static_cast<std::size_t>(found - kPhases.begin());
}

PageIcicle profile_icicle(const ProfileTables& tables) {
  PageIcicle icicle;
  icicle.title = "A step, part by part";
  icicle.description =
      "The width of a bar is its time within a recorded step; the bars below it are its parts. "
      "Empty space below an operator is time outside of primitives. Parts that are too small are "
      "merged into \"N more\". Click a part or press Enter to look into it; press Escape or "
      "Backspace "
      "to go back. The arrow keys go from part to part. The tables list the same numbers.";
  std::vector<std::string> phases;
  for (const OperatorRow& row : tables.operators) {
    if (std::find(phases.begin(), phases.end(), row.phase) == phases.end() && phases.size() < 16) {
      phases.push_back(row.phase);
    }
  }
  for (const char* known : {"data", "forward", "loss", "backward", "optimizer"}) {
    if (std::find(phases.begin(), phases.end(), known) != phases.end()) {
      icicle.keys.push_back({known, phase_colour(known)});
    }
  }
  for (const std::string& phase : phases) {
    if (phase_colour(phase) == kOtherPhase) {
      icicle.keys.push_back({printable(phase, 40), kOtherPhase});
      break;
    }
  }
  icicle.keys.push_back({"several phases, or none", kMutedColour});
  const auto has = [&](const auto& test) {
    return std::any_of(tables.primitives.begin(), tables.primitives.end(),
                       [&](const PrimitiveRow& row) { return test(row.primitive); });
  };
  if (has([](const Primitive& one) { return one.kind == "reorder"; })) {
    icicle.keys.push_back({"copy into another layout", kMutedColour, Tone::kDoubt});
  }
  if (has([](const Primitive& one) { return is_reference_implementation(one.implementation); })) {
    icicle.keys.push_back({"no fast implementation", kBadColour, Tone::kBad});
  }
  icicle.trees = {page_tree("phase, module, operator", tables, TreeOrder::kPhaseFirst),
                  page_tree("module, phase, operator", tables, TreeOrder::kModuleFirst),
                  page_tree("operator, phase, module", tables, TreeOrder::kOperatorFirst)};
  return icicle;
}

PageSection profile_section(const ReportItem& item, const std::string& id) {
  const auto& result = as<Profile>(item);
  const ReportLine line = line_of(item);
  PageSection section{
      .id = id,
      .title = fmt::format("Profile of {} on machine {} · {} {} · {} · {}", line.workload,
                           line.machine, setting_text(result.settings, "precision"),
                           kernels_text(result.kernels), line.started_at, line.status)};
  section.tone = line.tone;
  section.paragraphs.push_back(steps_text(result));
  section.facts = common_facts(result, item.file);
  add_facts(section.facts, result);
  const ProfileTables& tables = result.tables;
  if (tables.operators.empty()) return section;
  section.icicles.push_back(profile_icicle(tables));
  for (auto& plot : {primitives_plot(tables), profile_roofline(result), memory_plot(tables)}) {
    if (plot) section.plots.push_back(*plot);
  }
  section.tables = profile_tables(tables);
  // Long ones are built when they are opened.
  PageSection& rows = section.parts.emplace_back();
  rows.id = id + "-rows";
  rows.title = "Every operator and every primitive";
  rows.folded = true;
  rows.tables = profile_rows(tables);
  return section;
}

}  // namespace harness
