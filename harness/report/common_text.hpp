// Text that the summaries of all kinds of results have in common.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/result/result_common.hpp"

namespace harness {

/// "batch 1 · fp32 · kernels custom · allocator pooled · threads 2", safe to print.
std::string set_up_text(const Settings& settings, const KernelSet& kernels);

/// The data's name and, where there are any, the boxes that were changed; empty without data.
std::string data_text(const std::optional<Artifact>& data);

/// "92.1 % of the measured peak", said to be effective where fewer multiplications were done than
/// the FLOPs stand for; why that is not known; safe to print.
std::string achieved_text(const CostReport& cost);

/// Whether it says that something has not come to its end, which breaks no rule.
bool is_incomplete(const Violation& violation);

/// In one sentence, safe to print.
std::string violation_text(const Violation& violation);

/// Each reason for mistrust, with what to do about it where the advice has that; safe to print.
std::vector<std::string> mistrust_texts(const Status& status);

/// The advice that no reason for mistrust has given, safe to print.
std::vector<std::string> advice_texts(const Status& status);

/// Departures from the rules, status with its reasons, and the notice that every report ends with.
std::string closing_text(const ResultCommon& result);

}  // namespace harness
