#!/usr/bin/env python3
"""Makes a recording of a machine's noise for the gate's trials: times of the same work, one after the other.

usage: record.py steps N SAMPLES.jsonl...      medians of N steps each, of runs of one set-up
       record.py lockstep FILE...              campaign.jsonl of `harness gate`, or bench.jsonl of `harness bench
                                               --lockstep`, whose sides are the same: all rounds of all clusters
       record.py campaigns FOLDER...           one value a run, in the order they were run, of campaigns of
                                               `harness gate` whose two commands are the same
Writes to stdout; put a comment line (#) before it that says machine, program and what ran beside it.
"""
import json
import pathlib
import statistics
import sys


def step_seconds(samples):
    for line in samples.read_text().splitlines():
        event = json.loads(line)
        if event.get("event") == "step":
            yield event["seconds"]


def by_steps(count, files):
    for name in files:
        seconds = list(step_seconds(pathlib.Path(name)))
        for start in range(0, len(seconds) - count + 1, count):
            yield statistics.median(seconds[start:start + count])


def by_campaigns(folders):
    runs = []
    for folder in folders:
        for file in pathlib.Path(folder).glob("*/*/*.json"):
            result = json.loads(file.read_text())
            step = next(metric for metric in result["metrics"] if metric["tag"] == "time.step")
            runs.append((result["identity"]["started_at"], step["summary"]["median"]["center"]))
    return [value for _, value in sorted(runs)]


def by_clusters(files):
    """Lines of a recording of resident sides; clusters in which a side failed are left out."""
    sides = 0
    for name in files:
        for line in pathlib.Path(name).read_text().splitlines():
            cluster = json.loads(line)
            if "cluster" not in cluster or "failed" in cluster:
                continue
            if not sides:
                sides = len(cluster["sides"])
                yield f"sides {sides}"
            if len(cluster["sides"]) != sides:
                sys.exit(f"{name}: {len(cluster['sides'])} sides, the clusters before have {sides}")
            yield "start " + " ".join(f"{side['start_seconds']:.6g}" for side in cluster["sides"])
            for turns in zip(*(side["turns"] for side in cluster["sides"])):
                yield "round " + " ".join(f"{statistics.median(turn['seconds']):.6g}" for turn in turns)


def main(arguments):
    if len(arguments) >= 2 and arguments[0] == "lockstep":
        for line in by_clusters(arguments[1:]):
            print(line)
        return
    if len(arguments) >= 3 and arguments[0] == "steps":
        values = by_steps(int(arguments[1]), arguments[2:])
    elif len(arguments) >= 2 and arguments[0] == "campaigns":
        values = by_campaigns(arguments[1:])
    else:
        sys.exit(__doc__)
    for value in values:
        print(f"{value:.6g}")


main(sys.argv[1:])
