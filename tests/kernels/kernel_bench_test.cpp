// The benchmark program: what it lists, that it runs, and that it times nothing that is wrong.
#include <ATen/ATen.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <tuple>

#include "kernels/bench/case.hpp"
#include "kernels/bench/local_peaks.hpp"
#include "tests/support/process.hpp"
#include "tests/support/tensors.hpp"
#include "workloads/retinanet/architecture.hpp"

namespace kernels = harness::kernels;
namespace bench = harness::kernels::bench;
using harness::tests::floats;

namespace {

harness::Outcome run_bench(const std::vector<std::string>& arguments,
                           const std::string& program = "kernel_bench") {
  return harness::Process(arguments, {}, {}, HARNESS_BINARY_FOLDER "/" + program).wait();
}

}  // namespace

TEST_CASE("the optimiser is timed on all that a detector trains", "[kernel-bench]") {
  std::size_t tensors = 0;
  std::int64_t elements = 0;
  for (const harness::workloads::ConvLayer& layer : harness::workloads::retinanet_layers(264)) {
    if (!layer.trainable) continue;
    tensors += layer.bias ? 2 : 1;
    elements += layer.weight_count() + (layer.bias ? layer.out_channels : 0);
  }
  const std::vector<bench::CaseInfo> cases = bench::optimizer_cases();
  REQUIRE(cases.size() == 2);
  CHECK(cases[0].shape == "3tensors_" + std::to_string(256 * 256 + 256 * 8 * 9 + 512 * 256));
  CHECK(cases[1].shape == std::to_string(tensors) + "tensors_" + std::to_string(elements));
}

TEST_CASE("results are compared by norm, shape and number", "[kernel-bench]") {
  const at::Tensor a = floats({4}, {3, 0, 0, 4});
  const at::Tensor near = floats({4}, {3, 0, 0.04F, 4});
  CHECK(bench::difference({a, a}, {a, a.clone()}, 0).empty());
  CHECK(bench::difference({a}, {near}, 0.01).empty());
  const std::vector<std::tuple<std::vector<at::Tensor>, std::vector<at::Tensor>, const char*>>
      differing = {{{a, a}, {a, near}, "result 1 is off by 0.04 of 5"},
                   {{a}, {floats({4}, {3, 0, std::nanf(""), 4})}, "nan"},
                   {{a, a}, {a}, "1 results, not 2"},
                   {{a}, {a.view({2, 2})}, "[2, 2], not [4]"},
                   {{a}, {at::Tensor()}, "missing"},
                   {{at::Tensor()}, {a}, "is there"}};
  for (const auto& [expected, actual, what] : differing) {
    CHECK_THAT(bench::difference(expected, actual, 0.007), Catch::Contains(what));
  }
  CHECK_FALSE(bench::difference({floats({1}, {std::nanf("")})}, {floats({1}, {1})}, 1).empty());
  CHECK(bench::difference({a}, {a.to(at::kBFloat16)}, 0).empty());
  CHECK(bench::difference({at::Tensor()}, {at::Tensor()}, 0).empty());
}

TEST_CASE("the cases cover all operators, each named once", "[kernel-bench]") {
  std::set<std::string> names;
  std::set<std::string> typical;
  for (const bench::CaseInfo& info : bench::all_cases()) {
    INFO(info.op->name() << ' ' << info.shape << ' ' << info.precision);
    CHECK(names.insert(info.op->name() + info.shape + info.precision).second);
    CHECK(info.bytes > 0);
    if (info.typical) typical.insert(info.op->name() + '/' + info.shape);
  }
  for (const kernels::OperatorBase* op : kernels::operators()) {
    CHECK(std::any_of(typical.begin(), typical.end(),
                      [&](const std::string& name) { return name.starts_with(op->name() + '/'); }));
  }
  // One of each kind of block; the shapes of a training step of the others.
  CHECK(std::count_if(typical.begin(), typical.end(), [](const std::string& name) {
          return name.starts_with("conv-block/");
        }) == 8);
  CHECK(typical.contains("focal-loss/120087x264"));
  CHECK(typical.contains("matcher/120087x100"));
}

TEST_CASE("the least time is that of the scarcer of both: arithmetic or bandwidth",
          "[kernel-bench]") {
  bench::LocalPeaks peaks(1);
  CHECK_FALSE(peaks.limit(1, "fp32", 0).reason.empty());  // nothing sampled yet
  peaks.sample();
  const bench::Limit none = peaks.limit(0, "fp32", 0);
  CHECK(none.reason.empty());
  CHECK(none.seconds == 0);
  // Whether the machine is quiet enough for a peak is not for a test to say.
  const bench::Limit arithmetic = peaks.limit(1e12, "fp32", 0);
  const bench::Limit both = peaks.limit(1e12, "fp32", 1);
  CHECK(arithmetic.reason.empty() == (arithmetic.seconds > 0));
  if (both.reason.empty()) CHECK(both.seconds == arithmetic.seconds);
  if (!arithmetic.reason.empty()) CHECK_THAT(arithmetic.reason, Catch::Contains("fma.fp32"));
}

