// Damaged, hostile and foreign weights files: one clear error each, never a crash.
#include <catch2/catch.hpp>
#include <cstdio>
#include <limits>
#include <random>

#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
#include "tests/support/pickle_writer.hpp"
#include "tests/support/temporary_folder.hpp"
#include "workloads/checkpoint/tensor_file.hpp"

using namespace harness;             // NOLINT(google-build-using-namespace)
using namespace harness::workloads;  // NOLINT(google-build-using-namespace)

namespace {

using Floats = std::vector<float>;
using Catch::Contains;

const PickledTensor kWeight = {"w", "FloatStorage", "0", 4, 0, {2, 2}, {}};

/// The message of opening a file of these bytes; empty when it opens.
std::string error_of(std::string_view bytes, const char* name = "w.pth") {
  const TemporaryFolder folder;
  write_bytes(folder / name, bytes);
  try {
    TensorFile::open(folder / name);
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kUsage);
    CHECK(std::string(error.what()).find('\n') == std::string::npos);
    return error.what();
  }
  return {};
}

std::string error_of_pickle(const std::string& pickle) {
  const TemporaryFolder folder;
  write_zip_weights(folder / "w.pth", pickle, {raw_bytes(Floats{1, 2, 3, 4})});
  return error_of(read_file(folder / "w.pth", 1 << 28));
}

std::string error_of_tensor(const PickledTensor& tensor) {
  return error_of_pickle(PickleWriter().state_dict({tensor}).done());
}

std::string small_legacy() {
  return legacy_head() + PickleWriter(true).state_dict({kWeight}).done() +
         legacy_tail({{"0", 4, raw_bytes(Floats{1, 2, 3, 4})}});
}

std::string small_zip(bool deflate = false) {
  const TemporaryFolder folder;
  write_zip_weights(folder / "w.pth", PickleWriter().state_dict({kWeight}).done(),
                    {raw_bytes(Floats{1, 2, 3, 4})}, deflate);
  return read_file(folder / "w.pth", 1 << 20);
}

/// Opens the file and reads every tensor; only Error may come out.
void survive(const std::string& bytes, const std::filesystem::path& path) {
  write_bytes(path, bytes);
  try {
    const TensorFile file = TensorFile::open(path);
    for (const auto& [name, tensor] : file.tensors()) {
      if (!is_floating(tensor.dtype) || tensor.numel() > 1000) continue;
      Floats values(static_cast<std::size_t>(tensor.numel()));
      file.read(tensor, values);
    }
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): any clear refusal will do
  }
}

std::string repeat(std::string_view text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

}  // namespace

TEST_CASE("files of other kinds are told apart", "[weights]") {
  const TemporaryFolder folder;
  CHECK_THROWS_WITH(TensorFile::open(folder / "missing.pth"), Contains("No such file"));
  CHECK_THROWS_WITH(TensorFile::open(folder.path()), Contains("not a regular file"));
  CHECK_THAT(error_of(""), Contains("is empty"));
  CHECK_THAT(error_of("conv1.weight = 3\n"), Contains("no weights file: it looks like text"));
  CHECK_THAT(error_of("\x08\x07\x12\x07pytorch", "m.onnx"), Contains("ONNX"));
  CHECK_THAT(error_of(PickleWriter().ordered_dict().done()), Contains("not one of torch.save()"));
  CHECK_THAT(error_of(std::string(257, '\0') + "ustar" + std::string(250, '\0')),
             Contains("tar archive"));
  write_zip(folder / "other.zip", {{"word/document.xml", "<x/>"}});
  CHECK_THROWS_WITH(TensorFile::open(folder / "other.zip"), Contains("without data.pkl"));
  write_zip(folder / "script.pt", {{"m/data.pkl", "x"}, {"m/constants.pkl", "x"}});
  CHECK_THROWS_WITH(TensorFile::open(folder / "script.pt"), Contains("TorchScript"));
}

TEST_CASE("a pickle that names anything else is refused and not executed", "[weights]") {
  const TemporaryFolder folder;
  const std::string marker = (folder / "executed").string();
  for (const auto& [module, name] : {std::pair{"posix", "system"},
                                     {"builtins", "eval"},
                                     {"os", "system"},
                                     {"torch", "load"},
                                     {"torch._utils", "_rebuild_tensor_v3"},
                                     {"collections", "namedtuple"}}) {
    const std::string call =
        PickleWriter().global(module, name).raw("(").text("touch " + marker).raw("tR").done();
    const std::string expected = std::string("names ") + module + "." + name +
                                 ", which is not part of a plain tensor dictionary; nothing was "
                                 "executed";
    CHECK_THAT(error_of_pickle(call), Contains(expected));
    CHECK_THAT(error_of(legacy_head() + call), Contains(expected));
  }
  CHECK_FALSE(std::filesystem::exists(marker));
  CHECK_THAT(error_of_pickle(PickleWriter().global("a\x1b[2J", "\xff").done()),
             Contains("names a\\x1b[2J.\\xff"));
  // Allowed names used in ways that no file of torch.save() has.
  CHECK_THAT(error_of_pickle(PickleWriter().global("torch", "FloatStorage").raw(")R").done()),
             Contains("in a way that no tensor dictionary does"));
  CHECK_THAT(error_of_pickle(PickleWriter().raw("K\x01)R").done()), Contains("is damaged"));
  CHECK_THAT(
      error_of_pickle(PickleWriter().global("torch._utils", "_rebuild_tensor_v2").raw(")R").done()),
      Contains("is damaged"));
}

