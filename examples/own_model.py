#!/usr/bin/env python3
"""A model of one's own: writes a small network as TorchScript, and the task file that measures it.

    .venv/bin/python examples/own_model.py my
    harness run --task my/task.json

With --package it is compiled by AOTInductor (a C++ compiler is needed), and held against the TorchScript.
docs/tasks.md describes the file.
"""

import argparse
import hashlib
import json
from pathlib import Path

import torch

SHAPE = [3, 32, 32]
CLASSES = 10


def network(depth):
    torch.manual_seed(1)
    layers, channels = [], SHAPE[0]
    for width in (32, 64, 64)[:depth]:
        layers += [torch.nn.Conv2d(channels, width, 3, padding=1), torch.nn.ReLU(), torch.nn.MaxPool2d(2)]
        channels = width
    side = SHAPE[1] >> depth
    return torch.nn.Sequential(*layers, torch.nn.Flatten(), torch.nn.Linear(channels * side * side, CLASSES)).eval()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--package", action="store_true", help="a package of AOTInductor in place of TorchScript")
    parser.add_argument("--depth", type=int, default=3, choices=(1, 2, 3), help="convolutions, 3 by default")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)

    model = network(options.depth)
    script = options.folder / "model.pt"
    torch.jit.script(model).save(str(script))
    file = script
    if options.package:
        file = options.folder / "model.pt2"
        exported = torch.export.export(model, (torch.rand(1, *SHAPE),))  # of one sample, always
        torch._inductor.aoti_compile_and_package(exported, package_path=str(file.resolve()))

    task = {
        "summary": "Ten classes of small pictures.",
        "model": {
            "file": file.name,
            "sha256": hashlib.sha256(file.read_bytes()).hexdigest(),
            "inputs": [{"shape": SHAPE}],
            "outputs": [[CLASSES]],
            "samples": {"drawn": 500},
        },
    }
    if options.package:
        task["model"]["batch"] = 1
        task["model"]["reference"] = {"file": script.name, "sha256": hashlib.sha256(script.read_bytes()).hexdigest()}
    (options.folder / "task.json").write_text(json.dumps(task, indent=2) + "\n")


if __name__ == "__main__":
    main()
