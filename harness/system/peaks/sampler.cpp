#include "harness/system/peaks/sampler.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/steady.hpp"
#include "harness/base/text.hpp"
#include "harness/system/affinity.hpp"
#include "harness/system/memory_limit.hpp"
#include "harness/system/peaks/bf16.hpp"
#include "harness/system/peaks/copy_buffer.hpp"
#include "harness/system/peaks/highway.hpp"
#include "harness/system/peaks/int8.hpp"
#include "harness/system/peaks/kernels.hpp"
#include "harness/system/topology.hpp"

namespace harness {
namespace {

constexpr int kMaxThreads = 4096;
constexpr long long kMinCopyBytes = 64LL << 20;
/// Waiting longer than this for the others to arrive, a burst is called off.
constexpr auto kMaxWait = std::chrono::milliseconds(500);

/// Best effort: a burst on a migrating thread is still a burst.
void bind_this_thread(int cpu) {
  if (cpu < 0 || cpu >= CPU_SETSIZE) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(cpu), &set);
  ::pthread_setaffinity_np(::pthread_self(), sizeof set, &set);
}

/// Four times the caches that the threads can fill: less would measure the caches.
long long default_copy_bytes(int threads) {
  const Caches caches = read_caches(SystemRoot());
  const Cache* last = nullptr;
  for (const Cache& cache : caches.caches) {
    if (cache.type != "Instruction" && (last == nullptr || cache.level >= last->level)) {
      last = &cache;
    }
  }
  if (last == nullptr) return 8 * kMinCopyBytes;
  return std::max(kMinCopyBytes, 4 * last->bytes * std::min(threads, last->instances));
}

}  // namespace

/// The threads and what they work on. One job at a time: all threads warm up, meet, start from a
/// common time, work until a common end, and report their rates.
class PeakSampler::Crew {
 public:
  Crew(int threads, PeakOptions options) : options_(options), workers_(make_workers(threads)) {
    for (FlopKernel& kernel : kernels_) {
      Peak peak;
      peak.tag = kernel.tag;
      peak.unit = "FLOP/s";
      peak.method = kernel.method;
      peak.threads = threads;
      peak.reason = kernel.reason;
      peaks_.push_back(std::move(peak));
    }
    Peak copy;
    copy.tag = "copy.bandwidth";
    copy.unit = "B/s";
    copy.threads = threads;
    copy.method = stream_copy_method();
    peaks_.push_back(std::move(copy));

    const SystemRoot root;
    const std::vector<int> cpus = cores_first(read_topology(root), allowed_cpus());
    threads_.reserve(static_cast<std::size_t>(threads));
    try {
      for (std::size_t i = 0; i < workers_.size(); ++i) {
        const int cpu = cpus.empty() ? -1 : cpus[i % cpus.size()];
        threads_.emplace_back([this, i, cpu](const std::stop_token& stop) {
          bind_this_thread(cpu);
          work_until(stop, *workers_[i]);
        });
      }
    } catch (const std::system_error& error) {
      throw Error("machine peaks",
                  fmt::format("cannot start {} threads: {}", threads, error.what()),
                  "choose fewer with --threads");
    }
  }

  void burst() {
    if (peaks_.back().samples.empty() && peaks_.back().reason.empty()) allocate_copy_buffers();
    std::this_thread::sleep_for(std::chrono::duration<double>(options_.settle_seconds));
    for (std::size_t i = 0; i < peaks_.size(); ++i) {
      Peak& peak = peaks_[i];
      if (!peak.reason.empty()) continue;
      const bool is_copy = i == kernels_.size();
      run_job(is_copy ? Job{JobKind::kCopy, nullptr, 0} : Job{JobKind::kFlops, &kernels_[i], 0});
      double rate = 0;
      bool right = true;
      for (const auto& worker : workers_) {
        rate += worker->rate;
        right = right && worker->right;
      }
      if (!right) {
        peak.reason = "the kernel computed a wrong result";
        peak.samples.clear();
      } else if (!called_off_ && rate > 0) {
        peak.samples.push_back(rate);
      }
    }
  }

  const std::vector<Peak>& peaks() const { return peaks_; }

 private:
  enum class JobKind { kFlops, kCopy, kAllocate };
  struct Job {
    JobKind kind = JobKind::kFlops;
    const FlopKernel* kernel = nullptr;
    std::size_t bytes = 0;
  };
  /// What one thread owns. Written by it alone while a job runs, read after the job is done.
  struct Worker {
    alignas(64) unsigned char result[kPeakResultBytes];
    CopyBuffer buffer{};
    double rate = 0;
    bool right = true;
  };

  static std::vector<std::unique_ptr<Worker>> make_workers(int threads) {
    if (threads < 1 || threads > kMaxThreads) {
      throw Error("machine peaks",
                  fmt::format("{} threads is outside of 1..{}", threads, kMaxThreads));
    }
    std::vector<std::unique_ptr<Worker>> workers;
    for (int i = 0; i < threads; ++i) workers.push_back(std::make_unique<Worker>());
    return workers;
  }

