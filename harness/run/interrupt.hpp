// Ctrl-C, SIGTERM and SIGHUP ask a run to stop after the current step.
#pragma once

namespace harness {

/// Installs the handlers once per process. The first signal sets the flag and says so on stderr;
/// the second ends the process at once (what was measured is in the samples file already).
void install_interrupt_handlers();

bool interrupt_requested();

/// A second request also ends this process group, which hears nothing of the terminal; 0 for none.
void end_with_us(int process_group);

/// Lets the machine rest for so many seconds; throws Interrupted as soon as a stop is asked for.
void cool_down(double seconds);

}  // namespace harness
