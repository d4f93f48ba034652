#include "workloads/retinanet/cost.hpp"

#include <unistd.h>

#include "workloads/retinanet/architecture.hpp"

namespace harness::workloads {

Cost retinanet_cost(std::int64_t batch, std::int64_t height, std::int64_t width,
                    std::int64_t num_classes, bool bf16) {
  Cost cost;
  cost.precision = bf16 ? "bf16" : "fp32";
  const double element_bytes = bf16 ? 2 : 4;
  double elements = 0;
  for (const ConvolutionCall& call : retinanet_calls(batch, height, width, num_classes)) {
    const double parts = 1 + (call.backward_data ? 1 : 0) + (call.backward_weights ? 1 : 0);
    cost.forward_flops += call.flops();
    cost.step_flops += call.flops() * parts;
    // Each of the three passes touches input, weights and output (or their gradients) once.
    elements += parts * (call.input_elements() + call.output_elements() +
                         static_cast<double>(call.layer.weight_count()));
    ++cost.convolution_calls;
  }
  elements += 2.0 * static_cast<double>(batch * anchor_count(height, width)) *
              static_cast<double>(num_classes);
  double trainable = 0;
  for (const ConvLayer& layer : retinanet_layers(num_classes)) {
    if (!layer.trainable) continue;
    trainable += static_cast<double>(layer.weight_count() + (layer.bias ? layer.out_channels : 0));
  }
  cost.step_bytes = elements * element_bytes + 7 * 4 * trainable;
  return cost;
}

double retinanet_memory_bytes(std::int64_t batch, std::int64_t height, std::int64_t width,
                              std::int64_t num_classes, std::int64_t boxes) {
  double weights = 0;
  for (const ConvLayer& layer : retinanet_layers(num_classes)) {
    weights += static_cast<double>(layer.weight_count());
  }
  double activations = 0;
  for (const ConvolutionCall& call : retinanet_calls(batch, height, width, num_classes)) {
    activations += call.output_elements();
  }
  const auto anchors = static_cast<double>(anchor_count(height, width));
  const double logits = anchors * static_cast<double>(num_classes);
  // TODO fit
  return 4 *
         (4 * weights + 3 * activations + 20 * logits + 12 * static_cast<double>(boxes) * anchors);
}

double physical_memory_bytes() {
  return static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

}  // namespace harness::workloads
