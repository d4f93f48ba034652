#include "harness/scenario/loadgen/query_loop.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/metric_kind.hpp"
#include "harness/base/text.hpp"
#include "harness/scenario/loadgen/audit.hpp"
#include "harness/scenario/loadgen/driver.hpp"
#include "harness/scenario/loadgen/latencies.hpp"
#include "harness/scenario/loadgen/log_reader.hpp"
#include "harness/scenario/loadgen/rate_search.hpp"
#include "harness/scenario/loadgen/what_failed.hpp"

namespace harness::loadgen {
namespace {

namespace fs = std::filesystem;

// LoadGen makes its queries beforehand, for twice as long as it is told that they take, of offline
// for 1.1 times. What gets faster than that runs out of them, so it is told less.
constexpr double kOptimism = 0.5;
constexpr double kOptimismOffline = 0.75;
// A server that has more unanswered queries than come in this time will not catch up.
constexpr double kMostWaitingSeconds = 20;
// Nor one with more of them than it answers in this time one by one, this many times as fast:
// batches are faster, but then their queries have waited for longer than any bound.
constexpr double kMostWaitingTimes = 4;
// Of what one query after another gives: the rate of a server's test of accuracy, at least.
constexpr double kEvaluationShare = 0.8;

// The folder of the test that counts, as MLPerf names it.
constexpr const char* kTimed = "performance/run_1";

using Samples = SystemUnderTest::Samples;

class QueryLoop : public SystemUnderTest {
 public:
  QueryLoop(const ScenarioInfo& info, Workload& workload, WorkloadContext& context,
            const ScenarioOptions& options, const SessionHooks& hooks,
            const std::vector<Observer*>& observers)
      : info_(info),
        workload_(workload),
        context_(context),
        options_(options),
        hooks_(hooks),
        answers_(demand<Answers>(workload, "scenario '" + info.name + "'")),
        session_(workload, context, hooks, observers, record_),
        offline_(info.name == "offline"),
        latencies_(offline_) {}

  RunRecord run() {
    session_.run([this] { loop(); });
    if (!record_.peak_memory_bytes) note_peak_memory();
    record_.metrics = {latencies_.take()};
    std::erase_if(record_.metrics, [](const Metric& metric) { return metric.samples.empty(); });
    return std::move(record_);
  }

  // --- what LoadGen asks ------------------------------------------------------------------------

  void load(const Samples& samples) override { answers_.load(samples); }
  std::vector<float> answer(const Samples& samples) override {
    return answers_.answer_query(samples);
  }
  std::int64_t batch() const override { return context_.batch_size; }
  bool stop_requested() override { return hooks_.stop_requested(); }

  void answered(const Answered& one, const Samples& samples,
                const std::vector<float>& rows) override {
    if (rows_) {
      keep_rows(samples, rows);
    } else if (timed_) {
      last_answer_ = session_.now();
      if (queries_ == 0) first_query_ = last_answer_ - one.seconds;
      put(one, false);
    }
  }

 private:
  void loop() {
    if (options_.logs.empty()) throw Error("LoadGen", "has no folder for its logs");
    session_.tell(&Observer::stage, "queries");
    plan_ = plan_of_tier(info_.name, options_.tier, answers_.samples());
    refuse_bad_audit(plan_, chosen("audit"));
    Samples first(static_cast<std::size_t>(plan_.samples_in_memory));
    std::iota(first.begin(), first.end(), 0);
    load(first);
    begin_ = session_.now();
    warm_up();
    plan_.expected_seconds = optimism() * usual_seconds_;
    if (info_.name == "server") choose_rate();
    time_queries();
    if (options_.evaluate && record_.stop == StopReason::kCompleted) evaluate();
    const std::string audit = chosen("audit");
    if (!audit.empty() && audit != "none") run_audit(audit);
  }

  /// A setting; empty where it has no value.
  std::string chosen(const char* name) const {
    const auto found = context_.chosen.find(name);
    return found == context_.chosen.end() || found->second == "null" ? "" : found->second;
  }

