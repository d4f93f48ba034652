// Compiled for AVX-512 as a whole and only called where that is there: nothing in here may come
// from a header that others compile without (an inline function would exist twice, with one name).
#include "kernels/convolution/grouped.hpp"

#if defined(__x86_64__) && defined(__AVX512F__)
#include <utility>

#include "kernels/convolution/grouped_rows.hpp"
#endif

namespace harness::kernels {

#if defined(__x86_64__) && defined(__AVX512F__)
namespace {

struct TapRow {
  const float* row;
  int tap;  // vertical
};

// Which horizontal tap leads from read pixel q to written pixel p, both counted from the first of a
// run, and where the reading starts in a packed row.
struct Forward {
  template <int Stride>
  static constexpr bool kEvenRuns = false;
  template <int Stride>
  static constexpr int tap(int q, int p) {
    return q - Stride * p;
  }
  template <int Stride, int Run>
  static constexpr int kReads = Stride * (Run - 1) + static_cast<int>(kTaps);
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
  // With stride 2 a run begins at an even pixel, so all but the last are even.
  template <int Stride>
  static constexpr bool kEvenRuns = Stride == 2;
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
    const float* tap_weights = packed + rows[r].tap * kTaps * kLanes * Group;
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

constexpr Int kLongestRun = 14;

using WriteRun = void (*)(const TapRow*, int, const float*, __m512, Int, __m512*);

template <class Direction, int Group, int Stride, int Run>
constexpr WriteRun write_run_or_null() {
  if constexpr (Direction::template kEvenRuns<Stride> && Run > 1 && Run % 2 == 1) {
    return nullptr;
  } else {
    return write_run<Direction, Group, Stride, Run>;
  }
}

// By length, 1 to kLongestRun.
template <class Direction, int Group, int Stride>
inline WriteRun run_of(Int length) {
  static constexpr auto kRuns = []<int... Less>(std::integer_sequence<int, Less...>) {
    struct Table {
      WriteRun runs[kLongestRun];
    };
    return Table{{write_run_or_null<Direction, Group, Stride, Less + 1>()...}};
  }(std::make_integer_sequence<int, static_cast<int>(kLongestRun)>());
  return kRuns.runs[length - 1];
}

struct Write {
  const float* packed = nullptr;
  const float* bias = nullptr;
  bool relu = false;
};

// One row in runs of nearly the same length: a short one at the end would wait for its own sums.
template <class Direction, int Group, int Stride>
inline void write_row(const TapRow* rows, int row_count, const Write& what, __m512 start, Int width,
                      Int channels, float* output) {
  for (Int x = 0; x < width; ++x) __builtin_prefetch(output + x * channels, 1, 2);
  Int runs_left = (width + kLongestRun - 1) / kLongestRun;
  for (Int first = 0; first < width; --runs_left) {
    const Int left = width - first;
    Int length = (left + runs_left - 1) / runs_left;
    if (Direction::template kEvenRuns<Stride> && length % 2 == 1) {
      // The last pixel of an odd row goes alone.
      length = length < left ? length + 1 : left == 1 ? 1 : left - 1;
    }
    __m512 written[kLongestRun];
    run_of<Direction, Group, Stride>(length)(rows, row_count, what.packed, start, first, written);
    for (Int p = 0; p < length; ++p) {
      // The larger of 0 and the value; a NaN goes through.
      const __m512 value = what.relu ? _mm512_max_ps(_mm512_setzero_ps(), written[p]) : written[p];
      store(output + (first + p) * channels, value);
    }
    first += length;
    if (runs_left == 1) ++runs_left;
  }
}

// One pass over a map: reads with a halo, writes each pixel once.
template <class Direction, int Group, int Stride>
void pass(const GroupedConvShape& shape, const float* read, const float* mask, Int read_height,
          Int read_width, const Write& what, float* write, Int write_height, Int write_width) {
  const Int slices = shape.channels / kLanes;
  const Int chunks = (write_height + kRowsOfTask - 1) / kRowsOfTask;
  const Int weights_of_slice = 9 * kLanes * Group;
#pragma omp parallel
  {
    Rows<float, kDepth<Group>> rows(read, mask, read_height, read_width, shape.channels);
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
        float* output =
            write + (image * write_height + y) * write_width * shape.channels + slice * kLanes;
        write_row<Direction, Group, Stride>(taps, count, mine, start, write_width, shape.channels,
                                            output);
      }
    }
  }
}

constexpr int smaller(int a, int b) { return a < b ? a : b; }

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
  constexpr int kMostInRegisters = 8;
  constexpr int kPart = smaller(Group, kMostInRegisters);
  const Int out_height = shape.out_height();
  const Int out_width = shape.out_width();
#pragma omp parallel
  {
    Rows<Value, kDepth<Group>> inputs(input, nullptr, shape.in_height, shape.in_width,
                                      shape.channels);
    Rows<Value, kLanes> gradients(gradient, activated, out_height, out_width, shape.channels);
    alignas(64) float sums[9 * kLanes * Group];
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
                                                   sums + tap * kTaps * kLanes * Group);
            }
          }
        }
      }
      for (int lane = 0; lane < kLanes; ++lane) {
        const Int out = slice * kLanes + lane;
        const float factor = scale != nullptr ? scale[out] : 1.0F;
        for (int tap = 0; tap < 9; ++tap) {
          for (int i = 0; i < Group; ++i) {
            const float* sum =
                sums + ((tap / kTaps * Group + i) * kTaps + tap % kTaps) * kLanes + lane;
            result[(out * 9 + tap) * Group + i] = *sum * factor;
          }
        }
      }
    }
  }
}

