#include "harness/report/ablation_lines.hpp"

#include <fmt/format.h>

#include "harness/base/text.hpp"

namespace harness {
namespace {

constexpr std::size_t kShownBytes = 40;

}  // namespace

std::vector<std::string> group_lines(const Ablation& ablation) {
  const std::vector<std::vector<std::size_t>> groups = groups_of(ablation);
  if (groups.size() == 1) return {};
  std::vector<std::string> lines;
  for (std::size_t k = 0; k < groups.size(); ++k) {
    std::vector<std::string> names;
    for (const std::size_t i : groups[k]) {
      names.push_back(printable(ablation.variants[i].name, kShownBytes));
    }
    lines.push_back(fmt::format("group {} of {}, for want of memory: {}", k + 1, groups.size(),
                                join(names, ", ")));
  }
  lines.push_back(fmt::format(
      "variants of different groups were never measured together: their ratios are taken by way of "
      "'{}', and their medians are of different times",
      printable(ablation.variants.front().name, kShownBytes)));
  return lines;
}

std::vector<std::string> doubt_lines(const Ablation& ablation) {
  std::vector<std::string> lines;
  for (const Variant& variant : ablation.variants) {
    if (!is_doubtful(variant)) continue;
    lines.push_back(fmt::format("doubtful: {} {}; its times and ratio say nothing",
                                printable(variant.name, kShownBytes),
                                printable(variant.peer->doubt, 200)));
  }
  return lines;
}

bool is_doubtful(const Variant& variant) { return variant.peer && !variant.peer->doubt.empty(); }

}  // namespace harness
