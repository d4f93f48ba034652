// Damaged, hostile and foreign weights files: one clear error each, never a crash.
#include <catch2/catch.hpp>
#include <cstdio>
#include <limits>
#include <random>

#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
#include "tests/support/pickle_writer.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/temporary_folder.hpp"
#include "workloads/checkpoint/pickle.hpp"
#include "workloads/checkpoint/tensor_file.hpp"

using namespace harness;             // NOLINT(google-build-using-namespace)
using namespace harness::workloads;  // NOLINT(google-build-using-namespace)

namespace {

namespace trouble = pickle_trouble;

using Floats = std::vector<float>;

const PickledTensor kWeight = {"w", "FloatStorage", "0", 4, 0, {2, 2}, {}};

/// How opening the file is refused; nothing when it opens.
ErrorParts refusal_of_file(const std::filesystem::path& path) {
  ErrorParts refusal = refusal_of([&] { TensorFile::open(path); });
  if (!refusal.about.empty()) CHECK(refusal.about == "weights file " + path.string());
  return refusal;
}

ErrorParts refusal_of_bytes(std::string_view bytes, const char* name = "w.pth") {
  const TemporaryFolder folder;
  write_bytes(folder / name, bytes);
  return refusal_of_file(folder / name);
}

ErrorParts refusal_of_pickle(const std::string& pickle) {
  const TemporaryFolder folder;
  write_zip_weights(folder / "w.pth", pickle, {raw_bytes(Floats{1, 2, 3, 4})});
  return refusal_of_file(folder / "w.pth");
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
  for (const auto& path : {folder / "missing.pth", folder.path()}) {
    CHECK(refused([&] { TensorFile::open(path); }) == path.string());
  }
  CHECK(refusal_of_bytes("").why == "is empty");
  const std::string tar = std::string(257, '\0') + "ustar" + std::string(250, '\0');
  for (const auto& [bytes, kind] : std::vector<std::pair<std::string, const char*>>{
           {"conv1.weight = 3\n", "text"},
           {"\x08\x07\x12\x07pytorch", "ONNX"},
           {PickleWriter().ordered_dict().done(), "pickle"},
           {tar, "tar archive"}}) {
    CHECK(refusal_of_bytes(bytes, "m.bin").names(kind));
  }
  write_zip(folder / "other.zip", {{"word/document.xml", "<x/>"}});
  CHECK(refusal_of_file(folder / "other.zip").names("data.pkl"));
  write_zip(folder / "script.pt", {{"m/data.pkl", "x"}, {"m/constants.pkl", "x"}});
  CHECK(refusal_of_file(folder / "script.pt").names("TorchScript"));
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
    const std::string what = std::string(module) + "." + name;
    for (const ErrorParts& refusal :
         {refusal_of_pickle(call), refusal_of_bytes(legacy_head() + call)}) {
      CHECK(refusal.names(what));
      CHECK(refusal.names("nothing was executed"));
    }
  }
  CHECK_FALSE(std::filesystem::exists(marker));
  CHECK(
      refusal_of_pickle(PickleWriter().global("a\x1b[2J", "\xff").done()).names("a\\x1b[2J.\\xff"));
  // Allowed names used in ways that no file of torch.save() has.
  CHECK(refusal_of_pickle(PickleWriter().global("torch", "FloatStorage").raw(")R").done())
            .names("builds a torch.FloatStorage"));
  CHECK(refusal_of_pickle(PickleWriter().raw("K\x01)R").done()).why == trouble::kNoName);
  CHECK(refusal_of_pickle(
            PickleWriter().global("torch._utils", "_rebuild_tensor_v2").raw(")R").done())
            .why == trouble::kNoTensor);
}

