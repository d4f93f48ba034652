// Ctrl-C, SIGTERM and SIGHUP ask a command to stop; a second one ends it at once.
#pragma once

#include <filesystem>
#include <string>

namespace harness {

/// Installs the handlers once per process. The first signal sets the flag and says on stderr what
/// happens next; the second ends the process at once and names the samples that are left. A
/// signal that the process inherited as ignored stays ignored.
void install_interrupt_handlers();

bool interrupt_requested();

/// What the first signal says while this lives: the words behind "harness: ", which tell when the
/// command will stop. Without one: "stopping as soon as possible".
class StopMessage {
 public:
  /// `words` outlive the process (a literal). Null: another process, which hears of the request
  /// from this one, says it.
  explicit StopMessage(const char* words);
  ~StopMessage();
  StopMessage(const StopMessage&) = delete;
  StopMessage& operator=(const StopMessage&) = delete;
  void change(const char* words);

 private:
  const char* before_;
};

/// The file of samples that the second signal, and stop_at_once(), name.
void name_samples_left(const std::filesystem::path& samples);

/// Says `what` in a line and ends the process: where samples were measured it says where they are,
/// and ends as the second signal does, else as a mistake does. From any thread.
[[noreturn]] void stop_at_once(const std::string& what);

/// Lets the machine rest for so many seconds; throws Interrupted as soon as a stop is asked for.
void cool_down(double seconds);

}  // namespace harness
