// A weights file as PyTorch saves it: container, pickle, tensors.
#include <vector>

#include "harness/base/error.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "tests/fuzz/memory_file.hpp"
#include "workloads/checkpoint/tensor_file.hpp"
#include "workloads/checkpoint/weights_match.hpp"

namespace harness {

void fuzz_weights(std::string_view bytes) {
  constexpr std::int64_t kMostElements = 1 << 16;
  const MemoryFile input(bytes);
  try {
    const workloads::TensorFile file = workloads::TensorFile::open(input.path());
    for (const auto& [name, tensor] : file.tensors()) {
      promise_printable(name);
      if (!workloads::is_floating(tensor.dtype) || tensor.numel() > kMostElements) continue;
      std::vector<float> values(static_cast<std::size_t>(tensor.numel()));
      file.read(tensor, values);
    }
    const std::vector<workloads::WeightSlot> slots = {{"a.weight", {2, 3}},
                                                      {"backbone.body.conv1.weight", {2}}};
    const workloads::WeightsMatch match = workloads::match_weights(file, slots);
    promise_printable(match.report.summary());
  } catch (const Error& error) {
    promise_printable(error.what());
  }
}

}  // namespace harness
