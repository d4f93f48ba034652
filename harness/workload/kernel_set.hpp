// Which implementation each operator takes.
#pragma once

#include <string>
#include <vector>

#include "harness/result/result_common.hpp"
#include "harness/workload/workload.hpp"

namespace harness {

/// `value` if it is among `known`; throws Error, naming the option and the nearest names, if not.
std::string choose_known(const char* option, const std::string& value,
                         const std::vector<std::string>& known);

/// Parses `reference`, `custom` or `OP=IMPL,OP=IMPL` against the operators of a workload. An
/// operator without the named set, or whose implementation cannot run on this machine, keeps
/// `reference`; asking for a set that no operator has or can run is an error, and so is asking for
/// a single implementation that cannot run here.
KernelSet parse_kernels(const std::string& text, const std::vector<OperatorInfo>& operators);

/// One violation for each operator or implementation in `kernels` that is not among `operators`;
/// `path` is where they stand.
std::vector<Violation> check_kernels(const KernelSet& kernels,
                                     const std::vector<OperatorInfo>& operators,
                                     const std::string& path);

}  // namespace harness
