// What a profile says a step costs elsewhere: sums, scales, other settings, problem files.
#include "harness/profile/projection.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>
#include <stdexcept>

#include "harness/profile/benchdnn.hpp"
#include "harness/profile/what_if.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

namespace {

constexpr const char* kProblem = "mb1_ic64oc128_ih10oh10kh3sh1dh0ph1_iw10ow10kw3sw1dw0pw1";

Primitive convolution(const std::string& direction = "forward_training") {
  Primitive primitive;
  primitive.kind = "convolution";
  primitive.implementation = "brgconv:avx512_core";
  primitive.direction = direction;
  primitive.tensors = {{"src", "f32", "acdb", false},
                       {"wei", "f32", "Acdb64a", true},
                       {"bia", "f32", "a", false},
                       {"dst", "f32", "acdb", false}};
  primitive.attributes = "attr-scratchpad:user attr-post-ops:binary_add:f32:14:acdb+eltwise_relu ";
  primitive.problem = kProblem;
  return primitive;
}

Primitive simple(const std::string& kind, const std::string& problem) {
  Primitive primitive;
  primitive.kind = kind;
  primitive.direction = "undef";
  primitive.tensors = {{"src", "f32", "acdb", false}, {"dst", "f32", "Acdb32a", false}};
  primitive.problem = problem;
  return primitive;
}

OperatorRow row(const std::string& phase, const std::string& name, double self, double primitives,
                double calls = 1) {
  OperatorRow result;
  result.phase = phase;
  result.name = name;
  result.calls = calls;
  result.self_seconds = self;
  result.primitive_seconds = primitives;
  return result;
}

PrimitiveRow run(Primitive primitive, std::size_t owner, double calls, double seconds,
                 const std::string& library = "oneDNN 3.2.0") {
  PrimitiveRow result;
  result.primitive = std::move(primitive);
  result.library = library;
  result.owner = owner;
  result.calls = calls;
  result.seconds = seconds;
  return result;
}

/// A step of 10 s: 6 s of convolutions in two operators, 4 s outside of primitives.
ProfileTables tables() {
  ProfileTables made;
  made.step_seconds = 10;
  made.between_seconds = 0.5;
  made.operators = {row("forward", "conv-block", 5, 4), row("backward", "conv-block", 3, 2, 3),
                    row("optimizer", "aten::sqrt", 1.5, 0, 4)};
  made.operators[0].kernel = true;
  made.primitives = {run(convolution(), 0, 2, 4), run(convolution(), 1, 1, 2)};
  return made;
}

double sum(const std::vector<OtherTime>& others) {
  return std::accumulate(others.begin(), others.end(), 0.0,
                         [](double all, const OtherTime& other) { return all + other.seconds; });
}

double seconds_of(const std::vector<OtherTime>& others, const std::string& phase) {
  double all = 0;
  for (const OtherTime& other : others) {
    if (other.phase == phase) all += other.seconds;
  }
  return all;
}

ProjectionRound round_of(std::vector<std::optional<double>> seconds, double bandwidth = 0,
                         std::optional<double> measured = {}) {
  ProjectionRound made;
  made.seconds = std::move(seconds);
  made.copy_bandwidth = bandwidth;
  made.measured = measured;
  return made;
}

}  // namespace

TEST_CASE("a model of a step is the step without what recording cost", "[projection]") {
  const StepModel plain = model_step(tables(), 1);
  REQUIRE(plain.tasks.size() == 1);
  CHECK(plain.tasks[0].calls == 3);
  CHECK(plain.tasks[0].recorded_seconds == Approx(6));
  CHECK(plain.step_seconds == Approx(10));
  CHECK(sum(plain.others) == Approx(4));

  // 2 s of recording, borne by calls (1, 3 and 4 of 8); primitives and the whole stay.
  const StepModel model = model_step(tables(), 1.25);
  CHECK(model.step_seconds == Approx(8));
  CHECK(model.tasks[0].recorded_seconds + sum(model.others) == Approx(8));
  CHECK(seconds_of(model.others, "forward") == Approx(0.75));
  CHECK(seconds_of(model.others, "backward") == Approx(0.25));
  CHECK(seconds_of(model.others, "optimizer") == Approx(0.5));
  CHECK(seconds_of(model.others, "(between operators)") == Approx(0.5));
}

