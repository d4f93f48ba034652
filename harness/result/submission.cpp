#include "harness/result/submission.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <vector>

#include "harness/base/text.hpp"

namespace harness {
namespace {

using nlohmann::json;

constexpr std::size_t kLongestModel = 48;
constexpr std::size_t kLongestWorkload = 128;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// Words of small letters and digits; "(R)" and the like are none.
std::vector<std::string> words_of(std::string text) {
  for (const char* mark : {"(R)", "(r)", "(TM)", "(tm)"}) {
    for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark)) {
      text.replace(at, std::string_view(mark).size(), " ");
    }
  }
  // "@ 2.90GHz" says how it is clocked, not what it is.
  text = text.substr(0, text.find('@'));
  std::vector<std::string> words;
  bool within = false;
  for (const char c : text) {
    const bool part = is_digit(c) || is_letter(c);
    if (part && !within) words.emplace_back();
    if (part) words.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    within = part;
  }
  return words;
}

/// Which Zen core an AMD processor has, by family and model number; empty when not known.
std::string zen_generation(const json& cpu) {
  const auto family = parse_integer(text_member(cpu, "family")).value_or(0);
  const auto model = parse_integer(text_member(cpu, "model")).value_or(-1);
  if (family == 0x17) return model >= 0x30 ? "zen2" : "zen";
  if (family == 0x1A) return "zen5";
  if (family != 0x19 || model < 0) return {};
  const bool fourth = (model >= 0x10 && model <= 0x1F) || (model >= 0x60 && model <= 0x7F) ||
                      (model >= 0xA0 && model <= 0xAF);
  return fourth ? "zen4" : "zen3";
}

std::string model_slug(const json& cpu) {
  constexpr std::array<std::string_view, 3> kFiller = {"cpu", "processor", "with"};
  const auto is_number = [](const std::string& word) {
    return std::all_of(word.begin(), word.end(), is_digit);
  };
  std::vector<std::string> words;
  for (const std::string& word : words_of(text_member(cpu, "model_name"))) {
    if (std::find(kFiller.begin(), kFiller.end(), word) != kFiller.end()) continue;
    // "96-Core Processor": the cores are counted apart.
    if (word == "core" && !words.empty() && is_number(words.back())) {
      words.pop_back();
    } else {
      words.push_back(word);
    }
  }
  const std::string vendor = text_member(cpu, "vendor");
  const bool amd = vendor == "AuthenticAMD";
  if (words.empty()) words = words_of(vendor);
  if (words.empty()) words = {"unknown-cpu"};
  const auto has_digit = [](const std::string& word) {
    return std::any_of(word.begin(), word.end(), is_digit);
  };
  if (amd && !std::any_of(words.begin(), words.end(), has_digit)) {
    const std::string generation = zen_generation(cpu);
    if (!generation.empty()) words.push_back(generation);
  }
  std::string slug;
  for (const std::string& word : words) {
    if (slug.size() + 1 + word.size() > kLongestModel) break;
    slug += (slug.empty() ? "" : "-") + word;
  }
  return slug.empty() ? "unknown-cpu" : slug;
}

std::string count_slug(const json& cpu) {
  for (const char* unit : {"core", "thread"}) {
    const auto count = cpu.find(std::string(unit) + "s");
    if (count == cpu.end() || !count->is_number_integer()) continue;
    const auto number = count->get<std::int64_t>();
    if (number < 1) continue;
    return fmt::format("{}-{}{}", number, unit, number == 1 ? "" : "s");
  }
  return "unknown-cores";
}

/// `text` with '-' for every character that has no place in a file's name, and none in front that
/// hides it; at most `longest` bytes.
std::string name_part(std::string_view text, std::size_t longest) {
  std::string part;
  for (const char c : text.substr(0, longest)) {
    const bool plain = is_digit(c) || is_letter(c) || c == '_' || c == '+' || c == '-' ||
                       (c == '.' && !part.empty());
    part += plain ? c : '-';
  }
  return part;
}

}  // namespace

std::string machine_slug(const json& facts) {
  const auto found = facts.find("cpu");
  const json cpu = found != facts.end() && found->is_object() ? *found : json::object();
  return model_slug(cpu) + "-" + count_slug(cpu);
}

std::filesystem::path submission_path(const ResultCommon& result) {
  const Identity& identity = result.identity;
  const std::string commit =
      identity.git_commit.empty() ? "nocommit" : name_part(identity.git_commit, 7);
  const std::string file =
      fmt::format("{}-{}-{}-{}.json", name_part(identity.started_at, 10), commit,
                  name_part(result.rules.workload, kLongestWorkload), name_part(identity.uuid, 8));
  return std::filesystem::path(machine_slug(result.system)) / file;
}

}  // namespace harness
