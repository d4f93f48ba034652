#include "kernels/convolution/grouped_simd.hpp"

#include <algorithm>

#include "kernels/instruction_sets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/convolution/grouped_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/convolution/grouped_rows-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace harness::kernels::grouped {
namespace HWY_NAMESPACE {
namespace {

// Registers: the sums, and beside them three weights, a value, and how it is spread; for weights
// three sums for each channel, and three gradients.
#if HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM_A64
constexpr int kLongestRun = 14;
constexpr int kMostParts = 8;
#else
constexpr int kLongestRun = 10;
constexpr int kMostParts = 4;
#endif

struct TapRow {
  const float* row = nullptr;
  Int tap = 0;  // vertical
};

// Which horizontal tap leads from read pixel q to written pixel p, both counted from the first of a
// run, and where the reading starts in a packed row.
template <int kStride>
struct Forward {
  static constexpr bool kEvenRuns = false;
  static constexpr int tap(int q, int p) { return q - kStride * p; }
  static constexpr int reads(int run) { return kStride * (run - 1) + static_cast<int>(kTaps); }
  static Int start(Int first) { return first * kStride; }
  static Int reads_row(Int written, Int tap) { return written * kStride + tap - 1; }
};
template <int kStride>
struct Data {
  // With stride 2 a run begins at an even pixel, so all but the last are even.
  static constexpr bool kEvenRuns = kStride == 2;
  static constexpr int tap(int q, int p) { return kStride == 1 ? p + 2 - q : p + 1 - 2 * q; }
  static constexpr int reads(int run) { return kStride == 1 ? run + 2 : run / 2 + 1; }
  static Int start(Int first) { return kStride == 1 ? first : first / 2 + 1; }
  // -1 (no row) where the stride skips that tap.
  static Int reads_row(Int written, Int tap) {
    const Int scaled = written + 1 - tap;
    return scaled >= 0 && scaled % kStride == 0 ? scaled / kStride : -1;
  }
};

/// A vector of channels of one written row.
struct Row {
  TapRow rows[kTaps]{};  ///< where its channels begin
  int count = 0;         ///< of them, those that the map has
  Int depth = 0, group = 0;
  const float* packed = nullptr;
  const float* bias = nullptr;
  bool relu = false;
  float* write = nullptr;
  Int channels = 0;
};

// `kRun` neighbouring pixels, all in registers; three weights at a time beside them.
template <class Direction, class Spread, int kRun>
void write_run(const Row& row, Int first) {
  constexpr int kReads = Direction::reads(kRun);
  const D d;
  const V start = row.bias != nullptr ? load(row.bias) : hn::Zero(d);
  V sums[kRun];
#pragma GCC unroll 16
  for (int p = 0; p < kRun; ++p) sums[p] = start;
  for (int r = 0; r < row.count; ++r) {
    const float* const pixels = row.rows[r].row + Direction::start(first) * row.depth;
    const float* by = row.packed + row.rows[r].tap * row.group * kTaps * kSlice;
    for (Int i = 0; i < row.group; ++i, by += kTaps * kSlice) {
      const Spread spread(i);
      const V weights[kTaps] = {load(by), load(by + kSlice), load(by + 2 * kSlice)};
#pragma GCC unroll 32
      for (int q = 0; q < kReads; ++q) {
        const V value = spread(pixels + q * row.depth);
#pragma GCC unroll 16
        for (int p = 0; p < kRun; ++p) {
          const int tap = Direction::tap(q, p);
          if (tap >= 0 && tap < kTaps) sums[p] = hn::MulAdd(value, weights[tap], sums[p]);
        }
      }
    }
  }
#pragma GCC unroll 16
  for (int p = 0; p < kRun; ++p) {
    // A NaN goes through.
    const V value = row.relu ? hn::IfThenZeroElse(hn::Lt(sums[p], hn::Zero(d)), sums[p]) : sums[p];
    hn::StoreU(value, d, row.write + (first + p) * row.channels);
  }
}

/// Calls write_run for `length` of 1 to kRun.
template <class Direction, class Spread, int kRun>
HWY_INLINE void write_some(const Row& row, Int first, Int length) {
  if constexpr (kRun > 1) {
    if (length < kRun) return write_some<Direction, Spread, kRun - 1>(row, first, length);
  }
  if constexpr (!Direction::kEvenRuns || kRun == 1 || kRun % 2 == 0) {
    write_run<Direction, Spread, kRun>(row, first);
  }
}

// One row in runs of nearly the same length: a short one at the end would wait for its own sums.
template <class Direction, class Spread>
void write_row(const Row& slice, Int width) {
  for (Int x = 0; x < width; ++x) {
    __builtin_prefetch(slice.write + x * slice.channels, 1, 2);
  }
  Int runs_left = (width + kLongestRun - 1) / kLongestRun;
  for (Int first = 0; first < width; --runs_left) {
    const Int left = width - first;
    Int length = (left + runs_left - 1) / runs_left;
    if (Direction::kEvenRuns && length % 2 == 1) {
      // The last pixel of an odd row goes alone.
      length = length < left ? length + 1 : left == 1 ? 1 : left - 1;
    }
    for (Int lane = 0; lane < kSlice; lane += kLanes) {
      Row row = slice;
      for (int r = 0; r < row.count; ++r) row.rows[r].row += Spread::first(lane, row.group);
      row.packed += lane;
      if (row.bias != nullptr) row.bias += lane;
      row.write += lane;
      write_some<Direction, Spread, kLongestRun>(row, first, length);
    }
    first += length;
    if (runs_left == 1) ++runs_left;
  }
}

template <class Direction, class Spread>
void pass_of(const Pass& pass, Int begin, Int end, float* memory) {
  const GroupedConvShape& shape = pass.shape;
  const Int slices = shape.channels / kSlice;
  const Int depth = depth_of(shape);
  const Int height = pass.write_height();
  const Int width = pass.write_width();
  Rows<float> rows(pass.read, pass.mask, pass.read_height(), pass.read_width(), shape.channels,
                   depth, memory);
  for (Int task = begin; task < end; ++task) {
    const Int chunk = task % pass.chunks();
    const Int slice = task / pass.chunks() % slices;
    const Int image = task / pass.chunks() / slices;
    rows.start(image, slice * kSlice / depth * depth);
    Row row{.depth = depth,
            .group = shape.group_channels,
            .packed = pass.packed + slice * 9 * kSlice * shape.group_channels,
            .bias = pass.bias != nullptr ? pass.bias + slice * kSlice : nullptr,
            .relu = pass.relu,
            .channels = shape.channels};
    const Int first = chunk * Pass::kRowsOfTask;
    for (Int y = first; y < std::min(first + Pass::kRowsOfTask, height); ++y) {
      row.count = 0;
      for (Int tap = 0; tap < kTaps; ++tap) {
        const float* const read = rows.row(Direction::reads_row(y, tap));
        if (read != nullptr) row.rows[row.count++] = {read, tap};
      }
      row.write = pass.write + ((image * height + y) * width) * shape.channels + slice * kSlice;
      write_row<Direction, Spread>(row, width);
    }
  }
}

template <class Direction>
void pass_by_group(const Pass& pass, Int begin, Int end, float* memory) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (kLanes > 4) {
    if (pass.shape.group_channels == 4) {
      return pass_of<Direction, InBlock>(pass, begin, end, memory);
    }
  }
  if constexpr (kLanes > 8) {
    if (pass.shape.group_channels == 8) {
      return pass_of<Direction, InVector>(pass, begin, end, memory);
    }
  }
#endif
  pass_of<Direction, Broadcast>(pass, begin, end, memory);
}

void any_pass(const Pass& pass, Int begin, Int end, float* memory) {
  const bool strides = pass.shape.stride == 2;
  if (pass.by_data && strides) return pass_by_group<Data<2>>(pass, begin, end, memory);
  if (pass.by_data) return pass_by_group<Data<1>>(pass, begin, end, memory);
  if (strides) return pass_by_group<Forward<2>>(pass, begin, end, memory);
  pass_by_group<Forward<1>>(pass, begin, end, memory);
}

/// A vector of channels of one row of the gradient, and a row of the input.
struct RowPair {
  const float* pixels = nullptr;
  const float* gradients = nullptr;
  Int depth = 0, width = 0;
  float* sums = nullptr;  ///< [channel of the input][horizontal tap][kSlice]
};

// Sums of one row: 3 horizontal taps x `kParts` channels of the input from `from` on.
template <class Spread, int kStride, int kParts>
void weights_of_row(const RowPair& row, Int from) {
  const D d;
  V sums[kTaps * kParts];
#pragma GCC unroll 24
  for (V& sum : sums) sum = hn::Zero(d);
  if constexpr (kStride == 1) {
    V left = hn::Zero(d);
    V middle = load(row.gradients + kSlice);
    for (Int q = 0; q < row.width; ++q) {
      const V right = load(row.gradients + (q + 2) * kSlice);
#pragma GCC unroll 8
      for (int i = 0; i < kParts; ++i) {
        const V value = Spread(from + i)(row.pixels + (q + 1) * row.depth);
        sums[3 * i] = hn::MulAdd(value, right, sums[3 * i]);
        sums[3 * i + 1] = hn::MulAdd(value, middle, sums[3 * i + 1]);
        sums[3 * i + 2] = hn::MulAdd(value, left, sums[3 * i + 2]);
      }
      left = middle;
      middle = right;
    }
  } else {
    for (Int x = 0; x < row.width; ++x) {
      const V gradient = load(row.gradients + (x + 1) * kSlice);
#pragma GCC unroll 3
      for (int tap = 0; tap < kTaps; ++tap) {
#pragma GCC unroll 8
        for (int i = 0; i < kParts; ++i) {
          const V value = Spread(from + i)(row.pixels + (kStride * x + tap) * row.depth);
          sums[3 * i + tap] = hn::MulAdd(value, gradient, sums[3 * i + tap]);
        }
      }
    }
  }
  // A row at a time: sums of sums keep more digits than one long sum.
#pragma GCC unroll 24
  for (int i = 0; i < kTaps * kParts; ++i) {
    float* const to = row.sums + (from * kTaps + i) * kSlice;
    hn::StoreU(hn::Add(load(to), sums[i]), d, to);
  }
}

template <class Spread, int kStride>
void weights_of_rows(const float* pixels, const float* gradients, Int group, Int depth, Int width,
                     float* sums) {
  for (Int lane = 0; lane < kSlice; lane += kLanes) {
    const RowPair row{pixels + Spread::first(lane, group), gradients + lane, depth, width,
                      sums + lane};
    if (kMostParts > 4 && group >= kMostParts) {
      for (Int from = 0; from < group; from += kMostParts) {
        weights_of_row<Spread, kStride, kMostParts>(row, from);
      }
    } else {
      for (Int from = 0; from < group; from += 4) weights_of_row<Spread, kStride, 4>(row, from);
    }
  }
}

/// [channel of the output][tap][channel of the input], times the channel's scale.
void store_weights(const WeightsPass& pass, Int slice, const float* sums) {
  const Int group = pass.shape.group_channels;
  for (Int lane = 0; lane < kSlice; ++lane) {
    const Int out = slice * kSlice + lane;
    const float factor = pass.scale != nullptr ? pass.scale[out] : 1.0F;
    for (Int tap = 0; tap < 9; ++tap) {
      for (Int i = 0; i < group; ++i) {
        const float sum = sums[((tap / kTaps * group + i) * kTaps + tap % kTaps) * kSlice + lane];
        pass.result[(out * 9 + tap) * group + i] = sum * factor;
      }
    }
  }
}

template <class Spread, int kStride, class Value>
void weights_of(const WeightsPass& pass, Int begin, Int end, float* memory) {
  const GroupedConvShape& shape = pass.shape;
  const Int depth = depth_of(shape);
  const Int height = shape.out_height();
  const Int width = shape.out_width();
  const Int group = shape.group_channels;
  float* const sums = memory;
  float* const of_inputs = sums + pass.sums();
  Rows<Value> inputs(static_cast<const Value*>(pass.input), nullptr, shape.in_height,
                     shape.in_width, shape.channels, depth, of_inputs);
  Rows<Value> gradients(static_cast<const Value*>(pass.gradient),
                        static_cast<const Value*>(pass.activated), height, width, shape.channels,
                        kSlice, of_inputs + ring_floats(shape.in_width, depth));
  for (Int slice = begin; slice < end; ++slice) {
    std::fill_n(sums, pass.sums(), 0.0F);
    for (Int image = 0; image < shape.batch; ++image) {
      inputs.start(image, slice * kSlice / depth * depth);
      gradients.start(image, slice * kSlice);
      for (Int y = 0; y < height; ++y) {
        const float* const gradient = gradients.row(y);
        for (Int tap = 0; tap < kTaps; ++tap) {
          const float* const row = inputs.row(y * kStride + tap - 1);
          if (row == nullptr) continue;
          weights_of_rows<Spread, kStride>(row, gradient, group, depth, width,
                                           sums + tap * kTaps * kSlice * group);
        }
      }
    }
    store_weights(pass, slice, sums);
  }
}

template <class Spread>
void weights_by_stride(const WeightsPass& pass, Int begin, Int end, float* memory) {
  const bool strides = pass.shape.stride == 2;
  if (pass.bf16 && strides) return weights_of<Spread, 2, Bf16>(pass, begin, end, memory);
  if (pass.bf16) return weights_of<Spread, 1, Bf16>(pass, begin, end, memory);
  if (strides) return weights_of<Spread, 2, float>(pass, begin, end, memory);
  weights_of<Spread, 1, float>(pass, begin, end, memory);
}

void any_weights(const WeightsPass& pass, Int begin, Int end, float* memory) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (kLanes > 4) {
    if (pass.shape.group_channels == 4) return weights_by_stride<InBlock>(pass, begin, end, memory);
  }
  if constexpr (kLanes > 8) {
    if (pass.shape.group_channels == 8) {
      return weights_by_stride<InVector>(pass, begin, end, memory);
    }
  }
#endif
  weights_by_stride<Broadcast>(pass, begin, end, memory);
}

Kernels own_kernels() { return {any_pass, any_weights}; }

const char* own_name() { return hwy::TargetName(HWY_TARGET); }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace harness::kernels::grouped
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace harness::kernels::grouped {

HWY_EXPORT(own_kernels);
HWY_EXPORT(own_name);

Kernels kernels() { return HWY_DYNAMIC_DISPATCH(own_kernels)(); }
const char* target_name() { return HWY_DYNAMIC_DISPATCH(own_name)(); }

}  // namespace harness::kernels::grouped
#endif
