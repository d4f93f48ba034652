#include "harness/profile/views.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "harness/base/text.hpp"

namespace harness {
namespace {

constexpr double kWorthARemark = 0.01;  // of the step

std::string part_of(const OperatorRow& row) {
  if (row.module.empty()) return row.phase.empty() ? "(no phase)" : row.phase;
  const std::size_t first = row.module.find('.');
  if (first == std::string::npos) return row.module;
  return row.module.substr(0, row.module.find('.', first + 1));
}

constexpr double kFewFaults = 0.02;

constexpr double kPage = 4096;

/// Part of the bytes that was faulted in; 1 where they are not known.
double faulted_share(const OperatorRow& row) {
  if (row.page_faults <= 0) return 0;
  return row.bytes > 0 ? row.page_faults * kPage / row.bytes : 1;
}

template <class Sum>
std::vector<Sum> longest_first(std::vector<Sum> sums, double Sum::*seconds) {
  std::stable_sort(sums.begin(), sums.end(),
                   [&](const Sum& a, const Sum& b) { return a.*seconds > b.*seconds; });
  return sums;
}

template <class Name>
std::vector<OperatorSum> add_up(const ProfileTables& tables, const Name& name_of) {
  std::map<std::string, OperatorSum> sums;
  for (const OperatorRow& row : tables.operators) {
    const std::string name = name_of(row);
    OperatorSum& sum = sums[name];
    sum.name = name;
    sum.calls += row.calls;
    sum.self_seconds += row.self_seconds;
    sum.primitive_seconds += row.primitive_seconds;
    sum.reorder_seconds += row.reorder_seconds;
    sum.bytes += row.bytes;
    sum.flops += row.flops;
    sum.page_faults += row.page_faults;
  }
  std::vector<OperatorSum> list;
  for (auto& [name, sum] : sums) list.push_back(std::move(sum));
  return list;
}

std::string type_of(const Primitive& primitive) {
  for (const TensorLayout& tensor : primitive.tensors) {
    if (tensor.type != "undef" && !tensor.type.empty()) return tensor.type;
  }
  return "";
}

std::string share_text(double seconds, const ProfileTables& tables) {
  return fmt::format("{} a step ({:.1f} %)", format_quantity(seconds, "s"),
                     100 * seconds / std::max(tables.step_seconds, 1e-12));
}

}  // namespace

std::vector<OperatorSum> by_part(const ProfileTables& tables) {
  std::vector<OperatorSum> sums = add_up(tables, part_of);
  OperatorSum between;
  between.name = "(between operators)";
  between.self_seconds = tables.between_seconds;
  sums.push_back(std::move(between));
  return longest_first(std::move(sums), &OperatorSum::self_seconds);
}

std::vector<OperatorSum> by_operator(const ProfileTables& tables) {
  return longest_first(add_up(tables, [](const OperatorRow& row) { return row.name; }),
                       &OperatorSum::self_seconds);
}

std::vector<PrimitiveSum> by_primitive(const ProfileTables& tables) {
  std::map<std::tuple<std::string, std::string, std::string, std::string, std::string>,
           PrimitiveSum>
      sums;
  for (const PrimitiveRow& row : tables.primitives) {
    const Primitive& p = row.primitive;
    const std::string type = type_of(p);
    PrimitiveSum& sum = sums[{p.kind, p.direction, p.implementation, row.library, type}];
    sum.kind = p.kind;
    sum.direction = p.direction;
    sum.implementation = p.implementation;
    sum.library = row.library;
    sum.type = type;
    sum.calls += row.calls;
    sum.seconds += row.seconds;
    sum.flops += row.flops.value_or(0) * row.calls;
    sum.bytes += row.bytes.value_or(0) * row.calls;
  }
  std::vector<PrimitiveSum> list;
  for (auto& [key, sum] : sums) list.push_back(std::move(sum));
  return longest_first(std::move(list), &PrimitiveSum::seconds);
}

double operator_bandwidth(const ProfileTables& tables) {
  constexpr double kLarge = 4e6;
  double bytes = 0;
  double seconds = 0;
  for (const OperatorRow& row : tables.operators) {
    if (row.primitive_seconds > 0 || row.calls <= 0 || row.bytes / row.calls < kLarge) continue;
    if (faulted_share(row) > kFewFaults) continue;
    bytes += row.bytes;
    seconds += row.gap_seconds();
  }
  return seconds > 0 ? bytes / seconds : 0;
}

double gap_without_faults(const OperatorRow& row, double bandwidth, double fault_seconds) {
  const double gap = std::max(row.gap_seconds(), 0.0);
  if (faulted_share(row) <= kFewFaults || bandwidth <= 0) {
    return std::max(gap - row.page_faults * fault_seconds, 0.0);
  }
  const double written = row.page_faults * kPage;
  // Where its bytes are not known: as much is read as is written.
  const double bytes = std::max(row.bytes, 2 * written);
  return std::min(gap, (bytes + written) / bandwidth);
}

double fault_cost(const OperatorRow& row, double bandwidth, double fault_seconds) {
  const double beyond =
      std::max(row.gap_seconds(), 0.0) - gap_without_faults(row, bandwidth, fault_seconds);
  return std::clamp(row.page_faults * fault_seconds, 0.0, std::max(beyond, 0.0));
}

double system_factor(const ProfileTables& tables, double bandwidth) {
  double system = 0;
  double beyond = 0;
  for (const OperatorRow& row : tables.operators) {
    if (row.primitive_seconds > 0 || faulted_share(row) <= kFewFaults) continue;
    system += row.system_seconds;
    beyond += std::max(row.gap_seconds(), 0.0) - gap_without_faults(row, bandwidth, 0);
  }
  return system > 0 ? std::clamp((1 + beyond / system) / 2, 1.0, 2.0) : 1;
}

std::string page_faults_text(double faults) {
  return faults < 1e5 ? format_count(std::llround(faults), "page fault")
                      : fmt::format("{:.3g} million page faults", faults * 1e-6);
}

double working_seconds(const ProfileTables& tables) {
  double seconds = 0;
  for (const PrimitiveRow& row : tables.primitives) seconds += row.seconds;
  for (const OperatorRow& row : tables.operators) {
    if (row.kernel) seconds += row.gap_seconds();  // those that are no primitive
  }
  return seconds;
}

std::string counters_text(const ProfileTables& tables) {
  if (tables.counters.empty()) {
    return tables.counters_reason.empty() ? "" : "none: " + tables.counters_reason;
  }
  std::vector<std::string> parts;
  for (const auto& [name, count] : tables.counters)
    parts.push_back(fmt::format("{} {:.4g}", name, count));
  const auto ratio = [&](const char* above, const char* below, const char* what) {
    const auto of = tables.counters.find(above);
    const auto to = tables.counters.find(below);
    if (of == tables.counters.end() || to == tables.counters.end() || to->second <= 0) return;
    parts.push_back(fmt::format("{:.2f} {}", of->second / to->second, what));
  };
  ratio("instructions", "cycles", "instructions a cycle");
  ratio("cache_misses", "cache_references", "of the cache references miss");
  return join(parts, ", ") + " (a step, user mode)";
}

std::vector<std::string> remarks(const ProfileTables& tables) {
  std::vector<std::string> found;
  double reordering = 0;
  double created = 0;
  std::map<std::string, double> slow;
  for (const PrimitiveRow& row : tables.primitives) {
    created += row.created;
    if (row.primitive.kind == "reorder") reordering += row.seconds;
    if (is_reference_implementation(row.primitive.implementation)) {
      slow[pass_name(row.primitive.kind, row.primitive.direction) + " as " +
           row.primitive.implementation] += row.seconds;
    }
  }
  for (const auto& [what, seconds] : slow) {
    found.push_back("oneDNN has no fast implementation for " + what + ": " +
                    share_text(seconds, tables));
  }
  if (created > 0) {
    found.push_back(
        fmt::format("{:.3g} primitives a step are created again instead of found in the "
                    "cache (ONEDNN_PRIMITIVE_CACHE_CAPACITY)",
                    created));
  }
  if (reordering > kWorthARemark * tables.step_seconds) {
    found.push_back("copies into another layout take " + share_text(reordering, tables));
  }
  const double outside = tables.step_seconds - working_seconds(tables);
  if (!tables.primitives.empty() && outside > kWorthARemark * tables.step_seconds) {
    found.push_back("outside of primitives and kernels: " + share_text(outside, tables));
  }
  if (tables.system && tables.system->seconds > kWorthARemark * tables.step_seconds) {
    found.push_back(fmt::format("in the operating system: {}, with {}",
                                share_text(tables.system->seconds, tables),
                                page_faults_text(tables.system->page_faults)));
  }
  if (tables.attributed_share < 1) {
    found.push_back(fmt::format("{:.2f} % of the time in primitives belongs to no operator",
                                100 * (1 - tables.attributed_share)));
  }
  found.insert(found.end(), tables.notes.begin(), tables.notes.end());
  return found;
}

}  // namespace harness
