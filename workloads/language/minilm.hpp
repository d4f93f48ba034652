// MiniLM (Wang et al. 2020, arXiv 2002.10957), here BERT of six layers trained to put sentences of
// one meaning close together: the sentence encoder all-MiniLM-L6-v2.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <vector>

#include "harness/base/types.hpp"
#include "kernels/encoder/encoder.hpp"

namespace harness::workloads {

class MiniLM {
 public:
  static constexpr std::int64_t kWidth = 384;
  static constexpr std::int64_t kHeads = 12;
  static constexpr std::int64_t kLayers = 6;
  static constexpr std::int64_t kVocabulary = 30522;
  static constexpr std::int64_t kMostTokens = 512;

  /// Throws Error where `weights` does not hold the model.
  MiniLM(const std::filesystem::path& weights, kernels::EncoderFn* encoder);

  /// (texts, kWidth), float32, each row of length 1: the mean of a text's tokens behind the last
  /// layer. `tokens` of each text: 1 to kMostTokens.
  at::Tensor embeddings(const std::vector<const std::vector<std::int64_t>*>& texts) const;

  const Artifact& weights() const { return artifact_; }

  /// Of one text; a multiply-add counts two, and only products count.
  static double flops(std::int64_t tokens);

 private:
  kernels::EncoderFn* encoder_;
  kernels::EncoderWeights weights_{};
  Artifact artifact_{};
};

}  // namespace harness::workloads
