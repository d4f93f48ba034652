#include "workloads/distributed/torch_ranks.hpp"

#include "harness/base/error.hpp"

namespace harness::workloads {

TorchRanks* torch_ranks(Ranks* ranks) {
  if (ranks == nullptr) return nullptr;
  auto* of_torch = dynamic_cast<TorchRanks*>(ranks);
  if (of_torch == nullptr)
    throw Error("--ranks", "the engine '" + ranks->engine() + "' adds up no tensors");
  return of_torch;
}

}  // namespace harness::workloads
