// Primitives made again from a profile's lines: what oneDNN then says of them is what was recorded.
#include <ATen/ATen.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <stdexcept>

#include "harness/profile/verbose_log.hpp"
#include "kernels/products/products.hpp"
#include "kernels/replay/attributes.hpp"
#include "kernels/replay/replay.hpp"
#include "kernels/runtime/captured_output.hpp"
#include "tests/support/refusal.hpp"
#include "workloads/torch/replayer.hpp"

namespace {

using harness::Primitive;
using harness::TensorLayout;

/// Runs it with oneDNN's verbose output and gives what it ran, by its own words.
Primitive primitive_run_by(harness::PreparedPrimitive& prepared) {
  harness::kernels::CapturedOutput output;
  output.capture();
  dnnl::set_verbose(1);
  prepared.chill();
  prepared.run();
  dnnl::set_verbose(0);
  output.restore();
  const auto log = harness::parse_verbose_log(output.text());
  REQUIRE(log.executed.size() == 1);
  return log.executed.front().primitive;
}

Primitive made(const std::string& kind, const std::string& direction,
               std::vector<TensorLayout> tensors, const std::string& problem,
               const std::string& attributes = "attr-scratchpad:user ") {
  Primitive primitive;
  primitive.kind = kind;
  primitive.direction = direction;
  primitive.tensors = std::move(tensors);
  primitive.problem = problem;
  primitive.attributes = attributes;
  return primitive;
}

std::vector<TensorLayout> of_convolution(const std::string& type, const std::string& bias,
                                         const std::string& weights = "") {
  return {{"src", type, "acdb", false},
          {"wei", weights.empty() ? type : weights, "", true},
          {"bia", bias, bias == "undef" ? "" : "a", false},
          {"dst", type, "acdb", false}};
}

bool has_bf16() { return dnnl::get_effective_cpu_isa() >= dnnl::cpu_isa::avx512_core_bf16; }

constexpr harness::ReplaySizes kSizes{.cache_bytes = 0, .most_bytes = std::size_t{1} << 28};

constexpr const char* kDense = "mb1_ic64oc32_ih21oh21kh3sh1dh0ph1_iw17ow17kw3sw1dw0pw1";
constexpr const char* kStrided = "mb2_ic24oc40_ih15oh8kh3sh2dh0ph1_iw14ow7kw3sw2dw0pw1";
constexpr const char* kGrouped = "g8mb1_ic64oc64_ih13oh13kh3sh1dh0ph1_iw13ow13kw3sw1dw0pw1";
constexpr const char* kPointwise = "mb1_ic64oc48_ih9oh9kh1sh1dh0ph0_iw9ow9kw1sw1dw0pw0";

}  // namespace

TEST_CASE("a primitive that is replayed is the one that was recorded", "[replay]") {
  const auto replayer = harness::workloads::make_replayer(2, kSizes);
  std::vector<Primitive> all;
  for (const char* problem : {kDense, kStrided, kGrouped, kPointwise}) {
    all.push_back(made("convolution", "forward_training", of_convolution("f32", "f32"), problem));
    all.push_back(made("convolution", "forward_inference", of_convolution("f32", "undef"), problem,
                       "attr-scratchpad:user attr-post-ops:eltwise_relu "));
    all.push_back(made("convolution", "backward_data", of_convolution("f32", "undef"), problem));
    all.push_back(made("convolution", "backward_weights", of_convolution("f32", "f32"), problem));
    if (!has_bf16()) continue;
    all.push_back(made("convolution", "forward_training", of_convolution("bf16", "f32"), problem));
    all.push_back(
        made("convolution", "backward_weights", of_convolution("bf16", "f32", "f32"), problem));
  }
  all.push_back(made("convolution", "forward_inference", of_convolution("f32", "f32"), kDense,
                     "attr-scratchpad:user attr-post-ops:binary_add:f32:14:acdb+eltwise_relu "));
  all.push_back(
      made("matmul", "undef",
           {{"src", "f32", "ba", false}, {"wei", "f32", "ab", false}, {"dst", "f32", "ab", false}},
           "31x49:49x57"));
  all.push_back(made("reorder", "undef",
                     {{"src", "f32", "acdb", false}, {"dst", "f32", "ABcd16b16a", false}},
                     "33x17x3x3"));
  for (const Primitive& wanted : all) {
    CAPTURE(wanted.kind, wanted.direction, wanted.problem, wanted.attributes);
    const auto prepared = replayer->prepare(wanted, "oneDNN 3.12.0");
    const Primitive ran = primitive_run_by(*prepared);
    CHECK(ran.kind == wanted.kind);
    CHECK(ran.direction == wanted.direction);
    CHECK(ran.problem == wanted.problem);
    CHECK(ran.implementation == prepared->implementation());
    CHECK(ran.attributes == wanted.attributes);
    REQUIRE(ran.tensors.size() == wanted.tensors.size());
    for (std::size_t i = 0; i < ran.tensors.size(); ++i) {
      CAPTURE(ran.tensors[i].name);
      CHECK(ran.tensors[i].name == wanted.tensors[i].name);
      CHECK(ran.tensors[i].type == wanted.tensors[i].type);
      if (!wanted.tensors[i].chosen_by_library) {
        CHECK(ran.tensors[i].layout == wanted.tensors[i].layout);
      }
    }
  }
}

