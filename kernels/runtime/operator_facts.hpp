// What a profile keeps of an operator of LibTorch: shapes, bytes, FLOPs.
#pragma once

#include <ATen/record_function.h>

#include "kernels/runtime/profiler.hpp"

namespace harness::kernels {

/// As the operator begins: the shapes of its inputs, their bytes, the FLOPs known by then.
void describe_inputs(const at::RecordFunction& function, Scope& scope);
/// As it ends, after that: the bytes of its outputs, the other FLOPs.
void describe_outputs(const at::RecordFunction& function, Scope& scope);

}  // namespace harness::kernels
