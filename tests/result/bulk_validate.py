#!/usr/bin/env python3
"""How long `harness validate` takes over many result files in one call, and over a huge one.

usage: bulk_validate.py HARNESS [--files 10000] [--samples 1000000]

Measures the null workload a few times (runs, an ablation), makes distinct results of those by giving each
copy another uuid and other times, with summaries and digest computed again, one in 200 of them with more
than 10^4 samples, and prints seconds and peak memory of one `harness validate FOLDER`. Needs nothing
beyond Python itself. Ends with 1 when a file is not valid or a limit of 30 s or 500 MB is broken.
"""
import argparse
import copy
import decimal
import glob
import hashlib
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import time
import uuid

SECONDS, MEGABYTES = 30, 500


def number(x):
    """As RFC 8785 writes it (ECMAScript's Number::toString)."""
    if isinstance(x, int):
        return str(x)
    if x == 0:
        return "0"
    negative, digits, exponent = decimal.Decimal(repr(x)).normalize().as_tuple()
    shown, k, point = "".join(map(str, digits)), len(digits), len(digits) + exponent
    sign = "-" if negative else ""
    if k <= point <= 21:
        return sign + shown + "0" * (point - k)
    if 0 < point <= 21:
        return sign + shown[:point] + "." + shown[point:]
    if -6 < point <= 0:
        return sign + "0." + "0" * -point + shown
    tail = "." + shown[1:] if k > 1 else ""
    return f"{sign}{shown[0]}{tail}e{'+' if point > 0 else '-'}{abs(point - 1)}"


def canonical(value):
    if value is None or isinstance(value, (bool, str)):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, (int, float)):
        return number(value)
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    keys = sorted(value, key=lambda key: key.encode("utf-16-be"))
    return "{" + ",".join(json.dumps(k, ensure_ascii=False) + ":" + canonical(value[k]) for k in keys) + "}"


def digest(document):
    bare = {key: value for key, value in document.items() if key != "digest"}
    return hashlib.sha256(canonical(bare).encode()).hexdigest()


def varied(document, scale):
    """Another run of the same kind: every time `scale` times as long. Order statistics scale along."""
    other = copy.deepcopy(document)
    identity = other["identity"]
    identity["uuid"] = str(uuid.uuid4())
    identity["series_id"] = str(uuid.uuid4())
    for metric in other.get("metrics", []):
        if metric["unit"] not in ("s", "samples/s") or metric["tag"] in ("time.to-quality",):
            continue
        factor = scale if metric["unit"] == "s" else 1 / scale
        for sample in metric["samples"]:
            if sample["value"] is not None:
                sample["value"] *= factor
        summary = metric["summary"]
        for key in ("min", "max", "p90", "p99"):
            if summary[key] is not None:
                summary[key] *= factor
        if summary["median"]:
            summary["median"]["center"] *= factor
        for key in summary.get("quartiles", {}):
            summary["quartiles"][key] *= factor
    cost = other.get("cost")
    if cost and cost.get("achieved_flops_per_second"):
        cost["achieved_flops_per_second"] /= scale
        if cost.get("utilisation"):
            cost["utilisation"] /= scale
    for variant in other.get("variants", []):
        variant["median_seconds"] *= scale
        for phase in variant["phases"]:
            phase["median_seconds"] *= scale
        for turn in variant["turns"]:
            turn["step_seconds"] = [x * scale for x in turn["step_seconds"]]
            turn["phase_seconds"] = {k: [x * scale for x in v] for k, v in turn["phase_seconds"].items()}
    other["digest"] = digest(other)
    return other


