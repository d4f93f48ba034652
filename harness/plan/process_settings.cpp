#include "harness/plan/process_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/base/error.hpp"
#include "harness/base/number.hpp"
#include "harness/plan/plan.hpp"
#include "harness/plan/rules_settings.hpp"
#include "harness/plan/settings.hpp"
#include "harness/system/affinity.hpp"

namespace harness {
namespace {

using nlohmann::json;
using enum SettingKind;
using enum SettingScope;
using enum SetUpPart;

/// Who started the ranks has dealt out the CPUs.
int choose_threads_of_rank(const RunPlan& plan, const RankShare& share) {
  const json asked = plan.asked("threads");
  if (asked.is_null()) return share.threads;
  const auto threads = asked.get<std::int64_t>();
  const bool crowded = plan.asked("oversubscribe") == true;
  return static_cast<int>(in_range(fmt::format("--threads {}", threads), threads, 1,
                                   crowded ? kMostThreads : share.cpus));
}

int choose_threads(const RunPlan& plan) {
  if (plan.rank_share) return choose_threads_of_rank(plan, *plan.rank_share);
  const json asked = plan.asked("threads");
  const UsableCpus here = usable_cpus();
  const int usable = plan.cpus.empty() ? here.count : static_cast<int>(plan.cpus.size());
  const std::string why = usable == 1 ? "only 1 CPU is usable here"
                                      : fmt::format("only {} CPUs are usable here", usable);
  const bool crowded = plan.asked("oversubscribe") == true;
  if (plan.ranks > usable && !crowded) {
    throw Error(fmt::format("--ranks {}", plan.ranks), why,
                "fewer ranks, or --oversubscribe for several on one CPU");
  }
  // Two hardware threads of one core share its FMA units: a thread a core is the better default.
  const int all = plan.cpus.empty() ? std::min(here.physical_cores, usable) : usable;
  if (asked.is_null()) return std::max(1, all / plan.ranks);
  const auto threads = asked.get<std::int64_t>();
  if (threads * plan.ranks > usable && !crowded) {
    throw Error(fmt::format("--threads {}", threads),
                plan.ranks == 1 ? why : fmt::format("{} for {} ranks", why, plan.ranks),
                plan.ranks == 1 ? "fewer threads, or a wider --cpus"
                                : "fewer threads, a wider --cpus, or --oversubscribe");
  }
  return static_cast<int>(in_range(fmt::format("--threads {}", threads), threads, 1, usable));
}

int choose_ranks(const RunPlan& plan, std::int64_t ranks) {
  if (ranks == 1) return 1;
  const std::string what = fmt::format("--ranks {}", ranks);
  const WorkloadInfo& info = plan.workload->info;
  if (!info.shares_steps) {
    throw Error(what,
                "workload '" + info.name + "' does not share its steps among several processes",
                "'harness list NAME' says which does");
  }
  if (plan.scenario->info().by_loadgen) {
    throw Error(what, "scenario '" + plan.scenario->info().name + "' is for one process");
  }
  return static_cast<int>(ranks);
}

/// A text that only several ranks have.
json choose_of_ranks(RunPlan& plan, const Setting& what) {
  if (plan.ranks == 1 && !plan.asked(what.name).is_null()) {
    throw Error("--" + what.option(), "is for several processes", "--ranks N, or leave it out");
  }
  json value = checked(plan, what);
  if (plan.ranks > 1) plan.effective[what.name] = value;
  return value;
}

}  // namespace

std::vector<Setting> process_settings() {
  return {
      {.name = "ranks",
       .kind = kInteger,
       .scope = kRun,
       .summary =
           "processes of this machine that share the work of each step, each with its own part "
           "of the data; --batch-size and --threads are of each",
       .low = 1,
       .high = kMostRanks,
       .standard = 1,
       .choose =
           [](RunPlan& plan, const Setting& what) {
             const json asked = plan.asked("ranks");
             plan.ranks = choose_ranks(
                 plan, integer_in_bounds(what, asked.is_null() ? 1 : asked.get<std::int64_t>()));
             plan.ranks_here = plan.rank_share ? plan.rank_share->ranks_here : plan.ranks;
             plan.effective["ranks"] = plan.ranks;
           }},
      {.name = "engine",
       .scope = kRun,
       .part = kExempt,  // the world's own words say more
       .summary = "what carries words and gradients between ranks; mpi: of ranks started by mpirun",
       .value_name = "NAME",
       .standard = "gloo",
       .choices = {"gloo", "mpi"},
       .choose =
           [](RunPlan& plan, const Setting& what) {
             plan.engine = choose_of_ranks(plan, what).get<std::string>();
             if (plan.ranks > 1) rank_engine(plan.engine);
             if (plan.ranks == 1 || plan.engine != "mpi" || plan.runs == 1) return;
             // Each run has processes of its own, and MPI lets a rank come once.
             throw Error("--engine mpi", fmt::format("is for one run, not {}", plan.runs),
                         "--runs 1, or leave --engine out");
           }},
      {.name = "gradient_sums",
       .scope = kRun,
       .summary =
           "what gradients are rounded to on their way between ranks; they are added up in fp32",
       .value_name = "PRECISION",
       .standard = "fp32",
       .choices = {"fp32", "bf16"},
       .choose =
           [](RunPlan& plan, const Setting& what) {
             plan.context.chosen[what.name] = choose_of_ranks(plan, what).get<std::string>();
           }},
      {.name = "oversubscribe",
       .kind = kFlag,
       .scope = kRun,
       .part = kExempt,  // the ranks and threads say it
       .summary = "more ranks, or threads of all of them, than there are CPUs",
       .choose = [](RunPlan&, const Setting&) {},  // with the threads
       .repeat = [](const Result& result) { return as_asked(result, "oversubscribe"); }},
      {.name = "cpus",
       .part = kChosen,
       .summary = "pin to these CPUs, e.g. 0-3,8",
       .value_name = "LIST",
       .choose =
           [](RunPlan& plan, const Setting&) {
             const json asked = plan.effective["cpus"] = plan.asked("cpus");
             if (!asked.is_null()) plan.cpus = parse_cpu_list(asked.get<std::string>());
           }},
      {.name = "threads",
       .kind = kInteger,
       .part = kChosen,
       .summary =
           "threads of the workload; default: the usable physical cores, under LoadGen by trials",
       .low = 1,
       .high = kMostThreads,
       .choose =
           [](RunPlan& plan, const Setting&) {
             plan.effective["threads"] = plan.context.threads = choose_threads(plan);
           }},
  };
}

}  // namespace harness
