// What fits into memory together.
#include "harness/measure/memory_groups.hpp"

#include <catch2/catch.hpp>

using namespace harness;  // NOLINT(google-build-using-namespace)

namespace {

using Groups = std::vector<std::vector<std::size_t>>;

}  // namespace

TEST_CASE("what fits is one group", "[memory-groups]") {
  CHECK(memory_groups({3}, 3) == Groups{{0}});
  CHECK(memory_groups({3, 2, 1}, 6) == Groups{{0, 1, 2}});
}

TEST_CASE("what does not fit is cut into groups that share the first", "[memory-groups]") {
  CHECK(memory_groups({3, 2, 1, 2}, 6) == Groups{{0, 1, 2}, {0, 3}});
  CHECK(memory_groups({3, 3, 3}, 6) == Groups{{0, 1}, {0, 2}});
}

TEST_CASE("without room for the first and another there are no groups", "[memory-groups]") {
  CHECK(memory_groups({3}, 2).empty());
  CHECK(memory_groups({3, 1, 4}, 6).empty());
  CHECK(memory_groups({}, 6).empty());
}
