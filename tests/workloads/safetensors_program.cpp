// Our side of tests/oracle/safetensors_oracle.py: writes some tensors, or tells what a file holds.
#include <array>
#include <cstdint>
#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "harness/base/hash.hpp"
#include "workloads/checkpoint/safetensors.hpp"

namespace {

using namespace harness;             // NOLINT(google-build-using-namespace)
using namespace harness::workloads;  // NOLINT(google-build-using-namespace)

/// As the format names it.
std::string name_of(DType dtype) {
  const std::string name = dtype_name(dtype);
  if (name == "bool") return "BOOL";
  if (name == "bfloat16") return "BF16";
  return std::string(1, static_cast<char>(name[0] - 'a' + 'A')) +
         name.substr(name.find_first_of("0123456789"));
}

void tell(const char* path) {
  SafetensorsFile file(path);
  nlohmann::json tensors = nlohmann::json::object();
  for (std::size_t i = 0; i < file.header().tensors.size(); ++i) {
    const SafeTensor& tensor = file.header().tensors[i];
    std::string bytes(tensor.end - tensor.begin, '\0');
    file.read(i, bytes.data());
    tensors[tensor.name] = {
        {"dtype", name_of(tensor.dtype)}, {"shape", tensor.shape}, {"sha256", sha256_hex(bytes)}};
  }
  std::cout << nlohmann::json{{"metadata", file.header().metadata}, {"tensors", tensors}} << '\n';
}

void write(const char* path) {
  static constexpr std::array<float, 6> kFloats = {0, 0.5F, 1, 1.5F, 2, 2.5F};
  static constexpr std::array<std::int64_t, 2> kLongs = {INT64_MIN, 7};
  const auto bytes = [](const auto& values) {
    return std::string_view(reinterpret_cast<const char*>(values.data()), sizeof values);
  };
  write_safetensors(path, {{"format", "ours"}, {"quote", "a \"b\" \n"}},
                    {{"float32", DType::kFloat32, {2, 3}, 0, 0},
                     {"nothing", DType::kFloat64, {0, 4}, 0, 0},
                     {"int64", DType::kInt64, {2}, 0, 0}},
                    [&](std::size_t i) {
                      return i == 0 ? bytes(kFloats) : i == 1 ? std::string_view() : bytes(kLongs);
                    });
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::string_view command = argc == 3 ? argv[1] : "";
    if (command != "read" && command != "write") return 1;
    command == "read" ? tell(argv[2]) : write(argv[2]);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
