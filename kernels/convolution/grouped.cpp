// Compiled for AVX-512 as a whole and only called where that is there: nothing in here may come
// from a header that others compile without (an inline function would exist twice, with one name).
#include "kernels/convolution/grouped.hpp"

#if defined(__x86_64__) && defined(__AVX512F__)
#include <immintrin.h>

#include <cstdlib>
#include <utility>
#endif

namespace harness::kernels {

#if defined(__x86_64__) && defined(__AVX512F__)
namespace {

constexpr int kLanes = 16;
constexpr int kTaps = 3;         // in each direction
constexpr int kRowsOfTask = 32;  // output rows; a task reads up to two more
constexpr int kRing = 4;         // packed rows that are kept

using Bf16 = std::uint16_t;
using Int = std::int64_t;

inline __m512 load(const float* from) { return _mm512_loadu_ps(from); }
inline __m512 load(const Bf16* from) {
  const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
}
inline void store(float* to, __m512 values) { _mm512_storeu_ps(to, values); }
// To the nearest, ties to even; a NaN stays one.
inline void store(Bf16* to, __m512 values) {
  const __m512i bits = _mm512_castps_si512(values);
  const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  __m512i rounded = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7FFF)));
  const __mmask16 nan = _mm512_cmp_ps_mask(values, values, _CMP_UNORD_Q);
  rounded = _mm512_mask_or_epi32(rounded, nan, bits, _mm512_set1_epi32(0x400000));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                      _mm512_cvtepi32_epi16(_mm512_srli_epi32(rounded, 16)));
}

// Of a pixel's packed channels, channel `i` of its group, for each of the 16 lanes.
template <int Group>
inline __m512 spread(const float* pixel, int i) {
  if constexpr (Group >= kLanes) {
    return _mm512_set1_ps(pixel[i]);
  } else if constexpr (Group == 8) {
    return _mm512_mask_broadcastss_ps(_mm512_set1_ps(pixel[i]), 0xFF00, _mm_load_ss(pixel + 8 + i));
  } else {
    return _mm512_permutevar_ps(_mm512_loadu_ps(pixel), _mm512_set1_epi32(i));
  }
}

// Channels that the 16 lanes of a slice read.
template <int Group>
constexpr int kDepth = Group > kLanes ? Group : kLanes;

template <int Group>
inline Int first_channel(Int slice) {
  return slice * kLanes / Group * Group;
}

// A few rows of one slice of an activation: float32, side by side, one pixel of zeros at both ends.
// Without it every pixel would be a kilobyte from the next, on few sets of the cache.
template <class Value, int Depth>
class Rows {
 public:
  Rows(const Value* data, const Value* mask, Int height, Int width, Int channels)
      : data_(data), mask_(mask), height_(height), width_(width), channels_(channels) {
    const Int floats = kRing * (width + 2) * Depth;
    memory_ = static_cast<float*>(std::aligned_alloc(64, static_cast<std::size_t>(floats) * 4));
    if (memory_ == nullptr) std::abort();
    for (Int i = 0; i < floats; ++i) memory_[i] = 0;
  }
  ~Rows() { std::free(memory_); }
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;

  void start(Int image, Int channel) {
    offset_ = image * height_ * width_ * channels_ + channel;
    for (Int& held : held_) held = -1;
  }
  // Row `y`, beginning with the pixel left of the first; null outside of the map.
  const float* row(Int y) {
    if (y < 0 || y >= height_) return nullptr;
    const Int slot = y % kRing;
    float* target = memory_ + slot * (width_ + 2) * Depth;
    if (held_[slot] != y) {
      pack(y, target + Depth);
      held_[slot] = y;
    }
    return target;
  }

 private:
  void pack(Int y, float* target) const {
    const Int begin = offset_ + y * width_ * channels_;
    for (Int x = 0; x < width_; ++x) {
      for (int part = 0; part < Depth; part += kLanes) {
        const Int at = begin + x * channels_ + part;
        __m512 values = load(data_ + at);
        if (mask_ != nullptr) {
          const __mmask16 positive =
              _mm512_cmp_ps_mask(load(mask_ + at), _mm512_setzero_ps(), _CMP_NLE_UQ);
          values = _mm512_maskz_mov_ps(positive, values);
        }
        _mm512_store_ps(target + x * Depth + part, values);
      }
    }
  }

  const Value* data_;
  const Value* mask_;
  Int height_, width_, channels_;
  Int offset_ = 0;
  Int held_[kRing] = {-1, -1, -1, -1};
  float* memory_ = nullptr;
};

struct TapRow {
  const float* row;
  int tap;  // vertical
};

