// Advice for people and for programs, with what a try of it brought beside what it should bring.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/profile/advice.hpp"
#include "harness/profile/floors.hpp"
#include "harness/result/profile.hpp"

namespace harness {

/// What changing one thing brought: seconds a step, from the ratio of turns side by side and the
/// median of the slower side.
using MeasuredGains = std::map<AdvisedChange, Interval>;

struct AdviceReport {
  std::string profile_file{};
  std::string profile_uuid{};
  double step_seconds = 0;
  double unexplained_seconds = 0;  ///< of it, by none of the advice
  std::optional<Floors> floors{};  ///< of its primitives, at the peaks of the profile
  std::vector<Advice> advice{};
  MeasuredGains measured{};   ///< empty: not tried
  std::size_t ablations = 0;  ///< that it was measured by
  std::string try_command{};  ///< measures all that can be tried at once; may be empty
  std::vector<std::string> notes{};
};

/// The options of `harness run` that make the change.
std::string option_of(const AdvisedChange& change);

/// Lines for a terminal of `columns`, from 80 on.
std::string render_advice(const AdviceReport& report, const Profile& profile,
                          std::size_t columns = 100);
nlohmann::json to_json(const AdviceReport& report);

}  // namespace harness
