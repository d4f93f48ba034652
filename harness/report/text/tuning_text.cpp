#include "harness/report/text/tuning_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "harness/base/text.hpp"
#include "harness/report/text/columns.hpp"

namespace harness {
namespace {

constexpr std::size_t kMostGains = 20;

/// Seconds of one call that the choice saves; 0 where nothing else than the usual kernel ran.
double gain(const TunedProblem& tuned) {
  const auto usual = tuned.line.seconds.find(tuned.usual);
  if (usual == tuned.line.seconds.end()) return 0;
  return usual->second - tuned.line.seconds.at(tuned.line.kernel);
}

std::string wins(const TuningRecord& record) {
  std::map<std::string, std::pair<std::size_t, std::size_t>> kernels;  // won, candidate
  for (const TunedProblem& tuned : record.problems) {
    ++kernels[tuned.line.kernel].first;
    for (const auto& [name, seconds] : tuned.line.seconds) ++kernels[name].second;
  }
  std::string text = fmt::format("{:<16}{:>8}{:>12}\n", "kernel", "fastest", "candidate");
  for (const auto& [name, counts] : kernels) {
    text += fmt::format("{:<16}{:>8}{:>12}\n", printable(name, 15), counts.first, counts.second);
  }
  return text;
}

}  // namespace

std::string render_tuning(const TuningRecord& record, std::size_t columns) {
  std::vector<const TunedProblem*> changed;
  for (const TunedProblem& tuned : record.problems) {
    if (tuned.line.kernel != tuned.usual) changed.push_back(&tuned);
  }
  std::sort(changed.begin(), changed.end(),
            [](const TunedProblem* a, const TunedProblem* b) { return gain(*a) > gain(*b); });
  std::string text = wins(record);
  if (changed.empty()) return text + "\nThe usual kernel is the fastest of each.\n";
  text += fmt::format("\nAnother kernel than without a table ({} of {}):\n", changed.size(),
                      format_count(std::ssize(record.problems), "problem"));
  for (std::size_t i = 0; i < std::min(changed.size(), kMostGains); ++i) {
    const TunedProblem& tuned = *changed[i];
    const auto usual = tuned.line.seconds.find(tuned.usual);
    const double fastest = tuned.line.seconds.at(tuned.line.kernel);
    const std::string was =
        usual == tuned.line.seconds.end()
            ? tuned.usual + " cannot"
            : fmt::format("{} {}, {:.2f}x", tuned.usual, format_quantity(usual->second, "s"),
                          usual->second / fastest);
    const std::string name =
        fmt::format("{} {} {}", tuned.problem.pass, tuned.problem.type, tuned.problem.problem);
    text += named_row(
        name, std::min<std::size_t>(64, columns),
        fmt::format("  {} {} ({})", tuned.line.kernel, format_quantity(fastest, "s"), was),
        columns);
  }
  if (changed.size() > kMostGains) {
    text += fmt::format("and {} more, in the table\n", changed.size() - kMostGains);
  }
  return text;
}

}  // namespace harness
