#include "harness/measure/set_up_search.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
#include "harness/base/number.hpp"
#include "harness/base/text.hpp"
#include "harness/check/checked_file.hpp"
#include "harness/measure/measure.hpp"
#include "harness/measure/progress.hpp"
#include "harness/plan/set_up_choices.hpp"
#include "harness/result/result_file.hpp"
#include "harness/result/result_folder.hpp"
#include "harness/system/affinity.hpp"
#include "harness/system/capture.hpp"
#include "harness/system/interrupt.hpp"
#include "harness/workload/capabilities.hpp"

namespace harness {
namespace {

namespace fs = std::filesystem;

// A trial that will take so many times as long as the best one is left.
constexpr double kHopeless = 1.5;
// Those above this share of the best get a second pass, of which the better one counts: a trial is
// so short that one stall makes it take several times as long.
constexpr double kWorthRepeating = 0.3;
// So many queries where they are of one or a few samples.
constexpr std::int64_t kQueries = 32;

/// What a process of its own tries.
struct Attempt {
  int threads = 1;
  std::string precision{};
};

/// All batch sizes of one attempt, in the process that is left behind afterwards.
class Trials {
 public:
  Trials(RunPlan& plan, const SetUpChoices& choices, double best)
      : plan_(plan), sizes_(choices.batch_sizes), best_(best), workload_(plan.workload->create()) {
    if (!plan.cpus.empty()) apply_affinity(plan.cpus);
    plan_.context.interrupted = [] {
      if (interrupt_requested()) throw Interrupted();
    };
    refuse_if_too_large(*workload_, plan_);
    workload_->open_data(plan_.context);
    workload_->prepare(plan_.context);
    answers_ = as<Answers>(*workload_);
    if (answers_ == nullptr) throw Error("set-up", Answers::kLack.why);
    // Each trial answers the same samples: those of language differ in length.
    const bool batches = sizes_.size() > 1;
    const auto wanted = batches ? *std::max_element(sizes_.begin(), sizes_.end())
                                : kQueries * query_size(sizes_[0]);
    const auto in_memory = static_cast<std::int64_t>(plan.tier.key("samples_in_memory", 1));
    samples_.resize(static_cast<std::size_t>(std::min({answers_->samples(), in_memory, wanted})));
    std::iota(samples_.begin(), samples_.end(), 0);
    answers_->load(samples_);
    std::erase_if(sizes_, [&](std::int64_t size) {
      return size != sizes_.front() && size > std::ssize(samples_);
    });
  }

  /// Tells `put` of each trial, of a repeated one again.
  template <class Put>
  void run(double seconds, const Put& put) {
    const double begin = steady_seconds();
    std::vector<double> rates(sizes_.size(), 0);
    for (int pass = 1; pass <= 2; ++pass) {
      for (std::size_t i = 0; i < sizes_.size(); ++i) {
        const bool first_of_all = pass == 1 && i == 0;
        if (!first_of_all && steady_seconds() - begin > seconds) return;
        if (pass == 2 && rates[i] < kWorthRepeating * best_) continue;
        rates[i] = std::max(rates[i], rate(query_size(sizes_[i]), first_of_all));
        best_ = std::max(best_, rates[i]);
        put(sizes_[i], rates[i]);
      }
    }
  }

 private:
  /// Of the scenario's queries, samples; where the batch is free, and of a server, it is the query.
  std::int64_t query_size(std::int64_t batch) const {
    const double samples = plan_.tier.key("samples_per_query");
    if (samples > 0) return static_cast<std::int64_t>(samples);
    return plan_.scenario->info().name == "single-stream" ? 1 : batch;
  }

  void ask(std::int64_t first, std::int64_t size) {
    if (interrupt_requested()) throw Interrupted();
    Answers::Samples query;
    for (std::int64_t i = 0; i < size; ++i) {
      query.push_back(samples_[static_cast<std::size_t>((first + i) % std::ssize(samples_))]);
    }
    answers_->answer_query(query);
  }

  /// Samples per second.
  double rate(std::int64_t size, bool cold) {
    const double hopeless =
        best_ > 0 ? kHopeless * static_cast<double>(std::ssize(samples_)) / best_ : 0;
    // Memory for this size is got, and code made, before anything counts.
    const double warm_up = steady_seconds();
    for (int i = 0; i < (cold ? 4 : 1); ++i) {
      if (i > 0 && hopeless > 0 && steady_seconds() - warm_up > hopeless) break;
      ask(0, size);
    }
    const double begin = steady_seconds();
    std::int64_t done = 0;
    double taken = 0;
    while (done < std::ssize(samples_) && (hopeless == 0 || taken < hopeless)) {
      const std::int64_t now = std::min(size, std::ssize(samples_) - done);
      ask(done, now);
      done += now;
      taken = steady_seconds() - begin;
    }
    return static_cast<double>(done) / taken;
  }

