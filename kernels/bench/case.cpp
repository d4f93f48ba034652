#include "kernels/bench/case.hpp"

#include <sstream>

namespace harness::kernels::bench {

std::vector<CaseInfo> all_cases() {
  std::vector<CaseInfo> all;
  for (const auto& cases : {box_loss_cases, conv_block_cases, conv_chain_cases, encoder_cases,
                            focal_loss_cases, matcher_cases, optimizer_cases}) {
    for (CaseInfo& info : cases()) all.push_back(std::move(info));
  }
  return all;
}

std::string difference(const std::vector<at::Tensor>& expected,
                       const std::vector<at::Tensor>& actual, double tolerance) {
  std::ostringstream text;
  if (expected.size() != actual.size()) {
    text << actual.size() << " results, not " << expected.size();
    return text.str();
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    if (expected[i].defined() != actual[i].defined()) {
      text << "result " << i << (actual[i].defined() ? " is there" : " is missing");
      return text.str();
    }
    if (!expected[i].defined()) continue;
    if (expected[i].sizes() != actual[i].sizes()) {
      text << "result " << i << " is " << actual[i].sizes() << ", not " << expected[i].sizes();
      return text.str();
    }
    const at::Tensor wanted = expected[i].to(at::kDouble);
    const double size = wanted.norm().item<double>();
    const double error = (actual[i].to(at::kDouble) - wanted).norm().item<double>();
    if (error <= tolerance * size) continue;
    text << "result " << i << " is off by " << error << " of " << size << " (l2), tolerance "
         << tolerance << " of it";
    return text.str();
  }
  return {};
}

}  // namespace harness::kernels::bench
