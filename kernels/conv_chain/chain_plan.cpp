// How a chain's layers are cut into steps, and where what they give lies.
#include <omp.h>

#include <algorithm>
#include <utility>

#include "kernels/conv_chain/chain.hpp"

namespace harness::kernels {
namespace {

using Int = std::int64_t;

// What such a layer may read and write of maps, for all of them: room in a level-2 cache.
constexpr Int kTogetherFloats = Int{3} << 16;
// From so many pictures a thread on, each takes its own; fewer might leave some idle for long.
constexpr Int kPicturesOfThread = 4;

Int aligned(Int floats) { return (floats + 15) / 16 * 16; }

/// Whether each thread takes pictures of its own.
bool shares_pictures(Int pictures, Int threads) {
  return pictures % threads == 0 || pictures >= kPicturesOfThread * threads;
}

}  // namespace

MapSize Chain::after(std::size_t layer, const MapSize& in) const {
  const ChainLayer& l = layers_[layer].layer;
  return {l.out_channels, l.out(in.height), l.out(in.width)};
}

MapSize Chain::result(Int height, Int width) const {
  MapSize map{in_channels(), height, width};
  for (std::size_t i = 0; i < layers_.size(); ++i) map = after(i, map);
  return mean_ ? MapSize{map.channels, 1, 1} : map;
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
    if (added && *added < found) found = i + 1;
  }
  return found;
}

Int Chain::floats_before(std::size_t layer, const MapSize& map) const {
  return narrow_before(layer) ? map.floats() / 2 : map.floats();
}

Chain::Section Chain::section(std::size_t first, std::size_t last, MapSize in) const {
  Section section{.in_floats = floats_before(first, in)};
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
      section.steps.push_back({Kind::kPad, i, in, read, value, wider});
      value = wider;
    }
    const bool is_last = i + 1 == last && !(mean_ && last == layers_.size());
    const std::size_t to = is_last ? 1 : fresh(floats_before(i + 1, out));
    const Kind kind = layer.depthwise() ? Kind::kDepthwise
                      : layer.kernel == 1 && layer.stride == 1 && layer.padding == 0
                          ? Kind::kProduct
                          : Kind::kRows;
    section.steps.push_back(
        {kind, i, read, out, value, to, added, narrow_before(i), narrow_before(i + 1)});
    value = to;
    in = out;
  }
  if (mean_ && last == layers_.size()) {
    const MapSize out{in.channels, 1, 1};
    section.steps.push_back({Kind::kMean, last - 1, in, out, value, 1});
    in = out;
  }
  section.out_floats = floats_before(last, in);
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

std::vector<Chain::Section> Chain::sections_of(const Pictures& pictures, bool by_picture) const {
  const MapSize in{in_channels(), pictures.height, pictures.width};
  const std::size_t cut =
      by_picture && pictures.count > 1 ? boundary(pictures.height, pictures.width) : layers_.size();
  std::vector<Section> sections;
  MapSize map = in;
  for (std::size_t i = 0; i < cut; ++i) map = after(i, map);
  if (cut > 0) sections.push_back(section(0, cut, in));
  if (cut < layers_.size()) {
    sections.push_back(section(cut, layers_.size(), map));
    sections.back().together = by_picture ? kTogether : 1;
  }
  return sections;
}

Chain::Plan Chain::plan(const Pictures& pictures, bool in_parts) const {
  const Int threads = omp_get_max_threads();
  const bool own = !in_parts && shares_pictures(pictures.count, threads);
  Plan plan{.pictures = pictures, .by_picture = own, .sections = sections_of(pictures, own)};
  const Section& first = plan.sections.front();
  const Section& last = plan.sections.back();
  if (!own) {
    plan.scratch_of_thread = pictures.count * first.floats;
  } else if (plan.sections.size() > 1) {
    plan.between = aligned(last.together * first.out_floats);
    plan.scratch_of_thread = plan.between + std::max(first.floats, last.together * last.floats);
  } else {
    plan.scratch_of_thread = first.together * first.floats;
  }
  plan.scratch_floats = static_cast<std::size_t>((own ? threads : 1) * plan.scratch_of_thread);
  return plan;
}

std::vector<Chain::Part> Chain::parts(const Plan& plan) const {
  std::vector<Part> parts;
  for (const Step& step : plan.sections.front().steps) {
    const ChainLayer& layer = layers_[step.layer].layer;
    const bool convolves = step.kind != Kind::kPad && step.kind != Kind::kMean;
    MapSize in = step.in;
    if (step.kind == Kind::kRows) {  // what was padded before
      in.height -= 2 * layer.padding;
      in.width -= 2 * layer.padding;
    }
    parts.push_back({convolves ? &layer : nullptr, in, step.added.has_value(), step.reads_narrow});
  }
  return parts;
}

}  // namespace harness::kernels
