#include "harness/report/page/html_profile_tables.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/text.hpp"
#include "harness/profile/views.hpp"
#include "harness/report/page/html_facts.hpp"
#include "harness/report/profile_tree.hpp"

namespace harness {
namespace {

using Row = std::vector<PageCell>;

class Cells {
 public:
  explicit Cells(const ProfileTables& tables) : step_(tables.step_seconds) {}

  static PageCell count(double value) { return {fmt::format("{:.4g}", value), value}; }
  static PageCell time(double seconds) { return quantity_cell(seconds, "s"); }
  PageCell share(double seconds) const {
    if (step_ <= 0) return {"-"};
    return {fmt::format("{:.2f} %", 100 * seconds / step_), 100 * seconds / step_};
  }
  /// By FLOPs where there are any, else by bytes. The two do not sort among each other: what has
  /// FLOPs goes by them.
  static PageCell rate(double flops, double bytes, double seconds) {
    if (seconds <= 0) return {"-"};
    if (flops > 0) return {format_quantity(flops / seconds, "FLOP/s"), flops / seconds};
    return bytes > 0 ? PageCell{format_quantity(bytes / seconds, "B/s")} : PageCell{"-"};
  }
  static PageCell text(const std::string& text, std::size_t limit) {
    return {text.empty() ? "-" : printable(text, limit)};
  }
  static PageCell implementation(const std::string& name) {
    PageCell cell = text(name, 80);
    if (is_reference_implementation(name)) cell.tone = Tone::kBad;
    return cell;
  }

