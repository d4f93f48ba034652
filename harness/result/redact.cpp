#include "harness/result/redact.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "harness/result/json_clean.hpp"
#include "harness/result/schema.hpp"

namespace harness {
namespace {

using nlohmann::json;

// Top-level members that hold nothing of a person, or would be no longer what they are.
constexpr std::array<std::string_view, 5> kUntouched = {"kind", "schema_version", "notice",
                                                        "digest", "submission"};
// Members whose words name what is measured: an account named like a kernel must not rename it.
constexpr std::array<std::string_view, 26> kOwnWords = {
    "uuid", "series_id", "started_at", "ended_at",      "harness_version", "git_commit",
    "name", "to",        "rules_file", "rules_version", "rules_sha256",    "sha256",
    "tier", "division",  "precision",  "allocator",     "device",          "scenario",
    "cpus", "tag",       "unit",       "direction",     "metric",          "state",
    "rule", "path"};
// Folders that everybody has; a home there says nothing.
constexpr std::array<std::string_view, 14> kCommonFolders = {
    "/",    "/bin", "/dev",  "/etc", "/home", "/lib", "/mnt",
    "/opt", "/srv", "/proc", "/sys", "/tmp",  "/usr", "/var"};

template <std::size_t N>
bool is_one_of(const std::array<std::string_view, N>& list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

bool is_alnum(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }
/// Of the name of a file or folder.
bool is_name_char(char c) { return is_alnum(c) || c == '_' || c == '-' || c == '.'; }
char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

/// Whether a folder's name ends at `end`: a full stop may also end a sentence.
bool name_ends(std::string_view text, std::size_t end) {
  if (end >= text.size() || !is_name_char(text[end])) return true;
  return text[end] == '.' && (end + 1 >= text.size() || !is_name_char(text[end + 1]));
}

/// Replaces each place where `find(text, from)` gives [begin, end) by `placeholder`.
template <class Find>
std::string replaced(std::string_view text, std::string_view placeholder, const Find& find) {
  std::string out;
  std::size_t done = 0;
  while (true) {
    const auto [begin, end] = find(text, done);
    if (begin == std::string_view::npos) break;
    out += text.substr(done, begin - done);
    out += placeholder;
    done = end;
  }
  out += text.substr(done);
  return out;
}

using Place = std::pair<std::size_t, std::size_t>;
constexpr Place kNowhere = {std::string_view::npos, 0};

/// `folder` itself or the beginning of a path below it. One of a single step ("/root") is no part
/// of a longer name ("/data/root").
Place find_folder(std::string_view text, std::size_t from, std::string_view folder) {
  const bool single = folder.find('/', 1) == std::string_view::npos;
  for (std::size_t at = text.find(folder, from); at != std::string_view::npos;
       at = text.find(folder, at + 1)) {
    const bool begins = !single || at == 0 || !is_name_char(text[at - 1]);
    if (begins && name_ends(text, at + folder.size())) return {at, at + folder.size()};
  }
  return kNowhere;
}

/// The home of any account: `parent` ("/home/") and one more name.
Place find_home_below(std::string_view text, std::size_t from, std::string_view parent) {
  for (std::size_t at = text.find(parent, from); at != std::string_view::npos;
       at = text.find(parent, at + 1)) {
    std::size_t end = at + parent.size();
    while (!name_ends(text, end)) ++end;
    if (end > at + parent.size()) return {at, end};
  }
  return kNowhere;
}

/// `word` by itself, whatever its case. A placeholder ($USER) is none.
Place find_word(std::string_view text, std::size_t from, std::string_view word) {
  const auto same = [](char a, char b) { return lower(a) == lower(b); };
  const auto inside = [](char c) { return is_alnum(c) || c == '_'; };
  auto at = text.begin() + static_cast<std::ptrdiff_t>(from);
  while (true) {
    at = std::search(at, text.end(), word.begin(), word.end(), same);
    if (at == text.end()) return kNowhere;
    const auto begin = static_cast<std::size_t>(at - text.begin());
    const std::size_t end = begin + word.size();
    const bool starts = begin == 0 || (!inside(text[begin - 1]) && text[begin - 1] != '$');
    if (starts && (end == text.size() || !inside(text[end]))) return {begin, end};
    ++at;
  }
}

/// An account's name where only an account's name stands: a step of a path, or before an @.
Place find_account(std::string_view text, std::size_t from, std::string_view name) {
  for (std::size_t at = text.find(name, from); at != std::string_view::npos;
       at = text.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    const bool step = at > 0 && text[at - 1] == '/' && name_ends(text, end);
    const bool address = end < text.size() && text[end] == '@' &&
                         (at == 0 || (!is_name_char(text[at - 1]) && text[at - 1] != '$'));
    if (step || address) return {at, end};
  }
  return kNowhere;
}

/// Where a value stands: made into a pointer only for what changes.
struct Frame {
  const Frame* up = nullptr;
  const std::string* key = nullptr;  ///< in an object
  std::size_t index = 0;             ///< in an array

  std::string pointer() const {
    if (up == nullptr) return {};
    return up->pointer() + "/" + (key != nullptr ? pointer_step(*key) : std::to_string(index));
  }
  bool is(std::string_view name) const { return key != nullptr && *key == name; }
  bool below(std::string_view name) const { return is(name) || (up != nullptr && up->below(name)); }
};

class Redactor {
 public:
  explicit Redactor(const PrivateNames& names) {
    add_folders(names.homes, "$HOME");
    add_folders(names.checkouts, "$HARNESS");
    std::stable_sort(folders_.begin(), folders_.end(), [](const auto& a, const auto& b) {
      return a.first.size() > b.first.size();  // the innermost folder first
    });
    add_words(names.others, "$PRIVATE");
    add_words(names.hosts, "$HOST");
    add_words(names.users, "$USER");
  }

  std::vector<std::string> run(json& document) {
    for (auto member = document.begin(); member != document.end(); ++member) {
      if (!is_one_of(kUntouched, member.key())) note_accounts(member.value());
    }
    for (auto member = document.begin(); member != document.end(); ++member) {
      const Frame root;
      if (!is_one_of(kUntouched, member.key())) visit(member.value(), {&root, &member.key(), 0});
    }
    return std::move(changed_);
  }

 private:
  static constexpr std::array<std::string_view, 2> kHomeParents = {"/home/", "/Users/"};
  static constexpr std::size_t kMostAccounts = 16;

  void add_folders(const std::vector<std::string>& folders, const char* placeholder) {
    for (std::string folder : folders) {
      while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
      if (!folder.starts_with('/') || is_one_of(kCommonFolders, folder)) continue;
      folders_.emplace_back(std::move(folder), placeholder);
    }
  }

  void add_words(const std::vector<std::string>& words, const char* placeholder) {
    for (const std::string& word : words) {
      // Every machine has these: they tell nothing, and stand for something else in most texts.
      if (word.empty() || word == "root" || word == "localhost") continue;
      words_.emplace_back(word, placeholder);
    }
  }

  /// Whose homes the texts name: elsewhere such a name is a step of a path of the same account.
  void note_accounts(const json& value) {
    if (value.is_string()) {
      const std::string_view text = value.get_ref<const std::string&>();
      for (const std::string_view parent : kHomeParents) {
        std::size_t from = 0;
        while (accounts_.size() < kMostAccounts) {
          const auto [begin, end] = find_home_below(text, from, parent);
          if (begin == std::string_view::npos) break;
          const std::string name(text.substr(begin + parent.size(), end - begin - parent.size()));
          if (std::find(accounts_.begin(), accounts_.end(), name) == accounts_.end()) {
            accounts_.push_back(name);
          }
          from = end;
        }
      }
    }
    if (!value.is_structured()) return;
    for (const json& child : value) note_accounts(child);
  }

  // As deep as the document is nested, which the reader bounds.
  void visit(json& value, const Frame& frame) {
    if (value.is_string()) {
      change(value.get_ref<std::string&>(), frame);
    } else if (value.is_array()) {
      for (std::size_t i = 0; i < value.size(); ++i) visit(value[i], {&frame, nullptr, i});
    } else if (value.is_object()) {
      std::vector<std::pair<std::string, std::string>> renamed;
      for (auto member = value.begin(); member != value.end(); ++member) {
        std::string key = text_for_result(without_accounts(without_folders(member.key())));
        if (key != member.key()) renamed.emplace_back(member.key(), std::move(key));
      }
      for (auto& [before, after] : renamed) {
        while (value.contains(after)) after += "'";
        json child = std::move(value[before]);
        value.erase(before);
        value[after] = std::move(child);
        changed_.push_back(Frame{&frame, &after, 0}.pointer());
      }
      for (auto member = value.begin(); member != value.end(); ++member) {
        visit(member.value(), {&frame, &member.key(), 0});
      }
    }
  }

  void change(std::string& text, const Frame& frame) {
    std::string now = without_folders(text);
    if (frame.below("software")) now = without_library_folder(now);
    const bool own = frame.key != nullptr && is_one_of(kOwnWords, *frame.key);
    if (!own && !frame.below("kernels")) now = without_words(without_accounts(now));
    if (now == text) return;
    text = text_for_result(now);
    const std::string pointer = frame.pointer();
    // A key above it may have brought it here already.
    if (changed_.empty() || changed_.back() != pointer) changed_.push_back(pointer);
  }

  std::string without_folders(std::string text) const {
    if (text.find('/') == std::string::npos) return text;
    for (const auto& entry : folders_) {
      text = replaced(text, entry.second, [&](std::string_view in, std::size_t from) {
        return find_folder(in, from, entry.first);
      });
    }
    for (const std::string_view parent : kHomeParents) {
      text = replaced(text, "$HOME", [&](std::string_view in, std::size_t from) {
        return find_home_below(in, from, parent);
      });
    }
    text = replaced(text, "$HOME", [](std::string_view in, std::size_t from) {
      return find_folder(in, from, "/root");
    });
    return text;
  }

  std::string without_accounts(std::string text) const {
    for (const std::string& name : accounts_) {
      text = replaced(text, "$USER", [&](std::string_view in, std::size_t from) {
        return find_account(in, from, name);
      });
    }
    return text;
  }

  std::string without_words(std::string text) const {
    for (const auto& entry : words_) {
      text = replaced(text, entry.second, [&](std::string_view in, std::size_t from) {
        return find_word(in, from, entry.first);
      });
    }
    return text;
  }

  /// A library's path tells how somebody's disk is laid out; its name tells what was used. The path
  /// may be relative, and begin with what a folder gave way to.
  static std::string without_library_folder(const std::string& text) {
    for (const char* system : {"/usr/lib", "/usr/local/lib", "/lib"}) {
      if (text.starts_with(system)) return text;
    }
    constexpr std::array<std::string_view, 5> kBeginnings = {"/", "./", "../", "$HOME/",
                                                             "$HARNESS/"};
    const bool path = std::any_of(kBeginnings.begin(), kBeginnings.end(),
                                  [&](std::string_view begin) { return text.starts_with(begin); });
    return path ? "$FOLDER" + text.substr(text.rfind('/')) : text;
  }

  std::vector<std::pair<std::string, std::string>> folders_;
  std::vector<std::pair<std::string, std::string>> words_;
  std::vector<std::string> accounts_;
  std::vector<std::string> changed_;
};

}  // namespace

std::vector<std::string> redact(json& document, const PrivateNames& names) {
  return Redactor(names).run(document);
}

}  // namespace harness
