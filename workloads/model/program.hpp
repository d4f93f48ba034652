// A model that somebody else made, as a program that runs.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <vector>

#include "harness/workload/workload.hpp"

namespace harness::workloads {

/// How TorchScript is made ready; a package of AOTInductor is compiled already.
enum class Script {
  kAsIs,       ///< the only one that can be trained
  kFrozen,     ///< weights and attributes become constants of the code
  kOptimized,  ///< frozen, then LibTorch's optimize_for_inference
};

/// One of the tensors that a model gives.
struct Output {
  std::string name{};  ///< in a dictionary; else empty
  at::Tensor value{};
};

class Program {
 public:
  virtual ~Program() = default;
  /// All that the model gives: a tensor, or a tuple, list or dictionary of them, in its order.
  /// `inputs` are contiguous. Throws what LibTorch throws.
  virtual std::vector<Output> run(const std::vector<at::Tensor>& inputs) = 0;
  /// Those that ask for a gradient. Empty where it cannot be trained.
  virtual std::vector<at::Tensor> parameters() const { return {}; }
  /// Whether it runs as in training from here on; it does not at first.
  virtual void set_training(bool /*trains*/) {}
};

/// Throws Error, naming the file, where it is not the one that the task means.
void require_program(const ProgramFile& program);

/// Reads and hashes the file, and loads what was read where that is the hash it has to have. What
/// TorchScript prints goes to standard error. Throws Error, naming the file, where it is not, and
/// for what is no program of this format.
std::unique_ptr<Program> open_program(const ProgramFile& program, const std::string& format,
                                      Script script);

/// What went wrong in LibTorch or a model, in one line without a trace; never empty.
std::string what_a_model_says(const std::exception& error);

}  // namespace harness::workloads