  RunPlan& plan_;
  std::vector<std::int64_t> sizes_;
  double best_;
  std::unique_ptr<Workload> workload_;
  Answers* answers_ = nullptr;
  Answers::Samples samples_{};
};

/// Writes a line for each trial to `out`.
[[noreturn]] void try_in_this_process(RunPlan& plan, const SetUpChoices& choices,
                                      const Attempt& attempt, double best, double seconds,
                                      int out) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  try {
    plan.context.threads = attempt.threads;
    plan.context.precision = attempt.precision;
    plan.context.give_up = [](const std::string&) { std::_Exit(1); };
    Trials(plan, choices, best).run(seconds, [&](std::int64_t size, double rate) {
      const std::string line = fmt::format("{} {}\n", size, rate);
      if (::write(out, line.data(), line.size()) != std::ssize(line)) std::_Exit(1);
    });
  } catch (const std::exception&) {
    // What fails here fails in the run too, which says it where people look.
    std::_Exit(1);
  }
  std::_Exit(0);
}

/// All that the child writes until it ends. Throws Interrupted as soon as a stop is asked for.
std::string read_from(int in, pid_t child) {
  std::string text;
  std::array<char, 4096> part{};
  while (true) {
    if (interrupt_requested()) {
      ::kill(child, SIGKILL);
      ::waitpid(child, nullptr, 0);
      throw Interrupted();
    }
    pollfd ready{in, POLLIN, 0};
    if (::poll(&ready, 1, 100) <= 0) continue;
    const ssize_t count = ::read(in, part.data(), part.size());
    if (count > 0) text.append(part.data(), static_cast<std::size_t>(count));
    if (count == 0 || (count < 0 && errno != EINTR && errno != EAGAIN)) break;
  }
  ::waitpid(child, nullptr, 0);
  return text;
}

std::vector<SetUpTrial> try_apart(RunPlan& plan, const SetUpChoices& choices,
                                  const Attempt& attempt, double best, double seconds) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) throw Error("set-up", std::strerror(errno));
  const pid_t child = ::fork();
  if (child < 0) {
    const std::string why = std::strerror(errno);
    ::close(ends[0]);
    ::close(ends[1]);
    throw Error("set-up", why);
  }
  if (child == 0) {
    ::close(ends[0]);
    try_in_this_process(plan, choices, attempt, best, seconds, ends[1]);
  }
  ::close(ends[1]);
  std::string text;
  try {
    text = read_from(ends[0], child);
  } catch (...) {
    ::close(ends[0]);
    throw;
  }
  ::close(ends[0]);
  std::vector<SetUpTrial> trials;
  for (const std::string& line : split(text, '\n')) {
    const std::vector<std::string> words = split(line, ' ');
    const auto size = words.size() == 2 ? parse_integer(words[0]) : std::nullopt;
    const auto rate = size ? parse_number(words[1]) : std::nullopt;
    if (!rate) continue;
    const auto known = std::find_if(trials.begin(), trials.end(), [&](const SetUpTrial& trial) {
      return trial.batch_size == *size;
    });
    if (known == trials.end()) {
      trials.push_back({attempt.threads, *size, *rate, attempt.precision});
    } else {
      known->samples_per_second = *rate;
    }
  }
  return trials;
}

