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
  /// Throws Error for a name that nobody knows.
  AddressList(const MeetingPlace& place, bool to_listen);
  ~AddressList() { ::freeaddrinfo(list_); }
  AddressList(const AddressList&) = delete;
  AddressList& operator=(const AddressList&) = delete;
  const addrinfo* first() const { return list_; }

 private:
  addrinfo* list_ = nullptr;
};

/// Address and port of the socket's own end, as numbers.
std::pair<std::string, int> own_end(int socket);

/// Who does not take what is sent within so long counts as gone; what is sent goes at once.
void send_within(int socket, double seconds);

}  // namespace harness
