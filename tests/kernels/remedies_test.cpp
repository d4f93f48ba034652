// What the kernels' remedies say of a profile that calls for them, and of one that does not.
#include <catch2/catch.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/profiled_step.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

namespace {

/// Facts of a machine that runs `setting` with kernels of ours.
AdviceFacts facts_with(const std::string& setting) {
  AdviceFacts made = pooled_facts();
  made.possible = {{setting, "custom"}};
  for (Remedy& remedy : remedies_of(made.possible)) {
    made.remedies.push_back({std::move(remedy), {}, {}});
  }
  return made;
}

/// The first remedy that replays something of such a step.
OfferedRemedy& replayed(AdviceFacts& facts, const ProfileTables& tables) {
  for (OfferedRemedy& offered : facts.remedies) {
    if (offered.remedy.replays && !offered.remedy.replays(tables).empty()) return offered;
  }
  throw std::logic_error("no remedy replays anything of it");
}

/// One that has nothing but a grouped convolution.
ProfileTables grouped_step() {
  ProfileTables made = ten_second_step();
  made.primitives = {primitive_row("convolution", "g8mb1_ic64oc64_ih4oh4kh3sh1dh0ph1", 0, 1)};
  return made;
}

}  // namespace

TEST_CASE("a composition of the loss is worth what one pass over the logits does not take",
          "[advice]") {
  ProfileTables made = ten_second_step();
  made.operators.push_back(operator_row("loss", "loss.classification", "aten::mul", 2));
  made.operators.back().shapes = "f32[100,250000] f32[7]";
  made.operators.push_back(operator_row("backward", "loss.classification", "aten::mul", 1));
  made.operators.push_back(operator_row("loss", "loss.box", "aten::mul", 9));
  AdviceFacts known = facts_with("focal-loss");
  CHECK(find_advice(advise(ten_second_step(), known), "focal loss") == nullptr);
  // 2 x 100 MB at 10 GB/s stay.
  CHECK(expected_gain(advise(made, known), "focal loss") == Approx(3 - 0.02));
  // Without a copy bandwidth, that of the operators counts.
  known.copy_bandwidth = 0;
  CHECK(find_advice(advise(made, known), "focal loss") == nullptr);
  made.operators[1].bytes = 10e9;
  CHECK(expected_gain(advise(made, known), "focal loss") == Approx(3 - 0.01));
}

TEST_CASE("chains around convolutions are worth what their own pass can take in", "[advice]") {
  AdviceFacts known = facts_with("conv-block");
  // Forward 0.75, backward 0.25; mask and sum stay.
  CHECK(expected_gain(advise(ten_second_step(), known), "frozen norm and ReLU chains") ==
        Approx(1));
  // Element-wise work elsewhere is none of it.
  ProfileTables made = ten_second_step();
  made.operators.push_back(operator_row("forward", "net.other", "aten::mul", 3));
  CHECK(expected_gain(advise(made, known), "frozen norm and ReLU chains") == Approx(1));
}

TEST_CASE("reasons for one change count together", "[advice]") {
  ProfileTables made = ten_second_step();
  for (OperatorRow& one : made.operators) {
    if (one.primitive_seconds <= 0) one.self_seconds /= 20;  // chains of 0.05 s
  }
  PrimitiveRow packing = primitive_row("reorder", "8x8x3x3", 0, 0.05, 5);
  packing.primitive.tensors = {{"src", "f32", "acdb", false}, {"dst", "f32", "Acdb16a", false}};
  made.primitives.push_back(packing);
  AdviceFacts known = facts_with("conv-block");
  CHECK(advise(made, known).empty());
  OfferedRemedy& grouped = replayed(known, grouped_step());
  grouped.recorded_seconds = 1;
  grouped.replayed_seconds = 0.96;
  const auto all = advise(made, known);
  REQUIRE(all.size() == 3);
  CHECK(expected_gain(all, "frozen norm and ReLU chains") == Approx(0.05));
  CHECK(expected_gain(all, "grouped convolutions") == Approx(0.04));
  CHECK(expected_gain(all, "reorders") == Approx(0.04));
  // A gain that is not known is said as well.
  grouped.replayed_seconds.reset();
  CHECK(expected_gain(advise(made, known), "grouped convolutions") == -2);
}

