#include "harness/kinds/ablation/sides.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <string_view>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/text.hpp"
#include "harness/result/setting.hpp"

namespace harness {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::size_t kMostFiles = 64;  // as the schema has it

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

/// What stands between the blanks of `command`, without quotes around it: near enough to find the
/// files that it names.
std::vector<std::string> words_of(const std::string& command) {
  std::vector<std::string> words;
  for (const std::string& word : split(command, ' ')) {
    std::string_view bare = trim(word);
    while (!bare.empty() && (bare.front() == '\'' || bare.front() == '"')) bare.remove_prefix(1);
    while (!bare.empty() && (bare.back() == '\'' || bare.back() == '"')) bare.remove_suffix(1);
    if (!bare.empty()) words.emplace_back(bare);
  }
  return words;
}

/// As the shell finds it; empty where it does not.
fs::path find_program(const std::string& word) {
  if (word.find('/') != std::string::npos) return is_file(word) ? fs::path(word) : fs::path();
  const char* path = std::getenv("PATH");
  for (const std::string& folder : split(path == nullptr ? "" : path, ':')) {
    fs::path candidate = fs::path(folder) / word;
    if (is_file(candidate) && ::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return {};
}

void add_file(const fs::path& file, std::vector<PeerFile>& files) {
  if (file.empty() || files.size() >= kMostFiles) return;
  try {
    files.push_back({file.string(), sha256_of_file(file)});
  } catch (const Error&) {
    // The command may do without it; if not, it says so itself.
  }
}

/// An option for each value: a list may be given again and again.
std::string option_text(const std::string& name, const json& value) {
  if (value.is_array()) {
    std::string text;
    for (const json& item : value) text += option_text(name, item);
    return text;
  }
  const Setting* setting = SettingTable::instance().find(name);
  const std::string option = " --" + (setting == nullptr ? name : setting->option());
  if (value.is_boolean()) return value.get<bool>() ? option : "";
  return option + " " + shell_word(value.is_string() ? value.get<std::string>() : value.dump());
}

}  // namespace

std::string variant_command(const RunPlan& plan, const fs::path& out) {
  // By our own process, so that a build that replaces the file meanwhile changes nothing.
  std::string command = fmt::format("/proc/{}/exe run --lockstep --runs 1", ::getpid());
  json settings = plan.requested;
  settings["seed"] = plan.context.seeds.run;  // drawn for all
  for (const auto& [name, value] : settings.items()) command += option_text(name, value);
  return command + " --out " + shell_word(out.string());
}

Peer peer_of(const PeerCommand& command) {
  Peer peer{command.command, "", {}};
  bool found = false;
  for (const std::string& word : words_of(command.command)) {
    if (found) {
      if (is_file(word)) add_file(word, peer.files);
    } else if (word.find('=') == std::string::npos) {  // no variable for the environment
      found = true;
      add_file(find_program(word), peer.files);
    }
  }
  return peer;
}

}  // namespace harness
