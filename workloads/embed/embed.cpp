// Texts as vectors: MiniLM on Lee's documents, held against how alike people found them.
#include <ATen/ATen.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "harness/base/hash.hpp"
#include "harness/workload/registry.hpp"
#include "workloads/embed/correlation.hpp"
#include "workloads/embed/lee_documents.hpp"
#include "workloads/inference/assets.hpp"
#include "workloads/language/movie_snippets.hpp"
#include "workloads/language/text_inference.hpp"

namespace harness::workloads {
namespace {

constexpr const char* kDocuments = "lee-documents.txt";
constexpr const char* kSimilarities = "lee-similarities.txt";
constexpr const char* kCalibrationTexts = "movie-snippets.txt";

class Embed : public TextInference {
 public:
  Description describe(const WorkloadContext& context) const override {
    require_assets({kDocuments, kSimilarities}, context.home);
    if (context.precision == "int8") require_assets({kCalibrationTexts}, context.home);
    return TextInference::describe(context);
  }

  DataReport open_data(const WorkloadContext& context) override {
    const auto documents = find_asset(kDocuments, context.home);
    const auto similarities = find_asset(kSimilarities, context.home);
    lee_ = read_lee_documents(documents, similarities);
    std::string calibrated_by;
    if (context.precision == "int8") {
      // Lee's documents have no others to train on.
      const auto file = find_asset(kCalibrationTexts, context.home);
      snippets_ = read_movie_snippets(file).fitted;
      calibrated_by = sha256_of_file(file);
    }
    DataReport report;
    report.dataset = Artifact{"lee-documents",
                              documents.string(),
                              sha256_of_file(documents),
                              {{"documents", std::to_string(lee_.texts.size())},
                               {"similarities_sha256", sha256_of_file(similarities)}}};
    if (!calibrated_by.empty()) {
      report.dataset->details["calibration_texts_sha256"] = calibrated_by;
    }
    report.eval_samples = static_cast<std::int64_t>(lee_.texts.size());
    return report;
  }

 private:
  std::vector<std::string> texts() const override { return lee_.texts; }

  std::vector<std::string> training_texts() const override { return texts_of(snippets_); }

  at::Tensor answer(const Samples& samples) override { return embeddings(samples); }

  Quality score(const at::Tensor& answers) const override {
    const at::Tensor exact = answers.to(at::kDouble);
    const at::Tensor cosines = exact.matmul(exact.t()).contiguous();
    const double* const table = cosines.const_data_ptr<double>();
    const std::size_t count = lee_.texts.size();
    std::vector<double> upper;
    for (std::size_t a = 0; a < count; ++a) {
      upper.insert(upper.end(), table + a * count + a + 1, table + (a + 1) * count);
    }
    return {.metric = "pearson",
            .direction = Direction::kHigher,
            .value = pearson(upper, lee_.alike),
            .details = {{"spearman", spearman(upper, lee_.alike)}}};
  }

  LeeDocuments lee_{};
  std::vector<Snippet> snippets_{};  ///< in int8
};

WorkloadInfo info() {
  return text_task_info("embed", "Texts as vectors by MiniLM, one query after another.");
}

const RegisterWorkload registered(info, [] { return std::make_unique<Embed>(); });

}  // namespace
}  // namespace harness::workloads
