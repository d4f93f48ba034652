#include "harness/profile/attribution.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>

namespace harness {
namespace {

void check(const Recording& recording) {
  const auto fail = [](std::size_t index, const char* why) {
    throw std::invalid_argument("scope " + std::to_string(index) + " " + why);
  };
  for (std::size_t i = 0; i < recording.scopes.size(); ++i) {
    const RecordedScope& scope = recording.scopes[i];
    if (scope.end_ns < scope.begin_ns) fail(i, "ends before it begins");
    if (scope.parent < 0) continue;
    if (static_cast<std::size_t>(scope.parent) >= i) fail(i, "stands before the one around it");
    const RecordedScope& around = recording.scopes[static_cast<std::size_t>(scope.parent)];
    if (scope.begin_ns < around.begin_ns || scope.end_ns > around.end_ns) {
      fail(i, "reaches out of the one around it");
    }
  }
}

/// Autograd node -> the forward operator that made it. An operator that makes none carries the
/// number of the next node, too: the last operator to begin with a number is the one that made it.
std::map<std::int64_t, std::int64_t> makers(const std::vector<RecordedScope>& scopes) {
  std::map<std::int64_t, std::int64_t> made_by;
  for (std::size_t i = 0; i < scopes.size(); ++i) {
    if (!scopes[i].backward && scopes[i].sequence >= 0) {
      made_by[scopes[i].sequence] = static_cast<std::int64_t>(i);
    }
  }
  return made_by;
}

/// What the engine does around a node (adding up its gradients) belongs to the node: the maker of
/// the first node inside, -1 for others.
std::vector<std::int64_t> makers_inside(const std::vector<RecordedScope>& scopes,
                                        const std::map<std::int64_t, std::int64_t>& made_by) {
  std::vector<std::int64_t> inside(scopes.size(), -1);
  for (const RecordedScope& scope : scopes) {
    if (!scope.backward || scope.sequence < 0 || scope.parent < 0) continue;
    const auto around = static_cast<std::size_t>(scope.parent);
    const auto maker = made_by.find(scope.sequence);
    if (maker == made_by.end() || !scopes[around].backward || scopes[around].sequence >= 0)
      continue;
    if (inside[around] < 0) inside[around] = maker->second;
  }
  return inside;
}

}  // namespace

void drop_last_step(Recording& recording) {
  auto& scopes = recording.scopes;
  const auto last = std::find_if(scopes.rbegin(), scopes.rend(), [](const RecordedScope& scope) {
    return scope.kind == ScopeKind::kStep;
  });
  if (last == scopes.rend()) return;
  scopes.erase(std::next(last).base(), scopes.end());
}

Attribution attribute(const Recording& recording) {
  check(recording);
  const std::vector<RecordedScope>& scopes = recording.scopes;
  const std::map<std::int64_t, std::int64_t> made_by = makers(scopes);
  const std::vector<std::int64_t> inside = makers_inside(scopes, made_by);
  const std::size_t count = scopes.size();
  Attribution a;
  a.step.assign(count, -1);
  a.phase.assign(count, -1);
  a.module.resize(count);
  a.backward.assign(count, false);
  a.forward.assign(count, -1);
  a.operators.assign(count, -1);
  a.self_ns.resize(count);
  a.self_faults.resize(count);
  a.self_system_ns.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const RecordedScope& scope = scopes[i];
    const auto index = static_cast<std::int64_t>(i);
    a.self_ns[i] = scope.end_ns - scope.begin_ns;
    a.self_faults[i] = scope.page_faults;
    const std::int64_t system_ns = scope.system ? scope.system->nanoseconds : 0;
    a.self_system_ns[i] = system_ns;
    a.backward[i] = scope.backward;
    if (scope.kind == ScopeKind::kStep) a.step[i] = index;
    if (scope.parent >= 0) {
      const auto around = static_cast<std::size_t>(scope.parent);
      if (a.step[around] >= 0) a.step[i] = a.step[around];
      a.phase[i] = a.phase[around];
      a.module[i] = a.module[around];
      a.operators[i] = a.operators[around];
      a.backward[i] = scope.backward || a.backward[around];
      a.self_ns[around] -= scope.end_ns - scope.begin_ns;
      a.self_faults[around] -= scope.page_faults;
      a.self_system_ns[around] -= system_ns;
    }
    if (scope.kind == ScopeKind::kPhase) a.phase[i] = index;
    if (scope.kind == ScopeKind::kModule) a.module[i] = scope.name;
    if (scope.kind == ScopeKind::kOperator || scope.kind == ScopeKind::kKernel) {
      a.operators[i] = index;
    }
    if (inside[i] >= 0) a.module[i] = a.module[static_cast<std::size_t>(inside[i])];
    if (!scope.backward || scope.sequence < 0) continue;
    const auto maker = made_by.find(scope.sequence);
    if (maker == made_by.end()) continue;
    a.forward[i] = maker->second;
    a.module[i] = a.module[static_cast<std::size_t>(maker->second)];
  }
  return a;
}

}  // namespace harness
