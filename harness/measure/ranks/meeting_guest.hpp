// A process of a run in ranks that comes to where they meet.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "harness/lockstep/line_channel.hpp"
#include "harness/measure/ranks/world_place.hpp"

namespace harness {

class MeetingGuest {
 public:
  /// Knocks until it is let in. `role` is one of handshake.hpp; `here` is what a launcher says of
  /// its machine. Throws Error when nobody is there within `place.timeout_seconds`, or where it is
  /// refused; Interrupted when asked to stop.
  MeetingGuest(const WorldPlace& place, const std::string& role, const nlohmann::json& here = {});

  /// That the others can reach this machine by, as the way to the meeting shows.
  const std::string& own_address() const { return own_address_; }
  int descriptor() const { return descriptor_; }

  /// Throws LostRank when the other end is gone.
  void say(const nlohmann::json& message) const;
  /// The next message, waited for at most so long. Throws LostRank when the other end is gone.
  std::optional<nlohmann::json> hear_within(double seconds);

  /// What a rank tells the others of itself, and asks of them, by a name: bytes of any kind.
  void put(const std::string& name, const std::string& bytes) const;
  /// Waits until it is told.
  std::string get(const std::string& name);

 private:
  bool try_once(const WorldPlace& place, const std::string& role, const nlohmann::json& here);

  std::string host_;
  int descriptor_ = -1;
  std::string own_address_{};
  std::optional<LineChannel> channel_{};
};

}  // namespace harness
