#include "harness/measure/ranks/meeting_guest.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "harness/base/error.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/steady.hpp"
#include "harness/base/text.hpp"
#include "harness/lockstep/protocol.hpp"
#include "harness/measure/ranks/handshake.hpp"
#include "harness/measure/ranks/socket.hpp"
#include "harness/system/interrupt.hpp"
#include "harness/workload/ranks.hpp"

namespace harness {
namespace {

using nlohmann::json;

constexpr double kAnswerSeconds = 5;
constexpr double kPauseSeconds = 0.2;

/// So long an answer may take.
double answer_seconds(const WorldPlace& world) {
  return std::min(kAnswerSeconds, world.timeout_seconds);
}

/// Connected to the first address that answers; -1 where none does.
int connect_to(const WorldPlace& world) {
  const AddressList addresses(world.meeting, false, world.timeout_seconds);
  for (const addrinfo* one = addresses.first(); one != nullptr; one = one->ai_next) {
    const int file = ::socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC, one->ai_protocol);
    if (file < 0) continue;
    send_within(file, answer_seconds(world));  // bounds the connecting, too
    if (::connect(file, one->ai_addr, one->ai_addrlen) == 0) return file;
    ::close(file);
  }
  return -1;
}

}  // namespace

MeetingGuest::MeetingGuest(const WorldPlace& place, const std::string& role, const json& here)
    : host_(fmt::format("{}:{}", printable(place.meeting.host), place.meeting.port)) {
  const Steady::time_point start = Steady::now();
  while (!try_once(place, role, here)) {
    channel_.reset();
    if (seconds_since(start) > place.timeout_seconds) {
      throw Error(
          fmt::format("rank {}", place.rank),
          fmt::format("no rank 0 answered at {} within {:g} s", host_, place.timeout_seconds),
          "rank 0 listens there; start it, or mend the address");
    }
    cool_down(kPauseSeconds);
  }
}

bool MeetingGuest::try_once(const WorldPlace& place, const std::string& role, const json& here) {
  const int file = connect_to(place);
  if (file < 0) return false;
  descriptor_ = file;
  channel_.emplace(file, second_descriptor(file));
  std::string refused;
  try {
    const std::optional<json> greeting = hear_within(answer_seconds(place));
    if (!greeting || greeting->value("ranks", 0) != 1) return false;
    const std::string host_word = greeting->at("word");
    const std::string word = random_hex(16);
    const std::string& key = place.meeting.key;
    say({{"word", word},
         {"proof", key_proof(key, "guest", host_word, word)},
         {"as", role},
         {"rank", place.rank},
         {"world", place.world},
         {"here", here}});
    const std::optional<json> answer = hear_within(answer_seconds(place));
    if (!answer) return false;
    refused = answer->value("refused", std::string());
    if (refused.empty() && answer->at("proof") != key_proof(key, "host", host_word, word)) {
      refused = "who listens there has another key";
    }
  } catch (const LostRank&) {
    return false;  // it ends, perhaps, and the next one listens soon
  } catch (const json::exception&) {
    return false;
  }
  if (!refused.empty()) {
    throw Error(fmt::format("rank {}", place.rank),
                fmt::format("is refused at {}: {}", host_, printable(refused)),
                "all ranks of a run need the same world and HARNESS_RUN_KEY, each its own number");
  }
  own_address_ = own_end(file).first;
  return true;
}

void MeetingGuest::say(const json& message) const {
  try {
    channel_->send(message.dump());
  } catch (const ProtocolError&) {
    throw LostRank("the process of rank 0 at " + host_ + " is gone");
  }
}

std::optional<json> MeetingGuest::hear_within(double seconds) {
  try {
    const std::optional<std::string> line = channel_->line_within(seconds);
    if (!line) return std::nullopt;
    return message_of(*line);
  } catch (const ProtocolError&) {
    throw LostRank("the process of rank 0 at " + host_ + " is gone");
  }
}

void MeetingGuest::put(const std::string& name, const std::string& bytes) const {
  say({{"put", name}, {"value", hex_text(bytes)}});
}

std::string MeetingGuest::get(const std::string& name) {
  say({{"get", name}});
  while (true) {
    if (interrupt_requested()) throw Interrupted();
    if (const auto answer = hear_within(1)) return bytes_of(answer->at("value").get<std::string>());
  }
}

}  // namespace harness
