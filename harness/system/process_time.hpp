// What processes have used of the processors, how long they waited for one, and what they do now.
#pragma once

#include <sys/types.h>

#include <vector>

namespace harness {

/// Seconds of processor time, user and kernel, of all processes in the session of `leader` that
/// are alive, with the children they have waited for. 0 where nothing can be read.
double session_cpu_seconds(pid_t leader);

/// The processes in the session of `leader` that are alive.
std::vector<pid_t> session_processes(pid_t leader);

/// For how many seconds in all the main thread of `process` had work to do while others had the
/// processors. 0 where nothing can be read.
double processor_wait(pid_t process);
/// The same of the calling thread.
double own_processor_wait();

/// Whether a thread of `process` works, or would if it had a processor, and none waits for a disk.
bool works(pid_t process);
/// Whether all threads of `process` were stopped (SIGSTOP), or are no more.
bool stands_still(pid_t process);
/// By how many bytes the memory that `process` once took exceeds what it has now.
double memory_given_back(pid_t process);

}  // namespace harness
