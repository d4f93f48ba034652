#include "harness/profile/tables.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "harness/base/text.hpp"
#include "harness/profile/attribution.hpp"
#include "harness/profile/verbose_log.hpp"
#include "harness/stats/stats.hpp"

namespace harness {
namespace {

constexpr double kNano = 1e-9;
constexpr double kMilli = 1e-3;
constexpr std::size_t kMostAllocations = 20;

/// What makes primitives alike: all but the time.
std::string identity_of(const Primitive& p) {
  std::string identity = p.kind + '\n' + p.implementation + '\n' + p.direction + '\n' +
                         p.attributes + '\n' + p.auxiliary + '\n' + p.problem;
  for (const TensorLayout& tensor : p.tensors) {
    identity += '\n' + tensor.name + ':' + tensor.type + ':' + tensor.layout;
  }
  return identity;
}

/// Executions of primitives that are alike, in one row of operators.
struct Executions {
  Primitive primitive{};
  std::vector<double> seconds{};
  std::optional<double> flops{};
  std::optional<double> bytes{};
};

class Tabulator {
 public:
  explicit Tabulator(const Recording& recording)
      : recording_(recording),
        attribution_(attribute(recording)),
        log_(parse_verbose_log(recording.log)),
        steps_(static_cast<double>(std::max<std::int64_t>(count_steps(recording), 1))) {}

  ProfileTables tabulate() {
    tables_.steps = static_cast<std::size_t>(count_steps(recording_));
    add_steps();
    add_operators();
    add_kernels();
    add_executed();
    add_created();
    sum_up();
    add_memory();
    add_notes();
    sort();
    return std::move(tables_);
  }

 private:
  static std::int64_t count_steps(const Recording& recording) {
    return std::count_if(recording.scopes.begin(), recording.scopes.end(),
                         [](const auto& scope) { return scope.kind == ScopeKind::kStep; });
  }

  bool in_step(std::int64_t scope) const {
    return scope >= 0 && scope < static_cast<std::int64_t>(recording_.scopes.size()) &&
           attribution_.step[static_cast<std::size_t>(scope)] >= 0;
  }

  void add_steps() {
    SystemTime system;
    bool counted = tables_.steps > 0;
    for (const RecordedScope& scope : recording_.scopes) {
      if (scope.kind != ScopeKind::kStep) continue;
      tables_.step_seconds += static_cast<double>(scope.end_ns - scope.begin_ns) * kNano / steps_;
      if (!scope.system) {
        counted = false;
        continue;
      }
      system.seconds += static_cast<double>(scope.system->nanoseconds) * kNano / steps_;
      system.page_faults += static_cast<double>(scope.system->page_faults) / steps_;
    }
    if (counted) tables_.system = system;
  }

  void add_operators() {
    const std::vector<RecordedScope>& scopes = recording_.scopes;
    rows_.assign(scopes.size(), kNoRow);
    std::map<std::tuple<std::string, std::string, std::string, bool, bool, std::string>,
             std::size_t>
        known;
    // Tensors that an operator hands on to another are counted there.
    std::vector<bool> calls_others(scopes.size());
    for (const RecordedScope& scope : scopes) {
      if (scope.parent >= 0 && scope.bytes > 0) {
        calls_others[static_cast<std::size_t>(scope.parent)] = true;
      }
    }
    double inside = 0;
    for (std::size_t i = 0; i < scopes.size(); ++i) {
      const RecordedScope& scope = scopes[i];
      if (scope.kind != ScopeKind::kOperator && scope.kind != ScopeKind::kKernel) continue;
      if (attribution_.step[i] < 0) continue;
      const std::int64_t phase = attribution_.phase[i];
      const std::string phase_name = phase < 0 ? "" : scopes[static_cast<std::size_t>(phase)].name;
      const bool kernel = scope.kind == ScopeKind::kKernel;
      const auto [place, is_new] =
          known.try_emplace({phase_name, attribution_.module[i], scope.name, kernel,
                             attribution_.backward[i], scope.shapes},
                            tables_.operators.size());
      if (is_new) {
        OperatorRow row;
        row.phase = phase_name;
        row.module = attribution_.module[i];
        row.name = scope.name;
        row.kernel = kernel;
        row.backward = attribution_.backward[i];
        row.shapes = scope.shapes;
        tables_.operators.push_back(std::move(row));
      }
      rows_[i] = place->second;
      OperatorRow& row = tables_.operators[place->second];
      const double self = static_cast<double>(attribution_.self_ns[i]) * kNano;
      row.calls += 1 / steps_;
      row.self_seconds += self / steps_;
      if (!calls_others[i]) row.bytes += scope.bytes / steps_;
      if (!scope.kernel) row.flops += scope.kernel_flops.value_or(0) / steps_;
      row.page_faults += static_cast<double>(attribution_.self_faults[i]) / steps_;
      row.system_seconds += static_cast<double>(attribution_.self_system_ns[i]) * kNano / steps_;
      inside += self / steps_;
    }
    tables_.between_seconds = tables_.step_seconds - inside;
  }

