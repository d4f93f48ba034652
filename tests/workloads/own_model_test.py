#!/usr/bin/env python3
"""The example of a model of one's own (examples/own_model.py): as TorchScript and as a package of AOTInductor, each run
by its task, with eager PyTorch's own answers as labels.

usage: own_model_test.py HARNESS

Ends with 77, which ctest shows as skipped, where this Python has no torch.
"""
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples/own_model.py"
SAMPLES = 64
sys.dont_write_bytecode = True


def example():
    spec = importlib.util.spec_from_file_location("own_model", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def write_safetensors(file, tensors):
    """Tensors by name, as huggingface.co/docs/safetensors has them."""
    names = {"torch.float32": "F32", "torch.int64": "I64"}
    header, end = {}, 0
    for name, tensor in tensors.items():
        begin, end = end, end + tensor.numel() * tensor.element_size()
        header[name] = {"dtype": names[str(tensor.dtype)], "shape": list(tensor.shape), "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    with open(file, "wb") as out:
        out.write(len(text).to_bytes(8, "little") + text)
        for tensor in tensors.values():
            out.write(bytes(tensor.contiguous().view(-1).untyped_storage()))


def run(harness, *arguments):
    return subprocess.run([harness, *map(str, arguments)], capture_output=True, text=True, timeout=300, check=False)


def check(harness, folder, torch, *options):
    subprocess.run([sys.executable, EXAMPLE, folder, *options], check=True, timeout=300)
    torch.manual_seed(5)
    pictures = torch.rand(SAMPLES, 3, 32, 32) * torch.rand(SAMPLES, 3, 1, 1)
    with torch.no_grad():
        answers = example().network(3)(pictures)
    labels = answers[:, 0].clone()
    assert labels.std() > 1e-3, "all samples are alike"
    write_safetensors(folder / "samples.safetensors", {"input": pictures, "labels": labels})
    task = json.loads((folder / "task.json").read_text())
    task["model"]["samples"] = {"tensors": "samples.safetensors"}
    task["quality"] = {"metric": "correlation", "target": 0.99999}
    (folder / "labelled.json").write_text(json.dumps(task))
    for name in ("task.json", "labelled.json"):
        out = folder / f"out-{name}"
        done = run(harness, "run", "--task", folder / name, "--steps", 5, "--threads", 1, "--out", out)
        assert done.returncode == 0, f"{options} {name}: {done.returncode} {done.stderr}"
        (file,) = out.glob("*.json")
        result = json.loads(file.read_text())
        assert abs(result["quality"]["value"] - 1) < 1e-6, (options, name, result["quality"])
        assert run(harness, "validate", file).returncode == 0, f"{options} {name} is not valid"


def main(harness):
    try:
        import torch
    except ImportError:
        print("skipped: no torch")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = f"{folder}/cache"
        check(harness, pathlib.Path(folder) / "script", torch)
        check(harness, pathlib.Path(folder) / "package", torch, "--package")
    print("own_model: TorchScript and AOTInductor answer as eager PyTorch does")


if __name__ == "__main__":
    main(sys.argv[1])
