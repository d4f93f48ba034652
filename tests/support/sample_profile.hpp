// A made-up profile, for tests of everything that shows one.
#pragma once

#include "harness/result/profile.hpp"
#include "tests/support/sample_result.hpp"

namespace harness {

inline OperatorRow sample_operator(const std::string& phase, const std::string& module,
                                   const std::string& name, double seconds) {
  OperatorRow row;
  row.phase = phase;
  row.module = module;
  row.name = name;
  row.backward = phase == "backward";
  row.shapes = "f32[1,8,4,4]";
  row.calls = 2;
  row.self_seconds = seconds;
  return row;
}

inline PrimitiveRow sample_primitive(std::size_t owner, const std::string& kind,
                                     const std::string& direction,
                                     const std::string& implementation, double seconds) {
  PrimitiveRow row;
  row.primitive.kind = kind;
  row.primitive.direction = direction;
  row.primitive.implementation = implementation;
  row.primitive.tensors = {{"src", "f32", "acdb", false}};
  row.primitive.problem = "mb1_ic8oc8";
  row.library = "oneDNN 3.2.0";
  row.owner = owner;
  row.calls = 2;
  row.seconds = seconds;
  return row;
}

/// A step of 10 s: 3 forward and 6 backward in `backbone` and `head`, 0.5 in the optimizer, 0.5
/// between operators.
inline ProfileTables sample_tables() {
  ProfileTables tables;
  tables.steps = 2;
  tables.step_seconds = 10;
  tables.between_seconds = 0.5;
  tables.operators = {
      sample_operator("backward", "backbone.body.conv1", "aten::convolution_backward", 4),
      sample_operator("backward", "head.conv", "aten::convolution_backward", 2),
      sample_operator("forward", "backbone.body.conv1", "aten::convolution", 2),
      sample_operator("forward", "head.conv", "aten::convolution", 1),
      sample_operator("optimizer", "", "aten::_fused_adam_", 0.5)};
  tables.primitives = {
      sample_primitive(0, "convolution", "backward_weights", "jit:avx512_core", 2.5),
      sample_primitive(1, "convolution", "backward_data", "ref:any", 1.5),
      sample_primitive(2, "convolution", "forward_training", "brgconv:avx512_core", 1.5),
      sample_primitive(0, "reorder", "undef", "jit:uni", 1)};
  for (const std::size_t i : {0, 1, 2}) {
    tables.primitives[i].flops = 1e11;
    tables.primitives[i].bytes = 1e9;
  }
  tables.operators[0].primitive_seconds = 3.5;
  tables.operators[0].reorder_seconds = 1;
  tables.operators[0].flops = 2e11;
  tables.operators[1].primitive_seconds = 1.5;
  tables.operators[1].flops = 2e11;
  tables.operators[2].primitive_seconds = 1.5;
  tables.operators[2].flops = 2e11;
  tables.memory = {{0, 100.0 * 1048576}, {1, 300.0 * 1048576}, {2, 200.0 * 1048576}};
  tables.allocations = {{200.0 * 1048576, "aten::empty", "head.conv", "f32[2]"}};
  tables.libraries = {"3.2.0"};
  return tables;
}

inline Profile sample_profile() {
  Profile profile;
  static_cast<Result&>(profile) = sample_result();
  profile.identity.ended_at = "2026-01-31T12:05:00.456Z";
  profile.metrics = {sample_metric(kPlainStep, "s", std::vector<double>(8, 9.5)),
                     sample_metric(kRecordedStep, "s", {10, 10}, 0)};
  profile.tables = sample_tables();
  profile.overhead_reason = "made up";
  profile.trace_file = "sample.trace";
  return profile;
}

}  // namespace harness
