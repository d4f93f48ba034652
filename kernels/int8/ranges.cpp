#include "kernels/int8/ranges.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <vector>

namespace harness::kernels {
namespace {

thread_local Int8Ranges* calibrated = nullptr;
thread_local const Int8Ranges* computing = nullptr;

void widen(Range& range, const at::Tensor& values) {
  if (values.numel() == 0) return;
  const auto [low, high] = at::aminmax(values);
  const auto lowest = low.item<float>();
  const auto highest = high.item<float>();
  if (!std::isfinite(lowest) || !std::isfinite(highest)) {
    throw std::invalid_argument("int8: the model gives values that are not finite");
  }
  range.low = std::min(range.low, lowest);
  range.high = std::max(range.high, highest);
}

}  // namespace

void Int8Ranges::hold(const at::Tensor& weight, const at::Tensor& input, const at::Tensor& output) {
  const std::size_t next = layers_.size();
  Entry& entry = layers_.try_emplace(weight.unsafeGetTensorImpl(), Entry{next, {}}).first->second;
  widen(entry.ranges.input, input);
  widen(entry.ranges.output, output);
}

const LayerRanges& Int8Ranges::of(const at::Tensor& weight) const {
  const auto found = layers_.find(weight.unsafeGetTensorImpl());
  if (found == layers_.end()) {
    throw std::invalid_argument("int8: nobody measured what this layer's activations lie between");
  }
  return found->second.ranges;
}

std::string Int8Ranges::text() const {
  std::vector<const Entry*> in_order(layers_.size());
  for (const auto& [weight, entry] : layers_) in_order[entry.number] = &entry;
  std::string text;
  for (const Entry* entry : in_order) {
    for (const Range& range : {entry->ranges.input, entry->ranges.output}) {
      std::array<char, 64> line{};
      std::snprintf(line.data(), line.size(), "%a %a\n", static_cast<double>(range.low),
                    static_cast<double>(range.high));
      text += line.data();
    }
  }
  return text;
}

CalibrationScope::CalibrationScope(Int8Ranges& ranges) : before_(calibrated) {
  calibrated = &ranges;
}
CalibrationScope::~CalibrationScope() { calibrated = before_; }

Int8Scope::Int8Scope(const Int8Ranges* ranges) : before_(computing) {
  if (ranges != nullptr) computing = ranges;
}
Int8Scope::~Int8Scope() { computing = before_; }

Int8Ranges* calibrated_now() { return calibrated; }
const Int8Ranges* int8_now() { return computing; }

}  // namespace harness::kernels