TEST_CASE("a pickle cannot take more than its share of memory or time", "[weights]") {
  const auto pickle = [](const std::string& body) { return error_of_pickle("\x80\x02" + body); };
  CHECK_THAT(pickle(std::string(100'000, '(')), Contains("nested deeper"));
  CHECK_THAT(pickle("]" + repeat("]a", 1'100'000)), Contains("more pickled objects"));
  CHECK_THAT(pickle(std::string(1'100'000, 'N')), Contains("more pickled values"));
  // A tuple in a tuple in a tuple: nothing walks it, and its end must not recurse.
  CHECK_THAT(pickle(")" + std::string(500'000, '\x85') + "."),
             Contains("no dictionary of tensors"));
  // Long lists made of one value over and over.
  CHECK_THAT(pickle("(" + std::string(100'000, 'N') + "tq" + std::string(1, '\0') +
                    repeat("]q\x01(" + repeat("h" + std::string(1, '\0'), 50'000) + "e", 90) + "."),
             Contains("more pickled items"));
  // Lengths that the file does not have.
  CHECK_THAT(pickle("X\xff\xff\xff\xff"
                    "a."),
             Contains("ends in the middle"));
  CHECK_THAT(pickle("\x8d\xff\xff\xff\xff\xff\xff\xff\xff"
                    "a."),
             Contains("ends in the middle"));
  CHECK_THAT(pickle("\x8b\xff\xff\xff\xff"
                    "a."),
             Contains("ends in the middle"));
  CHECK_THAT(pickle("\x95\xff\xff\xff\xff\xff\xff\xff\xff."), Contains("ends in the middle"));
  CHECK_THAT(pickle("X" + little_endian(2 << 20, 4) + std::string(2 << 20, 'a') + "."),
             Contains("more pickled text"));
  CHECK_THAT(pickle("Nr\xff\xff\xff\x7f."), Contains("skips memo slots"));
  CHECK_THAT(pickle("j\xff\xff\xff\xff."), Contains("never stored"));
  CHECK_THAT(pickle("."), Contains("empty stack"));
  CHECK_THAT(pickle("N(0."), Contains("opcode 0x30"));
  CHECK_THAT(pickle("N(\x85."), Contains("empty stack"));
  CHECK_THAT(pickle("}Nu."), Contains("no mark"));
  CHECK_THAT(pickle("}(Nu."), Contains("key without a value"));
  CHECK_THAT(pickle("NNa."), Contains("no container"));
  CHECK_THAT(error_of_pickle("\x80\x09N."), Contains("pickle protocol 9"));
}

TEST_CASE("a list that contains itself is harmless", "[weights]") {
  const TemporaryFolder folder;
  // {"loop": [the list itself, the dictionary], "w": tensor}
  PickleWriter writer;
  writer.raw(std::string("}q\0", 3))
      .text("loop")
      .raw(
          "]q\x01h\x01"
          "a")
      .raw(std::string("h\0", 2));
  writer.raw("as").text("w").tensor(kWeight).raw("s");
  write_zip_weights(folder / "w.pth", writer.done(), {raw_bytes(Floats{1, 2, 3, 4})});
  CHECK(TensorFile::open(folder / "w.pth").tensors().size() == 1);
}

TEST_CASE("a tensor must lie within its storage", "[weights]") {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  const auto bent = [](auto change) {
    PickledTensor tensor = kWeight;
    change(tensor);
    return error_of_tensor(tensor);
  };
  CHECK(bent([](PickledTensor&) {}).empty());
  CHECK(bent([](PickledTensor& t) { t.strides = {1, 1}; }).empty());
  // A stride that is never stepped along does not matter.
  CHECK(bent([](PickledTensor& t) { t.shape = {1, 4}, t.strides = {kMax, 1}; }).empty());
  for (const std::string& error : {
           bent([](PickledTensor& t) { t.offset = 1; }),
           bent([](PickledTensor& t) { t.offset = kMax; }),
           bent([](PickledTensor& t) { t.offset = -1; }),
           bent([](PickledTensor& t) { t.shape = {0}, t.strides = {1}, t.offset = kMax; }),
           bent([](PickledTensor& t) {
             t.shape = {2, 3};
           }),
           bent([](PickledTensor& t) {
             t.strides = {3, 1};
           }),
           bent([](PickledTensor& t) {
             t.strides = {kMax, kMax};
           }),
           bent([](PickledTensor& t) {
             t.strides = {-1, 1};
           }),
           bent([](PickledTensor& t) { t.strides = {1}; }),
           bent([](PickledTensor& t) {
             t.shape = {-2, -2};
           }),
           bent([](PickledTensor& t) {
             t.shape = {kMax, kMax}, t.strides = {0, 0};
           }),
           bent([](PickledTensor& t) { t.shape.assign(70, 1); }),
           bent([](PickledTensor& t) { t.shape.assign(100'000, 1); }),
           bent([](PickledTensor& t) { t.type = "UntypedStorage"; }),
       }) {
    CHECK(!error.empty());
  }
  // The size that the pickle declares is not the one that the file has.
  CHECK_THAT(bent([](PickledTensor& t) { t.numel = 5; }), Contains("16 bytes in its entry"));
  CHECK_THAT(bent([](PickledTensor& t) { t.numel = kMax / 4; }), Contains("16 bytes in its entry"));
  CHECK_THAT(bent([](PickledTensor& t) { t.numel = kMax; }), Contains("is damaged"));
  CHECK_THAT(bent([](PickledTensor& t) { t.key = "9"; }), Contains("lacks its entry"));
  CHECK_THAT(bent([](PickledTensor& t) { t.key = "../data.pkl"; }), Contains("lacks its entry"));
  CHECK_THAT(bent([](PickledTensor& t) { t.name = "w\x1b[31m"; }), Contains("no plain name"));
  // One storage under two sizes.
  PickledTensor wide = kWeight;
  wide.name = "x";
  wide.type = "DoubleStorage";
  CHECK_THAT(error_of_pickle(PickleWriter().state_dict({kWeight, wide}).done()),
             Contains("two sizes"));
}

TEST_CASE("a big-endian file is refused", "[weights]") {
  const TemporaryFolder folder;
  const std::string pickle = PickleWriter().state_dict({kWeight}).done();
  write_zip(folder / "w.pth", {{"a/data.pkl", pickle},
                               {"a/byteorder", "big"},
                               {"a/data/0", raw_bytes(Floats{1, 2, 3, 4})}});
  CHECK_THROWS_WITH(TensorFile::open(folder / "w.pth"), Contains("big-endian"));
  CHECK_THAT(error_of(legacy_head(false) + pickle), Contains("big-endian"));
}

TEST_CASE("a zip bomb is not unpacked", "[weights]") {
  const TemporaryFolder folder;
  const std::size_t count = 12 << 20;
  PickledTensor tensor = {"w", "FloatStorage", "0", static_cast<std::int64_t>(count), 0, {1}, {}};
  write_zip_weights(folder / "w.pth", PickleWriter().state_dict({tensor}).done(),
                    {std::string(4 * count, '\0')}, true);
  REQUIRE(std::filesystem::file_size(folder / "w.pth") < 100'000);
  CHECK_THROWS_WITH(TensorFile::open(folder / "w.pth"), Contains("zip bomb"));
  // The same for the pickle itself.
  write_zip_weights(folder / "w.pth", std::string(20 << 20, 'N'), {}, true);
  CHECK_THROWS_WITH(TensorFile::open(folder / "w.pth"), Contains("zip bomb"));
}

TEST_CASE("a file truncated at any byte is an error", "[weights]") {
  for (const std::string& whole : {small_legacy(), small_zip()}) {
    CHECK(error_of(whole).empty());
    for (std::size_t size = 0; size < whole.size(); ++size) {
      INFO(size);
      CHECK(!error_of(std::string_view(whole).substr(0, size)).empty());
    }
  }
}

TEST_CASE("flipped bytes never crash the reader", "[weights]") {
  const TemporaryFolder folder;
  std::mt19937 random(20240601);  // NOLINT(cert-msc51-cpp,cert-msc32-c): the same flips every time
  for (const std::string& whole : {small_legacy(), small_zip(), small_zip(true)}) {
    for (int round = 0; round < 1000; ++round) {
      std::string bent = whole;
      for (unsigned flips = 1 + random() % 4; flips > 0; --flips) {
        bent[random() % bent.size()] = static_cast<char>(random() & 0xff);
      }
      survive(bent, folder / "w.pth");
    }
  }
  // The checksum of a zip hides most of the pickle from the flips above: bend it before packing.
  const std::string pickle = PickleWriter().state_dict({kWeight}).done();
  for (int round = 0; round < 1000; ++round) {
    std::string bent = pickle;
    bent[random() % bent.size()] = static_cast<char>(random() & 0xff);
    write_zip_weights(folder / "z.pth", bent, {raw_bytes(Floats{1, 2, 3, 4})});
    survive(read_file(folder / "z.pth", 1 << 20), folder / "w.pth");
  }
}
