// What it costs to get memory from the system and give it back.
#pragma once

namespace harness {

/// Seconds of wall time per page fault, when `threads` threads together touch memory that was just
/// mapped and that is unmapped again: the median of several rounds of 128 MiB, less what touching
/// the same memory costs once it is there. Throws Error when the system gives no
/// memory or no thread.
double page_fault_seconds(int threads);

}  // namespace harness
