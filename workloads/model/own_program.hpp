// A model in the hands of a workload: watched, and held to what its task says.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Allocator.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "harness/workload/workload.hpp"
#include "workloads/model/guard.hpp"
#include "workloads/model/program.hpp"

namespace harness::workloads {

/// What the task file says. Throws Error, with what to do, where there is none.
const ModelTask& task_of(const WorkloadContext& context);

/// Bytes of what the model gets for one sample, all inputs together.
double input_bytes(const ModelTask& task);
/// Of the program's file.
double program_bytes(const ModelTask& task);
/// Of the samples' file, where there is one: it is held in memory.
double held_bytes(const ModelTask& task);

class OwnProgram {
 public:
  /// `context`, whose allocator and threads are in use, outlives this. Throws Error as
  /// open_program() does.
  OwnProgram(const WorkloadContext& context, const ProgramFile& file, const std::string& format,
             Script script);

  /// The file's name, safe to print.
  const std::string& name() const { return name_; }
  /// Throws Error for what the model says, and where it left other threads or another allocator
  /// behind. Gives the run up where it does not come back.
  std::vector<Output> run(const std::vector<at::Tensor>& inputs);
  /// The same with inputs that are used again: throws Error also where the first call changes them.
  std::vector<Output> answer(const std::vector<at::Tensor>& inputs);
  /// Does `work`, which runs code of the model, under the same watch. `samples`: that it is about.
  void watch(std::int64_t samples, const std::function<void()>& work);
  /// Throws Error where there is nothing to train.
  std::vector<at::Tensor> trained_parameters() const;
  void set_training(bool trains) { program_->set_training(trains); }
  /// Throws Error that the model does `what`.
  [[noreturn]] void refuse(const std::string& what) const;

 private:
  /// Throws Error where the process is no longer as it was asked for.
  void require_settings() const;

  const WorkloadContext& context_;
  std::string name_;
  Guard guard_;
  const c10::Allocator* allocator_;
  std::unique_ptr<Program> program_;
  bool answered_ = false;
};

}  // namespace harness::workloads