  void allocate_copy_buffers() {
    if (workers_.front()->buffer.is_allocated()) return;
    Peak& copy = peaks_.back();
    const auto threads = static_cast<long long>(workers_.size());
    const long long bytes = options_.copy_bytes > 0 ? options_.copy_bytes
                                                    : default_copy_bytes(static_cast<int>(threads));
    const AvailableMemory available = available_memory();
    if (available.bytes && 2 * bytes > *available.bytes / 4) {
      copy.reason = fmt::format("the buffers ({}) would take over a quarter of the free memory",
                                format_quantity(2.0 * static_cast<double>(bytes), "B"));
      return;
    }
    run_job({JobKind::kAllocate, nullptr, static_cast<std::size_t>(bytes / threads)});
    const bool all = std::all_of(workers_.begin(), workers_.end(),
                                 [](const auto& worker) { return worker->right; });
    if (!all) copy.reason = "the system gave no memory for the buffers";
    copy.method +=
        fmt::format(", {} a direction", format_quantity(static_cast<double>(bytes), "B"));
  }

  void run_job(const Job& job) {
    std::unique_lock lock(mutex_);
    job_ = job;
    ++job_number_;
    unfinished_ = workers_.size();
    arrived_.store(0);
    start_ticks_.store(0);
    called_off_.store(false);
    wake_.notify_all();
    done_.wait(lock, [this] { return unfinished_ == 0; });
  }

  void work_until(const std::stop_token& stop, Worker& worker) {
    std::uint64_t seen = 0;
    while (true) {
      Job job;
      {
        std::unique_lock lock(mutex_);
        if (!wake_.wait(lock, stop, [&] { return job_number_ != seen; })) return;
        seen = job_number_;
        job = job_;
      }
      do_job(job, worker);
      const std::lock_guard lock(mutex_);
      if (--unfinished_ == 0) done_.notify_one();
    }
  }

  void do_job(const Job& job, Worker& worker) {
    switch (job.kind) {
      case JobKind::kAllocate:
        worker.right = worker.buffer.allocate(job.bytes);
        break;
      case JobKind::kFlops:
        time_work(worker, [&] {
          job.kernel->run(worker.result);
          return job.kernel->flops;
        });
        worker.right = called_off_.load() || job.kernel->check(worker.result);
        break;
      case JobKind::kCopy:
        worker.buffer.poison();
        time_work(worker, [&] { return worker.buffer.copy_next(); });
        worker.right = worker.buffer.check();
        break;
    }
  }

  template <typename Work>
  void time_work(Worker& worker, Work&& work) {
    worker.rate = 0;
    const Steady::time_point warm = Steady::now();
    do {
      work();
    } while (seconds_since(warm) < options_.warm_seconds);
    Steady::time_point start;
    if (!meet(start)) return;
    double amount = 0;
    double elapsed = 0;
    // A thread that the system kept from running counts its full time: the machine was not free.
    do {
      amount += work();
      elapsed = seconds_since(start);
    } while (elapsed < options_.timed_seconds);
    worker.rate = amount / elapsed;
  }

  /// Waits, spinning to keep the clock up, until all threads are here; the last one sets the start.
  bool meet(Steady::time_point& start) {
    const Steady::time_point came = Steady::now();
    if (arrived_.fetch_add(1) + 1 == workers_.size()) {
      start_ticks_.store(came.time_since_epoch().count());
    }
    for (int spins = 0; start_ticks_.load() == 0; ++spins) {
      if (called_off_.load()) return false;
      if (spins % 64 == 63) {
        // With more threads than CPUs someone has to make room for those not here yet.
        std::this_thread::yield();
        if (Steady::now() - came > kMaxWait) called_off_.store(true);
      }
    }
    start = Steady::time_point(Steady::duration(start_ticks_.load()));
    return !called_off_.load();
  }

  PeakOptions options_;
  std::vector<FlopKernel> kernels_{fma_fp32_kernel(), fma_fp64_kernel(), fma_bf16_kernel(),
                                   fma_int8_kernel()};
  std::vector<Peak> peaks_{};
  std::vector<std::unique_ptr<Worker>> workers_;

  std::mutex mutex_{};
  std::condition_variable_any wake_{};
  std::condition_variable done_{};
  Job job_{};
  std::uint64_t job_number_ = 0;
  std::size_t unfinished_ = 0;

  std::atomic<std::size_t> arrived_{0};
  std::atomic<Steady::rep> start_ticks_{0};
  std::atomic<bool> called_off_{false};

  std::vector<std::jthread> threads_{};  // last: stopped and joined before the rest is gone
};

PeakSampler::PeakSampler(int threads, PeakOptions options)
    : crew_(std::make_unique<Crew>(threads, options)) {}

PeakSampler::~PeakSampler() = default;

void PeakSampler::burst() { crew_->burst(); }

std::vector<Peak> PeakSampler::peaks() const { return crew_->peaks(); }

}  // namespace harness
