#include "harness/profile/verbose_log.hpp"

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "harness/base/text.hpp"
#include "harness/profile/verbose_line.hpp"

namespace harness {
namespace {

constexpr std::string_view kEnter = "#scope+ ";
constexpr std::string_view kLeave = "#scope- ";
constexpr std::string_view kVersion = "oneDNN v";
constexpr std::size_t kMostReasons = 20;

/// A copy of oneDNN in the process, as it introduced itself.
struct Copy {
  std::string form{};
  std::string version{};
  std::optional<bool> names_component{};  ///< empty until its template was seen
  VerboseTemplate columns = default_verbose_template();
};

class Reader {
 public:
  VerboseLog read(std::string_view text) {
    std::size_t number = 0;
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      ++number;
      try {
        line(text.substr(0, end));
      } catch (const std::invalid_argument& error) {
        ++unreadable_;
        if (log_.unreadable.size() < kMostReasons) {
          log_.unreadable.push_back("line " + std::to_string(number) + ": " + error.what());
        }
      }
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    if (unreadable_ > kMostReasons) {
      log_.unreadable.push_back("and " + std::to_string(unreadable_ - kMostReasons) +
                                " more lines");
    }
    for (const Copy& copy : copies_) log_.libraries.push_back(copy.version);
    return std::move(log_);
  }

 private:
  void line(std::string_view text) {
    // Also behind what somebody printed without an end of line.
    if (const std::size_t at = text.find(kEnter); at != std::string_view::npos) {
      if (at > 0) ++log_.foreign_lines;
      open_.push_back(index_in(text.substr(at + kEnter.size())));
      return;
    }
    if (const std::size_t at = text.find(kLeave); at != std::string_view::npos) {
      if (at > 0) ++log_.foreign_lines;
      leave(index_in(text.substr(at + kLeave.size())));
      return;
    }
    // Which copy wrote a line shows in what stands before its columns, so that is read first.
    const auto head = parse_verbose_head(text);
    if (!head) {
      if (!trim(text).empty()) ++log_.foreign_lines;
      return;
    }
    const Copy* copy = copy_of(*head);
    const auto parsed =
        parse_verbose_line(text, copy != nullptr ? copy->columns : default_verbose_template());
    if (parsed->event == VerboseEvent::kInfo) introduce(*parsed);
    const std::int64_t scope = open_.empty() ? -1 : open_.back();
    if (parsed->event == VerboseEvent::kExecuted) {
      log_.executed.push_back(
          {parsed->primitive, scope, copy != nullptr ? copy->version : "", parsed->timestamp});
    } else if (parsed->event == VerboseEvent::kCreated) {
      log_.created.push_back({parsed->primitive, scope, parsed->cache == "cache_hit"});
    }
  }

  static std::int64_t index_in(std::string_view text) {
    const auto index = parse_integer(trim(text));
    if (!index || *index < 0) throw std::invalid_argument("a scope has no number");
    return *index;
  }

  // Scopes nest; one that was left without its line (torn) is closed with the one around it.
  void leave(std::int64_t index) {
    const auto found = std::find(open_.rbegin(), open_.rend(), index);
    if (found == open_.rend()) throw std::invalid_argument("a scope ends that never began");
    open_.erase(std::next(found).base(), open_.end());
  }

  void introduce(const VerboseLine& line) {
    if (line.info.empty()) return;
    if (line.info[0].starts_with(kVersion)) {
      const std::string rest = line.info[0].substr(kVersion.size());
      copies_.push_back(
          {line.form, rest.substr(0, rest.find(' ')), {}, default_verbose_template()});
      return;
    }
    const auto columns = template_in(line);
    if (!columns) return;
    // The last one of this form that has not said its columns yet.
    for (auto copy = copies_.rbegin(); copy != copies_.rend(); ++copy) {
      if (copy->form != line.form || copy->names_component) continue;
      copy->names_component = line.names_component;
      copy->columns = *columns;
      return;
    }
  }

  const Copy* copy_of(const VerboseLine& line) const {
    const Copy* found = nullptr;
    for (const Copy& copy : copies_) {
      if (copy.form != line.form) continue;
      if (found == nullptr || copy.names_component == line.names_component) found = &copy;
    }
    return found;
  }

  VerboseLog log_{};
  std::vector<Copy> copies_{};
  std::vector<std::int64_t> open_{};
  std::size_t unreadable_ = 0;
};

}  // namespace

VerboseLog parse_verbose_log(std::string_view text) { return Reader().read(text); }

}  // namespace harness
