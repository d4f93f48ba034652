#!/usr/bin/env python3
"""Is a C++ step as cheap as the same step in eager PyTorch from Python?

Alternates processes of eager_step.py (A) and of `harness run --workload retinanet-train` with reference
kernels and the system allocator (B) in blocks of A B B A, so that a slow drift of the machine falls on
both alike. Each process yields the median of its timed steps; each block yields two pairs. Prints one
JSON line a process and, at the end, the median of the pairs' ratios B/A with an interval from the sign
test (order statistics: no assumption about the noise). Run it on a quiet machine; it takes about half an
hour. Needs build/release/harness, and tests/oracle/eager_step.py --setup once.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def median_interval(values, confidence):
    """Median and distribution-free interval; also the confidence it really has, lower for few values."""
    ordered = sorted(values)
    n = len(ordered)

    def covered(k):  # P(the k-th smallest <= median <= the k-th largest)
        return 1 - 2 * sum(math.comb(n, i) for i in range(k)) / 2**n

    k = 1
    while k + 1 <= n // 2 and covered(k + 1) >= confidence:
        k += 1
    return statistics.median(ordered), ordered[k - 1], ordered[n - k], covered(k)


def eager(options):
    command = [sys.executable, ROOT / "tests/oracle/eager_step.py"]
    command += ["--steps", options.steps, "--warmup", options.warmup]
    command += ["--precision", options.precision, "--threads", options.threads]
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, check=True, text=True)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return [line["seconds"] for line in lines if not line["warmup"]]


def harness(options):
    with tempfile.TemporaryDirectory() as folder:
        command = [options.harness, "run", "--workload", "retinanet-train", "--tier", "quick"]
        command += ["--allocator", "system", "--kernels", "reference", "--precision", options.precision]
        command += ["--threads", options.threads, "--out", folder]
        done = subprocess.run([str(c) for c in command], stdout=subprocess.DEVNULL)
        files = list(Path(folder).glob("*.json"))
        if done.returncode not in (0, 3) or len(files) != 1:
            sys.exit(f"compare_eager: harness run ended with {done.returncode} and {len(files)} results")
        result = json.loads(files[0].read_text())
    (steps,) = (m["samples"] for m in result["metrics"] if m["tag"] == "time.step")
    return [s["value"] for s in steps if not s["warmup"] and s["value"] is not None]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--blocks", type=int, default=4, help="of A B B A (default 4)")
    parser.add_argument("--steps", type=int, default=6, help="timed steps of a Python process (default 6)")
    parser.add_argument("--warmup", type=int, default=2)
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="fp32")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--bound", type=float, default=1.05, help="what the ratio may be (default 1.05)")
    parser.add_argument("--harness", default=ROOT / "build/release/harness")
    options = parser.parse_args()

    sides = {"A": ("eager", eager), "B": ("harness", harness)}
    logs = []
    for block in range(1, options.blocks + 1):
        seconds = []
        for side in "ABBA":
            name, run = sides[side]
            seconds.append(statistics.median(run(options)))
            print(json.dumps({"block": block, "side": name, "median_seconds": seconds[-1]}), flush=True)
        logs += [math.log(seconds[1] / seconds[0]), math.log(seconds[2] / seconds[3])]
    center, low, high, confidence = median_interval(logs, 0.90)
    verdict = "holds" if math.exp(high) <= options.bound else "broken" if math.exp(low) > options.bound else "unclear"
    ratio = {"ratio": math.exp(center), "low": math.exp(low), "high": math.exp(high)}
    print(json.dumps({**ratio, "confidence": confidence, "pairs": len(logs), "bound": options.bound, "verdict": verdict}))
    return 0 if verdict != "broken" else 1


if __name__ == "__main__":
    sys.exit(main())
