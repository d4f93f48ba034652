// Whether people like what a text is about: a linear head on MiniLM's vectors, on snippets of movie
// reviews.
#include <ATen/ATen.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/hash.hpp"
#include "harness/workload/registry.hpp"
#include "workloads/inference/assets.hpp"
#include "workloads/language/movie_snippets.hpp"
#include "workloads/language/text_inference.hpp"
#include "workloads/torch/weights_loading.hpp"

namespace harness::workloads {
namespace {

constexpr const char* kSnippets = "movie-snippets.txt";
// Ridge regression on the vectors of the other half (tests/oracle/language_oracle.py).
constexpr const char* kMoviesHead = "workloads/sentiment/movies_head.safetensors";

class Sentiment : public TextInference {
 public:
  Description describe(const WorkloadContext& context) const override {
    require_assets({kSnippets}, context.home);
    return TextInference::describe(context);
  }

  DataReport open_data(const WorkloadContext& context) override {
    const auto file = find_asset(kSnippets, context.home);
    MovieSnippets all = read_movie_snippets(file);
    snippets_ = std::move(all.tested);
    fitted_ = std::move(all.fitted);
    DataReport report;
    report.dataset = Artifact{"movie-snippets",
                              file.string(),
                              sha256_of_file(file),
                              {{"snippets", std::to_string(snippets_.size())}}};
    report.eval_samples = static_cast<std::int64_t>(snippets_.size());
    return report;
  }

 private:
  std::vector<std::string> texts() const override { return texts_of(snippets_); }

  std::vector<std::string> training_texts() const override { return texts_of(fitted_); }

  void build_head() override {
    weight_ = at::empty({1, MiniLM::kWidth});
    bias_ = at::empty({1});
    head_ =
        load_weights(context().home / kMoviesHead, {{"weight", weight_}, {"bias", bias_}}).artifact;
  }

  std::vector<Artifact> head() const override { return {head_}; }

  at::Tensor answer(const Samples& samples) override {
    return linear_by_row(embeddings(samples), weight_, bias_);
  }

  Quality score(const at::Tensor& answers) const override {
    const at::Tensor scores = answers.contiguous();
    const float* const score = scores.const_data_ptr<float>();
    std::int64_t right = 0;
    for (std::size_t i = 0; i < snippets_.size(); ++i) {
      if ((score[i] > 0) == snippets_[i].liked) ++right;
    }
    return {.metric = "accuracy",
            .direction = Direction::kHigher,
            .value = static_cast<double>(right) / static_cast<double>(snippets_.size())};
  }

  std::vector<Snippet> snippets_{}, fitted_{};
  at::Tensor weight_{}, bias_{};
  Artifact head_{};
};

WorkloadInfo info() {
  return text_task_info(
      "sentiment", "Whether a text likes what it is about, by MiniLM, one query after another.");
}

const RegisterWorkload registered(info, [] { return std::make_unique<Sentiment>(); });

}  // namespace
}  // namespace harness::workloads
