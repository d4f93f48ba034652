// What a resident side and its parent say to each other: lines of JSON (docs/lockstep.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/types.hpp"
#include "harness/scenario/orders.hpp"

namespace harness {

/// A longer line is no answer.
inline constexpr std::size_t kMostLineBytes = std::size_t{1} << 20;
/// The most steps of an order.
inline constexpr std::int64_t kMostStepsOfOrder = 1000;
/// The most untimed steps before a turn.
inline constexpr std::int64_t kMostSettling = 100;

/// In the error of a `harness run --lockstep` that a whole training is asked of.
inline constexpr const char* kTrainsToTarget = "trains to a target";

/// A line that is not what it should be; what() says why.
class ProtocolError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What a side says once it is prepared and warmed up.
struct SideHello {
  std::string name{};
  std::string unit = "step";      ///< or "query"
  std::int64_t settle = 0;        ///< untimed units that it needs after another side's turn
  bool slices = false;            ///< it may be stopped within a step
  bool leaves_out_stops = false;  ///< its times are without them
  nlohmann::json setup{};         ///< settings and hashes; null where it tells none
};

/// Its answer to an order of steps: one value of each.
struct TurnAnswer {
  std::vector<double> seconds{};
  std::map<std::string, std::vector<std::optional<double>>> losses{};  ///< empty: not finite
  std::map<std::string, std::vector<double>> phases{};

  /// Whether a loss of the last step is not finite: nothing more can be asked of the side.
  bool diverged() const;
};

// Each is one line without its newline. The parsers throw ProtocolError for anything else, and
// with the side's own words for {"error": "..."}.
std::string hello_line(const SideHello& hello);
SideHello parse_hello(std::string_view line);

std::string order_line(const StepOrder& order);
StepOrder parse_order(std::string_view line);

/// Also as a campaign's file has it.
nlohmann::json to_json(const TurnAnswer& answer);
std::string answer_line(const TurnAnswer& answer);
/// The answer to an order of `count` steps; one that diverged may have fewer.
TurnAnswer parse_answer(std::string_view line, std::int64_t count);

/// Empty: there is no quality to tell.
nlohmann::json to_json(const std::optional<Quality>& quality);
std::string quality_line(const std::optional<Quality>& quality);
/// Metric and value alone.
std::optional<Quality> parse_quality(std::string_view line);

std::string error_line(const std::string& why);

}  // namespace harness