TEST_CASE("kernel_bench lists its cases", "[kernel-bench]") {
  const harness::Outcome all = run_bench({"--benchmark_list_tests", "--benchmark_filter=."});
  REQUIRE(all.code == 0);
  std::istringstream lines(all.out);
  std::set<std::string> names;
  for (std::string line; std::getline(lines, line);) {
    names.insert(line.substr(0, line.rfind("/real_time")));
  }
  CHECK(names.contains("focal-loss/reference/120087x264/bf16/threads:1"));
  CHECK(names.contains("matcher/custom/120087x10/fp32/threads:1"));
  CHECK(names.contains("box-loss/custom/120087x10/bf16/threads:1"));
  CHECK(names.contains(
      "conv-block/reference/g32mb1ic256ih100oc256oh100kh3ph1_norm_relu/fp32/threads:1"));
  const harness::Outcome selection = run_bench({"--benchmark_list_tests"});
  CHECK(selection.code == 0);
  CHECK(selection.out.size() < all.out.size() / 2);
  const harness::Outcome three = run_bench({"--benchmark_list_tests", "--threads=3"});
  CHECK_THAT(three.out, Catch::Contains("threads:3") && !Catch::Contains("threads:1"));
}

TEST_CASE("kernel_bench runs a case of each operator", "[kernel-bench]") {
  const harness::Outcome outcome =
      run_bench({"--benchmark_filter=/(3069x.*|3tensors_.*|g2mb1ic8.*|9tokens_.*|mb2ih12_.*)/",
                 "--benchmark_min_time=0.001", "--benchmark_format=json", "--threads=1"});
  INFO(outcome.err << outcome.out);
  REQUIRE(outcome.code == 0);
  const auto document = nlohmann::json::parse(outcome.out);
  std::set<std::string> implementations;
  for (const auto& row : document["benchmarks"]) {
    const auto name = row["name"].get<std::string>();
    INFO(name);
    CHECK_FALSE(row.contains("error_occurred"));
    CHECK(row["GB/s"].get<double>() > 0);
    CHECK(row.contains("GF/s") == (name.starts_with("conv-") || name.starts_with("encoder/") ||
                                   name.starts_with("matcher/")));
    CHECK((row.contains("of_peak") || !row["label"].get<std::string>().empty()));
    implementations.insert(name.substr(0, name.find('/', name.find('/') + 1)));
  }
  for (const kernels::OperatorBase* op : kernels::operators()) {
    for (const auto& implementation : op->implementations()) {
      INFO(op->name() << '=' << implementation.name);
      CHECK(implementations.contains(op->name() + '/' + implementation.name) ==
            implementation.support.ok);
    }
  }
}

TEST_CASE("kernel_bench times nothing that is wrong, and says so", "[kernel-bench]") {
  const harness::Outcome outcome =
      run_bench({"--benchmark_filter=matcher/.*/3069x", "--benchmark_min_time=0.001",
                 "--benchmark_format=json", "--threads=1"},
                "kernel_bench_wrong");
  INFO(outcome.err << outcome.out);
  CHECK(outcome.code == 3);
  const auto document = nlohmann::json::parse(outcome.out);
  REQUIRE(document["benchmarks"].size() == 3);
  for (const auto& row : document["benchmarks"]) {
    const bool wrong = row["name"].get<std::string>().starts_with("matcher/wrong/");
    CHECK(row.value("error_occurred", false) == wrong);
    if (!wrong) continue;
    CHECK_THAT(row["error_message"].get<std::string>(),
               Catch::Contains("differs from the reference"));
    CHECK_FALSE(row.contains("GB/s"));
  }
}

TEST_CASE("kernel_bench refuses what it does not know", "[kernel-bench]") {
  for (const char* argument : {"--thread=2", "--threads=0", "--threads=1,x", "--allocator=none",
                               "--benchmark_format=xml", "--benchmark_out_format=yaml"}) {
    const harness::Outcome outcome = run_bench({argument});
    INFO(argument << '\n' << outcome.err);
    CHECK(outcome.code == 1);
    CHECK_THAT(outcome.err, Catch::StartsWith("kernel_bench: "));
    CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
  }
  for (const char* filter : {"nothing-is-called-so", "("}) {
    const harness::Outcome outcome = run_bench({std::string("--benchmark_filter=") + filter});
    INFO(filter << '\n' << outcome.err);
    CHECK(outcome.code == 1);
    CHECK_THAT(outcome.err, Catch::Contains("regex") || Catch::Contains("regular expression"));
  }
}
