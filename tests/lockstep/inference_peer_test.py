#!/usr/bin/env python3
"""The peer of the inference tasks (examples/inference_peer.py) beside the program itself: the same queries in the same
order have the same answers, for one sample a query; and what the peer says to bad input.

usage: inference_peer_test.py HARNESS

Ends with 77, which ctest shows as skipped, where .venv has no torch or no assets.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PEER = [sys.executable, ROOT / "examples/inference_peer.py"]
ORDERS = '{"do":"step","count":5}\n{"do":"step","count":3}\n{"do":"evaluate"}\n{"do":"finish"}\n'
ENVIRONMENT = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}


def stand_back(why):
    print(f"skipped: {why}")
    sys.exit(77)


def run(command, orders="", **environment):
    return subprocess.run(command, input=orders, capture_output=True, text=True, timeout=600, check=False,
                          env={**ENVIRONMENT, **environment})


def conversation(command):
    """Its hello, the losses of its steps, and its quality."""
    side = run(command, ORDERS)
    assert side.returncode in (0, 3), f"{command} ended with {side.returncode}: {side.stderr}"
    hello, first, second, quality = map(json.loads, side.stdout.splitlines())
    assert len(first["seconds"]) == 5 and min(first["seconds"]) > 0, first
    return hello, first["losses"]["answer"] + second["losses"]["answer"], quality["quality"]


def compare(harness, folder):
    common = ["--threads", "1"]
    theirs = conversation([*PEER, "--task", "embed", "--framework", "eager", *common])
    ours = conversation([harness, "run", "--workload", "embed", "--lockstep", "--out", folder / "run", *common])
    assert theirs[0]["lockstep"] == 1 and theirs[0]["unit"] == ours[0]["unit"], (theirs[0], ours[0])
    # Means of 384 elements of about 0.05; those of these documents differ by 2e-5 or more.
    apart = [abs(a - b) for a, b in zip(theirs[1], ours[1], strict=True)]
    assert max(apart) < 1e-6, f"answers differ: {theirs[1]} and {ours[1]}"
    assert len(set(theirs[1])) == len(theirs[1]), f"some queries are alike: {theirs[1]}"
    assert theirs[2]["metric"] == ours[2]["metric"], (theirs[2], ours[2])
    assert abs(theirs[2]["value"] - ours[2]["value"]) < 1e-4, (theirs[2], ours[2])


def refuse(words, *arguments, **environment):
    peer = run([*PEER, *arguments], **environment)
    said = peer.stderr.strip().splitlines()
    assert peer.returncode == 1 and words in said[-1], f"{arguments}: {peer.returncode}, {peer.stderr}"


def main(harness):
    python = ROOT / ".venv/bin/python"
    if not python.exists() or run([python, "-c", "import torch"]).returncode != 0:
        stand_back(".venv has no torch")
    assets = os.environ.get("HARNESS_ASSETS") or ROOT / ".venv/assets"
    if run([sys.executable, ROOT / "workloads/inference/assets.py", "--check", str(assets), "embed"]).returncode != 0:
        stand_back("no assets (./quickstart assets)")
    refuse("invalid choice: 'nosuch'", "--task", "nosuch")
    refuse("--task is missing")
    with tempfile.TemporaryDirectory() as folder:
        refuse("all-minilm-l6-v2.safetensors is not there", "--task", "embed", HARNESS_ASSETS=folder)
        compare(harness, pathlib.Path(folder))


if __name__ == "__main__":
    main(sys.argv[1])