// Which horizontal tap leads from read pixel q to written pixel p, both counted from the first of a
// run, and where the reading starts in a packed row.
struct Forward {
  template <int Stride>
  static constexpr int tap(int q, int p) {
    return q - Stride * p;
  }
  template <int Stride, int Run>
  static constexpr int kReads = Stride * (Run - 1) + kTaps;
  template <int Stride>
  static Int start(Int first) {
    return first * Stride;
  }
  template <int Stride>
  static Int reads_row(Int written, int tap) {
    return written * Stride + tap - 1;
  }
};
struct Data {
  template <int Stride>
  static constexpr int tap(int q, int p) {
    return Stride == 1 ? p + 2 - q : p + 1 - 2 * q;
  }
  template <int Stride, int Run>
  static constexpr int kReads = Stride == 1 ? Run + 2 : Run / 2 + 1;
  template <int Stride>
  static Int start(Int first) {
    return Stride == 1 ? first : first / 2 + 1;
  }
  // -1 (no row) where the stride skips that tap.
  template <int Stride>
  static Int reads_row(Int written, int tap) {
    const Int scaled = written + 1 - tap;
    return scaled >= 0 && scaled % Stride == 0 ? scaled / Stride : -1;
  }
};

template <class Direction, int Stride, int Q, int... P>
inline __attribute__((always_inline)) void accumulate(__m512* sums, __m512 value,
                                                      const __m512* weights,
                                                      std::integer_sequence<int, P...>) {
  const auto one = [&](auto p) __attribute__((always_inline)) {
    constexpr int kTap = Direction::template tap<Stride>(Q, decltype(p)::value);
    if constexpr (kTap >= 0 && kTap < kTaps) {
      sums[decltype(p)::value] = _mm512_fmadd_ps(value, weights[kTap], sums[decltype(p)::value]);
    }
  };
  (one(std::integral_constant<int, P>()), ...);
}

// `Run` neighbouring pixels of a slice, all in registers; three weights at a time beside them.
template <class Direction, int Group, int Stride, int Run>
inline void write_run(const TapRow* rows, int row_count, const float* packed, __m512 start,
                      Int first, __m512* written) {
  __m512 sums[Run];
  for (int p = 0; p < Run; ++p) sums[p] = start;
  for (int r = 0; r < row_count; ++r) {
    const float* pixels = rows[r].row + Direction::template start<Stride>(first) * kDepth<Group>;
    const float* tap_weights = packed + rows[r].tap * Group * kTaps * kLanes;
    for (int i = 0; i < Group; ++i) {
      const __m512 weights[kTaps] = {load(tap_weights + (i * kTaps + 0) * kLanes),
                                     load(tap_weights + (i * kTaps + 1) * kLanes),
                                     load(tap_weights + (i * kTaps + 2) * kLanes)};
      [&]<int... Q>(std::integer_sequence<int, Q...>) __attribute__((always_inline)) {
        (accumulate<Direction, Stride, Q>(sums, spread<Group>(pixels + Q * kDepth<Group>, i),
                                          weights, std::make_integer_sequence<int, Run>()),
         ...);
      }
      (std::make_integer_sequence<int, Direction::template kReads<Stride, Run>>());
    }
  }
  for (int p = 0; p < Run; ++p) written[p] = sums[p];
}

struct Write {
  const float* packed = nullptr;
  const float* bias = nullptr;
  bool relu = false;
};

template <class Direction, int Group, int Stride, int Run, class Value>
inline Int write_runs(const TapRow* rows, int row_count, const Write& what, __m512 start, Int first,
                      Int width, Int channels, Value* output) {
  for (; first + Run <= width; first += Run) {
    __m512 written[Run];
    write_run<Direction, Group, Stride, Run>(rows, row_count, what.packed, start, first, written);
    for (int p = 0; p < Run; ++p) {
      // The larger of 0 and the value; a NaN goes through.
      const __m512 value = what.relu ? _mm512_max_ps(_mm512_setzero_ps(), written[p]) : written[p];
      store(output + (first + p) * channels, value);
    }
  }
  return first;
}

