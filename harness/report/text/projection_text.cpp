#include "harness/report/text/projection_text.hpp"

#include <fmt/format.h>

#include <iterator>

#include "harness/base/text.hpp"
#include "harness/report/common_text.hpp"
#include "harness/report/text/columns.hpp"
#include "harness/report/text/world_text.hpp"
#include "harness/result/common_json.hpp"

namespace harness {
namespace {

using nlohmann::json;

constexpr std::size_t kMostParts = 24;

std::string interval_text(const Interval& interval) {
  std::string text = format_quantity(interval.center, "s");
  if (interval.low && interval.high) {
    text += fmt::format(" [{}, {}]", format_quantity(*interval.low, "s"),
                        format_quantity(*interval.high, "s"));
  }
  return text;
}

std::string ratio_text(const ProjectedPart& part) {
  if (part.recorded_seconds <= 0) return "-";
  return fmt::format("{:.2f}", part.projected_seconds / part.recorded_seconds);
}

std::string parts_text(const Projection& projection, std::size_t columns) {
  constexpr const char* kRest = " {:>7} {:>11} {:>11} {:>7}{:>8}";
  const std::size_t width = columns - 50;
  const auto row = [&](const std::string& name, const std::string& rest) {
    return named_row(name, width, rest, columns);
  };
  std::string text = "\n" + row("part of a step", fmt::format(kRest, "calls", "recorded",
                                                              "projected", "ratio", "by"));
  ProjectedPart rest;
  for (std::size_t i = 0; i < projection.parts.size(); ++i) {
    const ProjectedPart& part = projection.parts[i];
    if (i >= kMostParts) {
      rest.recorded_seconds += part.recorded_seconds;
      rest.projected_seconds += part.projected_seconds;
      continue;
    }
    text +=
        row(part.name, fmt::format(kRest, part.calls > 0 ? fmt::format("{:.0f}", part.calls) : "-",
                                   format_quantity(part.recorded_seconds, "s"),
                                   format_quantity(part.projected_seconds, "s"), ratio_text(part),
                                   part.replayed ? "replay" : "scale"));
  }
  if (projection.parts.size() > kMostParts) {
    text += row(
        fmt::format("{} more", projection.parts.size() - kMostParts),
        fmt::format(" {:>7} {:>11} {:>11} {:>7}", "", format_quantity(rest.recorded_seconds, "s"),
                    format_quantity(rest.projected_seconds, "s"), ratio_text(rest)));
  }
  return text;
}

std::string scale_text(const Projection& projection) {
  if (projection.scaled_by.empty()) return "scale     1: nothing tells how fast memory was then\n";
  const char* why = projection.scaled_by == "replays"
                        ? "this machine now against then, by the primitives as recorded"
                        : "copy bandwidth there and then / here and now";
  return fmt::format("scale     {:.2f}: {}\n", projection.slowdown, why);
}

/// What was projected, and under which settings.
std::string heading(const ProjectionReport& report, const Profile& profile, std::size_t columns) {
  std::string text = fmt::format("projection of {} {}\n", printable(profile.rules.workload, 40),
                                 printable(profile.rules.version, 16));
  text += wrap("profile   " + set_up_text(profile.settings, profile.kernels), columns, 10) + "\n";
  std::vector<std::string> changes;
  for (const auto& [name, value] : report.what_if) {
    changes.push_back(fmt::format("{} {}", name, printable(value, 40)));
  }
  if (!changes.empty()) text += wrap("what if   " + join(changes, " · "), columns, 10) + "\n";
  return text;
}

std::string notes_text(const ProjectionReport& report, std::size_t columns) {
  std::string text;
  for (const std::string& note : report.notes) {
    text += wrap("note      " + printable(note, 400), columns, 10) + "\n";
  }
  return text;
}

}  // namespace

std::string render_world_alone(const ProjectionReport& report, const Profile& profile,
                               std::size_t columns) {
  return heading(report, profile, columns) +
         fmt::format("one rank  {} a step, as in the profile\n\n",
                     format_quantity(report.recorded_step_seconds, "s")) +
         render_world(*report.world) + notes_text(report, columns);
}

json world_json(const ProjectionReport& report) {
  return {{"profile", report.profile_uuid},  {"file", report.profile_file},
          {"what_if", report.what_if},       {"recorded_seconds", report.recorded_step_seconds},
          {"world", to_json(*report.world)}, {"notes", report.notes}};
}

std::string render_projection(const ProjectionReport& report, const Profile& profile,
                              std::size_t columns) {
  const Projection& projection = report.projection;
  std::string text = heading(report, profile, columns);
  text += fmt::format("\nrecorded  {} (without what recording costs)\n",
                      format_quantity(report.recorded_step_seconds, "s"));
  if (!report.what_if.empty() && !projection.scaled_by.empty()) {
    text += fmt::format("unchanged {} here and now (recorded, times the scale below)\n",
                        format_quantity(report.recorded_step_seconds * projection.slowdown, "s"));
  }
  text += fmt::format("projected {}, {:.1f} % of it replayed primitive by primitive\n",
                      interval_text(projection.projected), 100 * projection.explained);
  if (projection.measured) {
    text += fmt::format("measured  {}, plain steps between the rounds\n",
                        interval_text(*projection.measured));
  }
  if (projection.relative_error) {
    text += fmt::format("error     {:+.1f} %\n", 100 * *projection.relative_error);
  }
  text += parts_text(projection, columns);
  text += "\n";
  if (report.world) text += render_world(*report.world);
  const bool stopped = std::ssize(report.rounds) < report.rounds_wanted;
  text += wrap(fmt::format(
                   "rounds    {}{} of {}, run with {}", report.rounds.size(),
                   stopped ? fmt::format(" (stopped before the {} asked for)", report.rounds_wanted)
                           : std::string(),
                   format_count(static_cast<long long>(report.primitives), "distinct primitive"),
                   printable(report.library, 40)),
               columns, 10) +
          "\n";
  text += scale_text(projection);
  if (report.floors) text += wrap("floor     " + floors_text(*report.floors), columns, 10) + "\n";
  if (report.what_if.count("batch-size") > 0) {
    text += "note      recorded, part by part: times the ratio of the batches\n";
  }
  text += notes_text(report, columns);
  for (const std::string& file : report.problem_files) {
    text += fmt::format("benchdnn  {}\n", printable(file, 400));
  }
  return text;
}

json to_json(const ProjectionReport& report) {
  const Projection& projection = report.projection;
  json parts = json::array();
  for (const ProjectedPart& part : projection.parts) {
    parts.push_back({{"name", part.name},
                     {"replayed", part.replayed},
                     {"calls", part.calls},
                     {"recorded_seconds", part.recorded_seconds},
                     {"projected_seconds", part.projected_seconds}});
  }
  json rounds = json::array();
  for (const ProjectionRound& round : report.rounds) {
    rounds.push_back(
        {{"copy_bandwidth", round.copy_bandwidth}, {"measured_seconds", or_null(round.measured)}});
  }
  json document = {
      {"profile", report.profile_uuid},
      {"file", report.profile_file},
      {"what_if", report.what_if},
      {"projected_seconds", projection.projected.center},
      {"projected_interval", interval_json(projection.projected)},
      {"measured_seconds", json()},
      {"measured_interval", projection.measured ? interval_json(*projection.measured) : json()},
      {"relative_error", or_null(projection.relative_error)},
      {"explained", projection.explained},
      {"recorded_seconds", report.recorded_step_seconds},
      {"slowdown", projection.slowdown},
      {"scaled_by", projection.scaled_by},
      {"library", report.library},
      {"primitives", report.primitives},
      {"floors", floors_json(report.floors)},
      {"parts", parts},
      {"rounds", rounds},
      {"rounds_wanted", report.rounds_wanted},
      {"notes", report.notes},
      {"problem_files", report.problem_files}};
  if (report.world) document["world"] = to_json(*report.world);
  if (projection.measured) document["measured_seconds"] = projection.measured->center;
  return document;
}

}  // namespace harness
