// Ctrl-C, SIGTERM and SIGHUP ask a run to stop after the current step.
#pragma once

namespace harness {

/// Installs the handlers once per process. The first signal sets the flag and says so on stderr;
/// the second ends the process at once (what was measured is in the samples file already).
void install_interrupt_handlers();

bool interrupt_requested();

}  // namespace harness
