// Operator `encoder`: a text's tokens through the layers of a Transformer that normalises behind
// each sum (BERT: Devlin et al. 2018, arXiv 1810.04805), and the mean of what comes out. For
// inference: it has no gradient.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "kernels/registry.hpp"

namespace harness::kernels {

/// y = x weight^T + bias: weight (out, in), bias (out).
struct EncoderLinear {
  at::Tensor weight{}, bias{};
};

/// Over the last extent: weight and bias (width).
struct EncoderNorm {
  at::Tensor weight{}, bias{};
};

struct EncoderLayer {
  EncoderLinear query_key_value{};  ///< (3 width, width): one below the other
  EncoderLinear output{};
  EncoderNorm attention_norm{};
  EncoderLinear up{}, down{};  ///< with the exact GELU between them
  EncoderNorm output_norm{};
};

struct EncoderWeights {
  at::Tensor words{};      ///< (vocabulary, width)
  at::Tensor positions{};  ///< (most tokens of a text, width), what all texts have in common added
  EncoderNorm norm{};
  std::vector<EncoderLayer> layers{};
  std::int64_t heads = 1;
  double epsilon = 1e-12;  ///< of the norms

  std::int64_t width() const { return words.size(1); }
};

struct EncoderArguments {
  const EncoderWeights& weights;
  at::Tensor tokens{};                  ///< int64, of all texts, one behind the other
  std::vector<std::int64_t> lengths{};  ///< tokens of each text, 1 or more
};

/// (texts, width), float32: the mean of a text's tokens behind the last layer.
using EncoderFn = at::Tensor(const EncoderArguments& arguments);

Operator<EncoderFn>& encoder_operator();

}  // namespace harness::kernels
