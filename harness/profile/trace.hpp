// A recording as a trace for Perfetto and Chrome: operators and primitives on one time line.
#pragma once

#include <ostream>

#include "harness/base/recording.hpp"

namespace harness {

/// Chrome's trace format (JSON object format, complete and counter events, microseconds since the
/// first step): a track of scopes, one of oneDNN's primitives and our kernels, one of memory in
/// use. Events of a track nest and none is negative, whatever the clocks of oneDNN's lines say.
/// Throws std::invalid_argument for a recording whose scopes do not nest.
void write_trace(const Recording& recording, std::ostream& stream);

}  // namespace harness
