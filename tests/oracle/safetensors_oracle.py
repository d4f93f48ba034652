#!/usr/bin/env python3
"""Holds our reader and writer of safetensors against the package of the format's authors.

    tests/oracle/safetensors_oracle.py --program build/release/safetensors_program

Runs in $HARNESS_TEST_PYTHON or in build/coco-venv; without the package there (exit code 77) nothing was compared:
    build/coco-venv/bin/python -m pip install safetensors==0.4.5 numpy
"""
import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

VENV = Path(__file__).resolve().parents[2] / "build" / "coco-venv"
TYPES = {"F64": "f8", "F32": "f4", "F16": "f2", "I64": "i8", "I32": "i4", "I16": "i2", "I8": "i1", "U8": "u1",
         "BOOL": "?"}
SHAPES = [(), (1,), (7,), (2, 3), (4, 1, 5), (0,), (3, 0, 2), (2, 3, 3, 3)]


def in_oracle_python():
    """Starts anew in a Python that has the package."""
    python = os.environ.get("HARNESS_TEST_PYTHON") or VENV / "bin" / "python"
    if os.environ.get("SAFETENSORS_ORACLE") or not Path(python).exists():
        return
    os.environ["SAFETENSORS_ORACLE"] = "1"
    os.execv(python, [str(python), *sys.argv])


def described(array, name):
    return {"dtype": name, "shape": list(array.shape), "sha256": hashlib.sha256(array.tobytes()).hexdigest()}


def read_ours(program, file):
    return json.loads(subprocess.run([program, "read", file], check=True, capture_output=True, text=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    program = parser.parse_args().program
    try:
        import numpy
        from safetensors import safe_open
        from safetensors.numpy import load_file, save_file
    except ImportError:
        print("skipped: no safetensors for this Python")
        return 77
    random = numpy.random.default_rng(5)
    failures = 0

    def check(what, ours, theirs):
        nonlocal failures
        if ours != theirs:
            failures += 1
            print(f"{what}: {ours} by us, {theirs} by the package")

    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder) / "theirs.safetensors")
        arrays, expected = {}, {}
        for name, kind in TYPES.items():
            for i, shape in enumerate(SHAPES):
                key = f"{name}.{i}"
                arrays[key] = numpy.array(random.integers(0, 2 if name == "BOOL" else 100, shape)).astype(kind)
                expected[key] = described(arrays[key], name)
        save_file(arrays, file, metadata={"format": "np", "quote": 'a "b" \u00e9'})
        found = read_ours(program, file)
        check("metadata", found["metadata"], {"format": "np", "quote": 'a "b" \u00e9'})
        check("names", sorted(found["tensors"]), sorted(expected))
        for key, value in expected.items():
            check(key, found["tensors"].get(key), value)

        file = str(Path(folder) / "ours.safetensors")
        subprocess.run([program, "write", file], check=True)
        found = read_ours(program, file)
        loaded = load_file(file)
        check("names", sorted(found["tensors"]), sorted(loaded))
        for key, array in loaded.items():
            check(key, found["tensors"].get(key), described(array, found["tensors"][key]["dtype"]))
        with safe_open(file, framework="np") as opened:
            check("metadata", found["metadata"], opened.metadata())
        check("values", loaded["float32"].tolist(), [[0.0, 0.5, 1.0], [1.5, 2.0, 2.5]])
    compared = len(expected) + len(loaded)
    print(f"{compared} tensors compared, {failures} differences")
    return 1 if failures else 0


if __name__ == "__main__":
    in_oracle_python()
    sys.exit(main())