def measured(harness, folder, *command):
    os.mkdir(folder)
    subprocess.run([harness, *command, "--workload", "null", "--out", folder], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    (file,) = glob.glob(os.path.join(folder, "*.json"))
    with open(file) as stream:
        return json.load(stream)


def write(document, folder, name):
    with open(os.path.join(folder, name), "w") as stream:
        json.dump(document, stream, ensure_ascii=False, separators=(", ", ": "))


def validated(harness, folder):
    """Seconds and megabytes of one call over the folder."""
    with open(os.devnull, "w") as null:
        start = time.monotonic()
        process = subprocess.Popen([harness, "validate", folder], stdout=null)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    return seconds, usage.ru_maxrss * 1024 / 1e6, process.returncode


def report(what, folder, harness, limits=True):
    size = sum(entry.stat().st_size for entry in os.scandir(folder)) / 1e6
    seconds, megabytes, code = validated(harness, folder)
    good = code == 0 and (not limits or (seconds <= SECONDS and megabytes <= MEGABYTES))
    print(f"{what}: {size:.0f} MB, {seconds:.1f} s, peak memory {megabytes:.0f} MB, exit code {code}"
          + ("" if good else "  TOO MUCH"), flush=True)
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("harness")
    parser.add_argument("--files", type=int, default=10000)
    parser.add_argument("--samples", type=int, default=1000000)
    arguments = parser.parse_args()
    harness = os.path.abspath(arguments.harness)
    draw = random.Random(1)
    with tempfile.TemporaryDirectory(prefix="bulk-validate-") as top:
        fast = ("run", "--set", "step-ms=0", "--set", "flops=1000")
        short = measured(harness, top + "/short", *fast)
        opened = measured(harness, top + "/opened", *fast, "--batch-size", "4")
        ablation = measured(harness, top + "/ablation", "ablate", "--set", "step-ms=0.1")
        # 4,000 steps with three metrics a step: more than 10^4 samples.
        long = stretched(short, 4000)
        huge = stretched(short, arguments.samples // len(per_step(short)))
        many = top + "/many"
        os.mkdir(many)
        for i in range(arguments.files):
            base = long if i % 200 == 0 else ablation if i % 10 == 1 else opened if i % 2 else short
            write(varied(base, draw.uniform(0.5, 2)), many, f"{i:05}.json")
        one = top + "/one"
        os.mkdir(one)
        write(huge, one, "huge.json")
        good = report(f"{arguments.files} files", many, harness)
        total = sum(len(metric["samples"]) for metric in huge["metrics"])
        good = report(f"1 file with {total} samples", one, harness, limits=False) and good
    return 0 if good else 1


def per_step(document):
    return [metric for metric in document["metrics"] if metric["samples"]]


def stretched(document, steps):
    """The same run over more steps: its timed samples again and again, its summaries as they were."""
    other = copy.deepcopy(document)
    for metric in per_step(other):
        warmup = [sample for sample in metric["samples"] if sample["warmup"]]
        timed = [sample for sample in metric["samples"] if not sample["warmup"]]
        values = [timed[i % len(timed)]["value"] for i in range(max(1, steps - len(warmup)))]
        first = timed[0]["step"]
        metric["samples"] = warmup + [
            {"step": first + i, "warmup": False, "value": value} for i, value in enumerate(values)]
        metric["summary"] = summary(values)
        metric["warnings"] = []
        if metric["tag"] == "time.step":
            other["quality"]["reached_at_step"] = len(metric["samples"])
    cost = other.get("cost")
    if cost and cost.get("achieved_flops_per_second"):
        step = next(m for m in other["metrics"] if m["tag"] == "time.step")
        before = cost["achieved_flops_per_second"]
        cost["achieved_flops_per_second"] = cost["step_flops"] / step["summary"]["median"]["center"]
        if cost.get("utilisation"):
            cost["utilisation"] *= cost["achieved_flops_per_second"] / before
    other["digest"] = digest(other)
    return other


def summary(values):
    """As harness/stats/stats.cpp computes it."""
    ordered, n = sorted(values), len(values)
    center = ordered[n // 2] if n % 2 else ordered[n // 2 - 1] / 2 + ordered[n // 2] / 2
    median = {"center": center, "low": None, "high": None, "confidence": 0,
              "missing": {"low": "see the quartiles", "high": "see the quartiles"}}
    below = (n - 1) // 4

    def quantile(p):
        if n * (1 - p) < 5 - 1e-9:
            return None
        return ordered[min(max(math.ceil(n * p - 1e-9), 1), n) - 1]

    result = {"n": n, "median": median, "quartiles": {"low": ordered[below], "high": ordered[n - 1 - below]}, "min": ordered[0], "max": ordered[-1], "p90": quantile(0.9),
              "p99": quantile(0.99)}
    missing = {key: f"needs {count} samples" for key, count in (("p90", 50), ("p99", 500)) if result[key] is None}
    if missing:
        result["missing"] = missing
    return result


if __name__ == "__main__":
    sys.exit(main())