TEST_CASE("a convolution of ours is replayed by our kernel, else by oneDNN's", "[replay]") {
  const auto replayer = harness::workloads::make_replayer(2, kSizes);
  for (const char* direction : {"forward_training", "backward_data", "backward_weights"}) {
    CAPTURE(direction);
    const Primitive grouped =
        made("convolution", direction, {{"src", "f32", "", false}}, kGrouped, "");
    const auto prepared = replayer->prepare(grouped, "harness");
    if (at::get_cpu_capability() == "AVX512") CHECK(prepared->implementation() == "grouped:avx512");
    prepared->chill();
    CHECK_NOTHROW(prepared->run());
  }
  const Primitive dense =
      made("convolution", "forward_training", {{"src", "f32", "", false}}, kDense, "");
  const auto by_library = replayer->prepare(dense, "harness");
  CHECK(by_library->implementation().find("grouped") == std::string::npos);
  by_library->chill();
  CHECK_NOTHROW(by_library->run());
  Primitive pointwise =
      made("convolution", "backward_weights", {{"src", "f32", "", false}}, kPointwise, "");
  pointwise.implementation = harness::kernels::product_name();
  const auto outer = replayer->prepare(pointwise, "harness");
  CHECK(outer->implementation() == harness::kernels::product_name());
  outer->chill();
  CHECK_NOTHROW(outer->run());
}

TEST_CASE("a product of ours is replayed by our kernel, else by oneDNN's", "[replay]") {
  const auto replayer = harness::workloads::make_replayer(2, kSizes);
  const auto implementation = [&](const char* type, const char* problem) {
    const Primitive product =
        made("matmul", "forward_inference", {{"src", type, "", false}}, problem, "");
    const auto prepared = replayer->prepare(product, "harness");
    prepared->chill();
    CHECK_NOTHROW(prepared->run());
    return prepared->implementation();
  };
  CHECK(implementation("f32", "17x40:40x33") == harness::kernels::product_name());
  CHECK(implementation("f32", "1x1:1x1") == harness::kernels::product_name());
  if (harness::kernels::has_narrow_products()) {
    const std::string name = implementation("bf16", "17x40:40x33");
    CAPTURE(name);
    CHECK(name == harness::kernels::narrow_product_name());
    CHECK((name == "product:AMX_BF16" || name == "product:AVX512_BF16"));
  }
  // An odd depth has no pairs.
  if (has_bf16()) CHECK(implementation("bf16", "17x41:41x33").find("product") != 0);
}

TEST_CASE("what cannot be replayed is said", "[replay]") {
  const auto replayer = harness::workloads::make_replayer(2, kSizes);
  const auto refused = [&](const Primitive& primitive, const std::string& library = "oneDNN") {
    return harness::refusal_of([&] { replayer->prepare(primitive, library); }).why;
  };
  Primitive dense = made("convolution", "forward_training", of_convolution("f32", "f32"), kDense);
  CHECK(refused(dense).empty());
  const auto changed = [&](const auto& change) {
    Primitive copy = dense;
    change(copy);
    return refused(copy);
  };
  CHECK(changed([](Primitive& p) { p.kind = "softmax"; }) ==
        "primitives of this kind are not replayed");
  CHECK(changed([](Primitive& p) { p.problem = "mb1_ic3"; }) == "the problem is no convolution's");
  CHECK(changed([](Primitive& p) { p.direction = "sideways"; }) ==
        "a convolution has no such direction");
  CHECK(changed([](Primitive& p) { p.tensors[0].type = "f12"; }) == "data type 'f12' is not known");
  CHECK(changed([](Primitive& p) { p.tensors[0].layout = "zyx"; }) == "layout 'zyx' is not known");
  CHECK(changed([](Primitive& p) { p.tensors[0].layout = "a"; }).find("extents") !=
        std::string::npos);
  CHECK(changed([](Primitive& p) { p.attributes = "attr-secret:1"; }) ==
        "attribute 'attr-secret' is not known");
  CHECK(changed([](Primitive& p) { p.attributes = "attr-post-ops:eltwise_magic"; }) ==
        "operation 'eltwise_magic' is not known");
  CHECK(changed([](Primitive& p) { p.attributes = "attr-post-ops:binary_add:f32"; }) ==
        "operation 'binary_add' is not known");
  CHECK(changed([](Primitive& p) { p.attributes = "attr-post-ops:sum:much"; }) ==
        "number 'much' is not known");
  CHECK(refused(made("focal-loss", "forward_training", {{"src", "f32", "", false}}, ""),
                "harness") == "kernels of this kind are not replayed");
  CHECK(refused(made("matmul", "undef", {}, "3x4")) == "the problem is no product's");
  CHECK(refused(made("reorder", "undef", {{"src", "f32", "ab", false}, {"dst", "f32", "ba", false}},
                     "3x-4"))
            .find("extents") != std::string::npos);
}

