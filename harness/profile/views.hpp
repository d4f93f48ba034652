// The tables of a profile, added up for people.
#pragma once

#include <string>
#include <vector>

#include "harness/profile/tables.hpp"

namespace harness {

/// Operators added up under a name; numbers are of a step.
struct OperatorSum {
  std::string name{};
  double calls = 0;
  double self_seconds = 0;
  double primitive_seconds = 0;
  double reorder_seconds = 0;
  double bytes = 0;
  double flops = 0;
  double page_faults = 0;
};

/// By part of the model: the first two names of a module ("backbone.fpn"), else the phase. The
/// longest first; what no operator took stands as "(between operators)".
std::vector<OperatorSum> by_part(const ProfileTables& tables);
/// By the operator's name; the longest first.
std::vector<OperatorSum> by_operator(const ProfileTables& tables);

/// Primitives added up by kind, direction, implementation and library.
struct PrimitiveSum {
  std::string kind{};
  std::string direction{};
  std::string implementation{};
  std::string library{};
  std::string type{};  ///< of the first tensor that has one
  double calls = 0;
  double seconds = 0;
  double flops = 0;
  double bytes = 0;
};

/// The longest first.
std::vector<PrimitiveSum> by_primitive(const ProfileTables& tables);

/// B/s that operators without primitives reached, of those whose tensors are too large for caches
/// and that waited for few page faults; 0 where there are none.
double operator_bandwidth(const ProfileTables& tables);

/// Seconds of a row outside of primitives, had its memory been there. Where most of what it writes
/// was faulted in: its traffic at `bandwidth`, with each line that is written being read first;
/// else its time without faults at `fault_seconds` each. From 0 to what it took.
double gap_without_faults(const OperatorRow& row, double bandwidth, double fault_seconds);

/// Of what a row took, the part that its page faults cost at `fault_seconds` each: no more than it
/// took beyond what gap_without_faults() leaves it.
double fault_cost(const OperatorRow& row, double bandwidth, double fault_seconds);

/// By what to multiply seconds in the operating system for what page faults cost: 1 to 2. Below a
/// virtual machine's system there is another that has its time, too; element-wise operators that
/// fault took at most what is beyond moving their bytes at `bandwidth`. The middle of both bounds.
double system_factor(const ProfileTables& tables, double bandwidth);

/// "12 page faults", "1.3 million page faults".
std::string page_faults_text(double faults);

/// Seconds of a step in primitives and in kernels of this project.
double working_seconds(const ProfileTables& tables);

/// "2.1e10 cycles, 3.05 instructions a cycle, ..." or why there is nothing; empty for a profile
/// that did not ask.
std::string counters_text(const ProfileTables& tables);

/// What an engineer would want to be told, a sentence each: primitives without a fast
/// implementation, primitives made anew within a step, time in reorders, time outside of
/// primitives, primitives that belong to no operator.
std::vector<std::string> remarks(const ProfileTables& tables);

}  // namespace harness