TEST_CASE("reorders are worth what packing once a step saves", "[advice]") {
  ProfileTables made = ten_second_step();
  PrimitiveRow packing = primitive_row("reorder", "8x8x3x3", 0, 1, 5);
  packing.primitive.tensors = {{"src", "f32", "acdb", false}, {"dst", "f32", "Acdb16a", false}};
  PrimitiveRow gradient = packing;
  std::swap(gradient.primitive.tensors[0], gradient.primitive.tensors[1]);
  made.primitives.push_back(packing);
  made.primitives.push_back(gradient);
  AdviceFacts known = facts_with("conv-block");
  CHECK(expected_gain(advise(made, known), "reorders") == Approx(0.8));
}

TEST_CASE("the optimiser is worth what one pass over parameters does not take", "[advice]") {
  ProfileTables made = ten_second_step();
  made.operators.push_back(operator_row("optimizer", "", "aten::sqrt", 0.5));
  made.operators.back().bytes = 2e9;  // 250 million parameters, in and out
  made.operators.push_back(operator_row("optimizer", "", "aten::mul", 1.5));
  AdviceFacts known = facts_with("optimizer");
  CHECK(expected_gain(advise(made, known), "optimizer") == Approx(2 - 0.7));
}

TEST_CASE("grouped convolutions become tasks for kernels of ours", "[advice]") {
  ProfileTables made = ten_second_step();
  made.primitives.push_back(
      primitive_row("convolution", "g8mb1_ic64oc64_ih4oh4kh3sh1dh0ph1", 0, 1));
  made.primitives.push_back(
      primitive_row("convolution", "g8mb1_ic64oc64_ih9oh9kh3sh1dh0ph1", 0, 1));
  made.primitives.back().library = "harness";
  AdviceFacts known = facts_with("conv-block");
  const auto tasks = replayed(known, grouped_step()).remedy.replays(made);
  REQUIRE(tasks.size() == 1);
  CHECK(tasks[0].library == "harness");
  CHECK(tasks[0].primitive.problem == "g8mb1_ic64oc64_ih4oh4kh3sh1dh0ph1");
}

TEST_CASE("3x3 convolutions of stride 1 are replayed by minimal filtering", "[advice]") {
  ProfileTables made = ten_second_step();
  const TensorLayout f32{"src", "f32", "acdb", false};
  made.primitives.front().primitive.tensors = {f32};
  for (const char* problem : {"mb1_ic8oc8_ih4oh4kh1sh1dh0ph0", "mb1_ic8oc8_ih4oh2kh3sh2dh0ph1",
                              "mb1_ic8oc8_ih4oh2kh3sh1dh1ph1", "g2mb1_ic8oc8_ih4oh4kh3sh1dh0ph1"}) {
    made.primitives.push_back(primitive_row("convolution", problem, 0, 1));
    made.primitives.back().primitive.tensors = {f32};
  }
  made.primitives.push_back(primitive_row("convolution", "mb1_ic9oc9_ih4oh4kh3sh1dh0ph1", 0, 1));
  made.primitives.back().primitive.tensors = {{"src", "f16", "acdb", false}};
  made.primitives.push_back(primitive_row("convolution", "mb1_ic7oc7_ih4oh4kh3sh1dh0ph1", 0, 1));
  made.primitives.back().primitive.tensors = {{"src", "bf16", "acdb", false}};
  AdviceFacts known = facts_with("conv-block");
  std::size_t found = 0;
  for (OfferedRemedy& offered : known.remedies) {
    if (!offered.remedy.replays || !offered.remedy.replays(grouped_step()).empty()) continue;
    const auto tasks = offered.remedy.replays(made);
    REQUIRE(tasks.size() == 2);
    CHECK(tasks[0].library == "harness");
    CHECK(tasks[0].primitive.problem == "mb1_ic8oc8_ih4oh4kh3sh1dh0ph1");
    CHECK(tasks[1].primitive.problem == "mb1_ic7oc7_ih4oh4kh3sh1dh0ph1");
    offered.recorded_seconds = 6;
    offered.replayed_seconds = 2.5;
    ++found;
  }
  REQUIRE(found == 1);
  CHECK(expected_gain(advise(made, known), "3x3 convolutions, by minimal filtering") ==
        Approx(3.5));
}