TEST_CASE("operators bear no more of recording's cost than they took", "[projection]") {
  // 3 s for 8 calls: the second operator took 1 s, which is less than its share of 1.125 s.
  const StepModel model = model_step(tables(), 10.0 / 7);
  CHECK(model.tasks[0].recorded_seconds + sum(model.others) == Approx(7));
  for (const OtherTime& other : model.others) CHECK(other.seconds >= 0);
  // More than all of them took together: nothing is left, and nothing is below 0.
  const StepModel nothing = model_step(tables(), 5);
  CHECK(sum(nothing.others) == Approx(0).margin(1e-12));
  for (const OtherTime& other : nothing.others) CHECK(other.seconds >= 0);
}

TEST_CASE("primitives that differ in anything are not one", "[projection]") {
  ProfileTables made = tables();
  const auto distinct = [&](const auto& change) {
    ProfileTables changed = made;
    change(changed.primitives[1]);
    return model_step(changed, 1).tasks.size();
  };
  CHECK(distinct([](PrimitiveRow&) {}) == 1);
  CHECK(distinct([](PrimitiveRow& r) { r.primitive.milliseconds = 7; }) == 1);
  CHECK(distinct([](PrimitiveRow& r) { r.library = "oneDNN 3.12.0"; }) == 2);
  CHECK(distinct([](PrimitiveRow& r) { r.primitive.direction = "backward_data"; }) == 2);
  CHECK(distinct([](PrimitiveRow& r) { r.primitive.problem += "n"; }) == 2);
  CHECK(distinct([](PrimitiveRow& r) { r.primitive.attributes = ""; }) == 2);
  CHECK(distinct([](PrimitiveRow& r) { r.primitive.tensors[1].type = "bf16"; }) == 2);
  CHECK(distinct([](PrimitiveRow& r) { r.primitive.tensors[1].layout = "abcd"; }) == 2);
}

TEST_CASE("on the same machine the rest goes with the replays", "[projection]") {
  const StepModel model = model_step(tables(), 1);
  // Recorded 2 s a call; here 3 s: all is 1.5 times as slow.
  const Projection slow =
      project(model, {.by_replays = true, .recorded_bandwidth = 1e9}, {round_of({3}, 5e9, 12)});
  CHECK(slow.scaled_by == "replays");
  CHECK(slow.slowdown == Approx(1.5));
  CHECK(slow.projected.center == Approx(3 * 3 + 4 * 1.5));
  CHECK(slow.explained == Approx(9.0 / 15));
  REQUIRE(slow.measured);
  CHECK(slow.measured->center == Approx(12));
  CHECK(slow.relative_error.value_or(0) == Approx(0.25));
  REQUIRE(!slow.parts.empty());
  CHECK(slow.parts[0].name == "convolution forward_training");
  CHECK(slow.parts[0].replayed);
  CHECK(slow.parts[0].calls == 3);
  CHECK(slow.parts[0].recorded_seconds == Approx(6));
  CHECK(slow.parts[0].projected_seconds == Approx(9));
  double all = 0;
  for (const ProjectedPart& part : slow.parts) all += part.projected_seconds;
  CHECK(all == Approx(slow.projected.center));
}

TEST_CASE("on another machine the rest goes with the copy bandwidth", "[projection]") {
  const StepModel model = model_step(tables(), 1);
  const std::vector<ProjectionRound> rounds = {round_of({1}, 10e9), round_of({1}, 20e9),
                                               round_of({1}, 4e9), round_of({1}, 19e9)};
  const Projection there =
      project(model, {.by_replays = false, .recorded_bandwidth = 40e9}, rounds);
  CHECK(there.scaled_by == "copy bandwidth");
  CHECK(there.slowdown == Approx(2));
  CHECK(there.projected.center == Approx(3 + 8));
  CHECK(!there.measured);
  CHECK(!there.relative_error);
  // Without a bandwidth then, or now, nothing is scaled, and that is said.
  for (const Projection& unscaled :
       {project(model, {}, rounds),
        project(model, {.by_replays = false, .recorded_bandwidth = 40e9}, {round_of({1})})}) {
    CHECK(unscaled.scaled_by.empty());
    CHECK(unscaled.projected.center == Approx(3 + 4));
  }
}

TEST_CASE("what cannot be replayed is scaled like the rest", "[projection]") {
  ProfileTables made = tables();
  made.primitives[1].primitive.kind = "softmax";
  const StepModel model = model_step(made, 1);
  REQUIRE(model.tasks.size() == 2);
  const Projection half =
      project(model, {.by_replays = true, .recorded_bandwidth = {}}, {round_of({4, std::nullopt})});
  CHECK(half.slowdown == Approx(2));
  CHECK(half.projected.center == Approx(2 * 4 + 2 * 2 + 4 * 2));
  CHECK(half.explained == Approx(8.0 / 20));
  // None of them: nothing tells.
  const Projection none = project(model, {.by_replays = true, .recorded_bandwidth = {}},
                                  {round_of({std::nullopt, std::nullopt})});
  CHECK(none.scaled_by.empty());
  CHECK(none.projected.center == Approx(10));
  CHECK(none.explained == 0);
  // Copy bandwidth does, where it stands beside the profile.
  ProjectionRound round = round_of({std::nullopt, std::nullopt}, 5e9);
  const Projection copied =
      project(model, {.by_replays = true, .recorded_bandwidth = 10e9}, {round});
  CHECK(copied.scaled_by == "copy bandwidth");
  CHECK(copied.projected.center == Approx(20));
}

