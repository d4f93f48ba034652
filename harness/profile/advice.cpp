#include "harness/profile/advice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "harness/base/text.hpp"
#include "harness/profile/views.hpp"

namespace harness {
namespace {

constexpr double kWorthwhile = 0.01;  // of a step

bool is_forward(const OperatorRow& row) { return row.phase == "forward"; }

/// Elements of the largest tensor that an operator of that row reads: "f32[120087,264] f32[264]".
double largest_input(const std::string& shapes) {
  double largest = 0;
  for (std::size_t open = shapes.find('['); open != std::string::npos;
       open = shapes.find('[', open + 1)) {
    const std::size_t close = shapes.find(']', open);
    if (close == std::string::npos) break;
    double elements = 1;
    for (const std::string& extent : split(shapes.substr(open + 1, close - open - 1), ',')) {
      elements *= parse_number(extent).value_or(0);
    }
    largest = std::max(largest, elements);
  }
  return largest;
}

class Adviser {
 public:
  Adviser(const ProfileTables& tables, const AdviceFacts& facts)
      : tables_(tables),
        facts_(facts),
        bandwidth_(facts.copy_bandwidth > 0 ? facts.copy_bandwidth : operator_bandwidth(tables)) {
    for (const PrimitiveRow& row : tables.primitives) {
      if (row.owner && row.primitive.kind == "convolution") {
        of_convolutions_.insert(tables.operators[*row.owner].module);
      }
    }
    of_convolutions_.erase("");
  }

  std::vector<Advice> run() {
    memory();
    focal_loss();
    chains();
    grouped();
    optimizer();
    slow_implementations();
    cache_misses();
    reorders();
    threads();
    precision();
    drop_small();
    const auto rank = [](const Advice& advice) { return advice.expected_seconds.value_or(0); };
    std::stable_sort(found_.begin(), found_.end(), [&](const Advice& a, const Advice& b) {
      if (a.changes_numbers != b.changes_numbers) return b.changes_numbers;
      return rank(a) > rank(b);
    });
    return std::move(found_);
  }

 private:
  // What one change brings counts together, however many reasons there are for it.
  void drop_small() {
    std::map<std::optional<AdvisedChange>, double> sums;
    for (const Advice& advice : found_) {
      sums[advice.change] += advice.expected_seconds.value_or(0);
    }
    const double least = kWorthwhile * facts_.step_seconds;
    std::erase_if(found_, [&](const Advice& advice) {
      if (!advice.expected_seconds) return false;
      if (*advice.expected_seconds <= 0) return true;
      return advice.change ? sums[advice.change] < least : *advice.expected_seconds < least;
    });
  }

  bool possible(const char* setting, const char* value) const {
    const AdvisedChange wanted{setting, value};
    return std::find(facts_.possible.begin(), facts_.possible.end(), wanted) !=
           facts_.possible.end();
  }

  /// Where memory is kept between steps, the few faults there are stay; where it is not, it is the
  /// first thing to mend, and what else there is to gain is counted without them.
  double gap(const OperatorRow& row) const {
    if (facts_.allocator != "system") return std::max(row.gap_seconds(), 0.0);
    return gap_without_faults(row, bandwidth_, facts_.fault_seconds);
  }

  const char* without_faults() const {
    return facts_.allocator == "system" ? " without page faults" : "";
  }

  void memory() {
    if (!possible("allocator", "pooled")) return;
    double faults = 0, seconds = 0;
    for (const OperatorRow& row : tables_.operators) {
      faults += row.page_faults;
      seconds += fault_cost(row, bandwidth_, facts_.fault_seconds);
    }
    found_.push_back(
        {"memory",
         fmt::format("{:.3g} million page faults a step: memory goes back to the "
                     "system and is requested again",
                     faults * 1e-6),
         fmt::format("{} a fault (measured here), at most what an operator took "
                     "beyond moving its bytes{}",
                     format_quantity(facts_.fault_seconds, "s"),
                     bandwidth_ > 0 ? " at " + format_quantity(bandwidth_, "B/s") : std::string()),
         AdvisedChange{"allocator", "pooled"}, seconds, false});
  }