  /// Of samples: what the scenario asks for at once.
  std::int64_t query_size() const {
    return offline_ ? context_.batch_size : plan_.samples_per_query;
  }

  void tell_length(std::int64_t least) {
    session_.tell(&Observer::length, RunLength{.warmup_steps = options_.tier.warmup_steps,
                                               .min_steps = least,
                                               .min_seconds = options_.tier.min_seconds,
                                               .unit = info_.unit,
                                               .in_samples = offline_});
  }

  void warm_up() {
    const std::int64_t count = std::max<std::int64_t>(1, options_.tier.warmup_steps);
    tell_length(options_.tier.min_steps);
    std::vector<double> seconds;
    std::int64_t next = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      session_.stop_if_asked();
      Samples samples;
      for (std::int64_t k = 0; k < query_size(); ++k) {
        samples.push_back(next);
        next = (next + 1) % plan_.samples_in_memory;
      }
      const double before = session_.now();
      answer(samples);
      seconds.push_back(session_.now() - before);
      if (options_.tier.warmup_steps > 0) put({query_size(), seconds.back()}, true);
    }
    usual_seconds_ = usual_of_warm_up(std::move(seconds));
    if (offline_) usual_seconds_ /= static_cast<double>(query_size());
  }

  void put(const Answered& one, bool warmup) {
    StepRecord step;
    step.step = ++record_.steps;
    step.warmup = warmup;
    step.seconds = one.seconds;
    step.elapsed = session_.now() - begin_;
    step.samples = one.samples;
    if (!warmup) queries_ += offline_ ? one.samples : 1;
    latencies_.add(step.step, warmup, one.seconds);
    session_.tell(&Observer::step, step);
  }

  void choose_rate() {
    if (const std::string asked = chosen("server_rate"); !asked.empty()) {
      plan_.rate = parse_number(asked).value_or(0);
      return;
    }
    TestPlan probe = plan_;
    probe.min_queries = 1;
    probe.min_seconds = options_.tier.more.at("probe_seconds");
    const auto fits = [&](double rate) {
      tell(fmt::format("trying {:.4g} queries/s", rate));
      probe.rate = rate;
      limit_waiting(probe);
      const TestLog log = test(probe, fmt::format("search-{}", search_.size() + 1));
      const double latency = latency_of(log, probe);
      // A probe is too short for all that makes a test valid.
      const bool met = latency > 0 && latency <= probe.latency_bound && log.errors == 0;
      search_.push_back({rate, latency, met});
      tell(fmt::format("{:.4g} queries/s {}: p{:g} {}, bound {}", rate, met ? "held" : "not held",
                       probe.percentile, format_quantity(latency, "s"),
                       format_quantity(probe.latency_bound, "s")));
      return met;
    };
    plan_.rate = highest_rate(1 / usual_seconds_, fits);
    if (plan_.rate > 0) return;
    // Lower ones take the longer, and are missed as well.
    plan_.rate = search_.front().rate;
    none_held_ = true;
    tell(fmt::format("no rate was held, down to {:.4g} queries/s: one whole test at {:.4g}",
                     search_.back().rate, plan_.rate));
  }

  /// All that waits is answered before a test ends: as many as are asked of a machine that can
  /// answer a hundredth would take it many minutes.
  void limit_waiting(TestPlan& plan) const {
    const double rate = std::min(plan.rate, kMostWaitingTimes / usual_seconds_);
    plan.most_waiting = static_cast<std::int64_t>(rate * kMostWaitingSeconds) + 64;
  }

  /// The whole test; again where what was told of the machine beforehand turns out to be wrong. Who
  /// asked for a stop meanwhile gets what was measured.
  void time_queries() {
    for (std::size_t attempt = 0;; ++attempt) {
      if (info_.name == "server") limit_waiting(plan_);
      queries_ = 0;
      timed_ = true;
      const TestLog log = test(plan_, kTimed);
      timed_ = false;
      std::optional<RepeatedTest> again;
      if (!log.valid && !hooks_.stop_requested()) {
        again = info_.name == "server" ? with_less(log, attempt) : with_more(log, attempt);
      }
      if (!again) return report(log);
      fs::rename(options_.logs / kTimed, options_.logs / again->logs);
      forget_timed(again->why);
      repeated_.push_back(std::move(*again));
    }
  }