  // A kernel of ours is a primitive that took all the time of its scope.
  void add_kernels() {
    const std::vector<RecordedScope>& scopes = recording_.scopes;
    for (std::size_t i = 0; i < scopes.size(); ++i) {
      if (!scopes[i].kernel || rows_[i] == kNoRow) continue;
      Primitive primitive = *scopes[i].kernel;
      primitive.milliseconds = static_cast<double>(attribution_.self_ns[i]) * kNano / kMilli;
      std::optional<double> cost = scopes[i].kernel_flops;
      if (!cost) cost = flops(primitive);
      add(rows_[i], "harness", primitive, cost, scopes[i].bytes);
    }
  }

  void add_executed() {
    for (const LoggedPrimitive& logged : log_.executed) {
      if (!in_step(logged.scope)) {
        ++outside_;
        continue;
      }
      const std::int64_t owner = attribution_.operators[static_cast<std::size_t>(logged.scope)];
      const std::size_t row = owner < 0 ? kNoRow : rows_[static_cast<std::size_t>(owner)];
      const std::string library = logged.library.empty() ? "oneDNN" : "oneDNN " + logged.library;
      add(row, library, logged.primitive, flops(logged.primitive), bytes(logged.primitive));
    }
  }

  void add(std::size_t owner, const std::string& library, const Primitive& primitive,
           std::optional<double> cost, std::optional<double> moved) {
    const double seconds = primitive.milliseconds * kMilli;
    const auto [place, is_new] =
        executed_.try_emplace(std::tuple(owner, identity_of(primitive), library));
    place->second.seconds.push_back(seconds);
    if (is_new) {
      place->second.primitive = primitive;
      place->second.flops = cost;
      place->second.bytes = moved;
    }
    (owner == kNoRow ? unowned_ : owned_) += seconds;
    if (owner == kNoRow) return;
    OperatorRow& row = tables_.operators[owner];
    row.primitive_seconds += seconds / steps_;
    if (primitive.kind == "reorder") row.reorder_seconds += seconds / steps_;
    row.flops += cost.value_or(0) / steps_;
  }

  void add_created() {
    for (const LoggedCreation& creation : log_.created) {
      if (creation.from_cache || !in_step(creation.scope)) continue;
      const std::int64_t owner = attribution_.operators[static_cast<std::size_t>(creation.scope)];
      const std::size_t row = owner < 0 ? kNoRow : rows_[static_cast<std::size_t>(owner)];
      ++made_[{row, identity_of(creation.primitive)}];
    }
  }

  void sum_up() {
    for (auto& [key, executions] : executed_) {
      const auto& [owner, identity, library] = key;
      PrimitiveRow row;
      row.primitive = std::move(executions.primitive);
      row.primitive.milliseconds = median(executions.seconds) / kMilli;
      row.library = library;
      if (owner != kNoRow) row.owner = owner;
      row.calls = static_cast<double>(executions.seconds.size()) / steps_;
      for (const double value : executions.seconds) row.seconds += value / steps_;
      row.flops = executions.flops;
      row.bytes = executions.bytes;
      // Of two copies of oneDNN that run the same, the first takes it.
      if (const auto made = made_.extract({owner, identity})) {
        row.created = static_cast<double>(made.mapped()) / steps_;
      }
      tables_.primitives.push_back(std::move(row));
    }
    for (const auto& [key, count] : made_) made_in_vain_ += count;
    if (owned_ + unowned_ > 0) tables_.attributed_share = owned_ / (owned_ + unowned_);
  }

