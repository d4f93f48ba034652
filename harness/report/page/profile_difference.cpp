#include "harness/report/page/profile_difference.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "harness/profile/views.hpp"

namespace harness {
namespace {

class Rows {
 public:
  void add(bool is_first, const std::string& name, const std::string& detail, double seconds,
           double calls) {
    DifferenceRow& row = rows_[{name, detail}];
    row.name = name;
    row.detail = detail;
    auto& sum = is_first ? row.first_seconds : row.other_seconds;
    sum = sum.value_or(0) + seconds;
    (is_first ? row.first_calls : row.other_calls) += calls;
  }

  template <class Key>
  std::vector<DifferenceRow> sorted(const Key& key) const {
    std::vector<DifferenceRow> list;
    for (const auto& [name, row] : rows_) list.push_back(row);
    std::stable_sort(list.begin(), list.end(), [&](const DifferenceRow& a, const DifferenceRow& b) {
      return key(a) > key(b);
    });
    return list;
  }

  std::vector<DifferenceRow> by_change() const {
    return sorted([](const DifferenceRow& row) { return std::abs(row.change()); });
  }

 private:
  std::map<std::pair<std::string, std::string>, DifferenceRow> rows_{};
};

/// What it computes: forward passes for training and for inference are the same work.
std::string work_of(const PrimitiveSum& sum) {
  std::string text =
      pass_name(sum.kind, sum.direction.starts_with("forward") ? "forward" : sum.direction);
  if (!sum.type.empty()) text += " " + sum.type;
  return text;
}

std::string with_type(const PrimitiveSum& sum) {
  std::string text = sum.kind;
  for (const std::string* part : {&sum.direction, &sum.type}) {
    if (!part->empty() && *part != "undef") text += " " + *part;
  }
  return text;
}

}  // namespace

ProfileDifference difference_of(const ProfileTables& first, const ProfileTables& other) {
  Rows parts;
  Rows modules;
  Rows operators;
  Rows primitives;
  Rows work;
  const auto add_all = [&](const ProfileTables& tables, bool is_first) {
    for (const OperatorSum& sum : by_part(tables)) {
      parts.add(is_first, sum.name, "", sum.self_seconds, sum.calls);
    }
    for (const OperatorSum& sum : by_operator(tables)) {
      operators.add(is_first, sum.name, "", sum.self_seconds, sum.calls);
    }
    operators.add(is_first, "(between operators)", "", tables.between_seconds, 0);
    modules.add(is_first, "(between operators)", "", tables.between_seconds, 0);
    for (const OperatorRow& row : tables.operators) {
      modules.add(is_first, row.module, row.phase, row.self_seconds, row.calls);
    }
    for (const PrimitiveSum& sum : by_primitive(tables)) {
      primitives.add(is_first, with_type(sum), sum.implementation, sum.seconds, sum.calls);
      work.add(is_first, work_of(sum), "", sum.seconds, sum.calls);
    }
  };
  add_all(first, true);
  add_all(other, false);
  ProfileDifference difference;
  difference.first_step = first.step_seconds;
  difference.other_step = other.step_seconds;
  difference.parts = parts.by_change();
  difference.modules = modules.by_change();
  difference.operators = operators.by_change();
  difference.primitives = primitives.by_change();
  difference.work = work.sorted([](const DifferenceRow& row) {
    return std::max(row.first_seconds.value_or(0), row.other_seconds.value_or(0));
  });
  return difference;
}

}  // namespace harness
