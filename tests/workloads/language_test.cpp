// The tasks embed and sentiment against what PyTorch's own modules make of the same texts
// (tests/oracle/language_oracle.py), and end to end.
#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/base/json_reader.hpp"
#include "tests/support/fast_bf16.hpp"
#include "tests/support/hexadecimal.hpp"
#include "tests/support/profile_of_null.hpp"
#include "tests/support/task_runs.hpp"
#include "workloads/embed/lee_documents.hpp"
#include "workloads/inference/assets.hpp"
#include "workloads/language/minilm.hpp"
#include "workloads/language/movie_snippets.hpp"
#include "workloads/language/word_pieces.hpp"
#include "workloads/torch/weights_loading.hpp"

using namespace harness;             // NOLINT(google-build-using-namespace)
using namespace harness::workloads;  // NOLINT(google-build-using-namespace)
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

using Tokens = std::vector<std::int64_t>;

const fs::path kHomeOfAssets = HARNESS_SOURCE_DIR;

json golden_of(const std::string& task) {
  return read_json_file(kHomeOfAssets / "tests/golden" / (task + ".json"));
}

WordPieces bert() { return WordPieces(find_asset("bert-uncased-vocabulary.txt", kHomeOfAssets)); }

MiniLM minilm(const char* implementation) {
  return {find_asset("all-minilm-l6-v2.safetensors", kHomeOfAssets),
          kernels::encoder_operator().get(implementation)};
}

/// Texts as vectors, so many at a time.
at::Tensor in_batches(const MiniLM& model, const std::vector<Tokens>& texts, std::size_t batch) {
  const c10::InferenceMode no_gradients;
  std::vector<at::Tensor> all;
  for (std::size_t first = 0; first < texts.size(); first += batch) {
    std::vector<const Tokens*> query;
    for (std::size_t i = first; i < std::min(first + batch, texts.size()); ++i) {
      query.push_back(&texts[i]);
    }
    all.push_back(model.embeddings(query));
  }
  return at::cat(all);
}

double quality_of(const fs::path& folder) {
  const fs::path file = only_file(folder, ".json");
  CHECK(run_harness({"validate", file.string()}).code == 0);
  const json result = read_json(file);
  CHECK(result.at("/data/sha256"_json_pointer).is_string());
  CHECK(result.at("/cost/step_flops"_json_pointer) > 1e8);
  return result.at("/quality/value"_json_pointer);
}

/// The first `count` snippets of the test set by both implementations.
void check_snippets(std::size_t count) {
  const json expected = golden_of("sentiment");
  const MovieSnippets snippets =
      read_movie_snippets(find_asset("movie-snippets.txt", kHomeOfAssets));
  CHECK(snippets.fitted.size() + snippets.tested.size() == expected.at("kept").get<std::size_t>());
  const WordPieces pieces = bert();
  std::vector<Tokens> texts;
  std::size_t tokens = 0;
  for (const Snippet& snippet : snippets.tested) {
    texts.push_back(pieces(snippet.text));
    tokens += texts.back().size();
  }
  CHECK(tokens == expected.at("lengths_sum").get<std::size_t>());
  texts.resize(std::min(count, texts.size()));
  const at::Tensor weight = at::empty({1, MiniLM::kWidth});
  const at::Tensor bias = at::empty({1});
  load_weights(kHomeOfAssets / "workloads/sentiment/movies_head.safetensors",
               {{"weight", weight}, {"bias", bias}});
  const std::string chosen = expected.at("chosen").get<std::string>();
  const auto answers = expected.at("answers").get<std::vector<double>>();
  REQUIRE(snippets.tested.size() == chosen.size());
  for (const char* implementation : {"reference", "custom"}) {
    const at::Tensor scores =
        at::addmm(bias, in_batches(minilm(implementation), texts, 32), weight.t()).view({-1});
    REQUIRE(scores.numel() == static_cast<std::int64_t>(texts.size()));
    std::size_t ties = 0;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      INFO(implementation << ", snippet " << i);
      const double score = scores[static_cast<std::int64_t>(i)].item<double>();
      if (i < answers.size()) CHECK(std::abs(score - answers[i]) < 1e-5);
      if (std::abs(score) < 1e-5) {
        ++ties;
      } else if ((score > 0 ? '+' : '-') != chosen[i]) {
        FAIL_CHECK("another sign: " << score);
      }
    }
    CHECK(ties < 5);
  }
}

}  // namespace

