#include "harness/profile/projection.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "harness/stats/stats.hpp"

namespace harness {
namespace {

template <class Item>
void longest_first(std::vector<Item>& items, double Item::*seconds) {
  std::stable_sort(items.begin(), items.end(),
                   [&](const Item& a, const Item& b) { return a.*seconds > b.*seconds; });
}

std::string identity_of(const ReplayTask& task) {
  const Primitive& p = task.primitive;
  std::string text = task.library;
  const auto add = [&text](const std::string& word) { text.append("|").append(word); };
  for (const TensorLayout& tensor : p.tensors) {
    add(tensor.name);
    add(tensor.type);
    add(tensor.layout);
    add(tensor.chosen_by_library ? "a" : "");
  }
  for (const std::string* word :
       {&p.kind, &p.implementation, &p.direction, &p.attributes, &p.auxiliary, &p.problem}) {
    add(*word);
  }
  return text;
}

std::vector<ReplayTask> distinct(const ProfileTables& tables) {
  std::map<std::string, ReplayTask> tasks;
  for (const PrimitiveRow& row : tables.primitives) {
    ReplayTask task{row.primitive, row.library, 0, 0};
    ReplayTask& known = tasks.try_emplace(identity_of(task), std::move(task)).first->second;
    known.calls += row.calls;
    known.recorded_seconds += row.seconds;
  }
  std::vector<ReplayTask> list;
  for (auto& [identity, task] : tasks) list.push_back(std::move(task));
  longest_first(list, &ReplayTask::recorded_seconds);
  return list;
}

// Recording costs something with each scope that is opened and each line that is printed, so the
// operators bear it by their calls, but none more than it took.
std::vector<OtherTime> other_times(const ProfileTables& tables, double recording_seconds) {
  double calls = 0;
  for (const OperatorRow& row : tables.operators) calls += row.calls;
  const double each = calls > 0 ? recording_seconds / calls : 0;
  std::map<std::string, double> plain;
  plain["(between operators)"] = tables.between_seconds;
  double taken = 0;
  double sum = tables.between_seconds;
  for (const OperatorRow& row : tables.operators) {
    const double gap = std::max(row.gap_seconds(), 0.0);
    const double cost = std::min(gap, each * row.calls);
    taken += cost;
    sum += gap;
    plain[row.phase.empty() ? "(no phase)" : row.phase] += gap - cost;
  }
  // What small operators could not bear the others do.
  const double rest = sum - taken;
  const double scale = rest > 0 ? std::max(rest - (recording_seconds - taken), 0.0) / rest : 0;
  std::vector<OtherTime> list;
  for (const auto& [phase, seconds] : plain) list.push_back({phase, seconds * scale});
  return list;
}

/// Replayed seconds over recorded ones, of those tasks that were replayed; empty for none.
std::optional<double> slowdown_of(const std::vector<ReplayTask>& tasks,
                                  const std::vector<std::optional<double>>& seconds) {
  double recorded = 0, replayed = 0;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (!seconds[i]) continue;
    recorded += tasks[i].recorded_seconds;
    replayed += tasks[i].calls * *seconds[i];
  }
  return recorded > 0 ? std::optional(replayed / recorded) : std::nullopt;
}

/// By how much what is not replayed takes longer here and now, in each round.
struct Slowdowns {
  std::vector<double> rounds{};
  std::string source{};  ///< empty: nothing tells
};

Slowdowns slowdowns(const StepModel& model, const Scaling& scaling,
                    const std::vector<ProjectionRound>& rounds) {
  Slowdowns found{std::vector<double>(rounds.size(), 1), ""};
  if (scaling.by_replays) {
    const bool unchanged = model.yardsticks.empty();
    std::vector<double> slowdowns;
    for (const ProjectionRound& round : rounds) {
      const auto slowdown = slowdown_of(unchanged ? model.tasks : model.yardsticks,
                                        unchanged ? round.seconds : round.yardsticks);
      if (slowdown) slowdowns.push_back(*slowdown);
    }
    if (slowdowns.size() == rounds.size()) return {std::move(slowdowns), "replays"};
  }
  std::vector<double> samples;
  for (const ProjectionRound& round : rounds) {
    if (round.copy_bandwidth > 0) samples.push_back(round.copy_bandwidth);
  }
  const std::optional<double> now = undisturbed(samples);
  if (!now || !scaling.recorded_bandwidth) return found;
  found.rounds.assign(rounds.size(), *scaling.recorded_bandwidth / *now);
  found.source = "copy bandwidth";
  return found;
}

/// Seconds of a step in each round, by part.
struct Part {
  ProjectedPart sums{};
  std::vector<double> rounds{};
};

class Projector {
 public:
  Projector(const StepModel& model, const Scaling& scaling,
            const std::vector<ProjectionRound>& rounds)
      : model_(model), rounds_(rounds), slowdowns_(slowdowns(model, scaling, rounds)) {}

