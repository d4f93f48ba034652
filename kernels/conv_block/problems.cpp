#include "kernels/conv_block/problems.hpp"

namespace harness::kernels {
namespace {

enum Behind { kBias, kBiasRelu, kNorm, kNormRelu, kNormAddRelu };

/// A square convolution whose padding keeps the extent, but for the stride.
struct Row {
  const char* name;
  std::int64_t multiplicity;
  Behind behind;
  bool trained;
  std::int64_t groups, in_channels, in_extent, out_channels, kernel, stride;
};

ConvProblem problem_of(const Row& row) {
  const std::int64_t padding = (row.kernel - 1) / 2;
  const std::int64_t out = (row.in_extent + 2 * padding - row.kernel) / row.stride + 1;
  const bool bias = row.behind == kBias || row.behind == kBiasRelu;
  return {.name = row.name,
          .multiplicity = row.multiplicity,
          .batch = 1,
          .groups = row.groups,
          .in_channels = row.in_channels,
          .in_height = row.in_extent,
          .in_width = row.in_extent,
          .out_channels = row.out_channels,
          .out_height = out,
          .out_width = out,
          .kernel_height = row.kernel,
          .kernel_width = row.kernel,
          .stride = row.stride,
          .padding = padding,
          .bias = bias,
          .norm = !bias,
          .residual = row.behind == kNormAddRelu,
          .relu = row.behind != kBias && row.behind != kNorm,
          .trained = row.trained};
}

}  // namespace

double ConvProblem::flops() const {
  return 2 * output_elements() * weight_elements() / static_cast<double>(out_channels);
}

double ConvProblem::input_elements() const {
  return static_cast<double>(batch) * static_cast<double>(in_channels) *
         static_cast<double>(in_height) * static_cast<double>(in_width);
}

double ConvProblem::output_elements() const {
  return static_cast<double>(batch) * static_cast<double>(out_channels) *
         static_cast<double>(out_height) * static_cast<double>(out_width);
}

double ConvProblem::weight_elements() const {
  const std::int64_t group_channels = in_channels / groups;
  return static_cast<double>(out_channels) * static_cast<double>(group_channels) *
         static_cast<double>(kernel_height) * static_cast<double>(kernel_width);
}

std::vector<ConvProblem> detector_problems() {
  const Row rows[] = {
      {"conv1.400", 1, kNormRelu, false, 1, 3, 800, 64, 7, 2},
      {"layer1.0.conv1.200", 1, kNormRelu, false, 1, 64, 200, 128, 1, 1},
      {"layer1.0.conv2.200", 3, kNormRelu, false, 32, 128, 200, 128, 3, 1},
      {"layer1.0.conv3.200", 3, kNormAddRelu, false, 1, 128, 200, 256, 1, 1},
      {"layer1.0.downsample.0.200", 1, kNorm, false, 1, 64, 200, 256, 1, 1},
      {"layer1.1.conv1.200", 2, kNormRelu, false, 1, 256, 200, 128, 1, 1},
      {"layer2.0.conv1.200", 1, kNormRelu, true, 1, 256, 200, 256, 1, 1},
      {"layer2.0.conv2.100", 1, kNormRelu, true, 32, 256, 200, 256, 3, 2},
      {"layer2.0.conv3.100", 4, kNormAddRelu, true, 1, 256, 100, 512, 1, 1},
      {"layer2.0.downsample.0.100", 1, kNorm, true, 1, 256, 200, 512, 1, 2},
      {"layer2.1.conv1.100", 3, kNormRelu, true, 1, 512, 100, 256, 1, 1},
      {"layer2.1.conv2.100", 3, kNormRelu, true, 32, 256, 100, 256, 3, 1},
      {"layer3.0.conv1.100", 1, kNormRelu, true, 1, 512, 100, 512, 1, 1},
      {"layer3.0.conv2.50", 1, kNormRelu, true, 32, 512, 100, 512, 3, 2},
      {"layer3.0.conv3.50", 6, kNormAddRelu, true, 1, 512, 50, 1024, 1, 1},
      {"layer3.0.downsample.0.50", 1, kNorm, true, 1, 512, 100, 1024, 1, 2},
      {"layer3.1.conv1.50", 5, kNormRelu, true, 1, 1024, 50, 512, 1, 1},
      {"layer3.1.conv2.50", 5, kNormRelu, true, 32, 512, 50, 512, 3, 1},
      {"layer4.0.conv1.50", 1, kNormRelu, true, 1, 1024, 50, 1024, 1, 1},
      {"layer4.0.conv2.25", 1, kNormRelu, true, 32, 1024, 50, 1024, 3, 2},
      {"layer4.0.conv3.25", 3, kNormAddRelu, true, 1, 1024, 25, 2048, 1, 1},
      {"layer4.0.downsample.0.25", 1, kNorm, true, 1, 1024, 50, 2048, 1, 2},
      {"layer4.1.conv1.25", 2, kNormRelu, true, 1, 2048, 25, 1024, 1, 1},
      {"layer4.1.conv2.25", 2, kNormRelu, true, 32, 1024, 25, 1024, 3, 1},
      {"fpn.inner_blocks.0.100", 1, kBias, true, 1, 512, 100, 256, 1, 1},
      {"fpn.inner_blocks.1.50", 1, kBias, true, 1, 1024, 50, 256, 1, 1},
      {"fpn.inner_blocks.2.25", 1, kBias, true, 1, 2048, 25, 256, 1, 1},
      {"fpn.layer_blocks.0.100", 1, kBias, true, 1, 256, 100, 256, 3, 1},
      {"fpn.layer_blocks.1.50", 1, kBias, true, 1, 256, 50, 256, 3, 1},
      {"fpn.layer_blocks.2.25", 1, kBias, true, 1, 256, 25, 256, 3, 1},
      {"fpn.extra_blocks.p6.13", 1, kBias, true, 1, 256, 25, 256, 3, 2},
      {"fpn.extra_blocks.p7.7", 1, kBias, true, 1, 256, 13, 256, 3, 2},
      {"classification_head.conv.0.100", 8, kBiasRelu, true, 1, 256, 100, 256, 3, 1},
      {"classification_head.conv.0.50", 8, kBiasRelu, true, 1, 256, 50, 256, 3, 1},
      {"classification_head.conv.0.25", 8, kBiasRelu, true, 1, 256, 25, 256, 3, 1},
      {"classification_head.conv.0.13", 8, kBiasRelu, true, 1, 256, 13, 256, 3, 1},
      {"classification_head.conv.0.7", 8, kBiasRelu, true, 1, 256, 7, 256, 3, 1},
      {"classification_head.cls_logits.100", 1, kBias, true, 1, 256, 100, 2376, 3, 1},
      {"classification_head.cls_logits.50", 1, kBias, true, 1, 256, 50, 2376, 3, 1},
      {"classification_head.cls_logits.25", 1, kBias, true, 1, 256, 25, 2376, 3, 1},
      {"classification_head.cls_logits.13", 1, kBias, true, 1, 256, 13, 2376, 3, 1},
      {"classification_head.cls_logits.7", 1, kBias, true, 1, 256, 7, 2376, 3, 1},
      {"regression_head.bbox_reg.100", 1, kBias, true, 1, 256, 100, 36, 3, 1},
      {"regression_head.bbox_reg.50", 1, kBias, true, 1, 256, 50, 36, 3, 1},
      {"regression_head.bbox_reg.25", 1, kBias, true, 1, 256, 25, 36, 3, 1},
      {"regression_head.bbox_reg.13", 1, kBias, true, 1, 256, 13, 36, 3, 1},
      {"regression_head.bbox_reg.7", 1, kBias, true, 1, 256, 7, 36, 3, 1},
  };
  std::vector<ConvProblem> problems;
  for (const Row& row : rows) problems.push_back(problem_of(row));
  return problems;
}

}  // namespace harness::kernels
