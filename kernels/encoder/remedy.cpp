// What `custom` would bring to an encoder that is one operator after another.
#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/text.hpp"
#include "harness/profile/remedy.hpp"

namespace harness::kernels {
namespace {

constexpr const char* kProduct = "aten::addmm";

/// "f32[384] f32[108,384] f32[384,1152]": bias, rows, weights. As a product of ours.
std::optional<Primitive> product_of(const std::string& shapes) {
  const std::vector<std::string> operands = split(shapes, ' ');
  if (operands.size() < 3) return std::nullopt;
  const auto extents = [](const std::string& operand) {
    const std::size_t open = operand.find('[');
    const std::size_t close = operand.find(']');
    if (open == std::string::npos || close == std::string::npos) return std::vector<std::string>();
    return split(operand.substr(open + 1, close - open - 1), ',');
  };
  const std::vector<std::string> rows = extents(operands[1]);
  const std::vector<std::string> weights = extents(operands[2]);
  if (rows.size() != 2 || weights.size() != 2) return std::nullopt;
  Primitive product{.kind = "matmul", .direction = "forward_inference"};
  product.tensors = {{"src", operands[1].substr(0, operands[1].find('[')), "", false}};
  product.problem = fmt::format("{}x{}:{}x{}", rows[0], rows[1], weights[0], weights[1]);
  return product;
}

std::vector<ReplayTask> products(const ProfileTables& tables) {
  std::vector<ReplayTask> tasks;
  for (const OperatorRow& row : tables.operators) {
    if (row.name != kProduct || row.primitive_seconds > 0) continue;
    const std::optional<Primitive> product = product_of(row.shapes);
    if (product) tasks.push_back({*product, "harness", row.calls, row.self_seconds});
  }
  return tasks;
}

/// These are operators, and no primitives: recording cost them something, and none of it is saved
/// in primitives.
std::optional<Advice> replayed(const PricedStep& step) {
  PricedStep plain = step;
  if (plain.recorded) *plain.recorded *= step.unrecorded;
  std::optional<Advice> advice = gain_of_replays(plain, "products");
  if (advice) advice->primitive_seconds = 0;
  return advice;
}

/// All that stands between products and attention, but for the norms, which stay.
std::optional<Advice> around(const PricedStep& step) {
  double seconds = 0, primitives = 0, calls = 0;
  for (const OperatorRow& row : step.tables.operators) {
    if (row.phase != "forward" || row.kernel || !row.name.starts_with("aten::")) continue;
    const bool stays = row.name == kProduct || row.name == "aten::native_layer_norm" ||
                       row.name.find("attention") != std::string::npos;
    if (stays) continue;
    seconds += step.gap(row) + row.primitive_seconds;
    primitives += row.primitive_seconds;
    calls += row.calls;
  }
  if (seconds <= 0) return std::nullopt;
  return Advice{.topic = "operators around products",
                .finding = fmt::format("{} in {} a step", format_quantity(seconds, "s"),
                                       format_count(std::llround(calls), "operator")),
                .basis = "their time: bias, GELU and sums fit into the products' own pass",
                .expected_seconds = seconds,
                .primitive_seconds = primitives};
}

const AdvisedChange kChange = {"encoder", "custom"};
const RegisterRemedy registered_products({kChange, replayed, products});
const RegisterRemedy registered_around({kChange, around});

}  // namespace
}  // namespace harness::kernels
