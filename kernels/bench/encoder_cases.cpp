#include <cmath>

#include "kernels/bench/case.hpp"
#include "kernels/encoder/encoder.hpp"

namespace harness::kernels::bench {
namespace {

/// One text through layers of a width; heads of 32, four times as wide between.
struct Size {
  int64_t width, layers, tokens;
};

EncoderLinear linear(int64_t in, int64_t out) {
  return {at::randn({out, in}) / std::sqrt(static_cast<double>(in)), at::randn({out}) * 0.1};
}

EncoderNorm norm(int64_t width) { return {1 + 0.2 * at::randn({width}), at::randn({width})}; }

class EncoderCase : public Case {
 public:
  EncoderCase(const Size& size, const std::string& implementation)
      : length_(size.tokens), encode_(encoder_operator().get(implementation)) {
    at::manual_seed(3);
    const int64_t width = size.width;
    weights_.words = at::randn({100, width});
    weights_.positions = at::randn({size.tokens, width});
    weights_.norm = norm(width);
    weights_.heads = width / 32;
    for (int64_t i = 0; i < size.layers; ++i) {
      weights_.layers.push_back({linear(width, 3 * width), linear(width, width), norm(width),
                                 linear(width, 4 * width), linear(4 * width, width), norm(width)});
    }
    tokens_ = at::randint(0, 100, {size.tokens}, at::kLong);
  }

  void run() override {
    means_ = encode_({.weights = weights_, .tokens = tokens_, .lengths = {length_}});
  }
  std::vector<at::Tensor> results() const override { return {means_}; }

 private:
  int64_t length_;
  EncoderFn* encode_;
  EncoderWeights weights_{};
  at::Tensor tokens_{}, means_{};
};

CaseInfo encoder_case(const Size& size, bool typical) {
  const auto width = static_cast<double>(size.width);
  const auto layers = static_cast<double>(size.layers);
  const auto tokens = static_cast<double>(size.tokens);
  CaseInfo info{.op = &encoder_operator(),
                .shape = std::to_string(size.tokens) + "tokens_" + std::to_string(size.width) +
                         "x" + std::to_string(size.layers),
                .typical = typical,
                .flops = layers * (2 * tokens * 12 * width * width + 4 * tokens * tokens * width),
                .bytes = 4 * (layers * 12 * width * width + tokens * width),
                .tolerance = 1e-5};
  info.make = [size](const std::string& implementation) {
    return std::make_unique<EncoderCase>(size, implementation);
  };
  return info;
}

}  // namespace

// Small, and MiniLM with a text of usual length.
std::vector<CaseInfo> encoder_cases() {
  return {encoder_case({64, 2, 9}, false), encoder_case({384, 6, 128}, true)};
}

}  // namespace harness::kernels::bench
