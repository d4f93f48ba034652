// Conv blocks as text, in the problem syntax of benchdnn (oneDNN's own benchmark), so that the same
// file can be run by both:
//
//   --dir=FWD_B --attr-post-ops=relu
//   mb1ic256ih100oc256oh100kh3ph1n"head.conv*8"
//
// Options hold for the lines after them, `--reset` forgets them, `#` begins a comment. What is
// understood: --dir=FWD_I (frozen: forward only), FWD_D (forward and both gradients), FWD_B (the
// same with a bias); --mb=N; --attr-post-ops with, in this order, mul:f32:per_oc+add:f32:per_oc (a
// frozen norm), add:f32:per_tensor (a residual), relu. A name may end in *N: that many such blocks
// are in the model. Blocks that are all trained or all frozen, with equal names up to the last dot
// and weights of one shape, are one layer on maps of several sizes: the workload gives them one
// weight.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/conv_block/problems.hpp"

namespace harness::workloads {

using kernels::ConvProblem;

/// Throws Error naming the line for anything not understood or out of bounds; `source` is named in
/// the message. At least one problem, at most 1,000.
std::vector<ConvProblem> parse_problems(std::string_view text, const std::string& source);

/// The text that parse_problems() reads back as the same problems.
std::string to_text(const std::vector<ConvProblem>& problems);

/// Every distinct conv block of a training step with its multiplicity, named after its first layer.
std::vector<ConvProblem> retinanet_problems(std::int64_t batch, std::int64_t height,
                                            std::int64_t width, std::int64_t num_classes);

}  // namespace harness::workloads
