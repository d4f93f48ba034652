#include "harness/measure/ranks/meeting.hpp"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/print.hpp"
#include "harness/base/text.hpp"
#include "harness/lockstep/protocol.hpp"
#include "harness/measure/ranks/handshake.hpp"
#include "harness/measure/ranks/socket.hpp"
#include "harness/scenario/step_timer.hpp"

namespace harness {
namespace {

using nlohmann::json;

// Who has not shown the key by then goes; and so many may be about to show it.
constexpr double kHandshakeSeconds = 5;
constexpr std::ptrdiff_t kMostStrangers = 64;

/// Bound to the first of the host's addresses that is one of this machine. Where the name stands
/// for other ones too, none that only this machine reaches.
int listen_at(const MeetingPlace& at, double timeout_seconds) {
  const AddressList addresses(at, true, timeout_seconds);
  bool reached = false;
  for (const addrinfo* one = addresses.first(); one != nullptr; one = one->ai_next) {
    reached = reached || !is_loopback(*one);
  }
  int error = 0;
  for (const addrinfo* one = addresses.first(); one != nullptr; one = one->ai_next) {
    if (reached && is_loopback(*one)) continue;
    const int file = ::socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC, one->ai_protocol);
    if (file < 0) continue;
    const int yes = 1;
    // The run before, of the same series, has only just left it.
    ::setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (::bind(file, one->ai_addr, one->ai_addrlen) == 0 && ::listen(file, SOMAXCONN) == 0) {
      return file;
    }
    error = errno;
    ::close(file);
  }
  const std::string what = fmt::format("rendezvous {}:{}", printable(at.host), at.port);
  if (error == EADDRNOTAVAIL) {
    throw Error(what, "is no address of this machine", "it names the machine of rank 0");
  }
  if (error == EADDRINUSE) {
    throw Error(what, "another process listens there",
                "--rendezvous HOST:PORT with another port, for all ranks");
  }
  throw Error(what, std::strerror(error));
}

}  // namespace

struct Meeting::Connection {
  explicit Connection(int file) : descriptor(file), channel(file, second_descriptor(file)) {}

  int descriptor;
  LineChannel channel;
  std::string word = random_hex(16);
  std::string role{};  ///< empty: it has not shown the key
  int rank = -1;
  std::string waits_for{};  ///< what it asked for is not there yet
  double heard = steady_seconds();
  bool closed = false;
};

Meeting::Meeting(const MeetingPlace& at, int world, double timeout_seconds)
    : place_(at), world_(world), listener_(listen_at(at, timeout_seconds)) {
  const auto [host, port] = own_end(listener_);
  // As Debian has it for a machine's own name.
  if (host.starts_with("127.0.1.")) {
    print_err(fmt::format("rank 0 can be reached from this machine alone: {} is {} here\n",
                          printable(at.host), host));
  }
  place_.host = host;
  place_.port = port;
}

Meeting::~Meeting() { ::close(listener_); }

void Meeting::serve(double seconds, const std::vector<pollfd>& others) {
  std::vector<pollfd> files = others;
  files.push_back({listener_, POLLIN, 0});
  for (const auto& connection : connections_) files.push_back({connection->descriptor, POLLIN, 0});
  ::poll(files.data(), files.size(), static_cast<int>(seconds * 1000));
  const double now = steady_seconds();
  const auto of_connections = files.begin() + static_cast<std::ptrdiff_t>(others.size()) + 1;
  for (std::size_t i = 0; i < connections_.size(); ++i) {
    if (of_connections[static_cast<std::ptrdiff_t>(i)].revents != 0) listen_to(*connections_[i]);
  }
  if (files[others.size()].revents != 0) accept_one();
  for (const auto& connection : connections_) look_after(*connection, now);
  if (now - last_sign_ > kSignSeconds) {
    last_sign_ = now;
    for (const auto& [rank, launcher] : launchers_) tell(rank, json::object());
  }
  std::erase_if(connections_, [](const auto& connection) { return connection->closed; });
}

void Meeting::accept_one() {
  const int file = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (file < 0) return;
  send_within(file, kHandshakeSeconds);
  const auto is_stranger = [](const auto& one) { return one->role.empty() && !one->closed; };
  if (std::count_if(connections_.begin(), connections_.end(), is_stranger) >= kMostStrangers) {
    close(**std::find_if(connections_.begin(), connections_.end(), is_stranger));  // the oldest
  }
  Connection& connection = *connections_.emplace_back(std::make_unique<Connection>(file));
  send(connection, {{"ranks", 1}, {"word", connection.word}});
}

