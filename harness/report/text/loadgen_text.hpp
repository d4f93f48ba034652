// What LoadGen says of a run, in a few lines.
#pragma once

#include <string>
#include <vector>

#include "harness/result/result.hpp"

namespace harness {

/// What LoadGen found, in words that are safe to print; what there is nothing of is empty.
struct LoadGenWords {
  std::string figure{};                ///< "4.10 ms", "none"
  std::string test{};                  ///< "1024 queries of 8 in 60.2 s"
  std::vector<std::string> reasons{};  ///< why its own test is not valid
  std::string latencies{};             ///< "p50 3.9 ms, p90 4.1 ms"
  std::string set_up{};                ///< what was chosen by measuring, and what that brought
  std::string audit{};                 ///< "TEST01 passed", "TEST04 FAILED: ..."
  bool audit_passed = false;
};

/// Precondition: LoadGen drove the run.
LoadGenWords loadgen_words(const Result& result);

/// "2 threads, batches of 8, bf16": what the run used.
std::string set_up_text(const Result& run);

/// Empty for a run that it did not drive.
std::string loadgen_text(const Result& result);

}  // namespace harness
