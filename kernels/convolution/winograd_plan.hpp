// How the passes of Winograd's convolutions are cut into blocks of tiles, panels of channels and
// threads. Counts are of floats unless they say something else.
#pragma once

#include <omp.h>

#include <algorithm>

#include "kernels/convolution/winograd_simd.hpp"

namespace harness::kernels::winograd {

inline Int divide_up(Int a, Int b) { return (a + b - 1) / b; }
inline Int round_up(Int a, Int b) { return divide_up(a, b) * b; }
/// `total` in the fewest parts of at most `most`, as equal as can be.
inline Int even_part(Int total, Int most) { return divide_up(total, divide_up(total, most)); }

inline Int positions_of(const WinogradShape& s) { return Int{s.tile + 2} * (s.tile + 2); }

inline Int tiles_of(const WinogradShape& s) {
  return s.batch * divide_up(s.out_height(), s.tile) * divide_up(s.out_width(), s.tile);
}

// Transformed inputs of a block are read once for each panel of outputs: where that leaves enough
// tiles they are to stay in a level-2 cache of 1 MiB or more, and channels are taken in parts so
// that a panel's weights at one position stay in the level-1 cache.
inline constexpr Int kBlockFloats = Int{1} << 18;
inline constexpr Int kMostChannels = 256;
/// Fewer tiles than that would have each block wait for its weights.
inline constexpr Int kFewestTiles = 24;
/// Of tiles in one product of the gradient by the weights, and output channels at a time: what is
/// read and written again for the next ones stays in the caches.
inline constexpr Int kGradientTiles = 210;
inline constexpr Int kGradientChannels = 256;
/// Tiles that one thread transforms at a time where several share them.
inline constexpr Int kSlice = 8;

/// How one pass over a shape is cut. Positions lie a vector further apart than they are long, so
/// that they do not fall on the same sets of a cache.
struct Plan {
  explicit Plan(const WinogradShape& s)
      : cut(winograd::cut()),
        positions(positions_of(s)),
        tiles(tiles_of(s)),
        part(round_up(even_part(s.in_channels, kMostChannels), cut.lanes)),
        parts(divide_up(s.in_channels, part)),
        panels(divide_up(s.out_channels, cut.panel)) {
    threads = omp_get_max_threads();
    const Int wanted = kBlockFloats / (positions * part) / cut.rows * cut.rows;
    const Int fewest = round_up(kFewestTiles, cut.rows);
    blocks = divide_up(tiles, std::clamp<Int>(wanted, fewest, 20 * cut.rows));
    // With few blocks all threads share the transformed inputs, and each takes panels. Otherwise
    // each is to take as many blocks as the others, and be they smaller.
    shared = blocks < 2 * threads;
    if (!shared) blocks = std::min(tiles, round_up(blocks, threads));
    block = divide_up(tiles, blocks);
    blocks = divide_up(tiles, block);
    rows = even_part(block, cut.rows);
  }

  Int input_stride(Int channels) const { return block * round_up(channels, cut.lanes) + cut.lanes; }
  Int product_stride() const { return block * cut.panel + cut.lanes; }
  Int zeros(const WinogradShape& s) const { return round_up(s.in_channels, cut.lanes); }
  /// Of one block: all channels where it is shared, else one part of them.
  Int input_floats() const { return positions * input_stride(part) * (shared ? parts : 1); }
  /// Of one panel's products, or of all where a later part of the channels adds to them.
  Int product_floats() const {
    return positions * product_stride() * (shared || parts == 1 ? 1 : panels);
  }

  Range panel_channels(const WinogradShape& s, Int panel) const {
    return {panel * cut.panel, std::min(s.out_channels, (panel + 1) * cut.panel)};
  }
  Range part_channels(const WinogradShape& s, Int index) const {
    return {index * part, std::min(s.in_channels, (index + 1) * part)};
  }
  Int columns(const WinogradShape& s, Int panel) const {
    const Range channels = panel_channels(s, panel);
    return channels.end - channels.begin > cut.lanes ? cut.panel : cut.lanes;
  }
  /// Floats of one position of a panel's weights.
  Int weight_stride(const WinogradShape& s, Int panel, Int index) const {
    const Range channels = part_channels(s, index);
    return round_up(channels.end - channels.begin, cut.lanes) * columns(s, panel);
  }
  /// Where the weights of a panel begin: [part][panel][position][channel][column].
  Int weights_at(const WinogradShape& s, Int panel, Int index) const {
    const Int columns_of_all = (panels - 1) * cut.panel + columns(s, panels - 1);
    const Range channels = part_channels(s, index);
    const Int depth = round_up(channels.end - channels.begin, cut.lanes);
    return positions * (index * part * columns_of_all + panel * cut.panel * depth);
  }

  Cut cut;
  Int positions, tiles;
  Int part, parts;                      ///< of the input channels
  Int panels;                           ///< of the output channels
  Int block = 1, blocks = 1, rows = 1;  ///< of tiles
  Int threads = 1;
  bool shared = false;
};

/// How the gradient by the weights is cut.
struct GradientPlan {
  explicit GradientPlan(const WinogradShape& s)
      : cut(winograd::cut()),
        positions(positions_of(s)),
        tiles(tiles_of(s)),
        block(even_part(tiles, kGradientTiles)),
        depth(round_up(s.in_channels, cut.lanes)),
        part(round_up(even_part(s.out_channels, kGradientChannels), cut.lanes)) {}

  Int zeros(const WinogradShape& s) const {
    return round_up(std::max(s.in_channels, s.out_channels), cut.lanes);
  }
  Int input_stride() const { return block * depth + cut.lanes; }
  Int gradient_stride() const { return block * part + cut.lanes; }
  Int product_stride() const { return part * depth + cut.lanes; }

  Cut cut;
  Int positions, tiles, block;
  Int depth;  ///< input channels
  Int part;   ///< output channels at a time
};

}  // namespace harness::kernels::winograd
