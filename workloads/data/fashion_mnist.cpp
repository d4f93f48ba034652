#include "workloads/data/fashion_mnist.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/text.hpp"

namespace harness::workloads {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDebianFolder = "/usr/share/datasets/fashion-mnist";
constexpr const char* kWhereFrom =
    "install the Debian package dataset-fashion-mnist, or set HARNESS_FASHION_MNIST to the folder "
    "of "
    "the four idx files";

/// The content of a gzip file of one member that holds exactly `size` bytes.
std::vector<std::uint8_t> gunzip(const std::string& packed, std::size_t size,
                                 const std::string& name) {
  std::vector<std::uint8_t> out(size + 1);  // one more, to see content that is too long
  z_stream stream{};
  // 16: a gzip header is required, 15: the largest window.
  if (inflateInit2(&stream, 16 + 15) != Z_OK) throw Error(name, "zlib cannot start");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = out.data();
  stream.avail_out = static_cast<uInt>(out.size());
  const int status = inflate(&stream, Z_FINISH);
  const std::size_t written = out.size() - stream.avail_out;
  const bool trailing = stream.avail_in != 0;
  inflateEnd(&stream);
  if (status == Z_STREAM_END && !trailing && written == size) {
    out.resize(size);
    return out;
  }
  if (written > size) throw Error(name, fmt::format("holds more than {} bytes", size), kWhereFrom);
  if (status == Z_STREAM_END) {
    throw Error(name,
                trailing ? std::string("bytes follow the gzip content")
                         : fmt::format("holds {} bytes, must be {}", written, size),
                kWhereFrom);
  }
  throw Error(name, status == Z_BUF_ERROR ? "truncated gzip content" : "damaged gzip content",
              kWhereFrom);
}

std::uint32_t big_endian(const std::uint8_t* p) {
  return static_cast<std::uint32_t>(p[0]) << 24 | static_cast<std::uint32_t>(p[1]) << 16 |
         static_cast<std::uint32_t>(p[2]) << 8 | static_cast<std::uint32_t>(p[3]);
}

/// The payload of an idx file of unsigned bytes with exactly these dimensions.
std::vector<std::uint8_t> read_idx(const fs::path& folder, const std::string& file,
                                   const std::vector<std::size_t>& shape) {
  const std::size_t header = 4 + 4 * shape.size();
  std::size_t payload = 1;
  for (const std::size_t n : shape) payload *= n;
  const std::size_t size = header + payload;

  std::vector<std::uint8_t> bytes;
  fs::path path = folder / file;
  const fs::path packed = folder / (file + ".gz");
  std::error_code ignored;
  if (fs::exists(path, ignored)) {
    const std::string plain = read_file(path, size + 1);
    bytes.assign(plain.begin(), plain.end());
  } else if (fs::exists(packed, ignored)) {
    path = packed;
    // gzip adds at most a few bytes a block to what it cannot compress.
    bytes = gunzip(read_file(path, size + size / 100 + 1024), size, printable(path.string()));
  } else {
    throw Error("Fashion-MNIST",
                fmt::format("no {} (or .gz) in {}", file, printable(folder.string())), kWhereFrom);
  }

  const std::string name = printable(path.string());
  if (bytes.size() != size) {
    throw Error(name, fmt::format("is {} bytes long, must be {}", bytes.size(), size), kWhereFrom);
  }
  const auto magic = static_cast<std::uint32_t>(0x0800 + shape.size());
  if (big_endian(bytes.data()) != magic) {
    throw Error(name, fmt::format("is not an idx file of {}-dimensional bytes", shape.size()),
                kWhereFrom);
  }
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::uint32_t n = big_endian(bytes.data() + 4 + 4 * i);
    if (n != shape[i]) {
      throw Error(name, fmt::format("dimension {} is {}, must be {}", i, n, shape[i]), kWhereFrom);
    }
  }
  bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(header));
  return bytes;
}

FashionSplit read_split(const fs::path& folder, const std::string& prefix, std::size_t count) {
  FashionSplit split;
  const auto side = static_cast<std::size_t>(kFashionSide);
  split.pixels = read_idx(folder, prefix + "-images-idx3-ubyte", {count, side, side});
  split.labels = read_idx(folder, prefix + "-labels-idx1-ubyte", {count});
  const auto worst = std::max_element(split.labels.begin(), split.labels.end());
  if (worst != split.labels.end() && *worst >= kFashionClasses.size()) {
    throw Error(printable((folder / (prefix + "-labels-idx1-ubyte")).string()),
                fmt::format("label {} is not in 0..9", *worst), kWhereFrom);
  }
  return split;
}

}  // namespace

fs::path fashion_mnist_folder() {
  const char* folder = std::getenv("HARNESS_FASHION_MNIST");
  return folder != nullptr && *folder != '\0' ? folder : kDebianFolder;
}

FashionMnist read_fashion_mnist(const fs::path& folder, std::size_t train_count,
                                std::size_t test_count) {
  FashionMnist data;
  data.train = read_split(folder, "train", train_count);
  data.test = read_split(folder, "t10k", test_count);
  Sha256 sha;
  for (const FashionSplit* split : {&data.train, &data.test}) {
    sha.update(split->pixels.data(), split->pixels.size());
    sha.update(split->labels.data(), split->labels.size());
  }
  data.sha256 = sha.hex();
  return data;
}

}  // namespace harness::workloads
