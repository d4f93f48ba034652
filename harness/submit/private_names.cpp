#include "harness/submit/private_names.hpp"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "harness/base/files.hpp"

namespace harness {
namespace {

namespace fs = std::filesystem;

void add(std::vector<std::string>& list, const std::string& text) {
  if (!text.empty() && std::find(list.begin(), list.end(), text) == list.end()) {
    list.push_back(text);
  }
}

void add_folder(std::vector<std::string>& list, const std::string& folder) {
  if (folder.empty()) return;
  add(list, folder);
  std::error_code error;
  const fs::path resolved = fs::canonical(folder, error);
  if (!error) add(list, resolved.string());
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// "node7" of "node7.example.org": either may be what a text holds.
void add_host(std::vector<std::string>& hosts, const std::string& name) {
  add(hosts, name);
  add(hosts, name.substr(0, name.find('.')));
}

}  // namespace

PrivateNames own_private_names() {
  PrivateNames names;
  add_folder(names.homes, variable("HOME"));
  for (const char* user : {"USER", "LOGNAME", "SUDO_USER"}) add(names.users, variable(user));
  struct passwd entry {};
  struct passwd* found = nullptr;
  std::array<char, 1 << 14> buffer{};
  if (::getpwuid_r(::getuid(), &entry, buffer.data(), buffer.size(), &found) == 0 &&
      found != nullptr) {
    add_folder(names.homes, entry.pw_dir);
    add(names.users, entry.pw_name);
  }
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) == 0) add_host(names.hosts, host.data());
  add_host(names.hosts, variable("HOSTNAME"));
  add_folder(names.checkouts, home_folder().string());
  return names;
}

}  // namespace harness
