// What it costs to get memory from the system and give it back.
#pragma once

namespace harness {

/// Seconds of wall time per page fault, when `threads` threads together touch newly mapped memory.
/// It is the median of several rounds of 128 MiB, less the time of touching the same memory again.
/// Throws Error when the system gives no memory or no thread.
double page_fault_seconds(int threads);

}  // namespace harness