TEST_CASE("what a hostile profile asks for is refused before a library is asked", "[replay]") {
  const auto replayer = harness::workloads::make_replayer(2, kSizes);
  const auto refused = [&](const Primitive& primitive, const std::string& library = "oneDNN") {
    return harness::refusal_of([&] { replayer->prepare(primitive, library); }).why;
  };
  const auto convolution = [](const std::string& problem,
                              const std::string& direction = "forward_training") {
    return made("convolution", direction, of_convolution("f32", "undef"), problem);
  };
  const std::string none = "no convolution has such extents";
  CHECK(refused(convolution("mb2147483648_ic2147483648oc2147483648_ih2147483648oh1kh1sh1dh0ph0")) ==
        none);
  CHECK(refused(convolution("mb1_ic64oc32_ih21oh21kh3sh0dh0ph1")) == none);
  CHECK(refused(convolution("mb1_ic64oc32_ih21oh21kh3sh1dh0ph2147483647")) ==
        "no convolution has such dilations or padding");
  for (const char* problem : {"mb1_ic64oc32_ih21oh0kh3sh1dh0ph1",
                              "mb1_ic64oc32_ih21oh21kh3sh1dh0ph4611686018427387904"}) {
    CHECK(refused(convolution(problem)) == "the problem is no convolution's");
  }
  CHECK(refused(convolution("mb1073741824_ic1073741824oc8_ih8oh8kh1sh1dh0ph0")) ==
        "no tensor has such extents");
  CHECK(refused(convolution("g8mb1_ic64oc4_ih8oh8kh1sh1dh0ph0")) == "no tensor has such extents");
  CHECK(refused(convolution("mb64_ic256oc8_ih512oh512kh1sh1dh0ph0")).find("MiB") !=
        std::string::npos);
  CHECK(refused(convolution("mb64_ic256oc256_ih512oh512kh3sh1dh0ph1"), "harness").find("MiB") !=
        std::string::npos);
  for (const char* problem :
       {"4611686018427388928", "100000x100000", "4294967296x4294967296", "0x3"}) {
    INFO(problem);
    CHECK_FALSE(refused(made("reorder", "undef",
                             {{"src", "f32", "ab", false}, {"dst", "f32", "ba", false}}, problem))
                    .empty());
  }
  CHECK_FALSE(refused(made("matmul", "undef",
                           {{"src", "f32", "ab", false},
                            {"wei", "f32", "ab", false},
                            {"dst", "f32", "ab", false}},
                           "100000x100000:100000x100000"))
                  .empty());
  // Tensors that are missing, and types that are none.
  for (const char* direction : {"forward_training", "backward_data", "backward_weights"}) {
    for (std::size_t missing = 0; missing < 4; ++missing) {
      Primitive primitive = convolution(kDense, direction);
      if (missing == 2) primitive.tensors.clear();  // the bias may well be missing, so: all of them
      if (missing != 2)
        primitive.tensors.erase(primitive.tensors.begin() + static_cast<long>(missing));
      INFO(direction << " without " << missing);
      CHECK_FALSE(refused(primitive).empty());
      primitive.tensors = {{"src", "undef", "", false}};
      CHECK_FALSE(refused(primitive, "harness").empty());
    }
  }
  CHECK(refused(made("convolution", "forward_inference", of_convolution("f32", "undef"), kDense,
                     "attr-post-ops:binary_add:f32:1e30 ")) == "mask '1e30' is not known");
}

TEST_CASE("replays read small numbers and never the same memory twice in a row", "[replay]") {
  harness::kernels::ReplayMemory memory(0, kSizes.most_bytes);
  const std::size_t bytes = 1 << 20;
  memory.reserve(bytes);
  const auto* first = static_cast<const float*>(memory.input(bytes));
  const auto* second = static_cast<const float*>(memory.input(bytes));
  CHECK(std::abs(second - first) >= static_cast<std::ptrdiff_t>(bytes / sizeof(float)));
  for (std::size_t i = 0; i < bytes / sizeof(float); ++i) {
    const float value = std::fabs(first[i]);
    if (!(value >= 0.5F && value < 1.0F)) FAIL("element " << i << " is " << value);
  }
  const auto* halves = reinterpret_cast<const at::BFloat16*>(first);
  for (std::size_t i = 0; i < bytes / sizeof(at::BFloat16); ++i) {
    const float value = std::fabs(static_cast<float>(halves[i]));
    if (!(value >= 0.5F && value < 1.0F)) FAIL("half " << i << " is " << value);
  }
  // Round and round, always inside.
  const auto* lowest = reinterpret_cast<const char*>(first);
  for (int i = 0; i < 1000; ++i) {
    auto* at = static_cast<char*>(memory.output(bytes));
    at[0] = at[bytes - 1] = 1;
    const auto* read = static_cast<const char*>(memory.input(bytes));
    CHECK(read >= lowest);
    CHECK(read + bytes <= lowest + harness::kernels::ReplayMemory::kLeastBytes + 2 * bytes);
  }
}
