// The texts of `embed` and `sentiment`: made-up files of their forms, sound and broken; and
// correlations.
#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "harness/base/error.hpp"
#include "tests/support/pickle_writer.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/temporary_folder.hpp"
#include "workloads/embed/correlation.hpp"
#include "workloads/embed/lee_documents.hpp"
#include "workloads/language/movie_snippets.hpp"

using namespace harness;             // NOLINT(google-build-using-namespace)
using namespace harness::workloads;  // NOLINT(google-build-using-namespace)

namespace {

LeeDocuments lee(const std::string& documents, const std::string& similarities) {
  const TemporaryFolder folder;
  write_bytes(folder / "documents", documents);
  write_bytes(folder / "similarities", similarities);
  return read_lee_documents(folder / "documents", folder / "similarities");
}

MovieSnippets snippets(const std::string& content) {
  const TemporaryFolder folder;
  write_bytes(folder / "snippets", content);
  return read_movie_snippets(folder / "snippets");
}

}  // namespace

TEST_CASE("Lee's documents are read from Latin-1, similarities from above the diagonal",
          "[language]") {
  const LeeDocuments read = lee("one\n\xa3 2\nthree", "1\t0.5\t0.25\n0\t1\t0.75\n0\t0\t1\n");
  CHECK(read.texts == std::vector<std::string>{"one", "\xc2\xa3 2", "three"});
  CHECK(read.alike == std::vector<double>{0.5, 0.25, 0.75});
}

TEST_CASE("documents and similarities that do not fit each other are refused", "[language]") {
  CHECK(refusal_of([] { lee("one\ntwo\n", "1\t0\n"); }).names("1 rows for 2 documents"));
  CHECK(refusal_of([] { lee("one\ntwo\n", "1\n0\t1\n"); }).names("row 1"));
  CHECK_THROWS_AS(lee("one\ntwo\n", "1\tx\n0\t1\n"), Error);
  CHECK_THROWS_AS(lee("one\ntwo\n", "1\t1.5\n0\t1\n"), Error);
  CHECK_THROWS_AS(lee("", ""), Error);
}

TEST_CASE("snippets: those that say something, each once, in turns", "[language]") {
  const MovieSnippets read = snippets(
      "1\t0.5\tgood \r\n2\t-3\tbad\n3\t0.49\tso so\n4\t2\tgood\n5\t-0.6\t worse\n\n6\t4\tfine");
  REQUIRE(read.fitted.size() == 2);
  REQUIRE(read.tested.size() == 2);
  CHECK(read.fitted[0].text == "good");
  CHECK(read.fitted[0].liked);
  CHECK(read.tested[0].text == "bad");
  CHECK_FALSE(read.tested[0].liked);
  CHECK(read.fitted[1].text == "worse");
  CHECK(read.tested[1].text == "fine");
}

TEST_CASE("snippets of another form are refused by line", "[language]") {
  CHECK_THAT(refused([] { snippets("1\t2\tgood\n2\tbad\n"); }), Catch::EndsWith(", line 2"));
  CHECK_THAT(refused([] { snippets("1\tgood\tgood\n"); }), Catch::EndsWith(", line 1"));
  CHECK_THROWS_AS(snippets("1\t5\tgood\n"), Error);
  CHECK(refusal_of([] { snippets("1\t2\tgood\n"); }).names("no snippets"));
  CHECK_THROWS_AS(snippets(""), Error);
}

TEST_CASE("correlations", "[language]") {
  const std::vector<double> a = {1, 2, 3, 4};
  CHECK(pearson(a, {2, 4, 6, 8}) == Approx(1));
  CHECK(pearson(a, {4, 3, 2, 1}) == Approx(-1));
  CHECK(pearson(a, {1, 3, 2, 4}) == Approx(0.8));
  CHECK(std::isnan(pearson(a, {1, 1, 1, 1})));
  CHECK(spearman(a, {1, 10, 100, 1000}) == Approx(1));
  // Ranks 1.5, 0, 1.5, 3: 3 / sqrt(5 * 4.5).
  CHECK(spearman(a, {5, 1, 5, 7}) == Approx(3 / std::sqrt(22.5)));
}
