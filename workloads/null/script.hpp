// What the workload `null` is told to do by its settings.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "harness/workload/workload.hpp"

namespace harness::workloads {

struct Script {
  std::vector<double> step_ms{};    ///< repeated; sped up as kernels, allocator and precision are
  std::vector<double> losses{};     ///< repeated
  std::vector<double> qualities{};  ///< of each evaluation; the last stays
  double evaluation_ms = 0;
  double memory_bytes = 0;
  double flops = 0;
  std::int64_t epoch_steps = 0;
  std::int64_t fail_at = 0;  ///< 0: at no step
  bool fails_to_prepare = false;

  /// Of an evaluation, counted from 0.
  Quality quality(std::size_t evaluation) const;
};

/// How far a script was played: all of the workload's state.
struct ScriptPlace {
  std::int64_t steps = 0;
  std::size_t evaluations = 0;

  void save(const std::filesystem::path& file) const;
  void load(const std::filesystem::path& file);
};

std::vector<SettingInfo> script_settings();
std::vector<OperatorInfo> script_operators();

/// Throws Error for a script that makes no sense.
Script read_script(const WorkloadContext& context);

/// The number that a setting holds. Throws Error for what is none.
double number_of(const WorkloadContext& context, const std::string& key);

void sleep_for(double ms);
/// Looks every now and then whether the run was asked to stop, as a real evaluation does.
void sleep_for(double ms, const WorkloadContext& context);

}  // namespace harness::workloads