TEST_CASE("a chain of convolutions is worth what a call costs, and its replays", "[advice]") {
  AdviceFacts known = facts_with("conv-chain");
  // All that is no primitive of the forward pass.
  CHECK(expected_gain(advise(ten_second_step(), known), "operators around convolutions") ==
        Approx(0.75));
  OfferedRemedy& offered = replayed(known, ten_second_step());
  const auto tasks = offered.remedy.replays(ten_second_step());
  REQUIRE(tasks.size() == 1);
  CHECK(tasks[0].library == "harness");
  offered.recorded_seconds = 6;
  offered.replayed_seconds = 4.5;
  CHECK(expected_gain(advise(ten_second_step(), known), "convolutions") == Approx(1.5));
}

TEST_CASE("an encoder is worth what stands around its products, and their replays", "[advice]") {
  ProfileTables made;
  made.step_seconds = 10;
  made.operators = {operator_row("forward", "", "aten::addmm", 6),
                    operator_row("forward", "", "aten::gelu", 1, 0.75),
                    operator_row("forward", "", "aten::native_layer_norm", 0.5),
                    operator_row("forward", "", "aten::_scaled_dot_product_flash_attention", 1),
                    operator_row("forward", "", "aten::copy_", 0.5),
                    operator_row("backward", "", "aten::mul", 1)};
  made.operators[0].shapes = "f32[1152] f32[108,384] f32[384,1152]";
  AdviceFacts known = facts_with("encoder");
  // GELU and the copy; norms and attention stay.
  const std::vector<Advice> around = advise(made, known);
  CHECK(expected_gain(around, "operators around products") == Approx(1.5));
  CHECK(find_advice(around, "operators around products")->primitive_seconds == Approx(0.75));
  OfferedRemedy& offered = replayed(known, made);
  const auto tasks = offered.remedy.replays(made);
  REQUIRE(tasks.size() == 1);
  CHECK(tasks[0].primitive.kind == "matmul");
  CHECK(tasks[0].primitive.problem == "108x384:384x1152");
  CHECK(tasks[0].primitive.tensors.front().type == "f32");
  CHECK(tasks[0].recorded_seconds == 6);
  offered.recorded_seconds = 6;
  offered.replayed_seconds = 4;
  CHECK(expected_gain(advise(made, known), "products") == Approx(2));
  known.step_seconds = 8;  // recording cost 2 of the 9.25 s outside of primitives
  CHECK(expected_gain(advise(made, known), "products") == Approx(6 * 7.25 / 9.25 - 4));
  // What no product can be read from is left alone.
  for (const char* shapes : {"", "f32[8]", "f32[8] f32[2,3,4] f32[4,8]", "f32[8] f32 f32[4,8]"}) {
    made.operators[0].shapes = shapes;
    CHECK(offered.remedy.replays(made).empty());
  }
}

TEST_CASE("what recording cost is no gain", "[advice]") {
  AdviceFacts known = facts_with("conv-chain");
  known.step_seconds = 8;  // a recorded step took 2 s longer, all in the 4 s outside of primitives
  ProfileTables made = ten_second_step();
  CHECK(expected_gain(advise(made, known), "operators around convolutions") == Approx(0.375));
  made.operators.push_back(operator_row("forward", "", "aten::addmm", 0.0));
  made.operators.push_back(operator_row("forward", "", "aten::softmax", 0.0));
  CHECK_THAT(find_advice(advise(made, known), "operators around convolutions")->finding,
             Catch::Contains("in 3 operators"));
}
