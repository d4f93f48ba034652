#include "harness/measure/ranks/socket.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "harness/base/error.hpp"
#include "harness/base/print.hpp"
#include "harness/base/steady.hpp"
#include "harness/base/text.hpp"
#include "harness/measure/ranks/handshake.hpp"
#include "harness/system/interrupt.hpp"

namespace harness {
namespace {

constexpr double kPauseSeconds = 0.5;

}  // namespace

AddressList::AddressList(const MeetingPlace& place, bool to_listen, double timeout_seconds) {
  const Steady::time_point start = Steady::now();
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = to_listen ? AI_PASSIVE : 0;
  bool noticed = false;
  while (true) {
    const int failed =
        ::getaddrinfo(place.host.c_str(), std::to_string(place.port).c_str(), &wanted, &list_);
    if (failed == 0) return;
    const double waited = seconds_since(start);
    if (waited < timeout_seconds) {
      if (waited > kNoticeSeconds && !std::exchange(noticed, true)) {
        print_err(fmt::format("nobody knows the host {} yet\n", printable(place.host)));
      }
      cool_down(kPauseSeconds);
      continue;
    }
    throw Error(fmt::format("rendezvous {}:{}", printable(place.host), place.port),
                std::string("nobody knows this host: ") + ::gai_strerror(failed),
                "--rendezvous HOST:PORT, of the machine of rank 0");
  }
}

bool is_loopback(const addrinfo& address) {
  if (address.ai_family == AF_INET) {
    const auto* plain = reinterpret_cast<const sockaddr_in*>(address.ai_addr);
    return (ntohl(plain->sin_addr.s_addr) >> 24) == 127;
  }
  if (address.ai_family != AF_INET6) return false;
  return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(address.ai_addr)->sin6_addr);
}

int second_descriptor(int socket) {
  const int second = ::fcntl(socket, F_DUPFD_CLOEXEC, 0);
  if (second < 0) throw Error("a connection", std::strerror(errno));
  return second;
}

std::pair<std::string, int> own_end(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  auto* plain = reinterpret_cast<sockaddr*>(&address);
  if (::getsockname(socket, plain, &size) != 0 ||
      ::getnameinfo(plain, size, host.data(), host.size(), port.data(), port.size(),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    throw Error("a connection", "has no address");
  }
  return {host.data(), std::atoi(port.data())};
}

void send_within(int socket, double seconds) {
  const timeval limit{static_cast<time_t>(seconds), 0};
  ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  const int yes = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

}  // namespace harness
