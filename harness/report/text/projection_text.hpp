// A projection for people and for programs.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/profile/communication.hpp"
#include "harness/profile/floors.hpp"
#include "harness/profile/projection.hpp"
#include "harness/result/profile.hpp"

namespace harness {

struct ProjectionReport {
  Projection projection{};
  std::string profile_file{};
  std::string profile_uuid{};
  /// Settings that differ from the profile's, name -> value.
  std::map<std::string, std::string> what_if{};
  std::string library{};             ///< that replayed the primitives
  std::size_t primitives = 0;        ///< distinct ones
  double recorded_step_seconds = 0;  ///< of a recorded step, without what recording costs
  std::optional<Floors> floors{};    ///< of them, here and now
  std::vector<ProjectionRound> rounds{};
  std::int64_t rounds_wanted = 0;  ///< more than there are: it was stopped
  std::vector<std::string> notes{};
  std::vector<std::string> problem_files{};  ///< for benchdnn
  std::optional<WorldProjection> world{};    ///< what more ranks would make of it
};

/// Lines for a terminal of `columns`, from 80 on; `profile` is the one that was projected.
std::string render_projection(const ProjectionReport& report, const Profile& profile,
                              std::size_t columns = 100);
/// The same of a report of nothing but more ranks.
std::string render_world_alone(const ProjectionReport& report, const Profile& profile,
                               std::size_t columns = 100);
nlohmann::json world_json(const ProjectionReport& report);

/// projected_seconds, measured_seconds, relative_error, explained, and what they follow from.
nlohmann::json to_json(const ProjectionReport& report);

}  // namespace harness