template <class Value, class Same>
bool holds(const std::vector<Value>& list, const Same& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

/// Whether what `run` took may be taken by `plan`, too: all that `plan` leaves to measuring was
/// chosen there, not asked for. Kernels may differ: both sides of a campaign do the same work.
bool serves(const Result& run, const RunPlan& plan, const SetUpChoices& choices,
            const std::string& machine) {
  if (!run.loadgen || !run.loadgen->set_up) return false;
  const SetUpTrial& chosen = best_set_up(run.loadgen->set_up->trials);
  for (const char* setting : {"threads", "batch_size", "precision"}) {
    if (choices.leaves(setting) && run.settings.requested.contains(setting)) return false;
  }
  return run.rules.sha256 == plan.rules.sha256 && run.rules.tier == plan.tier_name &&
         run.rules.scenario == plan.scenario->info().name &&
         holds(choices.threads, chosen.threads) && holds(choices.batch_sizes, chosen.batch_size) &&
         (!choices.leaves("precision") || holds(choices.precisions, chosen.precision)) &&
         system_fingerprint(run.system) == machine;
}

/// What an earlier run of the series or the campaign chose. Of a campaign with hundreds of results
/// no more are read than it takes to find one.
std::optional<SetUpTrials> chosen_before(const RunPlan& plan, const SetUpChoices& choices,
                                         const fs::path& out, const std::string& series_id,
                                         const std::optional<CampaignPlace>& campaign) {
  const std::string machine = system_fingerprint(capture_system());
  const auto taken_from = [&](const Result& run) -> std::optional<SetUpTrials> {
    if (!serves(run, plan, choices, machine)) return std::nullopt;
    SetUpTrials set_up = *run.loadgen->set_up;
    if (set_up.from.empty()) set_up.from = run.identity.uuid;
    return set_up;
  };
  for (const Result& run : results_of_series(out, series_id)) {
    if (auto set_up = taken_from(run)) return set_up;
  }
  if (!campaign) return std::nullopt;
  for (const char* side : {"baseline", "candidate"}) {
    // CAMPAIGN/SIDE/PAIR, as the gate has it.
    const fs::path folder = fs::absolute(out).parent_path().parent_path() / side;
    if (!fs::is_directory(folder)) continue;
    for (const std::string& file : result_files_below(folder.string())) {
      if (!fs::path(file).filename().string().starts_with(plan.rules.workload + "-")) continue;
      try {
        const Result run = read_result_file(file);
        const bool ours = run.identity.campaign && run.identity.campaign->id == campaign->id;
        if (auto set_up = ours ? taken_from(run) : std::nullopt) return set_up;
      } catch (const Error&) {
        continue;  // damaged, or of a run that was killed: it chose nothing
      }
    }
  }
  return std::nullopt;
}

void put_into(RunPlan& plan, const SetUpChoices& choices, const SetUpTrial& chosen) {
  if (choices.leaves("precision")) {
    plan.effective["precision"] = plan.context.precision = chosen.precision;
  }
  plan.context.threads = static_cast<int>(chosen.threads);
  plan.effective["threads"] = chosen.threads;
  plan.effective["batch_size"] = plan.context.batch_size = chosen.batch_size;
}

/// All numbers of threads in the usual precision, then the other precisions with as many threads as
/// were best. Empty where the usual set-up could not be tried.
std::optional<SetUpTrials> tried(RunPlan& plan, const SetUpChoices& choices) {
  Progress progress(stderr, terminal_columns(stderr));
  progress.stage("set-up");
  const std::size_t attempts = choices.threads.size() + choices.precisions.size() - 1;
  const double seconds = plan.tier.key("search_seconds") / static_cast<double>(attempts);
  const double begin = steady_seconds();
  SetUpTrials set_up;
  double best = 0;
  const auto attempt = [&](const Attempt& one) {
    progress.progress(
        fmt::format("trying {}, {}", format_count(one.threads, "thread"), one.precision),
        std::ssize(set_up.trials),
        static_cast<std::int64_t>(attempts) * std::ssize(choices.batch_sizes));
    for (SetUpTrial& trial : try_apart(plan, choices, one, best, seconds)) {
      best = std::max(best, trial.samples_per_second);
      set_up.trials.push_back(std::move(trial));
    }
  };
  for (const int threads : choices.threads) {
    attempt({threads, choices.precisions.front()});
    if (set_up.trials.empty()) return std::nullopt;
  }
  const auto threads = static_cast<int>(best_set_up(set_up.trials).threads);
  for (std::size_t i = 1; i < choices.precisions.size(); ++i) {
    attempt({threads, choices.precisions[i]});
  }
  set_up.seconds = steady_seconds() - begin;
  const SetUpTrial& chosen = best_set_up(set_up.trials);
  progress.note(fmt::format("chosen: {}, batches of {}, {} ({} in {})",
                            format_count(chosen.threads, "thread"), chosen.batch_size,
                            chosen.precision, format_count(std::ssize(set_up.trials), "trial"),
                            format_quantity(set_up.seconds, "s")));
  return set_up;
}

}  // namespace

std::optional<SetUpTrials> choose_set_up(RunPlan& plan, const fs::path& out,
                                         const std::string& series_id,
                                         const std::optional<CampaignPlace>& campaign) {
  const SetUpChoices choices = set_up_choices(plan);
  if (!choices.open()) return std::nullopt;
  std::optional<SetUpTrials> set_up = chosen_before(plan, choices, out, series_id, campaign);
  if (!set_up) {
    plan.workload->create()->describe(plan.context);  // what it needs and is not there, in one line
    make_writable_folder(out);  // nobody waits for trials to hear that nothing can be kept
    set_up = tried(plan, choices);
  }
  if (set_up) put_into(plan, choices, best_set_up(set_up->trials));
  return set_up;
}

}  // namespace harness
