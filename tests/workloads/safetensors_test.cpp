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
#include "tests/support/refusal.hpp"
#include "tests/support/temporary_folder.hpp"
#include "workloads/checkpoint/tensor_file.hpp"

using namespace harness;             // NOLINT(google-build-using-namespace)
using namespace harness::workloads;  // NOLINT(google-build-using-namespace)

namespace {

namespace trouble = safetensors_trouble;

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
  CHECK(refused([&] { write_safetensors(folder / "no" / "w", {}, {}, nullptr); }) ==
        (folder / "no" / "w").string());
}

TEST_CASE("headers that do not hold are refused", "[weights]") {
  const auto one = [](const std::string& entry, const std::string& data = "12345678") {
    return why(file_of(R"({"a":)" + entry + "}", data));
  };
  CHECK(why(kGood) == "read");
  const std::string most = little_endian(kMostHeader + 1, 8) + "{}";
  for (const std::string& content : {std::string(), most})
    CHECK(why(content) == trouble::kOtherKind);
  CHECK(why(little_endian(100, 8) + "{}") == trouble::kTruncated);
  for (const char* header : {"{\"a\":", R"({"a":{},"a":{}})"}) {
    CHECK_THAT(why(file_of(header)), Catch::StartsWith(trouble::kNoJson));
  }
  for (const char* metadata : {"[]", R"({"a":1})"}) {
    CHECK(why(file_of(R"({"__metadata__":)" + std::string(metadata) + "}")) == trouble::kNoTexts);
  }
  CHECK_THAT(one(R"({"dtype":"F8_E5M2","shape":[8],"data_offsets":[0,8]})"),
             Catch::Contains("'a' of type 'F8_E5M2'"));
  const auto shaped = [](const char* shape, const char* offsets) {
    return std::string(R"({"dtype":"F32","shape":)") + shape + R"(,"data_offsets":)" + offsets +
           "}";
  };
  const std::vector<std::pair<std::string, const char*>> entries = {
      {"3", trouble::kUndescribed},
      {R"({"dtype":"F32","shape":[2]})", trouble::kUndescribed},
      {shaped("[-2]", "[0,8]"), trouble::kNoShape},
      {shaped("[2.0]", "[0,8]"), trouble::kNoShape},
      {shaped("[\"2\"]", "[0,8]"), trouble::kNoShape},
      {shaped("[9223372036854775808]", "[0,8]"), trouble::kNoShape},
      {shaped("[2]", "[0]"), trouble::kNoOffsets},
      {shaped("[2]", "[0,8,9]"), trouble::kNoOffsets},
      {shaped("[2]", "[-1,7]"), trouble::kNoOffsets},
      {shaped("[2]", "[0,\"8\"]"), trouble::kNoOffsets},
      {shaped("[2]", "[0,7]"), trouble::kOtherBytes},
      {shaped("[2]", "[8,0]"), trouble::kOtherBytes},
      {shaped("[2]", "[0,9223372036854775807]"), trouble::kOtherBytes},
      // Extents whose product no integer holds.
      {shaped("[4294967296,4294967296]", "[0,0]"), trouble::kOtherBytes},
      {R"({"dtype":"I8","shape":[8],"data_offsets":[1,9]})", trouble::kBehindGap}};
  for (const auto& [entry, trouble] : entries) {
    CAPTURE(entry);
    CHECK(one(entry) == std::string("is damaged: tensor 'a' ") + trouble);
  }
  CHECK(one(R"({"dtype":"I8","shape":[4],"data_offsets":[0,4]})") == trouble::kGoesOn);
  CHECK(one(R"({"dtype":"I8","shape":[9],"data_offsets":[0,9]})") == trouble::kTruncated);
  CHECK(one(R"({"dtype":"I8","shape":[6],"data_offsets":[0,6]},)"
            R"("b":{"dtype":"I8","shape":[4],"data_offsets":[4,8]})") ==
        std::string("is damaged: tensor 'b' ") + trouble::kOverAnother);
}

TEST_CASE("extents and names that are none do no harm", "[weights]") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "w.safetensors";
  const std::string most = std::to_string(INT64_MAX);
  write_bytes(path, file_of(R"({"a":{"dtype":"F32","shape":[)" + most + "," + most +
                            R"(,0],"data_offsets":[0,0]}})"));
  CHECK(refusal_of([&] { TensorFile::open(path); }).names("2^31 elements"));
  write_bytes(path, file_of(R"({"a\u001b[2J":{"dtype":"I8","shape":[0],"data_offsets":[0,0]}})"));
  CHECK(refusal_of([&] { TensorFile::open(path); }).names("a\\x1b[2J"));
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
  CHECK(refusal_of([&] { TensorFile::open(folder / "state"); }).names("--resume"));
  for (const auto& [path, why] : {std::pair{folder / "none", "does not exist"},
                                  std::pair{folder.path(), "is not a regular file"}}) {
    const ErrorParts refusal = refusal_of([&] { SafetensorsFile file(path); });
    CHECK(refusal.about == path.string());
    CHECK(refusal.why == why);
  }
}
