// Real files of torch.save(), values compared with what PyTorch itself says is in them.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "harness/base/files.hpp"
#include "tests/support/pickle_writer.hpp"
#include "tests/support/temporary_folder.hpp"
#include "workloads/checkpoint/tensor_file.hpp"

using namespace harness;             // NOLINT(google-build-using-namespace)
using namespace harness::workloads;  // NOLINT(google-build-using-namespace)

namespace {

// Writes NAME-zip.pth and NAME-old.pth for each case, and expected.json: name -> tensor -> values.
constexpr const char* kScript = R"(
import collections, json, sys, warnings
warnings.simplefilter('ignore')
import torch
torch.manual_seed(1)
folder = sys.argv[1]
base = torch.randn(4, 6)
plain = collections.OrderedDict()
plain['parameter'] = torch.nn.Parameter(torch.randn(2, 3, 3, 3))
plain['channels_last'] = torch.randn(2, 4, 3, 3).contiguous(memory_format=torch.channels_last)
plain['transposed'] = base.t()
plain['rows'] = base[1:3, ::2]
plain['diagonal'] = base.diagonal()
plain['expanded'] = torch.randn(3, 1).expand(3, 4)
plain['half'] = torch.randn(17).half()
plain['bfloat16'] = torch.randn(17).bfloat16()
plain['double'] = torch.randn(17, dtype=torch.float64)
plain['scalar'] = torch.tensor(2.5)
plain['empty'] = torch.zeros(0, 3)
plain['integer'] = torch.arange(5)
plain['flags'] = torch.tensor([True, False])
model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.Conv2d(4, 2, 1))
optimizer = torch.optim.Adam(model.parameters(), amsgrad=True)
scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [1, 2])
model(torch.randn(1, 3, 8, 8)).sum().backward()
optimizer.step()
import argparse
state = model.state_dict()
cases = {
  'plain': (plain, plain),
  'module': (state, state),
  'checkpoint': ({'model': state, 'optimizer': optimizer.state_dict(), 'epoch': 3,
                  'lr_scheduler': scheduler.state_dict(),
                  'args': argparse.Namespace(lr=0.1, names=['a'], device='cpu')}, state),
  'parallel': ({'state_dict': {'module.' + k: v for k, v in state.items()}, 'best': 0.5}, state),
}
expected = {}
for name, (content, tensors) in cases.items():
  for protocol in (2, 4):
    for kind, new in (('zip', True), ('old', False)):
      file = f'{name}-{kind}-{protocol}.pth'
      torch.save(content, f'{folder}/{file}', _use_new_zipfile_serialization=new, pickle_protocol=protocol)
      expected[file] = {k: {'dtype': str(v.dtype), 'shape': list(v.shape), 'values': v.float().flatten().tolist()}
                        for k, v in tensors.items()}
json.dump(expected, open(folder + '/expected.json', 'w'))
)";

}  // namespace

TEST_CASE("files of torch.save() hold what PyTorch says", "[weights][oracle]") {
  const std::string python = HARNESS_SOURCE_DIR "/.venv/bin/python";
  if (!std::filesystem::exists(python)) {
    WARN("skipped: no .venv/bin/python with torch in the source tree");
    return;
  }
  const TemporaryFolder folder;
  write_bytes(folder / "write.py", kScript);
  // The sanitizers' runtime settings are not for Python.
  const std::string command = "env -u LD_PRELOAD '" + python + "' '" +
                              (folder / "write.py").string() + "' '" + folder.path().string() +
                              "' 2>'" + (folder / "log").string() + "'";
  if (std::system(command.c_str()) != 0) {  // NOLINT(bugprone-command-processor,cert-env33-c)
    const std::string log = read_file(folder / "log", 1 << 20);
    // Without torch there is no oracle; any other failure is ours.
    if (log.find("No module named 'torch'") == std::string::npos) FAIL(log);
    WARN("skipped: .venv/bin/python has no torch");
    return;
  }
  const auto expected = nlohmann::json::parse(read_file(folder / "expected.json", 1 << 24));
  CHECK(expected.size() == 16);
  for (const auto& [name, tensors] : expected.items()) {
    INFO(name);
    const TensorFile file = TensorFile::open(folder / name);
    CHECK(file.format() ==
          (name.find("-zip-") != std::string::npos ? "PyTorch zip" : "PyTorch legacy"));
    CHECK(file.tensors().size() == tensors.size());
    for (const auto& [key, entry] : tensors.items()) {
      INFO(key);
      const FileTensor& tensor = file.tensors().at(key);
      CHECK("torch." + std::string(dtype_name(tensor.dtype)) == entry["dtype"].get<std::string>());
      CHECK(tensor.shape == entry["shape"].get<std::vector<std::int64_t>>());
      if (!is_floating(tensor.dtype)) continue;
      std::vector<float> values(static_cast<std::size_t>(tensor.numel()));
      file.read(tensor, values);
      CHECK(values == entry["values"].get<std::vector<float>>());
    }
  }
}