TEST_CASE("rounds give an interval", "[projection]") {
  const StepModel model = model_step(tables(), 1);
  std::vector<ProjectionRound> rounds;
  for (int i = 0; i < 7; ++i) rounds.push_back(round_of({2 + 0.1 * i}, 0, 10.0));
  const Projection projection =
      project(model, {.by_replays = true, .recorded_bandwidth = {}}, rounds);
  CHECK(projection.projected.center == Approx(10 * 2.3 / 2));
  REQUIRE(projection.projected.low);
  REQUIRE(projection.projected.high);
  CHECK(*projection.projected.low == Approx(10));
  CHECK(*projection.projected.high == Approx(13));
}

TEST_CASE("bursts that others disturbed do not count", "[projection]") {
  CHECK(!undisturbed({}));
  CHECK(undisturbed({5}).value_or(0) == 5);
  CHECK(undisturbed({4, 50, 3, 9, 46}).value_or(0) == 46);
}

TEST_CASE("bfloat16 from a profile in float32, by a kernel of ours", "[projection]") {
  ProfileTables made = tables();
  made.primitives.push_back(run(convolution("backward_weights"), 1, 1, 1));
  made.primitives.push_back(run(simple("reorder", "128x64x3x3"), 0, 1, 0.1));
  WhatIf what_if;
  what_if.to_precision = "bf16";
  const StepModel model = imagine(made, 1, what_if);
  const StepModel before = model_step(made, 1);
  REQUIRE(model.tasks.size() == 3);
  const auto types = [&](std::size_t task) {
    std::string all;
    for (const TensorLayout& tensor : model.tasks[task].primitive.tensors) {
      all += tensor.name + ":" + tensor.type + " ";
    }
    return all;
  };
  CHECK(types(0) == "src:bf16 wei:bf16 bia:f32 dst:bf16 ");
  CHECK(types(1) == "src:bf16 wei:f32 bia:f32 dst:bf16 ");
  CHECK(types(2) == "src:f32 dst:bf16 ");
  CHECK(model.tasks[0].primitive.attributes ==
        "attr-scratchpad:user attr-post-ops:binary_add:bf16:14:acdb+eltwise_relu ");
  // Activations of half the width; the optimiser works on float32.
  CHECK(seconds_of(model.others, "forward") == Approx(seconds_of(before.others, "forward") / 2));
  CHECK(seconds_of(model.others, "optimizer") == Approx(seconds_of(before.others, "optimizer")));
  // Half of the recorded time tells how fast the machine is.
  REQUIRE(!model.yardsticks.empty());
  CHECK(model.yardsticks[0].primitive == convolution());
}

TEST_CASE("bfloat16 of LibTorch's own operators adds copies", "[projection]") {
  ProfileTables made = tables();
  for (OperatorRow& owner : made.operators) {
    if (owner.name == "conv-block") owner.name = "aten::mkldnn_convolution";
  }
  // 100 MB in 10 ms: what element-wise operators reach.
  made.operators.push_back(row("forward", "aten::mul", 0.01, 0));
  made.operators.back().bytes = 1e8;
  WhatIf what_if;
  what_if.to_precision = "bf16";
  const StepModel model = imagine(made, 1, what_if);
  const StepModel before = model_step(made, 1);
  CHECK(model.tasks[0].primitive.tensors[1].type == "bf16");
  // Read and written once for each of three calls: input and weights, 4 and 2 bytes.
  const double bytes = 3 * 6.0 * (64 * 10 * 10 + 128 * 64 * 9);
  CHECK(seconds_of(model.others, "forward") ==
        Approx(seconds_of(before.others, "forward") + bytes / 1e10));
  CHECK(seconds_of(model.others, "backward") == Approx(seconds_of(before.others, "backward")));

  what_if = {.from_precision = "bf16", .to_precision = "fp32"};
  CHECK_THROWS_AS(imagine(made, 1, what_if), std::invalid_argument);
}

