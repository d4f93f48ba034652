// Models of somebody else's, made by tests, with their tasks.
#pragma once

#include <ATen/ATen.h>
#include <torch/csrc/jit/api/module.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/hash.hpp"
#include "tests/support/files_of_runs.hpp"
#include "tests/support/process.hpp"
#include "tests/support/profile_of_null.hpp"
#include "tests/support/temporary_folder.hpp"
#include "workloads/checkpoint/safetensors.hpp"

namespace harness {

/// (N, 1, 8, 8) to (N, 4), with weights.
inline constexpr const char* kLinear = R"(
def forward(self, x):
    return x.flatten(1) @ self.weight + self.bias
)";

inline void save_model(const std::filesystem::path& file, const std::string& code = kLinear) {
  torch::jit::Module net("Net");
  at::manual_seed(3);
  net.register_parameter("weight", at::randn({64, 4}), false);
  net.register_parameter("bias", at::randn({4}), false);
  net.define(code + "\n");
  net.save(file.string());
}

inline nlohmann::json task_of(const std::filesystem::path& file) {
  return {{"summary", "Four numbers of a small picture."},
          {"model",
           {{"file", file.filename().string()},
            {"sha256", sha256_of_file(file)},
            {"inputs", {{{"shape", {1, 8, 8}}}}},
            {"outputs", {{4}}},
            {"samples", {{"drawn", 50}}}}}};
}

/// A model, its task beside it, and runs of a few queries.
class OwnModelRun {
 public:
  explicit OwnModelRun(const std::string& code = kLinear) {
    save_model(folder_ / "net.pt", code);
    task = task_of(folder_ / "net.pt");
  }

  /// The task as it now is.
  std::string task_file() const {
    std::ofstream(folder_ / "task.json") << task;
    return (folder_ / "task.json").string();
  }
  Outcome run(const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments{"run", "--task", task_file(),   "--threads",
                                       "1",   "--out",  out().string()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_harness(arguments);
  }
  Outcome steps(const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments{"--steps", "4"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }
  /// What it says, in one line, where it ends with `code`.
  ErrorParts refusal(int code = 1, const std::vector<std::string>& more = {}) {
    return refusal_in(steps(more), code);
  }
  /// Is refused for what is wrong with the model itself: says so, and names `what`.
  void check_refused(const std::string& what) {
    const ErrorParts found = refusal();
    CAPTURE(found);
    CHECK(found.about == "model net.pt");
    CHECK(found.names(what));
  }
  nlohmann::json result() const { return read_json(only_file(out(), ".json")); }
  std::filesystem::path out() const { return folder_ / "out"; }
  std::filesystem::path operator/(const char* name) const { return folder_ / name; }

  nlohmann::json task{};

 private:
  TemporaryFolder folder_;
};

inline void write_tensors(const std::filesystem::path& file,
                          const std::vector<workloads::SafeTensor>& tensors,
                          const std::vector<at::Tensor>& values) {
  workloads::write_safetensors(file, {}, tensors, [&](std::size_t i) {
    return std::string_view(static_cast<const char*>(values[i].const_data_ptr()),
                            values[i].nbytes());
  });
}

}  // namespace harness
