// A safetensors file: as a whole, as a container of weights, and tensor by tensor.
#include <cstdint>
#include <string>
#include <vector>

#include "harness/base/error.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "tests/fuzz/memory_file.hpp"
#include "workloads/checkpoint/safetensors.hpp"

namespace harness {
namespace {

using namespace workloads;  // NOLINT(google-build-using-namespace)

void read_all(std::string_view bytes) {
  const SafetensorsHeader header = read_safetensors_header(bytes, bytes.size());
  std::uint64_t end = 0;
  for (const SafeTensor& tensor : header.tensors) {
    promise(tensor.begin == end && tensor.end >= tensor.begin, "a gap, or an overlap");
    end = tensor.end;
  }
  promise(header.size + end == bytes.size(), "tensors that are not the whole file");
  const Contents contents = read_safetensors(bytes);
  for (const auto& [name, tensor] : contents.tensors) {
    promise_printable(name);
    if (!is_floating(tensor.dtype)) continue;
    std::vector<float> values(static_cast<std::size_t>(tensor.numel()));
    read_float32(tensor, contents.storages.at(tensor.storage), values);
  }
}

void read_one_by_one(std::string_view bytes) {
  const MemoryFile input(bytes);
  SafetensorsFile file(input.path());
  for (std::size_t i = 0; i < file.header().tensors.size(); ++i) {
    const SafeTensor& tensor = file.header().tensors[i];
    std::string elements(tensor.end - tensor.begin, '\0');
    file.read(i, elements.data());
    promise(elements == bytes.substr(file.header().size + tensor.begin, elements.size()),
            "elements from elsewhere");
  }
}

}  // namespace

void fuzz_safetensors(std::string_view bytes) {
  bool whole = false;
  try {
    read_all(bytes);
    whole = true;
  } catch (const BadFile& bad) {
    promise_printable(bad.what());
  }
  try {
    read_one_by_one(bytes);
  } catch (const Error& error) {
    promise(!whole, "one way reads what the other refuses");
    promise_printable(error.what());
  }
}

}  // namespace harness