// One pass over a map: reads with a halo, writes each pixel once.
template <class Direction, int Group, int Stride, class Value>
void pass(const GroupedConvShape& shape, const Value* read, const Value* mask, Int read_height,
          Int read_width, const Write& what, Value* write, Int write_height, Int write_width) {
  const Int slices = shape.channels / kLanes;
  const Int chunks = (write_height + kRowsOfTask - 1) / kRowsOfTask;
  const Int weights_of_slice = 9 * Group * kLanes;
#pragma omp parallel
  {
    Rows<Value, kDepth<Group>> rows(read, mask, read_height, read_width, shape.channels);
#pragma omp for schedule(static)
    for (Int task = 0; task < shape.batch * slices * chunks; ++task) {
      const Int chunk = task % chunks;
      const Int slice = task / chunks % slices;
      const Int image = task / chunks / slices;
      rows.start(image, first_channel<Group>(slice));
      Write mine = what;
      mine.packed += slice * weights_of_slice;
      const __m512 start =
          what.bias != nullptr ? load(what.bias + slice * kLanes) : _mm512_setzero_ps();
      const Int end = chunk * kRowsOfTask + kRowsOfTask;
      for (Int y = chunk * kRowsOfTask; y < (end < write_height ? end : write_height); ++y) {
        TapRow taps[kTaps];
        int count = 0;
        for (int tap = 0; tap < kTaps; ++tap) {
          const float* row = rows.row(Direction::template reads_row<Stride>(y, tap));
          if (row != nullptr) taps[count++] = {row, tap};
        }
        Value* output =
            write + (image * write_height + y) * write_width * shape.channels + slice * kLanes;
        const auto runs = [&]<int Run>(Int first) {
          return write_runs<Direction, Group, Stride, Run>(taps, count, mine, start, first,
                                                           write_width, shape.channels, output);
        };
        Int next = runs.template operator()<12>(0);
        next = runs.template operator()<8>(next);
        next = runs.template operator()<4>(next);
        next = runs.template operator()<2>(next);
        runs.template operator()<1>(next);
      }
    }
  }
}

// Sums of one row: 3 horizontal taps x `Part` channels of the input, 16 of the output.
template <int Group, int Stride, int Part>
inline void weights_of_row(const float* pixels, const float* gradients, Int out_width, int from,
                           float* sums) {
  __m512 row_sums[kTaps * Part];
  for (__m512& sum : row_sums) sum = _mm512_setzero_ps();
  if constexpr (Stride == 1) {
    __m512 left = _mm512_setzero_ps();
    __m512 middle = load(gradients + kLanes);
    for (Int q = 0; q < out_width; ++q) {
      const __m512 right = load(gradients + (q + 2) * kLanes);
#pragma GCC unroll 8
      for (int i = 0; i < Part; ++i) {
        const __m512 value = spread<Group>(pixels + (q + 1) * kDepth<Group>, from + i);
        row_sums[3 * i] = _mm512_fmadd_ps(value, right, row_sums[3 * i]);
        row_sums[3 * i + 1] = _mm512_fmadd_ps(value, middle, row_sums[3 * i + 1]);
        row_sums[3 * i + 2] = _mm512_fmadd_ps(value, left, row_sums[3 * i + 2]);
      }
      left = middle;
      middle = right;
    }
  } else {
    for (Int x = 0; x < out_width; ++x) {
      const __m512 gradient = load(gradients + (x + 1) * kLanes);
#pragma GCC unroll 3
      for (int tap = 0; tap < kTaps; ++tap) {
#pragma GCC unroll 8
        for (int i = 0; i < Part; ++i) {
          const __m512 value = spread<Group>(pixels + (Stride * x + tap) * kDepth<Group>, from + i);
          row_sums[3 * i + tap] = _mm512_fmadd_ps(value, gradient, row_sums[3 * i + tap]);
        }
      }
    }
  }
  // A row at a time: sums of sums keep more digits than one long sum.
  for (int i = 0; i < kTaps * Part; ++i) {
    float* target = sums + (from * kTaps + i) * kLanes;
    store(target, _mm512_add_ps(load(target), row_sums[i]));
  }
}

template <int Group, int Stride, class Value>
void backward_weights(const GroupedConvShape& shape, const Value* input, const Value* gradient,
                      const Value* activated, const float* scale, float* result) {
  constexpr int kPart = Group < 8 ? Group : 8;
  const Int out_height = shape.out_height();
  const Int out_width = shape.out_width();
#pragma omp parallel
  {
    Rows<Value, kDepth<Group>> inputs(input, nullptr, shape.in_height, shape.in_width,
                                      shape.channels);
    Rows<Value, kLanes> gradients(gradient, activated, out_height, out_width, shape.channels);
    alignas(64) float sums[9 * Group * kLanes];
#pragma omp for schedule(static)
    for (Int slice = 0; slice < shape.channels / kLanes; ++slice) {
      for (float& sum : sums) sum = 0;
      for (Int image = 0; image < shape.batch; ++image) {
        inputs.start(image, first_channel<Group>(slice));
        gradients.start(image, slice * kLanes);
        for (Int y = 0; y < out_height; ++y) {
          const float* gradient_row = gradients.row(y);
          for (int tap = 0; tap < kTaps; ++tap) {
            const float* row = inputs.row(y * Stride + tap - 1);
            if (row == nullptr) continue;
            for (int from = 0; from < Group; from += kPart) {
              weights_of_row<Group, Stride, kPart>(row, gradient_row, out_width, from,
                                                   sums + tap * Group * kTaps * kLanes);
            }
          }
        }
      }
      for (int lane = 0; lane < kLanes; ++lane) {
        const Int out = slice * kLanes + lane;
        const float factor = scale != nullptr ? scale[out] : 1.0F;
        for (int tap = 0; tap < 9; ++tap) {
          for (int i = 0; i < Group; ++i) {
            const float* sum = sums + ((tap / 3 * Group + i) * kTaps + tap % 3) * kLanes + lane;
            result[(out * 9 + tap) * Group + i] = *sum * factor;
          }
        }
      }
    }
  }
}

