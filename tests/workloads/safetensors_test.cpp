// safetensors, written and read byte by byte; tests/oracle/safetensors_oracle.py has the package of
// the format's authors beside it.
#include "workloads/checkpoint/safetensors.hpp"

#include <catch2/catch.hpp>
#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/base/hash.hpp"
#include "tests/support/pickle_writer.hpp"
#include "tests/support/temporary_folder.hpp"
#include "workloads/checkpoint/tensor_file.hpp"

using namespace harness;             // NOLINT(google-build-using-namespace)
using namespace harness::workloads;  // NOLINT(google-build-using-namespace)
using Catch::Contains;

namespace {

std::string file_of(const std::string& header, const std::string& data = {}) {
  return little_endian(header.size(), 8) + header + data;
}

std::string why(const std::string& content) {
  try {
    read_safetensors_header(content, content.size());
  } catch (const BadFile& bad) {
    return bad.what();
  }
  return "read";
}

const std::string kGood = file_of(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                                  R"("b":{"dtype":"I8","shape":[],"data_offsets":[8,9]}})",
                                  raw_bytes(std::vector<float>{1, 2}) + "\x05");

}  // namespace

TEST_CASE("safetensors are read in the order in which they lie", "[weights]") {
  const SafetensorsHeader header = read_safetensors_header(kGood, kGood.size());
  REQUIRE(header.tensors.size() == 2);
  CHECK(header.tensors[0].name == "a");
  CHECK(header.tensors[0].shape == std::vector<std::int64_t>{2});
  CHECK(header.tensors[1].dtype == DType::kInt8);
  CHECK(header.tensors[1].begin == 8);
  CHECK(header.size + 9 == kGood.size());
  CHECK(read_safetensors_header(file_of("{}   "), 13).tensors.empty());
}

TEST_CASE("weights may be safetensors", "[weights]") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "w.safetensors";
  // Of bfloat16: 1, -2; names as DistributedDataParallel has them.
  write_bytes(path,
              file_of(R"({"__metadata__":{"format":"pt"},)"
                      R"("module.h":{"dtype":"BF16","shape":[1,2],"data_offsets":[0,4]},)"
                      R"("module.f":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
                      std::string("\x80\x3f\x00\xc0", 4) + raw_bytes(std::vector<float>{3, 4})));
  const TensorFile file = TensorFile::open(path);
  CHECK(file.format() == "safetensors");
  std::vector<float> values(2);
  file.read(file.tensors().at("h"), values);
  CHECK(values == std::vector<float>{1, -2});
  file.read(file.tensors().at("f"), values);
  CHECK(values == std::vector<float>{3, 4});
  CHECK(file.artifact().sha256 == sha256_of_file(path));
}

TEST_CASE("what is written is read back, tensor by tensor", "[weights]") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "w.safetensors";
  const std::vector<SafeTensor> tensors = {{"first", DType::kFloat32, {3}, 0, 0},
                                           {"none", DType::kFloat64, {0, 7}, 0, 0},
                                           {"second", DType::kInt64, {}, 0, 0}};
  const std::vector<std::string> bytes = {raw_bytes(std::vector<float>{1, 2, 3}), "",
                                          raw_bytes(std::vector<std::int64_t>{-9})};
  write_safetensors(path, {{"key", "a \"value\""}}, tensors,
                    [&](std::size_t i) { return std::string_view(bytes[i]); });
  SafetensorsFile file(path);
  CHECK(file.header().metadata.at("key") == "a \"value\"");
  CHECK(file.header().size % 8 == 0);
  REQUIRE(file.header().tensors.size() == 3);
  for (const std::size_t i : {std::size_t{2}, std::size_t{0}, std::size_t{1}}) {
    std::string found(bytes[i].size(), 'x');
    file.read(i, found.data());
    CHECK(found == bytes[i]);
  }
  CHECK_THROWS_AS(write_safetensors(path, {}, tensors, [](std::size_t) { return "short"; }),
                  std::invalid_argument);
  const std::vector<SafeTensor> twice = {tensors[1], tensors[1]};
  CHECK_THROWS_AS(write_safetensors(path, {}, twice, [](std::size_t) { return ""; }),
                  std::invalid_argument);
  CHECK_THROWS_WITH(write_safetensors(folder / "no" / "w", {}, {}, nullptr),
                    Contains("No such file"));
}