  /// At a lower rate, where a server was asked for too much.
  std::optional<RepeatedTest> with_less(const TestLog& log, std::size_t attempt) {
    const std::optional<double> factor = rate_factor(attempt);
    if (search_.empty() || none_held_ || !factor || !was_too_fast(log, plan_)) return std::nullopt;
    search_.push_back({plan_.rate, latency_of(log, plan_), false});
    const std::string why = fmt::format("{:.4g} queries/s were too many", plan_.rate);
    plan_.rate *= *factor;
    tell(fmt::format("{} for the whole test: again with {:.4g}", why, plan_.rate));
    return RepeatedTest{why, fmt::format("search-{}", search_.size())};
  }

  /// With more queries, where all were answered before the time was up: what is slow in the warm-up
  /// may not be so later.
  std::optional<RepeatedTest> with_more(const TestLog& log, std::size_t attempt) {
    constexpr std::size_t kMost = 2;
    const double seconds = last_answer_ - first_query_;
    const double usual = queries_ > 0 ? seconds / static_cast<double>(queries_) : 0;
    if (attempt >= kMost || !ended_early(log) || !moved_clock(clock_).empty() || usual <= 0 ||
        usual >= usual_seconds_) {
      return std::nullopt;
    }
    TestPlan longer = plan_;
    longer.expected_seconds = optimism() * usual;
    // What was measured is better than nothing.
    if (!can_run(longer, hooks_.memory_left())) return std::nullopt;
    usual_seconds_ = usual;
    plan_ = longer;
    const std::string took = format_quantity(seconds, "s");
    tell(fmt::format("all queries were answered within {}: again with more of them", took));
    return RepeatedTest{"the test ended after " + took, fmt::format("short-{}", attempt + 1)};
  }

  double optimism() const { return offline_ ? kOptimismOffline : kOptimism; }

  void tell(const std::string& what) {
    session_.tell(&Observer::progress, what, std::int64_t{0}, std::int64_t{0});
  }

  /// What was timed and does not count stays in the samples file alone, which says so.
  void forget_timed(const std::string& why) {
    session_.tell(&Observer::dropped, options_.tier.warmup_steps + 1, why);
    latencies_.forget_timed();
    record_.steps = options_.tier.warmup_steps;
  }

  /// Runs one test and reads its log.
  TestLog test(const TestPlan& plan, const std::string& name) {
    refuse_bad_plan(plan, hooks_.memory_left());
    // All that offline makes ready is asked.
    if (offline_ && timed_) tell_length(static_cast<std::int64_t>(queries_of(plan)));
    const fs::path folder = options_.logs / name;
    fs::create_directories(folder);
    clock_ = run_test(plan, *this, folder);
    const bool answers = plan.mode == Mode::kAccuracy;
    if (!hooks_.stop_requested()) require_whole_logs(folder, answers);
    return read_log(folder / "mlperf_log_detail.txt", !answers);
  }

  void report(const TestLog& log) {
    LoadGenReport report = report_of(log, info_.name);
    report.sources_sha256 = sources_sha256();
    report.queries = queries_;
    report.seconds = last_answer_ - first_query_;
    report.histogram = latencies_.histogram();
    report.search = search_;
    report.repeated = repeated_;
    const std::string clock = moved_clock(clock_);
    if (!clock.empty()) {
      report.valid = false;
      report.reasons.push_back(clock);
    }
    record_.loadgen = std::move(report);
    add_files(kTimed);
  }

  void add_files(const std::string& test) {
    for (FileHash& file : files_of_test(options_.logs, test)) {
      record_.loadgen->files.push_back(std::move(file));
    }
  }

  void evaluate() {
    note_peak_memory();
    session_.evaluate([this](const Quality& quality) { record_.quality = quality; },
                      [this] { return accuracy(); });
  }

