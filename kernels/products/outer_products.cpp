#include "kernels/products/outer_products.hpp"

#include <algorithm>
#include <vector>

#include "kernels/products/outer_products_simd.hpp"

namespace harness::kernels {
namespace {

using Int = std::int64_t;
using outer::PackedRows;
using outer::Range;

constexpr Int kSlice = 16;  ///< rows that one thread packs at a time
constexpr Int kApart = 16;  ///< floats between vectors: else they fall on the same sets of a cache

Int divide_up(Int a, Int b) { return (a + b - 1) / b; }

struct Plan {
  explicit Plan(const OuterProducts& p)
      : cut(outer::cut()),
        rows(p.lines * p.width),
        part(divide_up(rows, std::max<Int>(1, divide_up(rows, cut.most_rows)))),
        vector(part * cut.lanes + kApart),
        left_vectors(divide_up(p.left_columns, cut.lanes)),
        right_vectors(divide_up(p.right_columns, cut.lanes)) {}

  Int left_floats() const { return left_vectors * vector; }
  Int right_floats() const { return right_vectors * vector; }

  /// Vectors on the right that are multiplied together: as many as fit, and 4 as 2 and 2.
  std::vector<Range> panels() const {
    std::vector<Range> all;
    for (Int begin = 0; begin < right_vectors;) {
      const Int left = right_vectors - begin;
      const Int count = left == cut.panel + 1 ? divide_up(left, 2) : std::min(left, cut.panel);
      all.push_back({begin, begin + count});
      begin += count;
    }
    return all;
  }

  const outer::Cut& cut;
  Int rows;
  Int part;    ///< rows at a time
  Int vector;  ///< floats from one packed vector to the next
  Int left_vectors, right_vectors;
};

void sum_left(const OuterProducts& p, const PackedRows& left, Int vector, Int lanes, bool add) {
  const Int begin = vector * lanes;
  for (Int i = begin; i < std::min(begin + lanes, p.left_columns); ++i) {
    double sum = add ? static_cast<double>(p.left_sums[i]) : 0;
    const float* const values = left.values + vector * left.vector + (i - begin);
    for (Int r = 0; r < left.count; ++r) sum += static_cast<double>(values[r * lanes]);
    p.left_sums[i] = static_cast<float>(sum);
  }
}

}  // namespace

std::size_t outer_products_workspace(const OuterProducts& products) {
  const Plan plan(products);
  return static_cast<std::size_t>(plan.left_floats() + plan.right_floats());
}

void outer_products(const OuterProducts& p, float* workspace) {
  const Plan plan(p);
  const std::vector<Range> panels = plan.panels();
  const Int pieces = static_cast<Int>(panels.size()) * plan.left_vectors;
#pragma omp parallel
  for (Int first = 0; first < plan.rows; first += plan.part) {
    const Int count = std::min(plan.part, plan.rows - first);
    const PackedRows left{workspace, first, count, plan.vector};
    const PackedRows right{workspace + plan.left_floats(), first, count, plan.vector};
    const outer::Part part{first > 0, first + count == plan.rows};
#pragma omp for schedule(dynamic, 1)
    for (Int begin = first; begin < first + count; begin += kSlice) {
      const Range slice{begin, std::min(first + count, begin + kSlice)};
      plan.cut.pack_left(p, slice, left);
      plan.cut.pack_right(p, slice, right);
    }
    // A panel stays in the cache while vectors of the left pass by it.
#pragma omp for schedule(static)
    for (Int piece = 0; piece < pieces; ++piece) {
      const Int vector = piece % plan.left_vectors;
      const Int panel = piece / plan.left_vectors;
      plan.cut.multiply(p, left, vector, right, panels[static_cast<std::size_t>(panel)], part);
      if (panel == 0 && p.left_sums != nullptr) {
        sum_left(p, left, vector, plan.cut.lanes, part.add);
      }
    }
  }
}

}  // namespace harness::kernels
