// The kinds of result that this program has.
#pragma once

namespace harness {

/// Makes all of them known; to be called before any result is read or written, once or more often.
void register_result_kinds();

}  // namespace harness