  void focal_loss() {
    if (!possible("focal-loss", "custom")) return;
    double seconds = 0, elements = 0, calls = 0;
    for (const OperatorRow& row : tables_.operators) {
      if (!row.module.starts_with("loss.classification")) continue;
      seconds += gap(row);
      calls += row.calls;
      elements = std::max(elements, largest_input(row.shapes));
    }
    if (seconds <= 0 || bandwidth_ <= 0) return;
    // The logits are read once, their gradient is written once.
    const double kept = 2 * 4 * elements / bandwidth_;
    found_.push_back(
        {"focal loss",
         fmt::format(
             "its composition takes {} in {} a step, each of which reads and writes tensors "
             "of up to {}",
             format_quantity(seconds, "s"), format_count(std::llround(calls), "operator"),
             format_quantity(4 * elements, "B")),
         fmt::format("their time{} less that of one pass at {}", without_faults(),
                     format_quantity(bandwidth_, "B/s")),
         AdvisedChange{"focal-loss", "custom"}, std::max(seconds - kept, 0.0), false});
  }

  /// Element-wise work in the modules of convolutions: what a convolution can do in its own pass,
  /// forward; backward the mask of the ReLU and sums of gradients stay passes of their own.
  void chains() {
    if (!possible("conv-block", "custom")) return;
    double seconds = 0, calls = 0, all = 0;
    for (const OperatorRow& row : tables_.operators) {
      if (row.primitive_seconds > 0 || !of_convolutions_.contains(row.module)) continue;
      all += gap(row);
      if (!is_forward(row) &&
          (row.name == "aten::threshold_backward" || row.name.starts_with("aten::add"))) {
        continue;
      }
      seconds += gap(row);
      calls += row.calls;
    }
    found_.push_back({"frozen norm and ReLU chains",
                      fmt::format("{} a step in element-wise operators around convolutions",
                                  format_quantity(all, "s")),
                      fmt::format("the time of the {:.0f} that fit into a convolution's own pass: "
                                  "all forward ones; backward all but masks and sums",
                                  calls),
                      AdvisedChange{"conv-block", "custom"}, seconds, false});
  }

  void grouped() {
    if (!possible("conv-block", "custom") || !facts_.grouped_recorded) return;
    Advice advice{"grouped convolutions",
                  fmt::format("{} a step", format_quantity(*facts_.grouped_recorded, "s")),
                  "replays of the same shapes by kernels of this project",
                  AdvisedChange{"conv-block", "custom"},
                  std::nullopt,
                  false};
    if (facts_.grouped_replayed) {
      advice.expected_seconds = std::max(*facts_.grouped_recorded - *facts_.grouped_replayed, 0.0);
    }
    found_.push_back(std::move(advice));
  }

  void optimizer() {
    if (!possible("optimizer", "custom") || bandwidth_ <= 0) return;
    double seconds = 0, calls = 0, bytes = 0;
    for (const OperatorRow& row : tables_.operators) {
      if (row.phase != "optimizer") continue;
      seconds += gap(row);
      calls += row.calls;
      // Adam's square root runs once over each parameter: in and out.
      if (row.name == "aten::sqrt") bytes += row.bytes;
    }
    if (bytes <= 0) return;
    // Parameter, gradient and two moments are read, all but the gradient are written.
    const double kept = 7 * bytes / 2 / bandwidth_;
    found_.push_back({"optimizer",
                      fmt::format("{} in {} a step", format_quantity(seconds, "s"),
                                  format_count(std::llround(calls), "operator")),
                      "their time less that of one pass over parameters and moments",
                      AdvisedChange{"optimizer", "custom"}, std::max(seconds - kept, 0.0), false});
  }

  void slow_implementations() {
    double slow = 0, slow_flops = 0, fast = 0, fast_flops = 0;
    std::set<std::string> names;
    for (const PrimitiveRow& row : tables_.primitives) {
      const double flops = row.flops.value_or(0) * row.calls;
      if (is_reference_implementation(row.primitive.implementation)) {
        slow += row.seconds;
        slow_flops += flops;
        names.insert(row.primitive.kind + " as " + row.primitive.implementation);
      } else if (flops > 0) {
        fast += row.seconds;
        fast_flops += flops;
      }
    }
    if (names.empty()) return;
    Advice advice{"slow implementations",
                  fmt::format("{} a step in {}", format_quantity(slow, "s"),
                              join({names.begin(), names.end()}, ", ")),
                  "their operations at the rate of the other primitives",
                  std::nullopt,
                  std::nullopt,
                  false};
    if (slow_flops > 0 && fast_flops > 0) {
      advice.expected_seconds = std::max(slow - slow_flops * fast / fast_flops, 0.0);
    }
    found_.push_back(std::move(advice));
  }