  void add_memory() {
    const auto first =
        std::find_if(recording_.scopes.begin(), recording_.scopes.end(),
                     [](const auto& scope) { return scope.kind == ScopeKind::kStep; });
    if (first == recording_.scopes.end()) return;
    const RecordedScope& step = *first;
    std::vector<MemoryPoint> all;
    std::vector<const RecordedAllocation*> taken;
    for (const RecordedAllocation& allocation : recording_.allocations) {
      if (allocation.at_ns < step.begin_ns || allocation.at_ns > step.end_ns) continue;
      all.push_back({static_cast<double>(allocation.at_ns - step.begin_ns) * kNano,
                     static_cast<double>(allocation.in_use_bytes)});
      if (allocation.bytes > 0) taken.push_back(&allocation);
    }
    // Of equal stretches the highest point each: peaks are what the curve is for.
    const std::size_t stride = all.size() / kMostMemoryPoints + 1;
    for (std::size_t begin = 0; begin < all.size(); begin += stride) {
      const auto last =
          all.begin() + static_cast<std::ptrdiff_t>(std::min(all.size(), begin + stride));
      tables_.memory.push_back(
          *std::max_element(all.begin() + static_cast<std::ptrdiff_t>(begin), last,
                            [](const auto& a, const auto& b) { return a.bytes < b.bytes; }));
    }
    std::stable_sort(taken.begin(), taken.end(),
                     [](const auto* a, const auto* b) { return a->bytes > b->bytes; });
    taken.resize(std::min(taken.size(), kMostAllocations));
    for (const RecordedAllocation* allocation : taken)
      tables_.allocations.push_back(large(*allocation));
  }

  LargeAllocation large(const RecordedAllocation& allocation) const {
    LargeAllocation result{static_cast<double>(allocation.bytes), "", "", ""};
    if (allocation.scope < 0) return result;
    const auto scope = static_cast<std::size_t>(allocation.scope);
    if (scope >= recording_.scopes.size()) return result;
    result.module = attribution_.module[scope];
    if (attribution_.operators[scope] < 0) return result;
    const auto owner = static_cast<std::size_t>(attribution_.operators[scope]);
    result.operator_name = recording_.scopes[owner].name;
    result.shapes = recording_.scopes[owner].shapes;
    return result;
  }

  void add_notes() {
    tables_.libraries = log_.libraries;
    for (const std::string& reason : log_.unreadable) tables_.notes.push_back("log " + reason);
    if (log_.foreign_lines > 0) {
      tables_.notes.push_back(std::to_string(log_.foreign_lines) +
                              " lines of the log come from an unknown source");
    }
    if (made_in_vain_ > 0) {
      tables_.notes.push_back(std::to_string(made_in_vain_) +
                              " primitives were created within the steps but not run there");
    }
    if (outside_ > 0) {
      tables_.notes.push_back(std::to_string(outside_) + " primitives ran outside of the steps");
    }
    add_other_threads();
    tables_.counters_reason = recording_.counters_reason;
    for (const auto& [name, sum] : recording_.counters) tables_.counters[name] = sum / steps_;
  }

  // Operators there call each other, so only the longest says something by itself.
  void add_other_threads() {
    const auto& others = recording_.other_threads;
    const auto longest =
        std::max_element(others.begin(), others.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    if (longest == others.end()) return;
    tables_.notes.push_back(
        std::to_string(others.size()) + " kinds of operators ran on other threads, the longest " +
        longest->first + ": " + format_quantity(longest->second / steps_, "s") + " a step");
  }

  // The owners are places in the list of operators, so they move with it.
  void sort() {
    std::vector<std::size_t> order(tables_.operators.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [this](std::size_t a, std::size_t b) {
      return tables_.operators[a].self_seconds > tables_.operators[b].self_seconds;
    });
    std::vector<std::size_t> moved_to(order.size());
    std::vector<OperatorRow> sorted;
    for (std::size_t i = 0; i < order.size(); ++i) {
      moved_to[order[i]] = i;
      sorted.push_back(std::move(tables_.operators[order[i]]));
    }
    tables_.operators = std::move(sorted);
    for (PrimitiveRow& row : tables_.primitives) {
      if (row.owner) row.owner = moved_to[*row.owner];
    }
    std::stable_sort(tables_.primitives.begin(), tables_.primitives.end(),
                     [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  }

  static constexpr std::size_t kNoRow = static_cast<std::size_t>(-1);

  const Recording& recording_;
  Attribution attribution_;
  VerboseLog log_;
  double steps_;
  ProfileTables tables_{};
  std::vector<std::size_t> rows_{};  ///< of each scope; kNoRow for phases and modules
  /// By owner, identity and library.
  std::map<std::tuple<std::size_t, std::string, std::string>, Executions> executed_{};
  std::map<std::pair<std::size_t, std::string>, std::size_t> made_{};  ///< by owner and identity
  std::size_t made_in_vain_ = 0;
  double owned_ = 0;
  double unowned_ = 0;
  std::size_t outside_ = 0;
};

}  // namespace

ProfileTables tabulate(const Recording& recording) { return Tabulator(recording).tabulate(); }

}  // namespace harness
