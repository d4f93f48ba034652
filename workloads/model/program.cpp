#include "workloads/model/program.hpp"

#include <c10/util/Exception.h>
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/import.h>

#include <sstream>
#include <stdexcept>
#include <string_view>

#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/text.hpp"

namespace harness::workloads {
namespace {

constexpr std::size_t kLargestProgram = std::size_t{16} << 30;
constexpr const char* kHowToSave =
    "torch.jit.script(model).save(FILE) or torch.jit.trace makes one";

void require_hash(const ProgramFile& program, const std::string& found) {
  if (found == program.sha256) return;
  throw Error(printable(program.file.string()),
              "is another file: its SHA-256 is " + found + ", not " + program.sha256,
              "nothing of it was run; mend the task file where this is the model you mean");
}

void add_outputs(const c10::IValue& value, const std::string& name, std::vector<Output>& outputs) {
  if (value.isTensor()) {
    outputs.push_back({name, value.toTensor()});
  } else if (value.isTuple()) {
    for (const c10::IValue& one : value.toTupleRef().elements()) add_outputs(one, "", outputs);
  } else if (value.isTensorList()) {
    for (const at::Tensor& one : value.toTensorVector()) outputs.push_back({"", one});
  } else if (value.isGenericDict()) {
    for (const auto& one : value.toGenericDict()) {
      add_outputs(one.value(), one.key().isString() ? one.key().toStringRef() : "", outputs);
    }
  } else {
    throw std::runtime_error("gives a " + value.tagKind() + ", not tensors");
  }
}

class TorchScript : public Program {
 public:
  TorchScript(const std::string& content, Script script) {
    std::istringstream stream(content);
    module_ = torch::jit::load(stream, at::kCPU);
    module_.eval();
    if (script != Script::kAsIs) module_ = torch::jit::freeze(module_);
    if (script == Script::kOptimized) module_ = torch::jit::optimize_for_inference(module_);
  }

  std::vector<Output> run(const std::vector<at::Tensor>& inputs) override {
    std::vector<Output> outputs;
    add_outputs(module_.forward({inputs.begin(), inputs.end()}), "", outputs);
    return outputs;
  }

  void set_training(bool trains) override { module_.train(trains); }

  std::vector<at::Tensor> parameters() const override {
    std::vector<at::Tensor> trained;
    for (const at::Tensor parameter : module_.parameters()) {
      if (parameter.requires_grad()) trained.push_back(parameter);
    }
    return trained;
  }

 private:
  torch::jit::Module module_{};
};

class AotInductor : public Program {
 public:
  explicit AotInductor(const std::string& file) : loader_(file) {}

  std::vector<Output> run(const std::vector<at::Tensor>& inputs) override {
    std::vector<Output> outputs;
    for (const at::Tensor& one : loader_.run(inputs)) outputs.push_back({"", one});
    return outputs;
  }

 private:
  torch::inductor::AOTIModelPackageLoader loader_;
};

}  // namespace

std::string what_a_model_says(const std::exception& error) {
  const auto* const of_torch = dynamic_cast<const c10::Error*>(&error);
  const std::string text = of_torch != nullptr ? of_torch->what_without_backtrace() : error.what();
  // Behind the trace through the model's code stands what was raised there.
  constexpr std::string_view kRaised = "Error: ";
  const std::size_t raised = text.rfind(kRaised);
  std::string line = raised == std::string::npos ? text : text.substr(raised + kRaised.size());
  line.erase(0, line.find_first_not_of(" \n"));
  return printable(line.substr(0, line.find('\n')), 400);
}

void require_program(const ProgramFile& program) {
  require_hash(program, sha256_of_file(program.file));
}

std::unique_ptr<Program> open_program(const ProgramFile& program, const std::string& format,
                                      Script script) {
  const std::string name = printable(program.file.string());
  const bool package = format == "aotinductor";
  // Held in memory from the hash on, so that what runs is what was hashed.
  const std::string content = package ? "" : read_file(program.file, kLargestProgram);
  require_hash(program, package ? sha256_of_file(program.file) : sha256_hex(content));
  try {
    if (package) return std::make_unique<AotInductor>(program.file.string());
    return std::make_unique<TorchScript>(content, script);
  } catch (const std::exception& error) {
    throw Error(name,
                std::string("is no ") + (package ? "package of AOTInductor" : "TorchScript") +
                    " that LibTorch can load: " + what_a_model_says(error),
                package ? "torch._inductor.aoti_compile_and_package makes one, for this machine"
                        : kHowToSave);
  }
}

}  // namespace harness::workloads