  Projection run() {
    for (std::size_t i = 0; i < model_.tasks.size(); ++i) add_task(i);
    for (const OtherTime& other : model_.others) add_other(other);

    Projection projection;
    std::vector<double> totals, replayed, measured;
    for (std::size_t i = 0; i < rounds_.size(); ++i) {
      double all = 0, run = 0;
      for (const auto& [key, part] : parts_) {
        all += part.rounds[i];
        if (part.sums.replayed) run += part.rounds[i];
      }
      totals.push_back(all);
      replayed.push_back(run);
      if (rounds_[i].measured) measured.push_back(*rounds_[i].measured);
    }
    projection.projected = median_interval(totals);
    const double whole = projection.projected.center;
    projection.explained = whole > 0 ? median(replayed) / whole : 0;
    projection.slowdown = median(slowdowns_.rounds);
    projection.scaled_by = slowdowns_.source;
    if (!measured.empty()) {
      projection.measured = median_interval(measured);
      const double center = projection.measured->center;
      if (center > 0) projection.relative_error = whole / center - 1;
    }
    for (auto& [key, part] : parts_) {
      part.sums.projected_seconds = median(part.rounds);
      projection.parts.push_back(part.sums);
    }
    longest_first(projection.parts, &ProjectedPart::projected_seconds);
    return projection;
  }

 private:
  // A task is replayed in all rounds or in none.
  void add_task(std::size_t index) {
    const ReplayTask& task = model_.tasks[index];
    const bool replayed = rounds_.front().seconds[index].has_value();
    Part& part = part_of(pass_name(task.primitive.kind, task.primitive.direction), replayed);
    part.sums.calls += task.calls;
    part.sums.recorded_seconds += task.recorded_seconds;
    for (std::size_t i = 0; i < rounds_.size(); ++i) {
      part.rounds[i] += replayed ? task.calls * rounds_[i].seconds[index].value_or(0)
                                 : task.recorded_seconds * slowdowns_.rounds[i];
    }
  }

  void add_other(const OtherTime& other) {
    Part& part = part_of("outside of primitives: " + other.phase, false);
    part.sums.recorded_seconds += other.seconds;
    for (std::size_t i = 0; i < rounds_.size(); ++i) {
      part.rounds[i] += other.seconds * slowdowns_.rounds[i];
    }
  }

  Part& part_of(const std::string& name, bool replayed) {
    Part& part = parts_[{name, replayed}];
    part.sums.name = name;
    part.sums.replayed = replayed;
    part.rounds.resize(rounds_.size());
    return part;
  }

  const StepModel& model_;
  const std::vector<ProjectionRound>& rounds_;
  Slowdowns slowdowns_;
  std::map<std::pair<std::string, bool>, Part> parts_{};
};

}  // namespace

StepModel model_step(const ProfileTables& tables, double overhead) {
  StepModel model;
  model.tasks = distinct(tables);
  model.step_seconds = tables.step_seconds / overhead;
  model.others = other_times(tables, tables.step_seconds - model.step_seconds);
  return model;
}

std::optional<double> undisturbed(std::vector<double> samples) {
  if (samples.empty()) return std::nullopt;
  std::sort(samples.begin(), samples.end());
  return samples[samples.size() * 3 / 4];
}

Projection project(const StepModel& model, const Scaling& scaling,
                   const std::vector<ProjectionRound>& rounds) {
  return Projector(model, scaling, rounds).run();
}

}  // namespace harness
