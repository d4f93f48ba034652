// What a profile says should be done next: each rule on a profile that calls for it, and on one
// that does not; what was expected beside what was measured.
#include "harness/profile/advice.hpp"

#include <catch2/catch.hpp>

#include "harness/profile/views.hpp"
#include "harness/report/text/advice_text.hpp"
#include "harness/system/page_faults.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

namespace {

OperatorRow row(const std::string& phase, const std::string& module, const std::string& name,
                double self, double primitives = 0) {
  OperatorRow made;
  made.phase = phase;
  made.module = module;
  made.name = name;
  made.calls = 1;
  made.self_seconds = self;
  made.primitive_seconds = primitives;
  return made;
}

PrimitiveRow run(const std::string& kind, const std::string& problem, std::size_t owner,
                 double seconds, double calls = 1) {
  PrimitiveRow made;
  made.primitive.kind = kind;
  made.primitive.implementation = "brgconv:avx512_core";
  made.primitive.problem = problem;
  made.library = "oneDNN 3.12.0";
  made.owner = owner;
  made.seconds = seconds;
  made.calls = calls;
  return made;
}

/// A step of 10 s: a convolution with a norm, a ReLU and their gradients, and nothing else.
ProfileTables tables() {
  ProfileTables made;
  made.step_seconds = 10;
  made.operators = {row("forward", "net.conv", "aten::mkldnn_convolution", 6, 6),
                    row("forward", "net.conv", "aten::mul", 0.5),
                    row("forward", "net.conv", "aten::clamp_min_", 0.25),
                    row("backward", "net.conv", "aten::mul", 0.25),
                    row("backward", "net.conv", "aten::threshold_backward", 2),
                    row("backward", "net.conv", "aten::add_", 1)};
  made.primitives = {run("convolution", "mb1_ic8oc8_ih4oh4kh3sh1dh0ph1", 0, 6)};
  return made;
}

AdviceFacts facts() {
  AdviceFacts made;
  made.allocator = "pooled";
  made.precision = "fp32";
  made.step_seconds = 10;
  made.fault_seconds = 1e-6;
  made.copy_bandwidth = 10e9;
  return made;
}

const Advice* find_advice(const std::vector<Advice>& all, const std::string& topic) {
  for (const Advice& advice : all) {
    if (advice.topic == topic) return &advice;
  }
  return nullptr;
}

double expected(const std::vector<Advice>& all, const std::string& topic) {
  const Advice* advice = find_advice(all, topic);
  return advice == nullptr ? -1 : advice->expected_seconds.value_or(-2);
}

Variant variant(const std::string& name, VariantSettings settings, double median,
                const std::string& previous, double speedup) {
  Variant made;
  made.name = name;
  made.settings = std::move(settings);
  made.median_seconds = median;
  made.to_previous.to = previous;
  if (speedup > 0) {
    made.to_previous.value = Interval{speedup, speedup * 0.9, speedup * 1.1, 0.95};
  }
  return made;
}

}  // namespace

TEST_CASE("nothing is advised that cannot be had", "[advice]") {
  CHECK(advise(tables(), facts()).empty());
}

