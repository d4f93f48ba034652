// Fashion-MNIST (Xiao, Rasul, Vollgraf 2017, arXiv 1708.07747; MIT licence): 28x28 grey pictures of
// ten kinds of clothing, read from the four idx files as they are published.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace harness::workloads {

constexpr int kFashionSide = 28;
constexpr std::array<std::string_view, 10> kFashionClasses = {
    "T-shirt/top", "Trouser", "Pullover", "Dress", "Coat",
    "Sandal",      "Shirt",   "Sneaker",  "Bag",   "Ankle boot"};

/// One split. `pixels` holds count x 28 x 28 bytes, row by row, 0 is background.
struct FashionSplit {
  std::vector<std::uint8_t> pixels{};
  std::vector<std::uint8_t> labels{};  ///< 0..9, one a picture

  std::size_t count() const { return labels.size(); }
  const std::uint8_t* picture(std::size_t i) const {
    return pixels.data() + i * kFashionSide * kFashionSide;
  }
};

struct FashionMnist {
  FashionSplit train{};
  FashionSplit test{};
  std::string sha256{};  ///< over train pixels, train labels, test pixels, test labels
};

/// $HARNESS_FASHION_MNIST, else where Debian's dataset-fashion-mnist puts its files.
std::filesystem::path fashion_mnist_folder();

/// Reads `{train,t10k}-{images-idx3,labels-idx1}-ubyte`, each with or without `.gz`. Throws Error
/// naming the package and the variable when one is missing, and the file when anything in it is not
/// exactly as it must be: magic, count, picture size, length, labels.
FashionMnist read_fashion_mnist(const std::filesystem::path& folder,
                                std::size_t train_count = 60000, std::size_t test_count = 10000);

}  // namespace harness::workloads
