#include "workloads/model/own_program.hpp"

#include <ATen/Context.h>
#include <filesystem>
#include <system_error>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"
#include "kernels/runtime/threads.hpp"
#include "workloads/model/scores.hpp"

namespace harness::workloads {
namespace {

namespace fs = std::filesystem;

constexpr double kLoadingTakes = 10;  // times what an answer may

double bytes_of(const fs::path& file) {
  std::error_code failed;
  const auto size = fs::file_size(file, failed);
  return failed ? 0 : static_cast<double>(size);
}

}  // namespace

const ModelTask& task_of(const WorkloadContext& context) {
  if (context.model) return *context.model;
  throw Error("this workload", "runs a model of your own, which a task file describes",
              "--task FILE; docs/tasks.md has one of ten lines");
}

double input_bytes(const ModelTask& task) {
  double bytes = 0;
  for (const ModelInput& input : task.inputs) {
    const double each = input.type == "float32" ? 4 : input.type == "int64" ? 8 : 1;
    bytes += each * static_cast<double>(values_of(input.shape));
  }
  return bytes;
}

double file_bytes(const ModelTask& task) {
  return 2 * bytes_of(task.program.file) + bytes_of(task.samples.tensors);
}

OwnProgram::OwnProgram(const WorkloadContext& context, const ProgramFile& file,
                       const std::string& format, Script script)
    : context_(context),
      name_(printable(file.file.filename().string())),
      guard_("model " + name_, context.give_up) {
  {
    const Guard::Call call(guard_, kLoadingTakes * task_of(context).query_seconds);
    program_ = open_program(file, format, script);
  }
  allocator_ = at::getCPUAllocator();
}

std::vector<Output> OwnProgram::run(const std::vector<at::Tensor>& inputs) {
  std::vector<Output> outputs;
  try {
    const Guard::Call call(guard_, task_of(context_).query_seconds);
    outputs = program_->run(inputs);
  } catch (const std::exception& error) {
    throw Error("model " + name_, "failed: " + what_a_model_says(error));
  }
  // What was asked for is measured, or nothing.
  if (const int threads = kernels::threads(); threads != context_.threads) {
    refuse("set the number of threads to " + std::to_string(threads) + ", the run is with " +
           std::to_string(context_.threads));
  }
  if (at::getCPUAllocator() != allocator_) refuse("put another allocator behind LibTorch");
  return outputs;
}

std::vector<at::Tensor> OwnProgram::trained_parameters() const {
  std::vector<at::Tensor> trained = program_->parameters();
  if (trained.empty()) refuse("has no parameter that asks for a gradient");
  return trained;
}

void OwnProgram::refuse(const std::string& what) const {
  throw Error("model " + name_, what, "mend the model or its task");
}

}  // namespace harness::workloads