void Meeting::send(Connection& connection, const json& message) {
  try {
    connection.channel.send(message.dump());
  } catch (const ProtocolError&) {
    close(connection);
  }
}

void Meeting::listen_to(Connection& connection) {
  try {
    while (const auto line = connection.channel.line_within(0)) {
      connection.heard = steady_seconds();
      hear(connection, message_of(*line));
      if (connection.closed) return;
    }
  } catch (const ProtocolError&) {
    close(connection);
  } catch (const json::exception&) {
    close(connection);
  }
}

void Meeting::hear(Connection& connection, const json& message) {
  if (connection.role.empty()) {
    let_in(connection, message);
  } else if (connection.role == kLauncher) {
    hear_launcher(connection, message);
  } else {
    hear_rank(connection, message);
  }
}

void Meeting::let_in(Connection& connection, const json& message) {
  const std::string word = message.at("word");
  const std::string shown = message.at("proof");
  const auto refuse = [&](const std::string& why) {
    send(connection, {{"refused", why}});
    close(connection);
  };
  // Without a hint in how long it takes at which digit they differ.
  if (hmac_sha256_hex(connection.word, shown) !=
      hmac_sha256_hex(connection.word, key_proof(place_.key, "guest", connection.word, word))) {
    return refuse("it has another key than this run");
  }
  const std::string role = message.at("as");
  const int rank = message.at("rank");
  const int world = message.at("world");
  if (world != world_) {
    return refuse(fmt::format("its world has {} ranks, that of rank 0 has {}", world, world_));
  }
  if (rank < 0 || rank >= world_ || (role != kLauncher && role != kRankItself)) {
    throw ProtocolError("no rank of this world");
  }
  if (role == kLauncher) {
    if (rank == 0) return refuse("there is a rank 0 already");
    if (launchers_.contains(rank)) return refuse(fmt::format("there is a rank {} already", rank));
    launchers_[rank].here = message.at("here");
  }
  connection.role = role;
  connection.rank = rank;
  send(connection, {{"proof", key_proof(place_.key, "host", connection.word, word)}});
}

void Meeting::hear_rank(Connection& connection, const json& message) {
  if (const auto put = message.find("put"); put != message.end()) {
    const std::string key = *put;
    told_[key] = message.at("value");
    for (const auto& other : connections_) {
      if (other->closed || other->waits_for != key) continue;
      other->waits_for.clear();
      send(*other, {{"value", message.at("value")}});
    }
    return;
  }
  const std::string key = message.at("get");
  const auto found = told_.find(key);
  if (found == told_.end()) {
    connection.waits_for = key;
  } else {
    send(connection, {{"value", found->second}});
  }
}

void Meeting::hear_launcher(Connection& connection, const json& message) {
  Launcher& launcher = launchers_.at(connection.rank);
  if (const auto piece = message.find("piece"); piece != message.end()) {
    launcher.handed_over += bytes_of(piece->get<std::string>());
  }
  if (const auto ended = message.find("ended"); ended != message.end()) {
    launcher.ended = ended->get<std::string>();
    launcher.failed = message.at("failed");
    launcher.given_up = message.at("given_up");
    launcher.doubts = message.value("doubts", std::vector<std::string>());
    launcher.cpu_seconds = message.value("cpu_seconds", 0.0);
  }
}

void Meeting::look_after(Connection& connection, double now) {
  // A rank itself, or one that waits for an answer, is watched by its launcher.
  const bool stranger = connection.role.empty() && now - connection.heard > kHandshakeSeconds;
  const bool silent = connection.role == kLauncher && now - connection.heard > kSilenceSeconds;
  if (stranger || silent) close(connection);
}

void Meeting::close(Connection& connection) {
  connection.closed = true;
  if (connection.role != kLauncher) return;
  Launcher& launcher = launchers_.at(connection.rank);
  if (!launcher.ended) launcher.gone_since = connection.heard;
}

void Meeting::forget_gone() {
  std::erase_if(launchers_, [](const auto& one) { return one.second.gone_since > 0; });
}

void Meeting::tell(int rank, const json& message) {
  for (const auto& connection : connections_) {
    if (connection->closed || connection->role != kLauncher || connection->rank != rank) continue;
    send(*connection, message);
  }
}

}  // namespace harness
