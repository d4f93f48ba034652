#include "workloads/model/program.hpp"

#include <c10/util/Exception.h>
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/runtime/print_handler.h>
#include <torch/csrc/jit/serialization/import.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>
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

/// Standard output is the result's, or that of the protocol with a gate.
void print_to_standard_error() {
  torch::jit::setPrintHandler([](const std::string& text) {
    // It may do so at each of a million queries.
    static std::atomic<int> lines{0};
    constexpr int kMost = 20;
    for (const std::string& line : split(text, '\n')) {
      if (line.empty() || lines > kMost) continue;
      const bool last = ++lines > kMost;
      const std::string said = last ? "it prints more, which is not shown" : printable(line, 400);
      std::fprintf(stderr, "model: %s\n", said.c_str());
    }
  });
}

/// A file that nobody else can write, removed at the end.
class PrivateFile {
 public:
  explicit PrivateFile(const std::string& content) {
    std::string name = (std::filesystem::temp_directory_path() / "harness-XXXXXX.pt2").string();
    constexpr int kEnding = 4;
    const int file = ::mkstemps(name.data(), kEnding);
    if (file < 0) throw Error(printable(name), std::strerror(errno));
    ::close(file);
    path_ = name;
    std::ofstream out(path_, std::ios::binary);
    out << content << std::flush;
    if (out) return;
    remove();
    throw Error(printable(name), "cannot be written",
                "a package is copied there before it is loaded: make room, or set TMPDIR");
  }
  ~PrivateFile() { remove(); }
  PrivateFile(const PrivateFile&) = delete;
  PrivateFile& operator=(const PrivateFile&) = delete;

  std::string path() const { return path_.string(); }

 private:
  void remove() const {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }

  std::filesystem::path path_{};
};

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
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return reason(error);
  // Behind the trace through the model's code stands what was raised there, on a line of its own.
  std::string said = text;
  for (const std::string& line : split(text, '\n')) {
    const std::size_t colon = line.find(": ");
    const bool raised = colon != std::string::npos && line.substr(0, colon).ends_with("Error") &&
                        line.find(' ') == colon + 1;
    if (raised && colon + 2 < line.size()) said = line.substr(colon + 2);
  }
  said.erase(0, said.find_first_not_of(" \n"));
  if (said.starts_with("std::bad_alloc")) return reason(std::bad_alloc());
  return printable(said.empty() ? "no reason was given" : said.substr(0, said.find('\n')), 400);
}

void require_program(const ProgramFile& program) {
  require_hash(program, sha256_of_file(program.file));
}

std::unique_ptr<Program> open_program(const ProgramFile& program, const std::string& format,
                                      Script script) {
  const std::string name = printable(program.file.string());
  const bool package = format == "aotinductor";
  // Held in memory from the hash on, so that what runs is what was hashed.
  const std::string content = read_file(program.file, kLargestProgram);
  require_hash(program, sha256_hex(content));
  print_to_standard_error();
  try {
    // It computes on whatever lies where it expects its inputs, unless it is asked to look.
    ::setenv("AOTI_RUNTIME_CHECK_INPUTS", "1", 1);
    if (package) return std::make_unique<AotInductor>(PrivateFile(content).path());
    return std::make_unique<TorchScript>(content, script);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw Error(name,
                std::string("is no ") + (package ? "package of AOTInductor" : "TorchScript") +
                    " that LibTorch can load: " + what_a_model_says(error),
                package ? "torch._inductor.aoti_compile_and_package makes one, for this machine"
                        : kHowToSave);
  }
}

}  // namespace harness::workloads