// Calls `run` with group size, stride and element type as constants.
template <class Run>
void dispatch(const GroupedConvShape& shape, const Run& run) {
  const auto with_type = [&]<int Group, int Stride>() {
    if (shape.bf16) {
      run.template operator()<Group, Stride, Bf16>();
    } else {
      run.template operator()<Group, Stride, float>();
    }
  };
  const auto with_stride = [&]<int Group>() {
    if (shape.stride == 1) {
      with_type.template operator()<Group, 1>();
    } else {
      with_type.template operator()<Group, 2>();
    }
  };
  switch (shape.group_channels) {
    case 4:
      return with_stride.template operator()<4>();
    case 8:
      return with_stride.template operator()<8>();
    case 16:
      return with_stride.template operator()<16>();
    default:
      return with_stride.template operator()<32>();
  }
}

}  // namespace

// For each slice of 16 written channels: vertical tap, channel read, horizontal tap, lane.
void pack_grouped_weights(const GroupedConvShape& shape, const float* weights, const float* scale,
                          bool for_data, float* packed) {
  const Int group = shape.group_channels;
#pragma omp parallel for schedule(static)
  for (Int slice = 0; slice < shape.channels / kLanes; ++slice) {
    float* target = packed + slice * 9 * group * kLanes;
    for (Int row = 0; row < kTaps; ++row) {
      for (Int i = 0; i < group; ++i) {
        for (Int column = 0; column < kTaps; ++column) {
          for (Int lane = 0; lane < kLanes; ++lane) {
            const Int written = slice * kLanes + lane;
            const Int read = written / group * group + i;
            const Int out = for_data ? read : written;
            const Int in = (for_data ? written : read) % group;
            const float weight = weights[(out * 9 + row * 3 + column) * group + in];
            *target++ = scale != nullptr ? weight * scale[out] : weight;
          }
        }
      }
    }
  }
}

void grouped_forward(const GroupedConvShape& shape, const void* input, const float* packed,
                     const float* bias, bool relu, void* output) {
  dispatch(shape, [&]<int Group, int Stride, class Value>() {
    pass<Forward, Group, Stride, Value>(
        shape, static_cast<const Value*>(input), nullptr, shape.in_height, shape.in_width,
        {packed, bias, relu}, static_cast<Value*>(output), shape.out_height(), shape.out_width());
  });
}

void grouped_backward_data(const GroupedConvShape& shape, const void* grad_output,
                           const void* activated, const float* packed, void* grad_input) {
  dispatch(shape, [&]<int Group, int Stride, class Value>() {
    pass<Data, Group, Stride, Value>(
        shape, static_cast<const Value*>(grad_output), static_cast<const Value*>(activated),
        shape.out_height(), shape.out_width(), {packed, nullptr, false},
        static_cast<Value*>(grad_input), shape.in_height, shape.in_width);
  });
}

void grouped_backward_weights(const GroupedConvShape& shape, const void* input,
                              const void* grad_output, const void* activated, const float* scale,
                              float* grad_weights) {
  dispatch(shape, [&]<int Group, int Stride, class Value>() {
    backward_weights<Group, Stride, Value>(
        shape, static_cast<const Value*>(input), static_cast<const Value*>(grad_output),
        static_cast<const Value*>(activated), scale, grad_weights);
  });
}

#else

// Never called: grouped_conv_supported() says no.
void pack_grouped_weights(const GroupedConvShape&, const float*, const float*, bool, float*) {}
void grouped_forward(const GroupedConvShape&, const void*, const float*, const float*, bool,
                     void*) {}
void grouped_backward_data(const GroupedConvShape&, const void*, const void*, const float*, void*) {
}
void grouped_backward_weights(const GroupedConvShape&, const void*, const void*, const void*,
                              const float*, float*) {}

#endif

}  // namespace harness::kernels
