// A number of steps, one after another, each timed on its own.
#pragma once

#include <memory>

#include "harness/scenario/scenario.hpp"

namespace harness {

std::unique_ptr<Scenario> steps_scenario();

}  // namespace harness
