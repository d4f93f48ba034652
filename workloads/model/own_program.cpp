#include "workloads/model/own_program.hpp"

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <algorithm>
#include <filesystem>
#include <system_error>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"
#include "kernels/runtime/threads.hpp"
#include "workloads/model/scores.hpp"

namespace harness::workloads {
namespace {

namespace fs = std::filesystem;

constexpr double kLoadingSeconds = 600;

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

double program_bytes(const ModelTask& task) { return bytes_of(task.program.file); }

double held_bytes(const ModelTask& task) { return bytes_of(task.samples.tensors); }

OwnProgram::OwnProgram(const WorkloadContext& context, const ProgramFile& file,
                       const std::string& format, Script script)
    : context_(context),
      name_(printable(file.file.filename().string())),
      guard_("model " + name_, context.give_up, context.seconds_worked),
      allocator_(at::getCPUAllocator()) {
  {
    const Guard::Call call(guard_, kLoadingSeconds, "it was not loaded within");
    program_ = open_program(file, format, script);
  }
  require_settings();
}

std::vector<Output> OwnProgram::run(const std::vector<at::Tensor>& inputs) {
  std::vector<Output> outputs;
  watch(inputs.front().size(0), [&] { outputs = program_->run(inputs); });
  return outputs;
}

std::vector<Output> OwnProgram::answer(const std::vector<at::Tensor>& inputs) {
  if (answered_) return run(inputs);
  std::vector<at::Tensor> kept;
  for (const at::Tensor& input : inputs) kept.push_back(input.clone());
  std::vector<Output> outputs = run(inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (at::equal(inputs[i], kept[i])) continue;
    refuse("changes what it was asked, its input " + std::to_string(i) +
           ", which is asked again; let it work on a copy");
  }
  answered_ = true;
  return outputs;
}

void OwnProgram::watch(std::int64_t samples, const std::function<void()>& work) {
  // For the quality more samples are asked at once than in a query.
  const std::int64_t queries = (samples + context_.batch_size - 1) / context_.batch_size;
  try {
    const Guard::Call call(
        guard_,
        task_of(context_).query_seconds * static_cast<double>(std::max<std::int64_t>(1, queries)),
        "no answer within the query_seconds of its task,");
    work();
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw Error("model " + name_, "failed: " + what_a_model_says(error));
  }
  require_settings();
}

void OwnProgram::require_settings() const {
  // What was asked for is measured, or nothing.
  if (const int threads = kernels::threads(); threads != context_.threads) {
    refuse("set the number of threads to " + std::to_string(threads) + ", the run is with " +
           std::to_string(context_.threads));
  }
  if (at::getCPUAllocator() != allocator_) refuse("put another allocator behind LibTorch");
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
