#include "kernels/conv_chain/chain.hpp"

#include <omp.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace harness::kernels {
namespace {

using Int = std::int64_t;

/// [tap][channel], as the maps lie; of a depthwise layer [tap] of each channel.
std::vector<float> weights_by_tap(const ChainLayer& layer) {
  const Int taps = layer.kernel * layer.kernel;
  const Int in = layer.in_channels / layer.groups;
  std::vector<float> by_tap(static_cast<std::size_t>(layer.out_channels * taps * in));
  for (Int o = 0; o < layer.out_channels; ++o) {
    for (Int c = 0; c < in; ++c) {
      for (Int tap = 0; tap < taps; ++tap) {
        const Int to = layer.depthwise() ? tap * layer.out_channels + o : (o * taps + tap) * in + c;
        by_tap[static_cast<std::size_t>(to)] = layer.weights[(o * in + c) * taps + tap];
      }
    }
  }
  return by_tap;
}

/// Rows of the maps of all pictures with what lies around them.
void pad(const MapSize& in, Int padding, Int pictures, const float* from, float* to, Int part,
         Int parts) {
  const Int row = in.width * in.channels;
  const Int margin = padding * in.channels;
  const Int rows = in.height + 2 * padding;
  const Int all = pictures * rows;
  for (Int r = all * part / parts; r < all * (part + 1) / parts; ++r) {
    float* const line = to + r * (row + 2 * margin);
    const Int y = r % rows - padding;
    if (y < 0 || y >= in.height) {
      std::fill_n(line, row + 2 * margin, 0.0F);
      continue;
    }
    std::fill_n(line, margin, 0.0F);
    std::copy_n(from + (r / rows * in.height + y) * row, row, line + margin);
    std::fill_n(line + margin + row, margin, 0.0F);
  }
}

void average(const MapSize& in, Int pictures, const float* from, float* to, Int part, Int parts) {
  constexpr Int kChannels = 64;
  const Int cuts = (in.channels + kChannels - 1) / kChannels;
  const Int tasks = pictures * cuts;
  const Int positions = in.height * in.width;
  for (Int task = tasks * part / parts; task < tasks * (part + 1) / parts; ++task) {
    const Int begin = task % cuts * kChannels;
    const Int count = std::min(kChannels, in.channels - begin);
    const float* const map = from + task / cuts * in.floats() + begin;
    float sums[kChannels] = {};
    for (Int p = 0; p < positions; ++p) {
      for (Int c = 0; c < count; ++c) sums[c] += map[p * in.channels + c];
    }
    float* const means = to + task / cuts * in.channels + begin;
    for (Int c = 0; c < count; ++c) means[c] = sums[c] / static_cast<float>(positions);
  }
}

}  // namespace

bool Chain::computes(const std::vector<ChainLayer>& layers) {
  return !layers.empty() && std::all_of(layers.begin(), layers.end(), [](const ChainLayer& l) {
    if (!l.depthwise()) return l.stride > 0 && l.padding >= 0 && l.padding < l.kernel;
    return l.groups == l.in_channels && l.out_channels == l.in_channels && l.kernel == 3 &&
           l.padding == 1 && (l.stride == 1 || l.stride == 2) && !l.adds_input_of;
  });
}

bool Chain::computes_narrow(const std::vector<ChainLayer>& layers) {
  if (layers.size() < 2 || layers.back().depthwise() || !has_narrow_products()) return false;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const ChainLayer& l = layers[i];
    const bool product = l.kernel == 1 && l.stride == 1 && l.padding == 0 && !l.depthwise();
    if (i > 0 ? !product && !l.depthwise() : l.depthwise()) return false;
    if (i + 1 < layers.size() && l.out_channels % 2 != 0) return false;
    if (l.adds_input_of && *l.adds_input_of == 0) return false;
  }
  return computes(layers);
}

Chain::Chain(const std::vector<ChainLayer>& layers, bool mean, bool narrow)
    : mean_(mean), narrow_(narrow) {
  for (const ChainLayer& layer : layers) {
    Packed kept{.layer = layer};
    const std::vector<float> by_tap = weights_by_tap(layer);
    const Int depth = layer.kernel * layer.kernel * layer.in_channels;
    const ProductWeights unpacked{by_tap.data(), depth, layer.out_channels, depth, 1};
    if (layer.depthwise()) {
      kept.weights = hwy::AllocateAligned<float>(by_tap.size());
      std::copy(by_tap.begin(), by_tap.end(), kept.weights.get());
    } else if (narrow && !layers_.empty()) {
      kept.narrow_weights =
          hwy::AllocateAligned<Bf16>(packed_narrow_product_size(depth, layer.out_channels));
      pack_narrow_product(unpacked, kept.narrow_weights.get());
    } else {
      kept.weights = hwy::AllocateAligned<float>(packed_product_floats(depth, layer.out_channels));
      pack_product(unpacked, kept.weights.get());
    }
    if (layer.bias != nullptr) {
      const auto channels = static_cast<std::size_t>(layer.out_channels);
      kept.bias = hwy::AllocateAligned<float>(channels);
      std::copy_n(layer.bias, channels, kept.bias.get());
    }
    kept.layer.weights = kept.weights.get();
    kept.layer.bias = kept.bias.get();
    layers_.push_back(std::move(kept));
  }
}