TEST_CASE("pieces of BERT's vocabulary are those of the library tokenizers", "[language]") {
  const WordPieces pieces = bert();
  CHECK(pieces.count() == MiniLM::kVocabulary);
  for (const json& entry : golden_of("words").at("texts")) {
    CAPTURE(entry.at("text"));
    CHECK(pieces(from_hexadecimal(entry.at("text").get<std::string>())) ==
          entry.at("pieces").get<Tokens>());
  }
}

TEST_CASE("embed answers as PyTorch's modules do, document by document", "[language]") {
  const json expected = golden_of("embed");
  const LeeDocuments lee = read_lee_documents(find_asset("lee-documents.txt", kHomeOfAssets),
                                              find_asset("lee-similarities.txt", kHomeOfAssets));
  const WordPieces pieces = bert();
  std::vector<Tokens> texts;
  std::vector<std::size_t> lengths;
  for (const std::string& text : lee.texts) {
    texts.push_back(pieces(text));
    lengths.push_back(texts.back().size());
  }
  CHECK(lengths == expected.at("lengths").get<std::vector<std::size_t>>());
  CHECK(texts.front() == expected.at("first_tokens").get<Tokens>());
  const at::Tensor waves = at::sin(at::arange(1, MiniLM::kWidth + 1, at::kDouble));
  const auto projected = expected.at("projected").get<std::vector<double>>();
  const auto rows = expected.at("answers").get<std::vector<std::vector<double>>>();
  for (const char* implementation : {"reference", "custom"}) {
    const MiniLM model = minilm(implementation);
    for (const std::size_t batch : {std::size_t{1}, std::size_t{7}}) {
      INFO(implementation << ", batch " << batch);
      const at::Tensor got = in_batches(model, texts, batch).to(at::kDouble);
      REQUIRE(got.size(0) == static_cast<std::int64_t>(projected.size()));
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const at::Tensor off = got[static_cast<std::int64_t>(i)] - at::tensor(rows[i], at::kDouble);
        CHECK(off.abs().max().item<double>() < 1e-5);
      }
      // A sum of 384 errors of at most 1e-7 or so.
      CHECK((got.matmul(waves) - at::tensor(projected, at::kDouble)).abs().max().item<double>() <
            1e-5);
    }
  }
}

TEST_CASE("sentiment answers as PyTorch's modules do, snippet by snippet", "[language]") {
  check_snippets(700);
}

// Minutes on one thread. What the runs below reach is counted over all snippets as well.
TEST_CASE("sentiment answers as PyTorch's modules do, all snippets", "[.whole]") {
  check_snippets(std::numeric_limits<std::size_t>::max());
}

TEST_CASE("embed and sentiment reach what PyTorch reaches", "[language][long]") {
  const TemporaryFolder folder;
  const std::string precision = GENERATE("fp32", "bf16");
  if (too_slow_here(precision)) return;
  for (const std::string task : {"embed", "sentiment"}) {
    INFO(task << ", " << precision);
    const Outcome outcome = run_task(task, folder / task, {"--precision", precision});
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    const json golden = golden_of(task);
    const double expected = task == "embed" ? golden.at("pearson").get<double>()
                                            : golden.at("right").get<double>() /
                                                  golden.at("chosen").get<std::string>().size();
    // A snippet is 2e-4 of them all.
    CHECK(std::abs(quality_of(folder / task) - expected) <= (precision == "fp32" ? 2.1e-4 : 5e-3));
  }
}

TEST_CASE("texts: weights, vocabulary and data that are not theirs are refused", "[language]") {
  const fs::path assets = assets_folder(kHomeOfAssets);
  check_refused_asset("embed", "all-minilm-l6-v2.safetensors", assets);
  check_refused_asset("embed", "bert-uncased-vocabulary.txt", assets);
  check_refused_asset("embed", "lee-similarities.txt", assets);
  check_refused_asset("sentiment", "movie-snippets.txt", assets);
}

TEST_CASE("a text of nothing, of a megabyte, of broken bytes: a vector of length 1", "[language]") {
  const WordPieces pieces = bert();
  std::vector<Tokens> texts;
  for (const std::string& text : {std::string(), std::string(1 << 20, 'a'), std::string("\xff\xc3"),
                                  std::string(1 << 20, '!')}) {
    texts.push_back(pieces(text));
  }
  CHECK(texts[3].size() == 256);
  for (const char* implementation : {"reference", "custom"}) {
    const at::Tensor got = in_batches(minilm(implementation), texts, 4);
    CHECK((got.norm(2, 1) - 1).abs().max().item<double>() < 1e-5);
    CHECK(at::equal(got[0], got[2]) == true);
  }
}