// Calls `run` with group size and stride as constants.
template <class Run>
void dispatch(const GroupedConvShape& shape, const Run& run) {
  const auto with_stride = [&]<int Group>() {
    if (shape.stride == 1) {
      run.template operator()<Group, 1>();
    } else {
      run.template operator()<Group, 2>();
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

void grouped_forward(const GroupedConvShape& shape, const float* input, const float* packed,
                     const float* bias, bool relu, float* output) {
  dispatch(shape, [&]<int Group, int Stride>() {
    pass<Forward, Group, Stride>(shape, input, nullptr, shape.in_height, shape.in_width,
                                 {packed, bias, relu}, output, shape.out_height(),
                                 shape.out_width());
  });
}

void grouped_backward_data(const GroupedConvShape& shape, const float* grad_output,
                           const float* activated, const float* packed, float* grad_input) {
  dispatch(shape, [&]<int Group, int Stride>() {
    pass<Data, Group, Stride>(shape, grad_output, activated, shape.out_height(), shape.out_width(),
                              {packed, nullptr, false}, grad_input, shape.in_height,
                              shape.in_width);
  });
}

void grouped_backward_weights(const GroupedConvShape& shape, bool bf16, const void* input,
                              const void* grad_output, const void* activated, const float* scale,
                              float* grad_weights) {
  dispatch(shape, [&]<int Group, int Stride>() {
    const auto run = [&](auto value) {
      using Value = decltype(value);
      backward_weights<Group, Stride, Value>(
          shape, static_cast<const Value*>(input), static_cast<const Value*>(grad_output),
          static_cast<const Value*>(activated), scale, grad_weights);
    };
    if (bf16) {  // NOLINT(bugprone-branch-clone): two types, two instances
      run(Bf16());
    } else {
      run(float());
    }
  });
}

#else

// Never called: grouped_conv_supported() says no.
void pack_grouped_weights(const GroupedConvShape&, const float*, const float*, bool, float*) {}
void grouped_forward(const GroupedConvShape&, const float*, const float*, const float*, bool,
                     float*) {}
void grouped_backward_data(const GroupedConvShape&, const float*, const float*, const float*,
                           float*) {}
void grouped_backward_weights(const GroupedConvShape&, bool, const void*, const void*, const void*,
                              const float*, float*) {}

#endif

}  // namespace harness::kernels
