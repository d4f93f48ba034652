#include "kernels/convolution/winograd.hpp"

#include <omp.h>

#include <algorithm>
#include <array>
#include <string>

#include "kernels/convolution/winograd_plan.hpp"

namespace harness::kernels {
namespace {

using winograd::divide_up;
using winograd::Int;
using winograd::Kernels;
using winograd::Plan;
using winograd::Products;
using winograd::Range;
using winograd::Tiles;

/// One forward pass.
class Pass {
 public:
  Pass(const WinogradShape& shape, const WinogradSource& input, const float* packed,
       const WinogradTarget& output, float* workspace)
      : shape_(shape),
        input_(input),
        packed_(packed),
        output_(output),
        plan_(shape),
        kernels_(winograd::kernels_of(shape)),
        zeros_(workspace),
        inputs_(zeros_ + plan_.zeros(shape)),
        products_(inputs_ + (plan_.shared ? plan_.blocks : plan_.threads) * plan_.input_floats()) {
    std::fill(zeros_, zeros_ + plan_.zeros(shape), 0.0F);
  }

  void run() const {
    if (plan_.shared) {
      run_shared();
    } else {
      run_apart();
    }
  }

 private:
  Int first_of(Int block) const { return block * plan_.block; }
  Int count_of(Int block) const { return std::min(plan_.block, plan_.tiles - first_of(block)); }

  Tiles tiles_of_part(Int block, Int index, float* values) const {
    const Range channels = plan_.part_channels(shape_, index);
    return {.values = values,
            .count = count_of(block),
            .rows = plan_.rows,
            .vectors = divide_up(channels.end - channels.begin, plan_.cut.lanes),
            .begin = channels.begin,
            .positions = plan_.input_stride(channels.end - channels.begin)};
  }

  float* products_of(Int thread) const { return products_ + thread * plan_.product_floats(); }

  Products multiply(const Tiles& tiles, Int panel, Int index, float* values) const {
    const Int columns = plan_.columns(shape_, panel);
    const Products products{values, columns, plan_.product_stride(), index > 0};
    kernels_.multiply(tiles, packed_ + plan_.weights_at(shape_, panel, index),
                      plan_.weight_stride(shape_, panel, index), columns, products);
    return products;
  }

  void store(Int block, Int panel, const Products& products) const {
    kernels_.store_output(shape_, products, first_of(block), count_of(block),
                          plan_.panel_channels(shape_, panel), output_);
  }

  void run_apart() const {
#pragma omp parallel
    {
      const Int thread = omp_get_thread_num();
      float* const inputs = inputs_ + thread * plan_.input_floats();
      const Int panel_floats = plan_.positions * plan_.product_stride();
#pragma omp for schedule(dynamic, 1)
      for (Int block = 0; block < plan_.blocks; ++block) {
        for (Int index = 0; index < plan_.parts; ++index) {
          const Tiles tiles = tiles_of_part(block, index, inputs);
          kernels_.transform_input(shape_, input_, first_of(block), {0, tiles.count},
                                   plan_.part_channels(shape_, index), zeros_, tiles);
          for (Int panel = 0; panel < plan_.panels; ++panel) {
            float* const values =
                products_of(thread) + (plan_.parts == 1 ? 0 : panel * panel_floats);
            const Products products = multiply(tiles, panel, index, values);
            if (index + 1 == plan_.parts) store(block, panel, products);
          }
        }
      }
    }
  }

  float* shared_inputs(Int block, Int index) const {
    return inputs_ + block * plan_.input_floats() +
           index * plan_.positions * plan_.input_stride(plan_.part);
  }

  void run_shared() const {
    const Int slices = divide_up(plan_.block, winograd::kSlice);
#pragma omp parallel
    {
      const Int thread = omp_get_thread_num();
#pragma omp for schedule(dynamic, 1)
      for (Int piece = 0; piece < plan_.blocks * plan_.parts * slices; ++piece) {
        const Int block = piece / (plan_.parts * slices);
        const Int index = piece / slices % plan_.parts;
        const Tiles tiles = tiles_of_part(block, index, shared_inputs(block, index));
        const Int begin = piece % slices * winograd::kSlice;
        kernels_.transform_input(shape_, input_, first_of(block),
                                 {begin, std::min(tiles.count, begin + winograd::kSlice)},
                                 plan_.part_channels(shape_, index), zeros_, tiles);
      }
#pragma omp for schedule(dynamic, 1)
      for (Int piece = 0; piece < plan_.blocks * plan_.panels; ++piece) {
        const Int panel = piece / plan_.blocks;
        const Int block = piece % plan_.blocks;
        Products products;
        for (Int index = 0; index < plan_.parts; ++index) {
          const Tiles tiles = tiles_of_part(block, index, shared_inputs(block, index));
          products = multiply(tiles, panel, index, products_of(thread));
        }
        store(block, panel, products);
      }
    }
  }

  const WinogradShape& shape_;
  const WinogradSource& input_;
  const float* packed_;
  const WinogradTarget& output_;
  Plan plan_;
  const Kernels& kernels_;
  float* zeros_;
  float* inputs_;
  float* products_;
};

}  // namespace

WinogradShape WinogradShape::of_gradient_by_data() const {
  return {.batch = batch,
          .in_channels = out_channels,
          .out_channels = in_channels,
          .in_height = out_height(),
          .in_width = out_width(),
          .padding = 2 - padding,
          .tile = tile,
          .bf16 = bf16};
}

std::size_t winograd_packed_count(const WinogradShape& shape) {
  const Plan plan(shape);
  const Int last = plan.panels - 1;
  return static_cast<std::size_t>(plan.weights_at(shape, last, plan.parts - 1) +
                                  plan.positions * plan.weight_stride(shape, last, plan.parts - 1));
}

bool winograd_pack(const WinogradShape& shape, const WinogradWeights& weights, bool by_data,
                   float* packed) {
  const Plan plan(shape);
  const Kernels& kernels = winograd::kernels_of(shape);
  bool finite = true;
#pragma omp parallel for schedule(dynamic, 1) reduction(&& : finite)
  for (Int piece = 0; piece < plan.panels * plan.parts; ++piece) {
    const Int panel = piece % plan.panels;
    const Int index = piece / plan.panels;
    const Range part = plan.part_channels(shape, index);
    const bool sound =
        kernels.pack(shape, weights, by_data, plan.panel_channels(shape, panel), part.begin,
                     part.end, packed + plan.weights_at(shape, panel, index));
    finite = finite && sound;
  }
  return finite;
}

std::size_t winograd_workspace(const WinogradShape& shape) {
  const Plan plan(shape);
  return static_cast<std::size_t>(plan.zeros(shape) +
                                  (plan.shared ? plan.blocks : plan.threads) * plan.input_floats() +
                                  plan.threads * plan.product_floats());
}

void winograd_convolve(const WinogradShape& shape, const WinogradSource& input, const float* packed,
                       const WinogradTarget& output, float* workspace) {
  Pass(shape, input, packed, output, workspace).run();
}

const char* winograd_name(int tile) {
  static const std::array names = {std::string("winograd-2x2:") + winograd::target_name(),
                                   std::string("winograd-4x4:") + winograd::target_name(),
                                   std::string("winograd-6x6:") + winograd::target_name()};
  return names.at(static_cast<std::size_t>(tile / 2 - 1)).c_str();
}

}  // namespace harness::kernels
