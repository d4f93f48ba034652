// The choices of kernels/convolution/ as the instrument knows them.
#pragma once

#include <memory>
#include <vector>

#include "harness/workload/capabilities.hpp"
#include "kernels/replay/replay.hpp"

namespace harness::workloads {

/// Kernels that follow a table follow this one from here on. Throws Error where it names kernels
/// that there are not.
void use_tuning(const TuningTable& table);

/// For the threads that the process has.
std::unique_ptr<KernelCandidates> make_candidates(kernels::CandidateUse use,
                                                  const ReplaySizes& sizes);

/// Of all convolutions that ran since the program began.
std::vector<KernelChoice> kernel_choices();

}  // namespace harness::workloads
