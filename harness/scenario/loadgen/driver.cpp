#include "harness/scenario/loadgen/driver.hpp"

#include <issue_query_controller.h>
#include <loadgen.h>
#include <logging.h>
#include <query_sample.h>
#include <query_sample_library.h>
#include <system_under_test.h>
#include <test_settings.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <fstream>
#include <functional>
#include <future>
#include <limits>
#include <mutex>
#include <thread>
#include <utility>

#include "harness/base/error.hpp"

namespace harness::loadgen {
namespace {

using Samples = SystemUnderTest::Samples;
using Queries = std::vector<mlperf::QuerySample>;
using LoadGenClock = mlperf::PerfClock;

// As the audit.config files of the compliance tests have it, TEST01's of picture classification.
constexpr std::uint64_t kAccuracyLogSeed = 720381539243781796U;
constexpr std::uint64_t kLoggedSamples = 4096;
constexpr std::uint64_t kSameSample = 3;
/// How long a server may wait for queries before it looks whether somebody wants to stop.
constexpr std::chrono::milliseconds kLook{100};

double seconds_of(LoadGenClock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

std::uint64_t nanoseconds(double seconds) { return static_cast<std::uint64_t>(seconds * 1e9); }

/// When the query was to come, by LoadGen's own clock: from there on it counts latency.
LoadGenClock::time_point scheduled(const mlperf::QuerySample& query) {
  // LoadGen's own: an id is the address of what it knows of a sample.
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  return reinterpret_cast<mlperf::loadgen::SampleMetadata*>(query.id)
      ->query_metadata->scheduled_time;
}

Samples samples_of(const Queries& queries, std::size_t first, std::size_t count) {
  Samples samples(count);
  for (std::size_t i = 0; i < count; ++i) {
    samples[i] = static_cast<std::int64_t>(queries[first + i].index);
  }
  return samples;
}

/// Every field, so that no default of LoadGen's decides anything.
mlperf::TestSettings settings_of(const TestPlan& plan) {
  using mlperf::TestScenario;
  mlperf::TestSettings s{};
  s.scenario = plan.scenario == "single-stream"  ? TestScenario::SingleStream
               : plan.scenario == "multi-stream" ? TestScenario::MultiStream
               : plan.scenario == "server"       ? TestScenario::Server
                                                 : TestScenario::Offline;
  s.mode = plan.mode == Mode::kAccuracy ? mlperf::TestMode::AccuracyOnly
                                        : mlperf::TestMode::PerformanceOnly;
  const double percentile = plan.percentile / 100;
  const double expected_ns = plan.expected_seconds * 1e9;
  s.single_stream_expected_latency_ns = expected_ns;
  s.single_stream_target_latency_percentile = percentile;
  s.multi_stream_expected_latency_ns = expected_ns;
  s.multi_stream_target_latency_percentile = percentile;
  s.multi_stream_samples_per_query = static_cast<std::uint64_t>(plan.samples_per_query);
  s.server_target_qps = plan.rate;
  s.server_target_latency_ns = nanoseconds(plan.latency_bound);
  s.server_target_latency_percentile = percentile;
  s.server_coalesce_queries = false;
  s.server_find_peak_qps_decimals_of_precision = 1;
  s.server_find_peak_qps_boundary_step_size = 1;
  s.server_max_async_queries = static_cast<std::uint64_t>(plan.most_waiting);
  s.server_num_issue_query_threads = 0;  // with any, the second test of a process hangs
  s.offline_expected_qps = plan.expected_seconds > 0 ? 1 / plan.expected_seconds : 1;
  s.sample_concatenate_permutation = false;
  s.min_duration_ms = static_cast<std::uint64_t>(plan.min_seconds * 1e3);
  s.max_duration_ms = 0;
  s.min_query_count = static_cast<std::uint64_t>(plan.min_queries);
  s.max_query_count = 0;
  s.qsl_rng_seed = plan.seeds.samples;
  s.sample_index_rng_seed = plan.seeds.order;
  s.schedule_rng_seed = plan.seeds.schedule;
  const bool performance = plan.mode == Mode::kPerformance;
  const bool logs_some = performance && plan.audit == "TEST01";
  s.accuracy_log_rng_seed = logs_some ? kAccuracyLogSeed : 0;
  s.accuracy_log_probability = 0;
  s.accuracy_log_sampling_target = logs_some ? kLoggedSamples : 0;
  s.test05 = false;
  s.test05_qsl_rng_seed = 0;
  s.test05_sample_index_rng_seed = 0;
  s.test05_schedule_rng_seed = 0;
  s.print_timestamps = false;
  s.performance_issue_unique = false;
  s.performance_issue_same = performance && plan.audit == "TEST04";
  s.performance_issue_same_index = s.performance_issue_same ? kSameSample : 0;
  s.performance_sample_count_override = 0;
  s.accuracy_sample_count_override = 0;
  s.use_token_latencies = false;
  s.server_ttft_latency = 0;
  s.server_tpot_latency = 0;
  s.infer_token_latencies = false;
  s.token_latency_scaling_factor = 1;
  return s;
}

mlperf::LogSettings log_settings_of(const std::filesystem::path& folder) {
  mlperf::LogSettings log{};
  log.log_output.outdir = folder.string();
  log.log_output.prefix = "mlperf_log_";
  log.log_output.suffix = "";
  log.log_output.prefix_with_datetime = false;
  log.log_output.copy_detail_to_stdout = false;
  log.log_output.copy_summary_to_stdout = false;
  log.log_mode = mlperf::LoggingMode::AsyncPoll;
  log.log_mode_async_poll_interval_ms = 1000;
  log.enable_trace = false;  // it doubles the latencies that it tells of
  return log;
}

/// Both of LoadGen's interfaces: where samples come from and what answers them.
class Bridge : public mlperf::SystemUnderTest, public mlperf::QuerySampleLibrary {
 public:
  Bridge(const TestPlan& plan, loadgen::SystemUnderTest& system) : plan_(plan), system_(system) {}

  const std::string& Name() override { return name_; }
  std::size_t TotalSampleCount() override { return static_cast<std::size_t>(plan_.samples); }
  std::size_t PerformanceSampleCount() override {
    return static_cast<std::size_t>(plan_.samples_in_memory);
  }
  void LoadSamplesToRam(const std::vector<mlperf::QuerySampleIndex>& samples) override {
    completed_ = 0;  // LoadGen counts anew with each set
    or_abort([&] { system_.load({samples.begin(), samples.end()}); });
  }
  void UnloadSamplesFromRam(const std::vector<mlperf::QuerySampleIndex>& /*samples*/) override {}
  void FlushQueries() override {}

  // In the scenarios where one query comes after another it is answered at once, in this thread.
  void IssueQuery(const Queries& queries) override {
    or_abort([&] {
      if (plan_.scenario != "offline") {
        answer(queries, 0, queries.size(), scheduled(queries.front()));
        return;
      }
      const auto batch = static_cast<std::size_t>(system_.batch());
      for (std::size_t first = 0; first < queries.size(); first += batch) {
        answer(queries, first, std::min(batch, queries.size() - first), LoadGenClock::now());
      }
    });
  }

 protected:
  /// What leaves a test by an exception must end it first. LoadGen must have seen what was
  /// completed: its log still points to the queries, which end with the test.
  template <class Work>
  void or_abort(const Work& work) {
    try {
      work();
    } catch (...) {
      if (completed_ > 0) mlperf::GlobalLogger().GetLatenciesBlocking(completed_);
      mlperf::AbortTest();
      throw;
    }
  }

  void answer(const Queries& queries, std::size_t first, std::size_t count,
              LoadGenClock::time_point since) {
    const Samples samples = samples_of(queries, first, count);
    const std::vector<float> rows = system_.answer(samples);
    const std::size_t width = rows.size() / count;
    std::vector<mlperf::QuerySampleResponse> responses;
    responses.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      responses.push_back(response(queries[first + i], rows, i * width, width));
    }
    const double seconds = seconds_of(LoadGenClock::now() - since);
    mlperf::QuerySamplesComplete(responses.data(), responses.size());
    completed_ += count;
    system_.answered({static_cast<std::int64_t>(count), seconds}, samples, rows);
    if (system_.stop_requested()) throw Interrupted();
  }

  static mlperf::QuerySampleResponse response(const mlperf::QuerySample& query,
                                              const std::vector<float>& rows, std::size_t at,
                                              std::size_t width) {
    return {query.id, reinterpret_cast<std::uintptr_t>(rows.data() + at), width * sizeof(float)};
  }

  const TestPlan& plan_;
  loadgen::SystemUnderTest& system_;
  std::size_t completed_ = 0;

 private:
  std::string name_ = "harness";
};

/// A server's queries come while others are being answered: LoadGen has a thread of its own, and
/// the caller's, whose threads the workload knows, answers what waits.
class Server : public Bridge {
 public:
  using Bridge::Bridge;