TEST_CASE("another batch size from a profile", "[projection]") {
  ProfileTables made = tables();
  made.operators[0].shapes = "f32[1,64,10,10] f32[128,64,3,3]";
  made.operators[1].backward = true;
  made.primitives.push_back(run(simple("reorder", "1x64x10x10"), 0, 1, 0.4));
  made.primitives.push_back(run(simple("reorder", "128x64x3x3"), 0, 1, 0.3));
  made.primitives.push_back(run(simple("matmul", "256x49:49x2304"), 1, 1, 0.2));
  made.primitives.push_back(run(simple("matmul", "49x256:256x2304"), 0, 1, 0.1));
  WhatIf what_if;
  what_if.to_batch = 4;
  const StepModel model = imagine(made, 1, what_if);
  const StepModel before = model_step(made, 1);
  std::vector<std::string> problems;
  for (const ReplayTask& task : model.tasks) problems.push_back(task.primitive.problem);
  std::sort(problems.begin(), problems.end());
  const std::vector<std::string> expected = {
      "128x64x3x3", "196x256:256x2304", "256x196:196x2304", "4x64x10x10",
      "mb4_ic64oc128_ih10oh10kh3sh1dh0ph1_iw10ow10kw3sw1dw0pw1"};
  CHECK(problems == expected);
  CHECK(model.tasks[0].primitive.attributes.find("binary_add:f32:15:acdb") != std::string::npos);
  CHECK(seconds_of(model.others, "forward") == Approx(4 * seconds_of(before.others, "forward")));
  CHECK(seconds_of(model.others, "optimizer") == Approx(seconds_of(before.others, "optimizer")));
}

TEST_CASE("nothing changed is the profile as it is", "[projection]") {
  const StepModel model = imagine(tables(), 1.25, {});
  CHECK(model.yardsticks.empty());
  CHECK(sum(model.others) == Approx(sum(model_step(tables(), 1.25).others)));
}

TEST_CASE("primitives become problems of benchdnn", "[projection]") {
  ProfileTables made = tables();
  made.primitives[1].primitive = convolution("backward_data");
  made.primitives[1].primitive.tensors[2].type = "undef";
  made.primitives[1].primitive.attributes = "attr-scratchpad:user ";
  made.primitives.push_back(run(simple("reorder", "128x64x3x3"), 0, 7, 0.1));
  Primitive product = simple("matmul", "256x49:49x2304");
  product.tensors = {
      {"src", "bf16", "ba", false}, {"wei", "bf16", "ab", false}, {"dst", "f32", "ab", false}};
  made.primitives.push_back(run(product, 0, 10, 0.1));
  made.primitives.push_back(run(convolution("backward_weights"), 0, 1, 0.1, "harness"));
  made.primitives.push_back(run(simple("softmax", "10x10"), 0, 1, 0.1));
  const auto files = benchdnn_files(model_step(made, 1).tasks);
  REQUIRE(files.size() == 3);
  const std::string problem = kProblem;
  CHECK(files.at("conv") ==
        "# 2 a step\n--reset --dir=FWD_B --dt=f32:f32:f32 --stag=acdb --wtag=any --dtag=acdb "
        "--attr-scratchpad=user --attr-post-ops=add:f32:14:acdb+relu " +
            problem +
            "\n"
            "# 1 a step\n--reset --dir=BWD_D --dt=f32:f32:f32 --stag=acdb --wtag=any --dtag=acdb "
            "--attr-scratchpad=user " +
            problem + "\n");
  CHECK(files.at("matmul") ==
        "# 10 a step\n--reset --dt=bf16:bf16:f32 --stag=ba --wtag=ab --dtag=ab 256x49:49x2304\n");
  // A line is read as options, and a profile is what somebody wrote.
  for (const char* text :
       {"1x1\n--batch=/etc/passwd", "1x1 --mode=F", "-v1", "1x1#", "--batch=x"}) {
    Primitive primitive = simple("reorder", "2x2");
    primitive.problem = text;
    CHECK(benchdnn_files({{.primitive = primitive}}).empty());
    primitive.problem = "2x2";
    primitive.tensors[0].layout = text;
    CHECK(benchdnn_files({{.primitive = primitive}}).empty());
    primitive.tensors[0].layout = "ab";
    primitive.attributes = text;
    CHECK(benchdnn_files({{.primitive = primitive}}).empty());
    primitive.attributes = "attr-scratchpad:user ";
    CHECK(benchdnn_files({{.primitive = primitive}}).size() == 1);
  }
  CHECK(files.at("reorder") ==
        "# 7 a step\n--reset --sdt=f32 --ddt=f32 --stag=acdb --dtag=Acdb32a 128x64x3x3\n");
}
