#include "kernels/int8/chain.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "kernels/conv_block/shape.hpp"
#include "kernels/int8/int8.hpp"
#include "kernels/runtime/threads.hpp"

namespace harness::kernels {
namespace {

std::size_t aligned(std::size_t bytes) {
  constexpr std::size_t kLine = 64;
  return (bytes + kLine - 1) / kLine * kLine;
}

std::size_t bytes_of(const ConvolutionShape& shape) {
  return aligned(static_cast<std::size_t>(shape.batch * shape.out_channels * shape.out_height() *
                                          shape.out_width()));
}

ConvolutionShape shape_of_layer(const ConvChainLayer& layer, at::IntArrayRef sizes) {
  const auto like = [](at::IntArrayRef of) { return at::empty({1}, at::kByte).expand(of); };
  ConvBlockArguments arguments{.input = like(sizes),
                               .weight = layer.weight,
                               .bias = layer.bias,
                               .stride = layer.stride,
                               .padding = layer.padding,
                               .groups = layer.groups,
                               .relu = layer.relu,
                               .ceiling = layer.ceiling};
  ConvolutionShape shape = shape_of(arguments, at::kByte);
  shape.residual = layer.adds_input_of.has_value();
  return shape;
}

/// Memory that several maps have one after another.
struct Room {
  std::size_t bytes = 0;
  std::size_t free_after = 0;  ///< the layer that reads last what lies there
};

}  // namespace

bool Int8Chain::computes(const std::vector<ConvChainLayer>& layers) {
  return layers.size() > 1 && !layers.back().adds_input_of &&
         std::none_of(layers.begin(), layers.end(),
                      [](const ConvChainLayer& layer) { return layer.adds_input_of == 0U; });
}

Int8Chain::Int8Chain(const std::vector<ConvChainLayer>& layers, const Int8Ranges& ranges,
                     at::IntArrayRef sizes)
    : sizes_(sizes.vec()), threads_(threads()) {
  std::vector<Affine> inputs;  // of each layer
  std::vector<std::int64_t> maps = sizes_;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const ConvChainLayer& layer = layers[i];
    weights_.push_back(layer.weight);
    ranges_.push_back(ranges.of(layer.weight));
    // What the layer before hands over has that one's affine.
    inputs.push_back(i == 0 ? affine_of(ranges_[0].input) : affine_of(ranges_[i - 1].output));
    Int8Problem problem{.shape = shape_of_layer(layer, maps), .input = inputs.back()};
    if (i + 1 < layers.size()) problem.output = affine_of(ranges_[i].output);
    if (layer.adds_input_of) problem.narrow_residual = inputs[*layer.adds_input_of];
    maps = {problem.shape.batch, problem.shape.out_channels, problem.shape.out_height(),
            problem.shape.out_width()};
    convolutions_.push_back(std::make_unique<const Int8Convolution>(
        problem, ConvolutionWeights{layer.weight, {}}, layer.bias.value_or(at::Tensor())));
  }
  place_maps(layers);
}

void Int8Chain::place_maps(const std::vector<ConvChainLayer>& layers) {
  const std::size_t count = layers.size();
  std::vector<std::size_t> last_read(count);  // of each layer's input
  for (std::size_t i = 0; i < count; ++i) {
    last_read[i] = i;
    if (layers[i].adds_input_of) last_read[*layers[i].adds_input_of] = i;
  }
  std::vector<Room> rooms;
  std::vector<std::size_t> room_of(count);  // of each layer's input but the first, which is given
  for (std::size_t i = 0; i + 1 < count; ++i) {
    const std::optional<std::size_t>& added = layers[i].adds_input_of;
    std::size_t room = 0;
    if (added && *added > 0 && *added < i && last_read[*added] == i) {
      room = room_of[*added];  // the sum takes the place of what is added
    } else {
      const auto free = std::find_if(rooms.begin(), rooms.end(),
                                     [&](const Room& one) { return one.free_after < i; });
      room = static_cast<std::size_t>(free - rooms.begin());
      if (free == rooms.end()) rooms.emplace_back();
    }
    rooms[room].bytes = std::max(rooms[room].bytes, bytes_of(convolutions_[i]->problem().shape));
    rooms[room].free_after = last_read[i + 1];
    room_of[i + 1] = room;
  }
  std::size_t border = 0;
  std::size_t scratch = 0;
  for (const auto& convolution : convolutions_) {
    border = std::max(border, aligned(convolution->border_bytes()));
    scratch = std::max(scratch, aligned(convolution->scratch_bytes()));
  }
  std::vector<std::size_t> offsets;
  std::size_t bytes = border + scratch;
  for (const Room& room : rooms) offsets.push_back(std::exchange(bytes, bytes + room.bytes));
  memory_ = at::empty({static_cast<std::int64_t>(bytes)}, at::kByte);
  auto* const begin = memory_.mutable_data_ptr<std::uint8_t>();
  const auto input_of = [&](std::size_t i) -> std::uint8_t* {
    return i == 0 || i == count ? nullptr : begin + offsets[room_of[i]];
  };
  for (std::size_t i = 0; i < count; ++i) {
    const std::optional<std::size_t>& added = layers[i].adds_input_of;
    calls_.emplace_back(*convolutions_[i],
                        Int8Convolution::Places{.input = input_of(i),
                                                .border = begin,
                                                .residual = added ? input_of(*added) : nullptr,
                                                .output = input_of(i + 1),
                                                .scratch = begin + border});
  }
}

bool Int8Chain::is_for(const Int8Ranges& ranges, at::IntArrayRef sizes) const {
  return sizes == at::IntArrayRef(sizes_) && is_for(ranges);
}

bool Int8Chain::is_for(const Int8Ranges& ranges) const {
  if (threads() != threads_) return false;
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    if (ranges.of(weights_[i]) != ranges_[i]) return false;
  }
  return true;
}

at::Tensor Int8Chain::run(const at::Tensor& maps) {
  const at::Tensor input = quantised(maps.contiguous(at::MemoryFormat::ChannelsLast),
                                     convolutions_.front()->problem().input);
  const ConvolutionShape& last = convolutions_.back()->problem().shape;
  at::Tensor output =
      at::empty({last.batch, last.out_channels, last.out_height(), last.out_width()},
                at::TensorOptions(at::kFloat).memory_format(at::MemoryFormat::ChannelsLast));
  Int8Convolution::Places first = calls_.front().places();
  first.input = input.const_data_ptr();
  calls_.front().move(first);
  Int8Convolution::Places end = calls_.back().places();
  end.output = output.mutable_data_ptr();
  calls_.back().move(end);
  for (const Int8Convolution::Call& call : calls_) call.run();
  return output;
}

}  // namespace harness::kernels