TEST_CASE("memory that is asked for anew is worth its page faults", "[advice]") {
  ProfileTables made = tables();
  made.operators.push_back(row("forward", "body", "aten::mul", 2));
  OperatorRow& one = made.operators.back();
  one.bytes = 3 * 300'000 * 4096.0;
  one.page_faults = 300'000;
  AdviceFacts known = facts();
  known.allocator = "system";
  known.possible = {{"allocator", "pooled"}};
  const auto all = advise(made, known);
  CHECK(expected(all, "memory") == Approx(0.3));
  CHECK(find_advice(all, "memory")->change == AdvisedChange{"allocator", "pooled"});
  // No more than it took beyond moving its bytes, however much a fault costs.
  known.fault_seconds = 1;
  CHECK(expected(advise(made, known), "memory") ==
        Approx(2 - 4 * 300'000 * 4096.0 / known.copy_bandwidth));
  // Less than one percent of the step is not worth a word.
  known.fault_seconds = facts().fault_seconds;
  one.page_faults = 99'000;
  CHECK(advise(made, known).empty());
}

TEST_CASE("a composition of the loss is worth what one pass over the logits does not take",
          "[advice]") {
  ProfileTables made = tables();
  made.operators.push_back(row("loss", "loss.classification", "aten::mul", 2));
  made.operators.back().shapes = "f32[100,250000] f32[7]";
  made.operators.push_back(row("backward", "loss.classification", "aten::mul", 1));
  made.operators.push_back(row("loss", "loss.box", "aten::mul", 9));
  AdviceFacts known = facts();
  known.possible = {{"focal-loss", "custom"}};
  // 2 x 100 MB at 10 GB/s stay.
  CHECK(expected(advise(made, known), "focal loss") == Approx(3 - 0.02));
  // Without a copy bandwidth, that of the operators counts.
  known.copy_bandwidth = 0;
  CHECK(find_advice(advise(made, known), "focal loss") == nullptr);
  made.operators[1].bytes = 10e9;
  CHECK(expected(advise(made, known), "focal loss") == Approx(3 - 0.01));
}

TEST_CASE("with memory that is asked for anew the rest is counted without page faults",
          "[advice]") {
  OperatorRow one = row("loss", "loss.classification", "aten::mul", 2);
  // Few faults: each at its price.
  one.bytes = 1e12;
  one.page_faults = 1000;
  CHECK(gap_without_faults(one, 10e9, 1e-4) == Approx(2 - 0.1));
  CHECK(gap_without_faults(one, 10e9, 1) == 0);
  // A third of the bytes was faulted in: the traffic, with the lines written read before.
  one.bytes = 3 * 4096e5;
  one.page_faults = 1e5;
  CHECK(gap_without_faults(one, 10e9, 1e-4) == Approx(4 * 4096e5 / 10e9));
  // Bytes not known: as much read as written.
  one.bytes = 0;
  CHECK(gap_without_faults(one, 10e9, 1e-4) == Approx(3 * 4096e5 / 10e9));
  // Never more than it took.
  CHECK(gap_without_faults(one, 1, 1e-4) == 2);
  CHECK(gap_without_faults(one, 0, 1e-5) == Approx(1));
}

TEST_CASE("chains around convolutions are worth what their own pass can take in", "[advice]") {
  AdviceFacts known = facts();
  known.possible = {{"conv-block", "custom"}};
  // Forward 0.75, backward 0.25; mask and sum stay.
  CHECK(expected(advise(tables(), known), "frozen norm and ReLU chains") == Approx(1));
  // Element-wise work elsewhere is none of it.
  ProfileTables made = tables();
  made.operators.push_back(row("forward", "net.other", "aten::mul", 3));
  CHECK(expected(advise(made, known), "frozen norm and ReLU chains") == Approx(1));
}

TEST_CASE("reasons for one change count together", "[advice]") {
  ProfileTables made = tables();
  for (OperatorRow& one : made.operators) {
    if (one.primitive_seconds <= 0) one.self_seconds /= 20;  // chains of 0.05 s
  }
  PrimitiveRow packing = run("reorder", "8x8x3x3", 0, 0.05, 5);
  packing.primitive.tensors = {{"src", "f32", "acdb", false}, {"dst", "f32", "Acdb16a", false}};
  made.primitives.push_back(packing);
  AdviceFacts known = facts();
  known.possible = {{"conv-block", "custom"}};
  CHECK(advise(made, known).empty());
  known.grouped_recorded = 1;
  known.grouped_replayed = 0.96;
  const auto all = advise(made, known);
  REQUIRE(all.size() == 3);
  CHECK(expected(all, "frozen norm and ReLU chains") == Approx(0.05));
  CHECK(expected(all, "grouped convolutions") == Approx(0.04));
  CHECK(expected(all, "reorders") == Approx(0.04));
  // A gain that is not known is said as well.
  known.grouped_replayed.reset();
  CHECK(expected(advise(made, known), "grouped convolutions") == -2);
}

TEST_CASE("reorders are worth what packing once a step saves", "[advice]") {
  ProfileTables made = tables();
  PrimitiveRow packing = run("reorder", "8x8x3x3", 0, 1, 5);
  packing.primitive.tensors = {{"src", "f32", "acdb", false}, {"dst", "f32", "Acdb16a", false}};
  PrimitiveRow gradient = packing;
  std::swap(gradient.primitive.tensors[0], gradient.primitive.tensors[1]);
  made.primitives.push_back(packing);
  made.primitives.push_back(gradient);
  AdviceFacts known = facts();
  known.possible = {{"conv-block", "custom"}};
  CHECK(expected(advise(made, known), "reorders") == Approx(0.8));
}

TEST_CASE("the optimiser is worth what one pass over parameters does not take", "[advice]") {
  ProfileTables made = tables();
  made.operators.push_back(row("optimizer", "", "aten::sqrt", 0.5));
  made.operators.back().bytes = 2e9;  // 250 million parameters, in and out
  made.operators.push_back(row("optimizer", "", "aten::mul", 1.5));
  AdviceFacts known = facts();
  known.possible = {{"optimizer", "custom"}};
  CHECK(expected(advise(made, known), "optimizer") == Approx(2 - 0.7));
}

TEST_CASE("slow implementations, misses of the cache and threads are named", "[advice]") {
  ProfileTables made = tables();
  made.primitives[0].flops = 6e12;
  made.primitives.push_back(run("convolution", "mb1_ic8oc8_ih4oh4kh3sh1dh0ph1", 0, 1.5));
  made.primitives.back().primitive.implementation = "ref:any";
  made.primitives.back().flops = 1e11;
  made.primitives.back().created = 3;
  AdviceFacts known = facts();
  known.threads = 1;
  known.usable_cores = 4;
  const auto all = advise(made, known);
  CHECK(expected(all, "slow implementations") == Approx(1.4));
  CHECK(find_advice(all, "primitive cache") != nullptr);
  REQUIRE(find_advice(all, "threads") != nullptr);
  CHECK(option_of(*find_advice(all, "threads")->change) == "--threads 4");
}

TEST_CASE("what changes the arithmetic stands last, however much it brings", "[advice]") {
  AdviceFacts known = facts();
  known.possible = {{"conv-block", "custom"}, {"precision", "bf16"}};
  known.projected_bf16 = 4;
  const auto all = advise(tables(), known);
  REQUIRE(all.size() == 2);
  CHECK(all[0].topic == "frozen norm and ReLU chains");
  CHECK(all[1].topic == "precision");
  CHECK(all[1].changes_numbers);
  CHECK(all[1].expected_seconds.value_or(0) == Approx(6));
}

TEST_CASE("grouped convolutions become tasks for kernels of ours", "[advice]") {
  ProfileTables made = tables();
  made.primitives.push_back(run("convolution", "g8mb1_ic64oc64_ih4oh4kh3sh1dh0ph1", 0, 1));
  made.primitives.push_back(run("convolution", "g8mb1_ic64oc64_ih9oh9kh3sh1dh0ph1", 0, 1));
  made.primitives.back().library = "harness";
  const auto tasks = grouped_tasks(made);
  REQUIRE(tasks.size() == 1);
  CHECK(tasks[0].library == "harness");
  CHECK(tasks[0].primitive.problem == "g8mb1_ic64oc64_ih4oh4kh3sh1dh0ph1");
}

TEST_CASE("an ablation tells what one change brought", "[advice]") {
  Ablation ablation;
  const KernelSet none = {{"focal-loss", "reference"}};
  const KernelSet custom = {{"focal-loss", "custom"}};
  ablation.variants = {variant("first", {"system", "fp32", none}, 10, "", 0),
                       variant("pooled", {"pooled", "fp32", none}, 8, "first", 1.25),
                       variant("focal", {"pooled", "fp32", custom}, 4, "pooled", 2),
                       variant("both", {"system", "bf16", custom}, 4, "focal", 2),
                       variant("bf16", {"pooled", "bf16", none}, 4, "pooled", 0)};
  const MeasuredGains gains = measured_gains(std::span(&ablation, 1));
  REQUIRE(gains.size() == 2);
  CHECK(gains.at({"allocator", "pooled"}).center == Approx(2));
  CHECK(gains.at({"focal-loss", "custom"}).center == Approx(4));
  CHECK(gains.at({"focal-loss", "custom"}).low.value_or(0) == Approx(8 * (1 - 1 / 1.8)));

  // Another process in which the second change brought nothing, and a third with half of it.
  std::vector<Ablation> three(3, ablation);
  three[1].variants[2] = variant("focal", {"pooled", "fp32", custom}, 8, "pooled", 1);
  three[2].variants[2] = variant("focal", {"pooled", "fp32", custom}, 6, "pooled", 8.0 / 6);
  const MeasuredGains together = measured_gains(three);
  CHECK(together.at({"allocator", "pooled"}).center == Approx(2));
  const Interval& focal = together.at({"focal-loss", "custom"});
  CHECK(focal.center == Approx(2));
  CHECK(focal.low.value_or(-1) == Approx(0));
  CHECK(focal.high.value_or(-1) == Approx(4));
  CHECK(focal.confidence == Approx(0.75));

  AdviceReport report;
  report.step_seconds = 10;
  report.measured = gains;
  report.advice = {{"memory", "f", "b", AdvisedChange{"allocator", "pooled"}, 3, false},
                   {"a", "f", "b", AdvisedChange{"focal-loss", "custom"}, 1, false},
                   {"b", "f", "b", AdvisedChange{"focal-loss", "custom"}, 2, false}};
  const nlohmann::json document = to_json(report);
  CHECK(document["advice"][0]["measured_seconds"].get<double>() == Approx(2));
  CHECK(document["advice"][0]["expected_share"].get<double>() == Approx(0.3));
  CHECK(document["advice"][1]["expected_by_change"].get<double>() == Approx(3));
  CHECK(document["advice"][2]["try"] == "--kernels focal-loss=custom");
  const std::string text = render_advice(report, Profile());
  CHECK_THAT(text, Catch::Contains("1.50"));  // 3 expected, 2 measured
  CHECK_THAT(text, Catch::Contains("0.75"));
}

TEST_CASE("a page fault costs something, and less than a millisecond", "[advice]") {
  for (const int threads : {1, 2}) {
    const double seconds = page_fault_seconds(threads);
    CHECK(seconds > 0);
    CHECK(seconds < 1e-3);
  }
}
