// Reading sound weights files, written byte by byte here.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "harness/base/hash.hpp"
#include "tests/support/pickle_writer.hpp"
#include "tests/support/temporary_folder.hpp"
#include "workloads/checkpoint/tensor_file.hpp"

using namespace harness;             // NOLINT(google-build-using-namespace)
using namespace harness::workloads;  // NOLINT(google-build-using-namespace)

namespace {

std::vector<float> values_of(const TensorFile& file, const std::string& name) {
  const FileTensor& tensor = file.tensors().at(name);
  std::vector<float> values(static_cast<std::size_t>(tensor.numel()));
  file.read(tensor, values);
  return values;
}

using Floats = std::vector<float>;

const std::vector<PickledTensor> kTensors = {
    {"a.weight", "FloatStorage", "0", 6, 0, {2, 3}, {}},
    {"a.transposed", "FloatStorage", "0", 6, 0, {3, 2}, {1, 3}},
    {"a.column", "FloatStorage", "0", 6, 1, {2}, {3}},
    {"a.expanded", "FloatStorage", "0", 6, 5, {2, 2}, {0, 0}},
    {"b.double", "DoubleStorage", "1", 2, 0, {2}, {}},
    {"scalar", "LongStorage", "2", 1, 0, {}, {}},
    {"nothing", "FloatStorage", "0", 6, 0, {0, 4}, {}},
};
const std::vector<float> kFloats = {0, 1, 2, 3, 4, 5};
// 1 + 2^-24 lies halfway between two floats; even is 1. 1 + 3 * 2^-24 rounds up to even.
const std::vector<double> kDoubles = {1 + 0x1p-24, 1 + 3 * 0x1p-24};
const std::vector<std::int64_t> kLongs = {7};

void check_tensors(const TensorFile& file) {
  CHECK(file.tensors().size() == kTensors.size());
  CHECK(values_of(file, "a.weight") == kFloats);
  CHECK(values_of(file, "a.transposed") == Floats{0, 3, 1, 4, 2, 5});
  CHECK(values_of(file, "a.column") == Floats{1, 4});
  CHECK(values_of(file, "a.expanded") == Floats{5, 5, 5, 5});
  CHECK(values_of(file, "b.double") == Floats{1.0F, 1 + 0x1p-22F});
  CHECK(values_of(file, "nothing").empty());
  CHECK(file.tensors().at("scalar").dtype == DType::kInt64);
  CHECK(file.tensors().at("scalar").numel() == 1);
  // Four views of one storage are held once.
  CHECK(file.tensors().at("a.weight").storage == file.tensors().at("a.column").storage);
}

}  // namespace

TEST_CASE("the zip format is read, stored or deflated", "[weights]") {
  const TemporaryFolder folder;
  const std::string pickle = PickleWriter().state_dict(kTensors).done();
  for (const bool deflate : {false, true}) {
    write_zip_weights(folder / "w.pth", pickle,
                      {raw_bytes(kFloats), raw_bytes(kDoubles), raw_bytes(kLongs)}, deflate);
    const TensorFile file = TensorFile::open(folder / "w.pth");
    CHECK(file.format() == "PyTorch zip");
    check_tensors(file);
  }
}

TEST_CASE("the old format is read", "[weights]") {
  const TemporaryFolder folder;
  const std::string pickle = PickleWriter(true).state_dict(kTensors).done();
  // Storages follow in the order of the key list, not of the tensors.
  write_bytes(folder / "w.pth", legacy_head() + pickle +
                                    legacy_tail({{"2", 1, raw_bytes(kLongs)},
                                                 {"0", 6, raw_bytes(kFloats)},
                                                 {"1", 2, raw_bytes(kDoubles)}}));
  TensorFile opened = TensorFile::open(folder / "w.pth");
  // Moving keeps the bytes that tensors point to.
  const TensorFile file = std::move(opened);
  CHECK(file.format() == "PyTorch legacy");
  check_tensors(file);
  CHECK(file.artifact().source == (folder / "w.pth").string());
  CHECK(file.artifact().sha256 == sha256_of_file(folder / "w.pth"));
  CHECK(file.artifact().details.at("tensors") == "7");
}

TEST_CASE("half and bfloat16 widen exactly, subnormals and infinities included", "[weights]") {
  const TemporaryFolder folder;
  const std::vector<std::uint16_t> half = {0x3c00, 0xc000, 0x0001, 0x8000, 0x7c00, 0x7bff, 0x7e00};
  const std::vector<std::uint16_t> brain = {0x3f80, 0xc000, 0x0001, 0x7f80, 0x4049};
  write_zip_weights(folder / "w.pth",
                    PickleWriter()
                        .state_dict({{"h", "HalfStorage", "0", 7, 0, {7}, {}},
                                     {"b", "BFloat16Storage", "1", 5, 0, {5}, {}}})
                        .done(),
                    {raw_bytes(half), raw_bytes(brain)});
  const TensorFile file = TensorFile::open(folder / "w.pth");
  const Floats h = values_of(file, "h");
  CHECK(Floats(h.begin(), h.begin() + 3) == Floats{1, -2, 0x1p-24F});
  CHECK(std::signbit(h[3]));
  CHECK(h[4] == std::numeric_limits<float>::infinity());
  CHECK(h[5] == 65504);
  CHECK(std::isnan(h[6]));
  CHECK(values_of(file, "b") ==
        Floats{1, -2, 0x1p-133F, std::numeric_limits<float>::infinity(), 3.140625F});
}

