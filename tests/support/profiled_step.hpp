// Steps as `advise` sees them, made up.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/profile/advice.hpp"

namespace harness {

inline OperatorRow operator_row(const std::string& phase, const std::string& module,
                                const std::string& name, double self, double primitives = 0) {
  OperatorRow made;
  made.phase = phase;
  made.module = module;
  made.name = name;
  made.calls = 1;
  made.self_seconds = self;
  made.primitive_seconds = primitives;
  return made;
}

inline PrimitiveRow primitive_row(const std::string& kind, const std::string& problem,
                                  std::size_t owner, double seconds, double calls = 1) {
  PrimitiveRow made;
  made.primitive.kind = kind;
  made.primitive.implementation = "brgconv:avx512_core";
  made.primitive.problem = problem;
  made.library = "oneDNN 3.12.0";
  made.owner = owner;
  made.seconds = seconds;
  made.calls = calls;
  return made;
}

/// A step of 10 s: a convolution with a norm, a ReLU and their gradients, and nothing else.
inline ProfileTables ten_second_step() {
  ProfileTables made;
  made.step_seconds = 10;
  made.operators = {operator_row("forward", "net.conv", "aten::mkldnn_convolution", 6, 6),
                    operator_row("forward", "net.conv", "aten::mul", 0.5),
                    operator_row("forward", "net.conv", "aten::clamp_min_", 0.25),
                    operator_row("backward", "net.conv", "aten::mul", 0.25),
                    operator_row("backward", "net.conv", "aten::threshold_backward", 2),
                    operator_row("backward", "net.conv", "aten::add_", 1)};
  made.primitives = {primitive_row("convolution", "mb1_ic8oc8_ih4oh4kh3sh1dh0ph1", 0, 6)};
  return made;
}

inline AdviceFacts pooled_facts() {
  AdviceFacts made;
  made.allocator = "pooled";
  made.precision = "fp32";
  made.step_seconds = 10;
  made.fault_seconds = 1e-6;
  made.copy_bandwidth = 10e9;
  return made;
}

inline const Advice* find_advice(const std::vector<Advice>& all, const std::string& topic) {
  for (const Advice& advice : all) {
    if (advice.topic == topic) return &advice;
  }
  return nullptr;
}

inline double expected_gain(const std::vector<Advice>& all, const std::string& topic) {
  const Advice* advice = find_advice(all, topic);
  return advice == nullptr ? -1 : advice->expected_seconds.value_or(-2);
}

}  // namespace harness