TEST_CASE("a pickle cannot take more than its share of memory or time", "[weights]") {
  const auto refusal = [](const std::string& body) { return refusal_of_pickle("\x80\x02" + body); };
  // Long lists made of one value over and over.
  const std::string copies =
      "(" + std::string(100'000, 'N') + "tq" + std::string(1, '\0') +
      repeat("]q\x01(" + repeat("h" + std::string(1, '\0'), 50'000) + "e", 90) + ".";
  const std::string text = "X" + little_endian(2 << 20, 4) + std::string(2 << 20, 'a') + ".";
  for (const auto& [body, what] :
       std::vector<std::pair<std::string, const char*>>{{"]" + repeat("]a", 1'100'000), "objects"},
                                                        {std::string(1'100'000, 'N'), "values"},
                                                        {copies, "items"},
                                                        {text, "text"}}) {
    CAPTURE(what);
    CHECK(refusal(body).names(std::string("more pickled ") + what));
  }
  for (const auto& [body, why] : std::vector<std::pair<std::string, const char*>>{
           {std::string(100'000, '('), trouble::kTooDeep},
           // Lengths that the file does not have.
           {"X\xff\xff\xff\xff"
            "a.",
            trouble::kCutOff},
           {"\x8d\xff\xff\xff\xff\xff\xff\xff\xff"
            "a.",
            trouble::kCutOff},
           {"\x8b\xff\xff\xff\xff"
            "a.",
            trouble::kCutOff},
           {"\x95\xff\xff\xff\xff\xff\xff\xff\xff.", trouble::kCutOff},
           {"Nr\xff\xff\xff\x7f.", trouble::kSkippedSlot},
           {"j\xff\xff\xff\xff.", trouble::kNeverStored},
           {".", trouble::kEmptyStack},
           {"N(\x85.", trouble::kEmptyStack},
           {"}Nu.", trouble::kNoMark},
           {"}(Nu.", trouble::kKeyAlone},
           {"NNa.", trouble::kNoContainer}}) {
    CAPTURE(body.substr(0, 20));
    CHECK(refusal(body).why == why);
  }
  // A tuple in a tuple in a tuple: nothing walks it, and its end must not recurse.
  CHECK(refusal(")" + std::string(500'000, '\x85') + ".").names("no dictionary of tensors"));
  CHECK(refusal("N(0.").names("opcode 0x30"));
  CHECK(refusal_of_pickle("\x80\x09N.").names("protocol 9"));
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
    return refusal_of_pickle(PickleWriter().state_dict({tensor}).done());
  };
  CHECK(bent([](PickledTensor&) {}).why.empty());
  CHECK(bent([](PickledTensor& t) { t.strides = {1, 1}; }).why.empty());
  // A stride that is never stepped along does not matter.
  CHECK(bent([](PickledTensor& t) { t.shape = {1, 4}, t.strides = {kMax, 1}; }).why.empty());
  for (const ErrorParts& refusal : {
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
    CHECK(!refusal.why.empty());
  }
  // The size that the pickle declares is not the one that the file has.
  for (const std::int64_t numel : {std::int64_t{5}, kMax / 4}) {
    CHECK(bent([&](PickledTensor& t) { t.numel = numel; }).names("16 bytes"));
  }
  CHECK(bent([](PickledTensor& t) { t.numel = kMax; }).why == trouble::kNoStorage);
  for (const std::string key : {"9", "../data.pkl"}) {
    CHECK(
        bent([&](PickledTensor& t) { t.key = key; }).names("lacks its entry archive/data/" + key));
  }
  CHECK(bent([](PickledTensor& t) { t.name = "w\x1b[31m"; }).names("w\\x1b[31m"));
  // One storage under two sizes.
  PickledTensor wide = kWeight;
  wide.name = "x";
  wide.type = "DoubleStorage";
  CHECK(refusal_of_pickle(PickleWriter().state_dict({kWeight, wide}).done())
            .names("two sizes for storage 0"));
}

TEST_CASE("a big-endian file is refused", "[weights]") {
  const TemporaryFolder folder;
  const std::string pickle = PickleWriter().state_dict({kWeight}).done();
  write_zip(folder / "w.pth", {{"a/data.pkl", pickle},
                               {"a/byteorder", "big"},
                               {"a/data/0", raw_bytes(Floats{1, 2, 3, 4})}});
  for (const ErrorParts& refusal :
       {refusal_of_file(folder / "w.pth"), refusal_of_bytes(legacy_head(false) + pickle)}) {
    CHECK(refusal.names("big-endian"));
  }
}

TEST_CASE("a zip bomb is not unpacked", "[weights]") {
  const TemporaryFolder folder;
  const std::size_t count = 12 << 20;
  PickledTensor tensor = {"w", "FloatStorage", "0", static_cast<std::int64_t>(count), 0, {1}, {}};
  write_zip_weights(folder / "w.pth", PickleWriter().state_dict({tensor}).done(),
                    {std::string(4 * count, '\0')}, true);
  REQUIRE(std::filesystem::file_size(folder / "w.pth") < 100'000);
  CHECK(refusal_of_file(folder / "w.pth").names("zip bomb"));
  // The same for the pickle itself.
  write_zip_weights(folder / "w.pth", std::string(20 << 20, 'N'), {}, true);
  CHECK(refusal_of_file(folder / "w.pth").names("zip bomb"));
}

TEST_CASE("a file truncated at any byte is an error", "[weights]") {
  for (const std::string& whole : {small_legacy(), small_zip()}) {
    CHECK(refusal_of_bytes(whole).why.empty());
    for (std::size_t size = 0; size < whole.size(); ++size) {
      INFO(size);
      CHECK(!refusal_of_bytes(std::string_view(whole).substr(0, size)).why.empty());
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
