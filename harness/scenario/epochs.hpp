// Training to a quality target: epochs, an evaluation after each, states saved on the way.
// Everything in it is on the clock, as MLPerf's rules have it.
#pragma once

#include <memory>

#include "harness/scenario/scenario.hpp"

namespace harness {

/// Its runs last until the target is reached, epochs or seconds run out, or a loss is not finite.
/// Asked to stop, they save the state: between steps, or within an evaluation, with which a resumed
/// run then begins.
std::unique_ptr<Scenario> epochs_scenario();

}  // namespace harness