TEST_CASE("a training checkpoint gives its model and the rest is read over", "[weights]") {
  const TemporaryFolder folder;
  const PickledTensor weight = {"module.w", "FloatStorage", "0", 2, 0, {2}, {}};
  for (const char* key : {"model", "state_dict"}) {
    PickleWriter writer;
    writer.raw("}(").text("epoch").raw("K\x03").text("args").global("argparse", "Namespace");
    writer.raw(")\x81}").text("lr").raw("Nsb").text("optimizer").raw("}(").text("state");
    writer.raw("}K\x01}").text("step").tensor({"", "FloatStorage", "1", 1, 0, {}, {}}).raw("ss");
    writer.text("param_groups").raw("]}(").text("lr").raw("G\x3f\xb9\x99\x99\x99\x99\x99\x9a");
    writer.text("params").raw(
        "](K\x01K\x02"
        "eua"
        "u");
    writer.text(key).state_dict({weight}).raw("u");
    write_zip_weights(folder / "w.pth", writer.done(), {raw_bytes(Floats{3, 4})});
    const TensorFile file = TensorFile::open(folder / "w.pth");
    // The optimiser's storage is not even there: it is never looked for.
    CHECK(file.tensors().size() == 1);
    CHECK(values_of(file, "w") == Floats{3, 4});
  }
}

TEST_CASE("the DataParallel prefix goes only when every name has it", "[weights]") {
  const TemporaryFolder folder;
  PickledTensor one = {"module.a", "FloatStorage", "0", 1, 0, {1}, {}};
  PickledTensor two = one;
  two.name = "b";
  write_zip_weights(folder / "w.pth", PickleWriter().state_dict({one, two}).done(),
                    {raw_bytes(Floats{1})});
  CHECK(TensorFile::open(folder / "w.pth").tensors().contains("module.a"));
}

TEST_CASE("files of Python 2 and of protocol 4 are read", "[weights]") {
  const TemporaryFolder folder;
  const auto short_text = [](std::string_view s) {
    return "U" + little_endian(s.size(), 1) + std::string(s);
  };
  const std::string tensor =
      PickleWriter().tensor({"", "FloatStorage", "0", 1, 0, {1}, {}}).done().substr(2);
  const std::string value = tensor.substr(0, tensor.size() - 1);
  // OrderedDict([["w", tensor]]), names as byte strings.
  const std::string list = "]" + short_text("w") + "a" + value + "a";
  const std::string python2 =
      PickleWriter().global("collections", "OrderedDict").raw("(]" + list + "atR").done();
  write_zip_weights(folder / "w.pth", python2, {raw_bytes(Floats{9})});
  CHECK(values_of(TensorFile::open(folder / "w.pth"), "w") == Floats{9});

  // FRAME, SHORT_BINUNICODE, MEMOIZE, STACK_GLOBAL; the key comes back from the memo.
  const auto unicode = [](std::string_view s) {
    return "\x8c" + little_endian(s.size(), 1) + std::string(s) + "\x94";
  };
  const std::string dict = std::string("\x80\x04\x95") + little_endian(1, 8) + "}" + unicode("w") +
                           value + "s" + "\x94.";
  write_zip_weights(folder / "w.pth", dict, {raw_bytes(Floats{8})});
  CHECK(values_of(TensorFile::open(folder / "w.pth"), "w") == Floats{8});
  const std::string stacked = std::string("\x80\x04") + unicode("collections") +
                              unicode("OrderedDict") + "\x93)R" + unicode("w") + value + "s.";
  write_zip_weights(folder / "w.pth", stacked, {raw_bytes(Floats{7})});
  CHECK(values_of(TensorFile::open(folder / "w.pth"), "w") == Floats{7});
}

TEST_CASE("a view of a storage in an old file begins at its own offset", "[weights]") {
  const TemporaryFolder folder;
  PickleWriter writer(true);
  writer.raw("}").text("w").global("torch._utils", "_rebuild_tensor").raw("((").text("storage");
  writer.global("torch", "FloatStorage").text("5").text("cuda:0").integer(6);
  // View "6": four elements from the second on; the tensor takes two of them from its third on.
  writer.raw("(").text("6").integer(1).integer(4).raw("ttQ");
  writer.integer(2).integers({2}).integers({1}).raw("tRs");
  write_bytes(folder / "w.pth",
              legacy_head() + writer.done() + legacy_tail({{"5", 6, raw_bytes(kFloats)}}));
  CHECK(values_of(TensorFile::open(folder / "w.pth"), "w") == Floats{3, 4});
}
