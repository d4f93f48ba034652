#include "harness/report/text/profile_summary.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/text.hpp"
#include "harness/profile/views.hpp"
#include "harness/report/common_text.hpp"
#include "harness/report/profile_tree.hpp"
#include "harness/report/text/columns.hpp"

namespace harness {
namespace {

constexpr std::size_t kMostRows = 12;

std::string share(double seconds, const ProfileTables& tables) {
  if (tables.step_seconds <= 0) return "-";
  return fmt::format("{:.1f} %", 100 * seconds / tables.step_seconds);
}

std::string rate(double amount, double seconds, const char* unit) {
  return amount > 0 && seconds > 0 ? format_quantity(amount / seconds, unit) : "-";
}

void add_steps(std::string& text, const Profile& profile) {
  const auto seconds = [&](const char* tag) -> std::string {
    const std::optional<double> median = median_of(profile.metrics, tag);
    return median ? format_quantity(*median, "s") : "-";
  };
  const ProfileTables& tables = profile.tables;
  text +=
      fmt::format("\nstep     {} plain, {} recorded", seconds(kPlainStep), seconds(kRecordedStep));
  if (profile.overhead && profile.overhead->center <= 1) {
    text += ": recording costs less than the noise";
  } else if (profile.overhead) {
    text += fmt::format(": recording makes it {:.2f} times as long", profile.overhead->center);
  }
  text += fmt::format("\n         {} of each; shares below are of the recorded ones\n",
                      format_count(static_cast<long long>(tables.steps), "step"));
}

void add_sums(std::string& text, const char* title, const std::vector<OperatorSum>& sums,
              const ProfileTables& tables, std::size_t columns) {
  constexpr const char* kNumbers = " {:>6} {:>11} {:>7} {:>10} {:>8} {:>12}";
  const std::size_t width = columns - 60;
  text += "\n" + named_row(title, width,
                           fmt::format(kNumbers, "calls", "self", "share", "primitives", "reorders",
                                       "rate"),
                           columns);
  for (std::size_t i = 0; i < std::min(sums.size(), kMostRows); ++i) {
    const OperatorSum& sum = sums[i];
    const std::string numbers =
        fmt::format(kNumbers, sum.calls > 0 ? fmt::format("{:.0f}", sum.calls) : "-",
                    format_quantity(sum.self_seconds, "s"), share(sum.self_seconds, tables),
                    share(sum.primitive_seconds, tables), share(sum.reorder_seconds, tables),
                    sum.flops > 0 ? rate(sum.flops, sum.self_seconds, "FLOP/s")
                                  : rate(sum.bytes, sum.self_seconds, "B/s"));
    text += named_row(spoken_operator(sum.name), width, numbers, columns);
  }
  if (sums.size() > kMostRows) {
    double rest = 0;
    for (std::size_t i = kMostRows; i < sums.size(); ++i) rest += sums[i].self_seconds;
    text += named_row(
        fmt::format("{} more", sums.size() - kMostRows), width,
        fmt::format(" {:>6} {:>11} {:>7}", "", format_quantity(rest, "s"), share(rest, tables)),
        columns);
  }
}

void add_primitives(std::string& text, const Profile& profile, std::size_t columns) {
  const std::vector<PrimitiveSum> sums = by_primitive(profile.tables);
  if (sums.empty()) return;
  constexpr const char* kRest = " {:<{}} {:>6} {:>11} {:>7} {:>12}";
  const std::size_t width = (columns - 42) * 3 / 5;
  const std::size_t second = columns - 42 - width;
  text += "\n" +
          named_row("primitive", width,
                    fmt::format(kRest, "implementation", second, "calls", "time", "share", "rate"),
                    columns);
  for (std::size_t i = 0; i < std::min(sums.size(), kMostRows); ++i) {
    const PrimitiveSum& sum = sums[i];
    const std::string rest = fmt::format(
        kRest, cut_middle(sum.implementation, second), second, fmt::format("{:.0f}", sum.calls),
        format_quantity(sum.seconds, "s"), share(sum.seconds, profile.tables),
        sum.flops > 0 ? rate(sum.flops, sum.seconds, "FLOP/s")
                      : rate(sum.bytes, sum.seconds, "B/s"));
    text += named_row(pass_name(sum.kind, sum.direction) + " " + sum.type, width, rest, columns);
  }
}

}  // namespace

std::string render_summary(const Profile& profile, std::size_t columns) {
  std::string text = fmt::format("profile of {} {}\n", printable(profile.rules.workload, 40),
                                 printable(profile.rules.version, 16));
  text += wrap(fmt::format("{} · seed {}", set_up_text(profile.settings, profile.kernels),
                           profile.seeds.run),
               columns, 2) +
          "\n";
  add_steps(text, profile);
  add_sums(text, "part", by_part(profile.tables), profile.tables, columns);
  add_sums(text, "operator", by_operator(profile.tables), profile.tables, columns);
  add_primitives(text, profile, columns);
  text += "\n";
  const std::string counters = counters_text(profile.tables);
  if (!counters.empty()) {
    text += wrap("counters " + printable(counters, 400), columns, 9) + "\n";
  }
  for (const std::string& remark : remarks(profile.tables)) {
    text += wrap("note     " + printable(remark, 400), columns, 9) + "\n";
  }
  text += closing_text(profile);
  return text;
}

}  // namespace harness