  /// Of what LoadGen was answered when it asked for every sample.
  Quality accuracy() {
    TestPlan plan = plan_;
    plan.mode = Mode::kAccuracy;
    // Nothing is timed: a low rate would only make all samples take hours.
    plan.rate = std::max(plan.rate, kEvaluationShare / usual_seconds_);
    rows_.emplace(static_cast<std::size_t>(answers_.samples()));
    test(plan, "accuracy");
    const std::vector<std::vector<float>> kept = std::move(*rows_);
    rows_.reset();
    add_files("accuracy");
    std::vector<float> rows;
    for (std::size_t i = 0; i < kept.size(); ++i) {
      if (kept[i].empty()) throw Error("LoadGen", fmt::format("never asked for sample {}", i));
      rows.insert(rows.end(), kept[i].begin(), kept[i].end());
    }
    return answers_.score_answers(rows);
  }

  /// The timed test once more as the compliance test has it.
  void run_audit(const std::string& name) {
    LoadGenReport& report = *record_.loadgen;
    report.audit = name;
    TestPlan plan = plan_;
    plan.audit = name;
    // What the warm-up promised may have been just enough for the timed test.
    const double usual = report.seconds / std::max(1.0, static_cast<double>(report.queries));
    if (usual > 0) plan.expected_seconds = std::min(plan.expected_seconds, optimism() * usual);
    const TestLog log = test(plan, "audit");
    add_files("audit");
    std::vector<std::string> reasons = log.reasons;
    reasons.push_back(moved_clock(clock_));
    for (std::string& reason : reasons) {
      if (!reason.empty()) reason.insert(0, name + ": ");
    }
    reasons.push_back(differing_speed(name, report.figure.value, figure_in(log, info_.name),
                                      report.figure.unit == "s"));
    if (name == "TEST01") {
      constexpr const char* kAnswers = "mlperf_log_accuracy.json";
      reasons.push_back(differing_answers(options_.logs / "audit" / kAnswers,
                                          options_.logs / "accuracy" / kAnswers));
    }
    std::erase(reasons, "");
    report.valid = report.valid && reasons.empty();
    report.reasons.insert(report.reasons.end(), reasons.begin(), reasons.end());
  }

  void keep_rows(const Samples& samples, const std::vector<float>& rows) {
    const std::size_t width = rows.size() / samples.size();
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const auto row = rows.begin() + static_cast<std::ptrdiff_t>(i * width);
      auto& kept = rows_->at(static_cast<std::size_t>(samples[i]));
      answered_ += kept.empty() ? 1 : 0;
      kept.assign(row, row + static_cast<std::ptrdiff_t>(width));
    }
    session_.tell(&Observer::progress, std::string("answering"), answered_, answers_.samples());
  }

  void note_peak_memory() {
    if (const auto memory = workload_.memory()) record_.peak_memory_bytes = memory->peak;
  }

  const ScenarioInfo& info_;
  Workload& workload_;
  WorkloadContext& context_;
  const ScenarioOptions& options_;
  const SessionHooks& hooks_;
  Answers& answers_;
  RunRecord record_;
  Session session_;
  bool offline_;
  Latencies latencies_;
  TestPlan plan_{};
  TestClock clock_{};
  std::vector<ServerProbe> search_{};
  bool none_held_ = false;  ///< of the rates in `search_`
  std::vector<RepeatedTest> repeated_{};
  double begin_ = 0;
  double usual_seconds_ = 0;  ///< of a query; of offline, of a sample
  std::int64_t queries_ = 0;  ///< timed; of offline, samples
  double first_query_ = 0;    ///< of the timed test: when it was to be answered
  double last_answer_ = 0;
  bool timed_ = false;
  std::optional<std::vector<std::vector<float>>> rows_{};  ///< of an accuracy test, by sample
  std::int64_t answered_ = 0;                              ///< samples with a row
};

}  // namespace

RunRecord run_queries(const ScenarioInfo& info, Workload& workload, WorkloadContext& context,
                      const ScenarioOptions& options, const SessionHooks& hooks,
                      const std::vector<Observer*>& observers) {
  return QueryLoop(info, workload, context, options, hooks, observers).run();
}

}  // namespace harness::loadgen