void Chain::compute(const Section& section, const Step& step, const Place& place,
                    Share share) const {
  const auto scratch = [&](std::size_t value) {
    return place.scratch + section.places[value] * place.pictures;
  };
  const float* const from = step.from == 0 ? place.input : scratch(step.from);
  float* const to = step.to == 1 ? place.output : scratch(step.to);
  const auto [part, parts] = share;
  const ChainLayer& layer = layers_[step.layer].layer;
  switch (step.kind) {
    case Kind::kPad:
      return pad(step.in, layer.padding, place.pictures, from, to, part, parts);
    case Kind::kMean:
      return average(step.in, place.pictures, from, to, part, parts);
    case Kind::kDepthwise:
      return compute_depthwise(step, from, to, place.pictures, share);
    case Kind::kProduct:
    case Kind::kRows:
      break;
  }
  Product product{.rows = place.pictures * step.out.height * step.out.width,
                  .depth = layer.kernel * layer.kernel * layer.in_channels,
                  .columns = layer.out_channels,
                  .from_row = layer.stride * layer.in_channels,
                  .lines = layer.kernel,
                  .from_line = step.in.width * layer.in_channels,
                  .bias = layer.bias,
                  .residual_row = layer.out_channels,
                  .activation = Activation::kClip,
                  .low = layer.low,
                  .high = layer.high,
                  .to_row = layer.out_channels};
  const float* added = nullptr;
  if (step.added) added = *step.added == 0 ? place.input : scratch(*step.added);
  if (step.reads_narrow) {
    product.narrow_from = reinterpret_cast<const Bf16*>(from);
    product.narrow_packed = layers_[step.layer].narrow_weights.get();
    product.narrow_residual = reinterpret_cast<const Bf16*>(added);
  } else {
    product.from = from;
    product.packed = layer.weights;
    product.residual = added;
  }
  if (step.writes_narrow) {
    product.narrow_to = reinterpret_cast<Bf16*>(to);
  } else {
    product.to = to;
  }
  if (step.kind == Kind::kProduct) return multiply_part(product, part, parts);
  compute_rows(step, product, place, share);
}

void Chain::compute_depthwise(const Step& step, const float* from, float* to, Int pictures,
                              Share share) const {
  const ChainLayer& layer = layers_[step.layer].layer;
  Depthwise convolution{.shape = {.batch = pictures,
                                  .channels = layer.in_channels,
                                  .in_height = step.in.height,
                                  .in_width = step.in.width,
                                  .stride = layer.stride},
                        .weights = layer.weights,
                        .bias = layer.bias,
                        .low = layer.low,
                        .high = layer.high};
  if (step.reads_narrow) {
    convolution.narrow_input = reinterpret_cast<const Bf16*>(from);
    convolution.narrow_output = reinterpret_cast<Bf16*>(to);
  } else {
    convolution.input = from;
    convolution.output = to;
  }
  convolve_depthwise_part(convolution, share.part, share.parts);
}

/// Of a larger kernel, or one with a stride: each row of the output is a product of its own.
void Chain::compute_rows(const Step& step, const Product& whole, const Place& place,
                         Share share) const {
  const ChainLayer& layer = layers_[step.layer].layer;
  const Int all = place.pictures * step.out.height;
  const Int row_floats = step.out.width * step.out.channels;
  for (Int row = all * share.part / share.parts; row < all * (share.part + 1) / share.parts;
       ++row) {
    const Int picture = row / step.out.height;
    const Int y = row % step.out.height * layer.stride;
    Product product = whole;
    product.rows = step.out.width;
    product.from += picture * step.in.floats() + y * step.in.width * step.in.channels;
    if (product.to != nullptr) product.to += row * row_floats;
    if (product.narrow_to != nullptr) product.narrow_to += row * row_floats;
    if (product.residual != nullptr) product.residual += row * row_floats;
    multiply_part(product, 0, 1);
  }
}

/// The pictures of one thread: one after another through the first section, several at once through
/// the second.
void Chain::alone(const Plan& plan, const Place& place) const {
  const auto pass = [&](const Section& section, const Place& where) {
    for (const Step& step : section.steps) compute(section, step, where, {});
  };
  const Section& first = plan.sections.front();
  const Section& last = plan.sections.back();
  const bool one_section = plan.sections.size() == 1;
  float* const between = place.scratch;
  float* const scratch = place.scratch + plan.between;
  for (Int begin = 0; begin < place.pictures; begin += last.together) {
    const Int count = std::min(last.together, place.pictures - begin);
    const float* const input = place.input + begin * first.in_floats;
    float* const output = place.output + begin * last.out_floats;
    if (!one_section) {
      for (Int i = 0; i < count; ++i) {
        pass(first, {input + i * first.in_floats, between + i * first.out_floats, scratch, 1});
      }
    }
    pass(last, {one_section ? input : between, output, scratch, count});
  }
}

void Chain::run(const Plan& plan, const float* input, float* output, float* scratch) const {
  const Int count = plan.pictures.count;
  const std::vector<Section>& sections = plan.sections;
#pragma omp parallel
  {
    const Int thread = omp_get_thread_num();
    const Int team = omp_get_num_threads();
    if (plan.by_picture) {
      const Int begin = count * thread / team;
      const Int end = count * (thread + 1) / team;
      alone(plan, {input + begin * sections.front().in_floats,
                   output + begin * sections.back().out_floats,
                   scratch + thread * plan.scratch_of_thread, end - begin});
    } else {
      const Section& all = sections.front();
      for (const Step& step : all.steps) {
        compute(all, step, {input, output, scratch, count}, {thread, team});
#pragma omp barrier
      }
    }
  }
}

void Chain::run_part(const Plan& plan, std::size_t part, const float* input, float* output,
                     float* scratch) const {
  const Section& all = plan.sections.front();
#pragma omp parallel
  compute(all, all.steps[part], {input, output, scratch, plan.pictures.count},
          {omp_get_thread_num(), omp_get_num_threads()});
}

}  // namespace harness::kernels
