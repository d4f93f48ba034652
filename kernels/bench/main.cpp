// kernel_bench: every implementation of every operator, at several shapes, precisions and thread
// counts. Each is compared with the reference before it is timed.
#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"
#include "harness/system/affinity.hpp"
#include "kernels/bench/case.hpp"
#include "kernels/bench/local_peaks.hpp"
#include "kernels/runtime/allocator.hpp"
#include "kernels/runtime/threads.hpp"
#include "kernels/runtime/versions.hpp"

namespace harness::kernels::bench {
namespace {

struct Options {
  std::vector<int> threads{1};
  std::string allocator = "pooled";
};

/// What is to be timed: one row of the output.
struct Row {
  CaseInfo info{};
  std::string implementation{};
  int threads = 1;

  std::string name() const {
    return info.op->name() + "/" + implementation + "/" + info.shape + "/" + info.precision +
           "/threads:" + std::to_string(threads);
  }
};

/// Google Benchmark calls a function several times, with more and more iterations: what was
/// prepared and verified for the first call serves the others.
class Bench {
 public:
  void run(const Row& row, benchmark::State& state) {
    try {
      set_threads(row.threads);
      prepare(row);
      if (!failure_.empty()) throw std::runtime_error(failure_);
      LocalPeaks& peaks = peaks_of(row.threads);
      peaks.sample();
      const auto start = std::chrono::steady_clock::now();
      for (auto _ : state) case_->run();
      const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
      peaks.sample();
      report(row, peaks, elapsed.count() / static_cast<double>(state.iterations()), state);
    } catch (const std::exception& error) {
      has_failed_ = true;
      state.SkipWithError(error.what());
    }
  }

  bool has_failed() const { return has_failed_; }

 private:
  void prepare(const Row& row) {
    if (prepared_ == row.name()) return;
    prepared_.clear();
    case_.reset();
    case_ = row.info.make(row.implementation);
    case_->run();
    failure_.clear();
    if (row.implementation != "reference") {
      const std::unique_ptr<Case> reference = row.info.make("reference");
      reference->run();
      const std::string found =
          difference(reference->results(), case_->results(), row.info.tolerance);
      if (!found.empty()) failure_ = "differs from the reference: " + found;
    }
    prepared_ = row.name();
  }

  LocalPeaks& peaks_of(int threads) { return peaks_.try_emplace(threads, threads).first->second; }

  // Numbers rather than Google Benchmark's rates, which it would print as "GB/s=12/s".
  static void report(const Row& row, const LocalPeaks& peaks, double seconds,
                     benchmark::State& state) {
    if (row.info.flops > 0) state.counters["GF/s"] = row.info.flops * 1e-9 / seconds;
    state.counters["GB/s"] = row.info.bytes * 1e-9 / seconds;
    const Limit limit = peaks.limit(row.info.flops, row.info.precision, row.info.bytes);
    if (limit.reason.empty()) {
      state.counters["of_peak"] = limit.seconds / seconds;
    } else {
      state.SetLabel(limit.reason);
    }
  }

  std::string prepared_{};
  std::string failure_{};
  std::unique_ptr<Case> case_{};
  std::map<int, LocalPeaks> peaks_{};
  bool has_failed_ = false;
};

[[noreturn]] void refuse(const std::string& argument, const std::string& why) {
  throw Error(printable(argument), why, "--threads=1,2 --allocator=NAME --benchmark_...");
}

/// What Google Benchmark has left.
Options parse_options(int argc, char** argv) {
  Options options;
  const int all = usable_cpus().count;
  if (all > 1) options.threads.push_back(all);
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const std::size_t equals = argument.find('=');
    const std::string value = equals == std::string::npos ? "" : argument.substr(equals + 1);
    if (argument.starts_with("--threads=")) {
      options.threads.clear();
      for (const std::string& part : split(value, ',')) {
        const auto number = parse_integer(part);
        if (!number || *number < 1 || *number > 4096)
          refuse(argument, "not numbers from 1 to 4096");
        options.threads.push_back(static_cast<int>(*number));
      }
    } else if (argument.starts_with("--allocator=")) {
      options.allocator = value;
    } else {
      refuse(argument, "unknown, or not a value it takes");
    }
  }
  return options;
}

std::vector<Row> make_rows(const Options& options, bool only_typical) {
  std::vector<Row> rows;
  for (const CaseInfo& info : all_cases()) {
    if (only_typical && !info.typical) continue;
    for (const int threads : options.threads) {
      // Side by side in time, since what a machine gives changes within minutes.
      for (const auto& implementation : info.op->implementations()) {
        if (implementation.support.ok) rows.push_back({info, implementation.name, threads});
      }
    }
  }
  return rows;
}

void say_what_cannot_run() {
  for (const OperatorBase* op : operators()) {
    for (const auto& implementation : op->implementations()) {
      if (implementation.support.ok) continue;
      std::cerr << "kernel_bench: left out " << op->name() << '=' << implementation.name << ": "
                << implementation.support.reason << '\n';
    }
  }
}

void print_help() {
  benchmark::PrintDefaultHelp();
  std::cout << "          [--threads=<n>[,<n>]...]         (default: 1 and all)\n"
               "          [--allocator=<name>]\n"
               "Without --benchmark_filter a selection runs; --benchmark_filter=. runs all.\n";
}

/// Google Benchmark prints its usage and exits with 0 for a format that it does not know.
void check_formats(int argc, char** argv) {
  const auto check = [](const std::string& what, const std::string& format) {
    for (const char* known : {"console", "json", "csv"}) {
      if (format == known) return;
    }
    throw Error(printable(what), "unknown format", "one of console, json, csv");
  };
  for (const auto& [flag, variable] :
       {std::pair{"--benchmark_format=", "BENCHMARK_FORMAT"},
        std::pair{"--benchmark_out_format=", "BENCHMARK_OUT_FORMAT"}}) {
    const char* inherited = std::getenv(variable);
    if (inherited != nullptr) check(std::string(variable) + "=" + inherited, inherited);
    for (int i = 1; i < argc; ++i) {
      const std::string argument = argv[i];
      if (argument.starts_with(flag)) check(argument, argument.substr(std::strlen(flag)));
    }
  }
}

int run(int argc, char** argv) {
  check_formats(argc, argv);
  benchmark::Initialize(&argc, argv, print_help);
  const Options options = parse_options(argc, argv);
  use_allocator(options.allocator);
  benchmark::AddCustomContext("allocator", options.allocator);
  for (const auto& [name, version] : library_versions()) {
    benchmark::AddCustomContext(name, version);
  }
  say_what_cannot_run();
  Bench bench;
  for (const Row& row : make_rows(options, benchmark::GetBenchmarkFilter().empty())) {
    benchmark::RegisterBenchmark(row.name().c_str(),
                                 [&bench, row](benchmark::State& state) { bench.run(row, state); })
        ->UseRealTime()
        ->Unit(benchmark::kMillisecond);
  }
  const std::size_t found = benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  if (found == 0) return static_cast<int>(ExitCode::kUsage);  // it has said why
  // As of `harness verify`.
  return static_cast<int>(bench.has_failed() ? ExitCode::kInvalid : ExitCode::kOk);
}

}  // namespace
}  // namespace harness::kernels::bench

int main(int argc, char** argv) {
  try {
    return harness::kernels::bench::run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "kernel_bench: " << error.what() << '\n';
    return 1;
  }
}
