#include "kernels/conv_chain/chain.hpp"

#include <omp.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace harness::kernels {
namespace {

using Int = std::int64_t;

// Pictures that a thread takes through the later layers together: their maps are small and their
// weights many, so weights read once serve all of them.
constexpr Int kTogether = 8;
// What such a layer may read and write of maps, for all of them: room in a level-2 cache.
constexpr Int kTogetherFloats = Int{3} << 16;
// From so many pictures a thread on, each takes its own; fewer might leave some idle for long.
constexpr Int kPicturesOfThread = 4;

Int aligned(Int floats) { return (floats + 15) / 16 * 16; }

bool by_picture(Int pictures, Int threads) {
  return pictures % threads == 0 || pictures >= kPicturesOfThread * threads;
}

hwy::AlignedFreeUniquePtr<float[]> packed(const ChainLayer& layer) {
  const Int taps = layer.kernel * layer.kernel;
  const Int in = layer.in_channels / layer.groups;
  // [tap][channel], as the maps lie.
  std::vector<float> by_tap(static_cast<std::size_t>(layer.out_channels * taps * in));
  for (Int o = 0; o < layer.out_channels; ++o) {
    for (Int c = 0; c < in; ++c) {
      for (Int tap = 0; tap < taps; ++tap) {
        const Int to = layer.depthwise() ? tap * layer.out_channels + o : (o * taps + tap) * in + c;
        by_tap[static_cast<std::size_t>(to)] = layer.weights[(o * in + c) * taps + tap];
      }
    }
  }
  const Int depth = taps * in;
  const std::size_t floats =
      layer.depthwise() ? by_tap.size() : packed_product_floats(depth, layer.out_channels);
  auto weights = hwy::AllocateAligned<float>(floats);
  if (layer.depthwise()) {
    std::copy(by_tap.begin(), by_tap.end(), weights.get());
  } else {
    pack_product({by_tap.data(), depth, layer.out_channels, depth, 1}, weights.get());
  }
  return weights;
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

Chain::Chain(const std::vector<ChainLayer>& layers, bool mean) : mean_(mean) {
  for (const ChainLayer& layer : layers) {
    Packed kept{.layer = layer, .weights = packed(layer)};
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

MapSize Chain::after(std::size_t layer, const MapSize& in) const {
  const ChainLayer& l = layers_[layer].layer;
  return {l.out_channels, l.out(in.height), l.out(in.width)};
}

bool Chain::fits(Int height, Int width) const {
  MapSize map{in_channels(), height, width};
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const ChainLayer& l = layers_[i].layer;
    if (std::min(map.height, map.width) + 2 * l.padding < l.kernel) return false;
    map = after(i, map);
    const auto& added = l.adds_input_of;
    if (added) {
      // A sum needs maps of one size.
      MapSize other{in_channels(), height, width};
      for (std::size_t j = 0; j < *added; ++j) other = after(j, other);
      if (other.channels != map.channels || other.height != map.height ||
          other.width != map.width) {
        return false;
      }
    }
  }
  return true;
}

MapSize Chain::result(Int height, Int width) const {
  MapSize map{in_channels(), height, width};
  for (std::size_t i = 0; i < layers_.size(); ++i) map = after(i, map);
  return mean_ ? MapSize{map.channels, 1, 1} : map;
}

double Chain::flops(Int height, Int width) const {
  MapSize map{in_channels(), height, width};
  double sum = 0;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    map = after(i, map);
    const ChainLayer& l = layers_[i].layer;
    const Int depth = l.in_channels / l.groups * l.kernel * l.kernel;
    sum += 2.0 * static_cast<double>(map.floats() * depth);
  }
  return sum;
}

/// The first layer from which on the maps of several pictures fit in a cache, and into which
/// nothing leads but what the layer before it gives.
std::size_t Chain::boundary(Int height, Int width) const {
  MapSize map{in_channels(), height, width};
  std::size_t found = 0;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const MapSize out = after(i, map);
    if (kTogether * (map.floats() + out.floats()) > kTogetherFloats) found = i + 1;
    map = out;
  }
  for (std::size_t i = found; i < layers_.size(); ++i) {
    const auto& added = layers_[i].layer.adds_input_of;
    if (added && *added < found && i >= found) found = i + 1;
  }
  return found;
}

Chain::Section Chain::section(std::size_t first, std::size_t last, MapSize in) const {
  Section section{.in_floats = in.floats()};
  std::vector<Int> floats{0, 0};
  std::vector<std::size_t> inputs;  // of each layer
  std::size_t value = 0;
  const auto fresh = [&](Int wanted) {
    floats.push_back(aligned(wanted));
    return floats.size() - 1;
  };
  for (std::size_t i = first; i < last; ++i) {
    const ChainLayer& layer = layers_[i].layer;
    const MapSize out = after(i, in);
    inputs.push_back(value);
    std::optional<std::size_t> added;
    if (layer.adds_input_of) added = inputs[*layer.adds_input_of - first];
    MapSize read = in;
    if (!layer.depthwise() && layer.padding > 0) {
      read.height += 2 * layer.padding;
      read.width += 2 * layer.padding;
      const std::size_t wider = fresh(read.floats());
      section.steps.push_back({Kind::kPad, i, in, read, value, wider, {}});
      value = wider;
    }
    const bool is_last = i + 1 == last && !(mean_ && last == layers_.size());
    const std::size_t to = is_last ? 1 : fresh(out.floats());
    const Kind kind = layer.depthwise() ? Kind::kDepthwise
                      : layer.kernel == 1 && layer.stride == 1 && layer.padding == 0
                          ? Kind::kProduct
                          : Kind::kRows;
    section.steps.push_back({kind, i, read, out, value, to, added});
    value = to;
    in = out;
  }
  if (mean_ && last == layers_.size()) {
    const MapSize out{in.channels, 1, 1};
    section.steps.push_back({Kind::kMean, last - 1, in, out, value, 1, {}});
    in = out;
  }
  section.out_floats = in.floats();
  place_values(section, floats);
  return section;
}

void Chain::place_values(Section& section, const std::vector<Int>& floats) const {
  std::vector<std::size_t> last_read(floats.size(), 0);
  for (std::size_t s = 0; s < section.steps.size(); ++s) {
    const Step& step = section.steps[s];
    last_read[step.from] = s;
    if (step.added) last_read[*step.added] = s;
  }
  struct Room {
    Int floats = 0;
    std::size_t free_after = 0;
    std::vector<std::size_t> values{};
  };
  std::vector<Room> rooms;
  for (std::size_t s = 0; s < section.steps.size(); ++s) {
    const std::size_t value = section.steps[s].to;
    if (value < 2) continue;
    auto room = std::find_if(rooms.begin(), rooms.end(),
                             [&](const Room& one) { return one.free_after < s; });
    if (room == rooms.end()) room = rooms.insert(rooms.end(), Room{});
    room->floats = std::max(room->floats, floats[value]);
    room->free_after = last_read[value];
    room->values.push_back(value);
  }
  section.places.assign(floats.size(), 0);
  for (const Room& room : rooms) {
    for (const std::size_t value : room.values) section.places[value] = section.floats;
    section.floats += room.floats;
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
      return convolve_depthwise_part({.shape = {.batch = place.pictures,
                                                .channels = layer.in_channels,
                                                .in_height = step.in.height,
                                                .in_width = step.in.width,
                                                .stride = layer.stride},
                                      .input = from,
                                      .weights = layer.weights,
                                      .bias = layer.bias,
                                      .low = layer.low,
                                      .high = layer.high,
                                      .output = to},
                                     part, parts);
    default:
      break;
  }
  Product product{.rows = place.pictures * step.out.height * step.out.width,
                  .depth = layer.kernel * layer.kernel * layer.in_channels,
                  .columns = layer.out_channels,
                  .from = from,
                  .from_row = layer.stride * layer.in_channels,
                  .lines = layer.kernel,
                  .from_line = step.in.width * layer.in_channels,
                  .packed = layer.weights,
                  .bias = layer.bias,
                  .residual_row = layer.out_channels,
                  .activation = Activation::kClip,
                  .low = layer.low,
                  .high = layer.high,
                  .to = to,
                  .to_row = layer.out_channels};
  if (step.added) product.residual = *step.added == 0 ? place.input : scratch(*step.added);
  if (step.kind == Kind::kProduct) return multiply_part(product, part, parts);
  compute_rows(step, product, place, share);
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
    product.to += row * row_floats;
    if (product.residual != nullptr) product.residual += row * row_floats;
    multiply_part(product, 0, 1);
  }
}