  void IssueQuery(const Queries& queries) override {
    or_abort([&] {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (leaving_) throw Interrupted();
      waiting_.insert(waiting_.end(), queries.begin(), queries.end());
      changed_.notify_one();
    });
  }

  void LoadSamplesToRam(const std::vector<mlperf::QuerySampleIndex>& samples) override {
    std::promise<void> loaded;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      completed_ = 0;
      to_load_ = {samples.begin(), samples.end()};
      loaded_ = &loaded;
      changed_.notify_one();
    }
    or_abort([&] { loaded.get_future().get(); });
  }

  /// Runs `test` in a thread and answers until it has ended. Throws what an answer threw, or it.
  void serve(const std::function<void()>& test) {
    std::exception_ptr failure;
    std::thread thread([&] {
      try {
        test();
      } catch (...) {
        failure = std::current_exception();
      }
      const std::lock_guard<std::mutex> lock(mutex_);
      ended_ = true;
      changed_.notify_one();
    });
    std::exception_ptr broken;
    try {
      answer_all();
    } catch (...) {
      broken = std::current_exception();
      answer_nothing_more();
    }
    thread.join();
    if (broken) std::rethrow_exception(broken);
    if (failure) std::rethrow_exception(failure);
  }

 private:
  void answer_all() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (true) {
      // Queries may come years apart; whoever wants to stop should not wait for the next.
      while (!changed_.wait_for(
          lock, kLook, [&] { return ended_ || loaded_ != nullptr || !waiting_.empty(); })) {
        if (system_.stop_requested()) throw Interrupted();
      }
      if (loaded_ != nullptr) {
        load(lock);
        continue;
      }
      if (waiting_.empty()) return;  // ended
      // They stay among those that wait until they are answered, and others only come behind them.
      const std::size_t count =
          std::min(waiting_.size(), static_cast<std::size_t>(system_.batch()));
      const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(count);
      const Queries batch(waiting_.begin(), end);
      lock.unlock();
      answer_batch(batch);
      if (system_.stop_requested()) throw Interrupted();
      lock.lock();
    }
  }

