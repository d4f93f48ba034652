// What kernel_bench measures: an operator with its inputs in place, and the list of all of them.
#pragma once

#include <ATen/ATen.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/registry.hpp"

namespace harness::kernels::bench {

class Case {
 public:
  Case() = default;
  virtual ~Case() = default;
  Case(const Case&) = delete;
  Case& operator=(const Case&) = delete;

  /// One call as a training step makes it: forward, and backward where there is one.
  virtual void run() = 0;
  /// All that the last run() computed, gradients included: to be compared with the reference's.
  virtual std::vector<at::Tensor> results() const = 0;
};

/// An operator at one shape and precision.
struct CaseInfo {
  const OperatorBase* op = nullptr;
  std::string shape{};  ///< "120087x264"
  std::string precision = "fp32";
  bool typical = true;   ///< runs without --benchmark_filter
  double flops = 0;      ///< of one run(), a multiply-add counted as two; 0: not worth counting
  double bytes = 0;      ///< that have to move: each input read once, each result written once
  double tolerance = 0;  ///< of each result against the reference's, see difference()
  /// Inputs are the same at each call. Throws std::invalid_argument for what cannot run here.
  std::function<std::unique_ptr<Case>(const std::string& implementation)> make{};
};

/// One function for each operator, in a file of its own.
std::vector<CaseInfo> box_loss_cases();
std::vector<CaseInfo> conv_block_cases();
std::vector<CaseInfo> conv_chain_cases();
std::vector<CaseInfo> encoder_cases();
std::vector<CaseInfo> focal_loss_cases();
std::vector<CaseInfo> matcher_cases();
std::vector<CaseInfo> optimizer_cases();

/// All of these.
std::vector<CaseInfo> all_cases();

/// Empty when each tensor is as expected: |actual - expected| <= tolerance * |expected| in the
/// Euclidean norm, NaN never. Otherwise the first that is not, in words. Types may differ: under
/// autocast the reference's frozen norm widens bf16 to float32, which others need not do.
std::string difference(const std::vector<at::Tensor>& expected,
                       const std::vector<at::Tensor>& actual, double tolerance);

}  // namespace harness::kernels::bench
