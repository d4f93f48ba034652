// What the plug-in for MPI offers the program: plain functions, so that either can be built without
// the other. Texts are the plug-in's own, and stay until the next call in the same thread.
#pragma once

#include <cstdint>

extern "C" {

/// Each function that returns a text says so what went wrong; null: nothing did.
struct HarnessMpi {
  /// Joins the world of this process as MPI's launcher has it. It is left again, in good order,
  /// when the process exits: all others have to come to that as well, so nothing may be lost by
  /// waiting for them.
  const char* (*open)();
  int (*rank)();  ///< from 0
  int (*world)();
  const char* (*version)();
  /// As Wire::exchange(). Ends with an error after so many seconds, and once hang_up() was called.
  const char* (*exchange)(const void* mine, void* all, std::int64_t bytes, double timeout_seconds);
  /// For the handler of a signal. The world is then left without a word.
  void (*hang_up)();
};

/// The only symbol: `const HarnessMpi* harness_mpi()`.
using HarnessMpiFunction = const HarnessMpi* (*)();
}