  void cache_misses() {
    double created = 0;
    for (const PrimitiveRow& row : tables_.primitives) created += row.created;
    if (created < 1) return;
    found_.push_back({"primitive cache",
                      fmt::format("{:.3g} primitives a step are created again: set "
                                  "ONEDNN_PRIMITIVE_CACHE_CAPACITY above 1024, or keep them",
                                  created),
                      "", std::nullopt, std::nullopt, false});
  }

  // A kernel that keeps packed weights packs them once for each state of the parameter; LibTorch
  // packs them at each call, and a head is called once for each level of the pyramid. Gradients are
  // unpacked at each call by both.
  void reorders() {
    if (!possible("conv-block", "custom")) return;
    std::map<std::string, std::pair<double, double>> packing;  // calls and seconds of one parameter
    double calls = 0;
    double seconds = 0;
    for (const PrimitiveRow& row : tables_.primitives) {
      if (row.primitive.kind != "reorder" || !row.owner || row.primitive.tensors.empty()) continue;
      const TensorLayout& target = row.primitive.tensors.back();
      const std::string& module = tables_.operators[*row.owner].module;
      if (!is_blocked(target) || module.empty()) continue;
      auto& sum = packing[module + " " + row.primitive.problem + " " + target.layout];
      sum.first += row.calls;
      sum.second += row.seconds;
      calls += row.calls;
      seconds += row.seconds;
    }
    double saved = 0;
    for (const auto& [parameter, sum] : packing) {
      if (sum.first > 1) saved += sum.second * (1 - 1 / sum.first);
    }
    if (saved <= 0) return;
    found_.push_back(
        {"reorders",
         fmt::format("weights are packed {} a step, which takes {}",
                     format_count(std::llround(calls), "time"), format_quantity(seconds, "s")),
         fmt::format("each of {} packed once a step", packing.size()),
         AdvisedChange{"conv-block", "custom"}, saved, false});
  }

  void threads() {
    if (facts_.threads == facts_.usable_cores) return;
    found_.push_back(
        {"threads",
         fmt::format("{} on {}; 'harness project FILE --set threads={}' tells what that "
                     "brings",
                     format_count(facts_.threads, "thread"),
                     format_count(facts_.usable_cores, "usable physical core"),
                     facts_.usable_cores),
         "", AdvisedChange{"threads", std::to_string(facts_.usable_cores)}, std::nullopt, false});
  }

  void precision() {
    if (!possible("precision", "bf16")) return;
    Advice advice{"precision",
                  fmt::format("{} arithmetic throughout", facts_.precision),
                  "replays of all primitives in bf16",
                  AdvisedChange{"precision", "bf16"},
                  std::nullopt,
                  true};
    if (facts_.projected_bf16) {
      advice.expected_seconds = std::max(facts_.step_seconds - *facts_.projected_bf16, 0.0);
    }
    found_.push_back(std::move(advice));
  }

  const ProfileTables& tables_;
  const AdviceFacts& facts_;
  double bandwidth_;                         ///< B/s of what streams through memory; 0: not known
  std::set<std::string> of_convolutions_{};  ///< modules
  std::vector<Advice> found_{};
};

}  // namespace

std::vector<ReplayTask> grouped_tasks(const ProfileTables& tables) {
  std::vector<ReplayTask> grouped;
  for (ReplayTask& task : model_step(tables, 1).tasks) {
    if (task.library == "harness" || task.primitive.kind != "convolution") continue;
    const auto extents = ConvolutionExtents::parse(task.primitive.problem);
    if (!extents || extents->of("g") <= 1) continue;
    task.library = "harness";
    grouped.push_back(std::move(task));
  }
  return grouped;
}

std::vector<Advice> advise(const ProfileTables& tables, const AdviceFacts& facts) {
  return Adviser(tables, facts).run();
}

}  // namespace harness
