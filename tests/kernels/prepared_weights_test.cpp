// What kernels make of weights is kept until these change: in training, under inference mode, and
// by several threads at once.
#include "kernels/convolution/prepared_weights.hpp"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <future>
#include <optional>
#include <thread>
#include <vector>

#include "kernels/conv_block/conv_block.hpp"
#include "kernels/convolution/folded_norm.hpp"
#include "kernels/convolution/tensor_state.hpp"
#include "kernels/runtime/allocator.hpp"

namespace kernels = harness::kernels;
using kernels::WeightForm;

namespace {

/// Packs by doubling, and counts how often.
struct Packer {
  at::Tensor operator()(const at::Tensor& weight, const at::Tensor& scale = {},
                        WeightForm::Own form = WeightForm::Own::kGroupedForward) {
    return kernels::prepared_weights({weight, scale}, {.own = form}, [&] {
      ++packs;
      return weight * 2;
    });
  }
  std::atomic<int> packs = 0;
};

at::Tensor inference_tensor(const at::Tensor& values) {
  const c10::InferenceMode inference;
  return values.clone();
}

/// A conv block with a norm, whose weights both kinds of packing take.
struct Block {
  at::Tensor input = at::randn({1, 64, 10, 10}).contiguous(at::MemoryFormat::ChannelsLast);
  at::Tensor weight{};
  kernels::FrozenBatchNorm norm{at::rand({64}), at::rand({64}), at::rand({64}), at::rand({64})};
  std::int64_t groups = 1;

  explicit Block(std::int64_t number_of_groups)
      : weight(at::randn({64, 64 / number_of_groups, 3, 3})), groups(number_of_groups) {}

  at::Tensor run() const {
    return kernels::conv_block_operator().get("custom")({.input = input,
                                                         .weight = weight,
                                                         .norm = &norm,
                                                         .padding = 1,
                                                         .groups = groups,
                                                         .relu = true});
  }
  std::vector<at::Tensor*> parameters() {
    return {&weight, &norm.weight, &norm.bias, &norm.running_mean, &norm.running_var};
  }
};

}  // namespace

TEST_CASE("prepared weights leave what passes its place", "[prepared-weights]") {
  kernels::use_allocator("pooled");
  const at::Tensor weight = at::randn({64, 64, 3, 3});
  Packer packer;
  const auto place = [&] { return at::empty_like(weight).data_ptr(); };
  const void* const passing = place();
  const at::Tensor kept = packer(weight);
  CHECK(kept.data_ptr() != passing);
  CHECK(place() == passing);
  // What nobody keeps passes, too.
  const at::Tensor unknown = inference_tensor(weight);
  const void* const hole = place();
  CHECK(packer(unknown).data_ptr() == hole);
  kernels::use_allocator("system");
}

TEST_CASE("weights are prepared once for each state, form and scale", "[prepared-weights]") {
  Packer pack;
  at::Tensor weight = at::ones({4});
  const at::Tensor first = pack(weight);
  CHECK(pack(weight).is_same(first));
  CHECK(pack.packs == 1);
  pack(weight, {}, WeightForm::Own::kGroupedData);
  CHECK(pack.packs == 2);
  const at::Tensor scale = at::ones({4});
  pack(weight, scale);
  pack(weight, scale);
  CHECK(pack.packs == 3);
  pack(weight, scale.clone());
  CHECK(pack.packs == 4);
  weight.add_(1);
  CHECK(at::equal(pack(weight), at::full({4}, 4.0)));
  CHECK(pack.packs == 5);
}

TEST_CASE("under inference mode a parameter's weights are prepared once, and a change is noticed",
          "[prepared-weights]") {
  Packer pack;
  at::Tensor weight = at::ones({4}).set_requires_grad(true);
  at::Tensor first;
  {
    const c10::InferenceMode inference;
    first = pack(weight);
    CHECK(pack(weight).is_same(first));
    CHECK(pack.packs == 1);
    weight.add_(1);
    CHECK(at::equal(pack(weight), at::full({4}, 4.0)));
    CHECK(pack.packs == 2);
    first = pack(weight);
  }
  // Training goes on with what inference has made.
  CHECK(pack(weight).is_same(first));
  CHECK_FALSE(first.is_inference());
  CHECK_FALSE(first.requires_grad());
  CHECK(pack.packs == 2);
}