  void answer_batch(const Queries& batch) {
    const Samples samples = samples_of(batch, 0, batch.size());
    const std::vector<float> rows = system_.answer(samples);
    const std::size_t width = rows.size() / batch.size();
    std::vector<double> latencies;
    std::vector<mlperf::QuerySampleResponse> responses;
    const LoadGenClock::time_point now = LoadGenClock::now();
    for (std::size_t i = 0; i < batch.size(); ++i) {
      latencies.push_back(seconds_of(now - scheduled(batch[i])));
      responses.push_back(response(batch[i], rows, i * width, width));
    }
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      waiting_.erase(waiting_.begin(), waiting_.begin() + std::ssize(batch));
      completed_ += batch.size();
    }
    mlperf::QuerySamplesComplete(responses.data(), responses.size());
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const auto row = rows.begin() + static_cast<std::ptrdiff_t>(i * width);
      system_.answered({1, latencies[i]}, {samples[i]},
                       {row, row + static_cast<std::ptrdiff_t>(width)});
    }
  }

  void load(std::unique_lock<std::mutex>& lock) {
    std::promise<void>* const loaded = std::exchange(loaded_, nullptr);
    const Samples samples = to_load_;
    lock.unlock();
    try {
      system_.load(samples);
      loaded->set_value();
    } catch (...) {
      loaded->set_exception(std::current_exception());
    }
    lock.lock();
  }

  /// The next query that LoadGen issues ends the test. Where none comes any more it waits for the
  /// answers to those that it has issued: they get one without content, which nobody counts.
  void answer_nothing_more() {
    std::unique_lock<std::mutex> lock(mutex_);
    leaving_ = true;
    while (!ended_) {
      std::vector<mlperf::QuerySampleResponse> empty;
      for (const mlperf::QuerySample& query : waiting_) empty.emplace_back(query.id, 0, 0);
      completed_ += empty.size();
      waiting_.clear();
      std::promise<void>* const loaded = std::exchange(loaded_, nullptr);
      lock.unlock();
      mlperf::QuerySamplesComplete(empty.data(), empty.size());
      if (loaded != nullptr) loaded->set_exception(std::make_exception_ptr(Interrupted()));
      lock.lock();
      changed_.wait(lock, [&] { return ended_ || loaded_ != nullptr || !waiting_.empty(); });
    }
  }

  std::mutex mutex_{};
  std::condition_variable changed_{};
  std::deque<mlperf::QuerySample> waiting_{};
  Samples to_load_{};
  std::promise<void>* loaded_ = nullptr;  ///< of a set that is wanted
  bool leaving_ = false;
  bool ended_ = false;
};

