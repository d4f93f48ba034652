// The products of kernels/products/, run again.
#include <hwy/aligned_allocator.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/products/products.hpp"
#include "kernels/replay/replay.hpp"

namespace harness::kernels {
namespace {

class OwnProductReplay final : public Replay {
 public:
  OwnProductReplay(const Product& sizes, bool narrow, ReplayMemory& memory)
      : product_(sizes), narrow_(narrow), memory_(memory) {
    memory_.reserve(std::max(bytes_of(product_.depth), 4 * count(product_.columns)));
    const auto elements = static_cast<std::size_t>(product_.depth * product_.columns);
    const std::vector<float> weights(elements, 0.5F);
    const ProductWeights unpacked{weights.data(), product_.depth, product_.columns, product_.depth,
                                  1};
    if (narrow_) {
      narrow_weights_ =
          hwy::AllocateAligned<Bf16>(packed_narrow_product_size(product_.depth, product_.columns));
      pack_narrow_product(unpacked, narrow_weights_.get());
      product_.narrow_packed = narrow_weights_.get();
    } else {
      weights_ =
          hwy::AllocateAligned<float>(packed_product_floats(product_.depth, product_.columns));
      pack_product(unpacked, weights_.get());
      product_.packed = weights_.get();
    }
  }

  void chill() override {
    void* const from = memory_.input(bytes_of(product_.depth));
    if (narrow_) {
      product_.narrow_from = static_cast<const Bf16*>(from);
    } else {
      product_.from = static_cast<const float*>(from);
    }
    product_.to = static_cast<float*>(memory_.output(4 * count(product_.columns)));
  }

  void run() override { multiply(product_); }

  std::string implementation() const override {
    return narrow_ ? narrow_product_name() : product_name();
  }

 private:
  std::size_t count(std::int64_t columns) const {
    return static_cast<std::size_t>(product_.rows * columns);
  }
  std::size_t bytes_of(std::int64_t columns) const { return (narrow_ ? 2 : 4) * count(columns); }

  Product product_;
  bool narrow_;
  ReplayMemory& memory_;
  hwy::AlignedFreeUniquePtr<float[]> weights_{};
  hwy::AlignedFreeUniquePtr<Bf16[]> narrow_weights_{};
};

}  // namespace

std::unique_ptr<Replay> make_own_product_replay(const PrimitiveForm& form, ReplayMemory& memory) {
  if (form.tensors.count("src") == 0 || form.tensors.count("wei") == 0) {
    throw std::invalid_argument("a product without operands");
  }
  const TensorForm& src = form.tensors.at("src");
  const TensorForm& wei = form.tensors.at("wei");
  const bool narrow = src.type == "bf16";
  if (src.extents.size() != 2 || wei.extents.size() != 2 || src.extents[1] != wei.extents[0] ||
      (!narrow && src.type != "f32")) {
    throw std::invalid_argument("no product of ours");
  }
  if (narrow && (!has_narrow_products() || src.extents[1] % 2 != 0)) {
    throw std::invalid_argument("no kernel of ours for bf16 here");
  }
  const Product sizes{.rows = src.extents[0],
                      .depth = src.extents[1],
                      .columns = wei.extents[1],
                      .from_row = src.extents[1],
                      .to_row = wei.extents[1]};
  return std::make_unique<OwnProductReplay>(sizes, narrow, memory);
}

}  // namespace harness::kernels