TEST_CASE("of weights without a version only what their owner speaks for is kept",
          "[prepared-weights]") {
  Packer pack;
  at::Tensor weight = inference_tensor(at::ones({4}));
  REQUIRE(weight.is_inference());
  const c10::InferenceMode inference;
  pack(weight);
  weight.add_(1);
  CHECK(at::equal(pack(weight), at::full({4}, 4.0)));
  CHECK(pack.packs == 2);
  {
    kernels::UnchangedTensors owner({weight});
    const at::Tensor kept = pack(weight);
    CHECK(pack(weight).is_same(kept));
    CHECK(pack.packs == 3);
    weight.add_(1);
    owner.changed();
    CHECK(at::equal(pack(weight), at::full({4}, 6.0)));
    CHECK(pack.packs == 4);
    CHECK_THROWS_AS(kernels::UnchangedTensors({weight}), std::invalid_argument);
    pack(weight);
    CHECK(pack.packs == 4);
  }
  // Nobody speaks for it any more; a new owner's word is another state.
  weight.add_(1);
  CHECK(at::equal(pack(weight), at::full({4}, 8.0)));
  weight.add_(1);
  const kernels::UnchangedTensors owner({weight});
  CHECK(at::equal(pack(weight), at::full({4}, 10.0)));
  CHECK(pack.packs == 6);
}

TEST_CASE("many threads prepare each weight once", "[prepared-weights]") {
  Packer pack;
  std::vector<at::Tensor> weights;
  for (int i = 0; i < 5; ++i) weights.push_back(at::full({64}, i));
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  threads.reserve(8);
  for (std::size_t thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&, thread] {
      const c10::InferenceMode inference;
      for (std::size_t i = 0; i < 200; ++i) {
        const std::size_t which = (thread + i) % weights.size();
        const at::Tensor packed = pack(weights[which]);
        if (packed[63].item<float>() != 2.0F * static_cast<float>(which)) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(pack.packs == 5);
}

TEST_CASE("who prepares one weight does not wait for who prepares another", "[prepared-weights]") {
  const at::Tensor slow = at::ones({4});
  const at::Tensor fast = at::ones({4});
  std::promise<void> begun;
  std::promise<void> other_done;
  bool met = false;
  std::thread thread([&] {
    kernels::prepared_weights({slow, {}}, {.own = WeightForm::Own::kGroupedForward}, [&] {
      begun.set_value();
      // Were there one lock for all, the other could not be done before this ends.
      met = other_done.get_future().wait_for(std::chrono::minutes(1)) == std::future_status::ready;
      return slow;
    });
  });
  begun.get_future().wait();
  Packer pack;
  pack(fast);
  other_done.set_value();
  thread.join();
  CHECK(met);
}

TEST_CASE("a conv-block gives the same bits with weights that are kept and that are not",
          "[prepared-weights]") {
  const std::int64_t groups = GENERATE(1, 8);
  at::manual_seed(3);
  Block block(groups);
  const at::Tensor trained = block.run();
  const c10::InferenceMode inference;
  CHECK(at::equal(block.run(), trained));
  Block unprepared = block;  // nobody tells of its tensors' changes: packed at each call
  for (at::Tensor* parameter : unprepared.parameters()) *parameter = parameter->clone();
  REQUIRE(unprepared.weight.is_inference());
  CHECK(at::equal(unprepared.run(), trained));
  std::optional<kernels::UnchangedTensors> owner(
      std::in_place,
      std::vector<at::Tensor>{unprepared.weight, unprepared.norm.weight, unprepared.norm.bias,
                              unprepared.norm.running_mean, unprepared.norm.running_var});
  CHECK(at::equal(unprepared.run(), trained));
  CHECK(kernels::fold(unprepared.norm).first.is_same(kernels::fold(unprepared.norm).first));
  unprepared.weight.mul_(0.5);
  unprepared.norm.running_mean.add_(1);
  owner->changed();
  const at::Tensor changed = unprepared.run();
  CHECK_FALSE(at::equal(changed, trained));
  owner.reset();
  CHECK(at::equal(unprepared.run(), changed));
}

TEST_CASE("a norm folded under inference mode serves training afterwards", "[prepared-weights]") {
  Block block(8);
  {
    const c10::InferenceMode inference;
    block.run();
  }
  block.weight.set_requires_grad(true);
  const at::Tensor output = block.run();
  output.sum().backward();
  CHECK(block.weight.grad().defined());
}
