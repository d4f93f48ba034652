// Ranks that a test starts one by one.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/process.hpp"

namespace harness {

/// One that was free a moment ago.
inline int free_port() {
  const int file = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* plain = reinterpret_cast<sockaddr*>(&address);
  REQUIRE(::bind(file, plain, size) == 0);
  REQUIRE(::getsockname(file, plain, &size) == 0);
  ::close(file);
  return ntohs(address.sin_port);
}

inline const std::string& run_key() {
  static const std::string text = "HARNESS_RUN_KEY=a key of these tests";
  return text;
}

/// A world of processes that the test starts one by one.
class World {
 public:
  explicit World(std::filesystem::path out) : out_(std::move(out)) {}

  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

  std::vector<std::string> arguments(int rank, const std::vector<std::string>& more = {},
                                     int world = 2) const {
    std::vector<std::string> list = {"run",
                                     "--rendezvous",
                                     address(),
                                     "--rank",
                                     std::to_string(rank),
                                     "--world",
                                     std::to_string(world),
                                     "--rendezvous-timeout",
                                     "30"};
    list.insert(list.end(), more.begin(), more.end());
    return list;
  }
  std::vector<std::string> steps(int rank, int count, const std::vector<std::string>& more = {},
                                 int world = 2) const {
    std::vector<std::string> list = arguments(
        rank, {"--workload", "null", "--steps", std::to_string(count), "--set", "step-ms=20"},
        world);
    if (world > 2) list.emplace_back("--oversubscribe");  // there may be no more CPUs
    if (rank == 0) list.insert(list.end(), {"--out", out_.string()});
    list.insert(list.end(), more.begin(), more.end());
    return list;
  }

 private:
  std::filesystem::path out_;
  int port_ = free_port();
};

inline std::unique_ptr<Process> start_rank(const std::vector<std::string>& arguments) {
  return std::make_unique<Process>(arguments, std::vector{run_key()});
}

}  // namespace harness
