// What tasks on texts share: MiniLM, its vocabulary, and the texts as its tokens.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "workloads/inference/inference.hpp"
#include "workloads/language/minilm.hpp"
#include "workloads/language/word_pieces.hpp"

namespace harness::workloads {

class TextInference : public Inference {
 public:
  Description describe(const WorkloadContext& context) const override;

 protected:
  /// As MiniLM was trained.
  static constexpr std::size_t kMostTokens = 256;

  /// Of the evaluation set, in order; from open_data() on.
  virtual std::vector<std::string> texts() const = 0;
  /// Of the training set, in order; from open_data() on.
  virtual std::vector<std::string> training_texts() const = 0;
  /// What the task has besides; nothing by itself.
  virtual void build_head() {}
  /// Its file, where it has one.
  virtual std::vector<Artifact> head() const { return {}; }

  std::int64_t samples() const final { return static_cast<std::int64_t>(tokens_.size()); }
  /// All texts are in memory, as tokens, from build() on.
  void load(const Samples& /*samples*/) final {}
  /// (samples, MiniLM::kWidth), float32, rows of length 1.
  at::Tensor embeddings(const Samples& samples) const;

  void build_model() final;
  std::int64_t training_samples() const final;
  void run_training_sample(std::int64_t sample) final;
  WorkloadFacts facts_of_model() const override;

 private:
  std::optional<MiniLM> model_;
  Artifact vocabulary_{};
  std::vector<std::vector<std::int64_t>> tokens_{};
  std::optional<WordPieces> pieces_{};
  std::vector<std::string> training_texts_{};  ///< in int8
};

/// What a task on texts is registered as.
WorkloadInfo text_task_info(const std::string& name, const std::string& summary);

}  // namespace harness::workloads
