// Which step, phase, module and operator each scope of a recording belongs to.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/base/recording.hpp"

namespace harness {

/// Where each scope belongs; by index of Recording::scopes.
struct Attribution {
  std::vector<std::int64_t> step{};     ///< index of the step's scope; -1: outside of all
  std::vector<std::int64_t> phase{};    ///< index of the phase's scope; -1: none
  std::vector<std::string> module{};    ///< also of backward operators
  std::vector<bool> backward{};         ///< inherited from the autograd node around it
  std::vector<std::int64_t> forward{};  ///< of a backward node: index of its forward operator; -1
  std::vector<std::int64_t>
      operators{};  ///< the innermost operator or kernel: itself or around it; -1
  std::vector<std::int64_t> self_ns{};  ///< without the scopes inside
  std::vector<std::int64_t> self_faults{};
  std::vector<std::int64_t> self_system_ns{};  ///< of the thread that runs the steps
};
/// Takes a step out that did not come to its end. What its log says belongs to no step then.
void drop_last_step(Recording& recording);
/// Throws std::invalid_argument for a recording whose scopes do not nest.
Attribution attribute(const Recording& recording);

}  // namespace harness