 private:
  double step_;
};

PageTable sums_table(const char* caption, const char* first, const std::vector<OperatorSum>& sums,
                     const Cells& cells) {
  PageTable table{.caption = caption};
  table.columns = {{first},         {"calls", true},         {"self", true},
                   {"share", true}, {"in primitives", true}, {"in reorders", true},
                   {"rate", true},  {"page faults", true}};
  for (const OperatorSum& sum : sums) {
    table.rows.push_back({Cells::text(spoken_operator(sum.name), 120), Cells::count(sum.calls),
                          Cells::time(sum.self_seconds), cells.share(sum.self_seconds),
                          cells.share(sum.primitive_seconds), cells.share(sum.reorder_seconds),
                          Cells::rate(sum.flops, sum.bytes, sum.self_seconds),
                          Cells::count(sum.page_faults)});
  }
  limit_rows(table);
  return table;
}

PageTable primitive_sums_table(const ProfileTables& tables, const Cells& cells) {
  PageTable table{.caption = "Primitives by kind, direction, type and implementation"};
  table.columns = {{"kind"},           {"direction"},   {"type"},
                   {"implementation"}, {"library"},     {"calls", true},
                   {"time", true},     {"share", true}, {"rate", true}};
  for (const PrimitiveSum& sum : by_primitive(tables)) {
    table.rows.push_back({Cells::text(sum.kind, 60), Cells::text(sum.direction, 60),
                          Cells::text(sum.type, 20), Cells::implementation(sum.implementation),
                          Cells::text(sum.library, 40), Cells::count(sum.calls),
                          Cells::time(sum.seconds), cells.share(sum.seconds),
                          Cells::rate(sum.flops, sum.bytes, sum.seconds)});
  }
  limit_rows(table);
  return table;
}

PageTable allocations_table(const ProfileTables& tables) {
  PageTable table{.caption = "The largest allocations of the first recorded step"};
  table.columns = {{"size", true}, {"operator"}, {"module"}, {"shapes of its inputs"}};
  for (const LargeAllocation& item : tables.allocations) {
    table.rows.push_back({quantity_cell(item.bytes, "B"),
                          Cells::text(spoken_operator(item.operator_name), 120),
                          Cells::text(item.module, 120), Cells::text(item.shapes, 200)});
  }
  limit_rows(table);
  return table;
}

/// Which of `all` the table holds, by the time of the others.
template <class Item>
void note_of_rows(PageTable& table, const std::vector<Item>& all, double Item::*seconds,
                  const Cells& cells) {
  if (all.size() <= table.rows.size()) return;
  double left = 0;
  for (std::size_t i = table.rows.size(); i < all.size(); ++i) left += all[i].*seconds;
  table.note = fmt::format("Only the first {} of {} rows are shown. The others take {} of a step.",
                           table.rows.size(), all.size(), cells.share(left).text);
}

PageTable operator_rows(const ProfileTables& tables, const Cells& cells) {
  PageTable table{.caption = "Operators by name, module and shapes, longest first"};
  table.columns = {{"operator"},
                   {"module"},
                   {"phase"},
                   {"calls", true},
                   {"self", true},
                   {"share", true},
                   {"primitives", true},
                   {"reorders", true},
                   {"rate", true},
                   {"page faults", true},
                   {"shapes of its inputs"}};
  for (const OperatorRow& row : tables.operators) {
    if (table.rows.size() == kMostRows) break;
    table.rows.push_back({Cells::text(spoken_operator(row.name), 120), Cells::text(row.module, 120),
                          Cells::text(row.phase, 40), Cells::count(row.calls),
                          Cells::time(row.self_seconds), cells.share(row.self_seconds),
                          cells.share(row.primitive_seconds), cells.share(row.reorder_seconds),
                          Cells::rate(row.flops, row.bytes, row.self_seconds),
                          Cells::count(row.page_faults), Cells::text(row.shapes, 64)});
  }
  note_of_rows(table, tables.operators, &OperatorRow::self_seconds, cells);
  return table;
}

std::string layouts_of(const Primitive& primitive) {
  std::vector<std::string> parts;
  for (const TensorLayout& tensor : primitive.tensors) {
    if (tensor.layout.empty() && tensor.type == "undef") continue;
    parts.push_back(fmt::format("{}:{}:{}", tensor.name, tensor.type, tensor.layout));
  }
  return join(parts, " ");
}

PageTable primitive_rows(const ProfileTables& tables, const Cells& cells) {
  PageTable table{.caption = "Primitives by problem and by the module they ran for, longest first"};
  table.columns = {{"primitive"},  {"implementation"}, {"module"},     {"calls", true},
                   {"time", true}, {"share", true},    {"rate", true}, {"created again", true},
                   {"problem"},    {"layouts"},        {"attributes"}};
  for (const PrimitiveRow& row : tables.primitives) {
    if (table.rows.size() == kMostRows) break;
    const Primitive& p = row.primitive;
    const bool owned = row.owner && *row.owner < tables.operators.size();
    table.rows.push_back(
        {Cells::text(pass_name(p.kind, p.direction), 80), Cells::implementation(p.implementation),
         Cells::text(owned ? tables.operators[*row.owner].module : "", 120),
         Cells::count(row.calls), Cells::time(row.seconds), cells.share(row.seconds),
         Cells::rate(row.flops.value_or(0) * row.calls, row.bytes.value_or(0) * row.calls,
                     row.seconds),
         Cells::count(row.created), Cells::text(p.problem, 160), Cells::text(layouts_of(p), 80),
         Cells::text(p.attributes, 120)});
  }
  note_of_rows(table, tables.primitives, &PrimitiveRow::seconds, cells);
  return table;
}

}  // namespace

std::vector<PageTable> profile_tables(const ProfileTables& tables) {
  const Cells cells(tables);
  std::vector<PageTable> list;
  list.push_back(sums_table("Parts of the model", "part", by_part(tables), cells));
  list.push_back(sums_table("Operators by name", "operator", by_operator(tables), cells));
  list.push_back(primitive_sums_table(tables, cells));
  list.push_back(allocations_table(tables));
  std::erase_if(list, [](const PageTable& table) { return table.rows.empty(); });
  return list;
}

std::vector<PageTable> profile_rows(const ProfileTables& tables) {
  const Cells cells(tables);
  std::vector<PageTable> list = {operator_rows(tables, cells), primitive_rows(tables, cells)};
  std::erase_if(list, [](const PageTable& table) { return table.rows.empty(); });
  return list;
}

}  // namespace harness
