// The few things about sockets that both ends of a meeting need.
#pragma once

#include <netdb.h>

#include <string>
#include <utility>

#include "harness/measure/ranks/world_place.hpp"

namespace harness {

/// What a host's name stands for.
class AddressList {
 public:
  /// A name that nobody knows is asked for again: where machines are only starting, it is known a
  /// little later. Throws Error where it is not within so long; Interrupted when asked to stop.
  AddressList(const MeetingPlace& place, bool to_listen, double timeout_seconds);
  ~AddressList() { ::freeaddrinfo(list_); }
  AddressList(const AddressList&) = delete;
  AddressList& operator=(const AddressList&) = delete;
  const addrinfo* first() const { return list_; }

 private:
  addrinfo* list_ = nullptr;
};

bool is_loopback(const addrinfo& address);

/// For the same socket once more; processes that are started do not inherit it. Throws Error.
int second_descriptor(int socket);

/// Address and port of the socket's own end, as numbers.
std::pair<std::string, int> own_end(int socket);

/// Who does not take what is sent within so long counts as gone; what is sent goes at once.
void send_within(int socket, double seconds);

}  // namespace harness