void mark_aborted(const std::filesystem::path& folder) {
  // LoadGen's own summary of a test that was left says that there were no errors.
  std::ofstream(folder / "ABORTED.txt") << "This test was stopped before its end.\n";
}

}  // namespace

std::string why_unavailable() { return {}; }

std::string sources_sha256() { return HARNESS_LOADGEN_SHA256; }

TestClock run_test(const TestPlan& plan, SystemUnderTest& system,
                   const std::filesystem::path& folder) {
  // Without its folder StartTest() returns at once, and the next one ends the process.
  if (!std::filesystem::is_directory(folder)) {
    throw Error(folder.string(), "is no folder for LoadGen's logs");
  }
  static std::mutex one_at_a_time;
  const std::lock_guard<std::mutex> lock(one_at_a_time);
  const mlperf::TestSettings settings = settings_of(plan);
  const mlperf::LogSettings log = log_settings_of(folder);
  // A name that no file has: a stray audit.config would change what is run.
  const std::string no_audit = (folder / "no-audit-file").string();
  const auto steady_begin = std::chrono::steady_clock::now();
  const auto loadgen_begin = LoadGenClock::now();
  try {
    if (plan.scenario == "server") {
      Server server(plan, system);
      server.serve([&] { mlperf::StartTest(&server, &server, settings, log, no_audit); });
    } else {
      Bridge bridge(plan, system);
      mlperf::StartTest(&bridge, &bridge, settings, log, no_audit);
    }
  } catch (...) {
    mark_aborted(folder);
    throw;
  }
  return {std::chrono::duration<double>(std::chrono::steady_clock::now() - steady_begin).count(),
          seconds_of(LoadGenClock::now() - loadgen_begin)};
}

}  // namespace harness::loadgen