TEST_CASE("headers that do not hold are refused", "[weights]") {
  const auto one = [](const std::string& entry, const std::string& data = "12345678") {
    return why(file_of(R"({"a":)" + entry + "}", data));
  };
  CHECK(why(kGood) == "read");
  CHECK_THAT(why(""), Contains("is no safetensors file"));
  CHECK_THAT(why(little_endian(kMostHeader + 1, 8) + "{}"), Contains("is no safetensors file"));
  CHECK_THAT(why(little_endian(100, 8) + "{}"), Contains("is truncated"));
  CHECK_THAT(why(file_of("{\"a\":")), Contains("is no JSON"));
  CHECK_THAT(why(file_of(R"({"a":{},"a":{}})")), Contains("is no JSON"));
  CHECK_THAT(why(file_of(R"({"__metadata__":[]})")), Contains("metadata are no texts"));
  CHECK_THAT(why(file_of(R"({"__metadata__":{"a":1}})")), Contains("metadata are no texts"));
  CHECK_THAT(one("3"), Contains("described without"));
  CHECK_THAT(one(R"({"dtype":"F32","shape":[2]})"), Contains("described without"));
  CHECK_THAT(one(R"({"dtype":"F8_E5M2","shape":[8],"data_offsets":[0,8]})"),
             Contains("of type 'F8_E5M2'"));
  for (const char* shape : {"[-2]", "[2.0]", "[\"2\"]", "[9223372036854775808]"}) {
    CHECK_THAT(one(R"({"dtype":"F32","shape":)" + std::string(shape) + R"(,"data_offsets":[0,8]})"),
               Contains("has a shape that is none"));
  }
  for (const char* offsets : {"[0]", "[0,8,9]", "[-1,7]", "[0,\"8\"]"}) {
    CHECK_THAT(one(R"({"dtype":"F32","shape":[2],"data_offsets":)" + std::string(offsets) + "}"),
               Contains("has data_offsets that are none"));
  }
  for (const char* offsets : {"[0,7]", "[8,0]", "[0,9223372036854775807]"}) {
    CHECK_THAT(one(R"({"dtype":"F32","shape":[2],"data_offsets":)" + std::string(offsets) + "}"),
               Contains("more or fewer bytes than its shape"));
  }
  // Extents whose product no integer holds.
  CHECK_THAT(one(R"({"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]})"),
             Contains("more or fewer bytes"));
  CHECK_THAT(one(R"({"dtype":"I8","shape":[8],"data_offsets":[1,9]})"), Contains("behind a gap"));
  CHECK_THAT(one(R"({"dtype":"I8","shape":[4],"data_offsets":[0,4]})"),
             Contains("goes on behind the last tensor"));
  CHECK_THAT(one(R"({"dtype":"I8","shape":[9],"data_offsets":[0,9]})"), Contains("is truncated"));
  CHECK_THAT(one(R"({"dtype":"I8","shape":[6],"data_offsets":[0,6]},)"
                 R"("b":{"dtype":"I8","shape":[4],"data_offsets":[4,8]})"),
             Contains("lies over another"));
}

TEST_CASE("extents and names that are none do no harm", "[weights]") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "w.safetensors";
  const std::string most = std::to_string(INT64_MAX);
  write_bytes(path, file_of(R"({"a":{"dtype":"F32","shape":[)" + most + "," + most +
                            R"(,0],"data_offsets":[0,0]}})"));
  CHECK_THROWS_WITH(TensorFile::open(path), Contains("more than 2^31 elements"));
  write_bytes(path, file_of(R"({"a\u001b[2J":{"dtype":"I8","shape":[0],"data_offsets":[0,0]}})"));
  CHECK_THROWS_WITH(TensorFile::open(path), Contains("no plain name"));
}

TEST_CASE("safetensors cut anywhere are refused", "[weights]") {
  const TemporaryFolder folder;
  for (std::size_t size = 0; size < kGood.size(); ++size) {
    INFO("size " << size);
    CHECK(why(kGood.substr(0, size)) != "read");
    write_bytes(folder / "cut", kGood.substr(0, size));
    CHECK_THROWS_AS(SafetensorsFile(folder / "cut"), Error);
  }
  write_bytes(folder / "state",
              file_of(R"({"__metadata__":{"format":"harness-training-state/2"}})"));
  CHECK_THROWS_WITH(TensorFile::open(folder / "state"), Contains("saved state of a training"));
  CHECK_THROWS_WITH(SafetensorsFile(folder / "none"), Contains("does not exist"));
  CHECK_THROWS_WITH(SafetensorsFile(folder.path()), Contains("is not a regular file"));
}
