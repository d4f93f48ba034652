#include "workloads/torch/operator_infos.hpp"

#include <algorithm>
#include <utility>

#include "kernels/convolution/convolution.hpp"
#include "kernels/registry.hpp"

namespace harness::workloads {

std::vector<OperatorInfo> operator_infos(const std::vector<std::string>& names) {
  std::vector<OperatorInfo> infos;
  for (const kernels::OperatorBase* entry : kernels::operators()) {
    if (!names.empty() && std::find(names.begin(), names.end(), entry->name()) == names.end()) {
      continue;
    }
    OperatorInfo info{entry->name(), entry->summary(), {}};
    for (const kernels::ImplementationSummary& item : entry->implementations()) {
      info.implementations.push_back({item.name, item.summary,
                                      item.support.ok ? "" : item.support.reason,
                                      item.tuned ? kernels::onednn_instruction_set() : ""});
    }
    infos.push_back(std::move(info));
  }
  return infos;
}

}  // namespace harness::workloads