std::vector<Chain::Section> Chain::sections_of(const Pictures& pictures, bool by_picture) const {
  const MapSize in{in_channels(), pictures.height, pictures.width};
  const std::size_t cut =
      by_picture && pictures.count > 1 ? boundary(pictures.height, pictures.width) : layers_.size();
  std::vector<Section> sections;
  MapSize map = in;
  for (std::size_t i = 0; i < cut; ++i) map = after(i, map);
  if (cut > 0) sections.push_back(section(0, cut, in));
  if (cut < layers_.size()) sections.push_back(section(cut, layers_.size(), map));
  return sections;
}

/// The pictures of one thread: one after another through the first section, several at once through
/// the second.
void Chain::alone(const std::vector<Section>& sections, const Place& place) const {
  const auto pass = [&](const Section& section, const Place& where) {
    for (const Step& step : section.steps) compute(section, step, where, {});
  };
  const Section& first = sections.front();
  const Section& last = sections.back();
  float* const between = place.scratch;
  float* const scratch =
      place.scratch + (sections.size() > 1 ? aligned(kTogether * first.out_floats) : 0);
  for (Int begin = 0; begin < place.pictures; begin += kTogether) {
    const Int count = std::min(kTogether, place.pictures - begin);
    const float* const input = place.input + begin * first.in_floats;
    float* const output = place.output + begin * last.out_floats;
    for (Int i = 0; i < count; ++i) {
      float* const to = sections.size() > 1 ? between : output;
      pass(first, {input + i * first.in_floats, to + i * first.out_floats, scratch, 1});
    }
    if (sections.size() > 1) pass(last, {between, output, scratch, count});
  }
}

Chain::Plan Chain::plan(const Pictures& pictures) const {
  const Int threads = omp_get_max_threads();
  const bool own = by_picture(pictures.count, threads);
  Plan plan{.pictures = pictures, .by_picture = own, .sections = sections_of(pictures, own)};
  const Section& first = plan.sections.front();
  const Section& last = plan.sections.back();
  if (!own) {
    plan.scratch_of_thread = pictures.count * first.floats;
  } else if (plan.sections.size() > 1) {
    plan.scratch_of_thread =
        std::max(first.floats, kTogether * last.floats) + aligned(kTogether * first.out_floats);
  } else {
    plan.scratch_of_thread = first.floats;
  }
  plan.scratch_floats = static_cast<std::size_t>((own ? threads : 1) * plan.scratch_of_thread);
  return plan;
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
      alone(sections, {input + begin * sections.front().in_floats,
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

}  // namespace harness::kernels
