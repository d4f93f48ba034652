// A training's whole state in one file, so that it can go on bit for bit.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "kernels/optimizer/optimizer.hpp"
#include "workloads/torch/parameters.hpp"

namespace harness::workloads {

/// What a training counts beside its tensors: "iteration", "samples". Names are the caller's.
using TrainingCounters = std::map<std::string, std::int64_t>;

/// Writes all parameters and buffers, Adam's moments and steps, and `counters` to `path`, over what
/// was there. `adam.parameters` are parameters.trainable(), else std::invalid_argument is thrown.
/// Neither atomic nor protected by a hash: that is the caller's. Throws Error when it cannot be
/// written (no space, ...), leaving a file of unknown content.
///
/// A safetensors file: all of parameters.all() by their names, then first and second moments of all
/// trainable ones, with a word before the name, all float32. Its metadata: format
/// (`harness-training-state/2`), adam (settings), steps (of Adam, a parameter each), counters.
void save_training_state(const std::filesystem::path& path, const ParameterStore& parameters,
                         const kernels::AdamState& adam, const TrainingCounters& counters);

/// Reads what save_training_state() wrote into a model and optimiser built alike, in place: layers,
/// gradients and prepared weights go on with the new values. Returns the counters. Throws Error in
/// one line for a file that is missing, truncated, too long, not of this format or its version, of
/// a model with other names or shapes, or of another Adam; all of that is found before the first
/// value changes.
TrainingCounters load_training_state(const std::filesystem::path& path, ParameterStore& parameters,
                                     kernels::AdamState& adam);

/// The counter of that name in what was read from `file`. Throws Error where there is none, or it
/// is negative.
std::int64_t counter_of(const TrainingCounters& counters, const std::string& name,
                        const std::filesystem::path& file);

/// Writes all parameters and buffers by their names as safetensors, with `labels` as metadata, over
/// what was at `path`. Throws Error when it cannot be written.
void save_weights(const std::filesystem::path& path, const ParameterStore& parameters,
                  const std::map<std::string, std::string>& labels);

}  // namespace harness::workloads
