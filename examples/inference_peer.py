#!/usr/bin/env python3
"""The inference tasks by other frameworks, as a side in lockstep: the peer of classify, detect, embed and sentiment.

    examples/inference_peer.py --setup      once, for openvino and onnxruntime
    harness bench --lockstep 'python3 examples/inference_peer.py --task classify --framework eager' \\
        'harness run --workload classify --lockstep'
    examples/inference_peer.py --task sentiment --framework openvino --batch 32 --offline 10

A step is the workload's: one query of --batch samples, the same ones in the same order, from the first warm-up step
on. Timed is, on both sides: putting the samples of a query together (nothing for a batch of 1; for texts, padding,
which the workload does without), the model with its head, finding boxes (by PyTorch's operators, whatever the
framework is), and the mean of the answers. Not timed, on both sides:
reading files, enlarging pictures, tokens of texts. All of that is in memory before the first step. Pictures are kept
in fp32; with bf16 and int8 their conversion is timed. int8 is for openvino and onnxruntime, calibrated on the samples
that the workload's rules list.

Before the first step the answers to the first samples are held against the oracle's in fp32 (tests/oracle). The norm
of the difference may be 1e-4 of the norm of the oracle's; in bf16 0.05 for texts and 0.15 for pictures, of which
PyTorch's autocast takes 0.085; in int8 0.6 for pictures and 0.9 for texts, which finds mistakes only: the order
`evaluate` tells its quality. Of detections it is the number, the scores and the boxes, summed over a picture.

--offline answers batch after batch of the evaluation set for the seconds given and prints one line of JSON. Texts are
put into batches by length, so that there is little padding; the batches come in random order, and the first samples
once more where the last batch would not be full.

The protocol is in docs/lockstep.md: one line of JSON for each order, on standard input and output.
"""

import argparse
import contextlib
import json
import math
import os
import random
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "oracle"))
import eager_step  # noqa: E402

PEER_VENV = ROOT / "build" / "peer-venv"
PACKAGES = ("numpy", "onnx", "onnxruntime==1.31.1", "openvino==2026.4.1")
TASKS = ("classify", "detect", "detect-full", "embed", "sentiment")
WHEEL_ALONE = ("eager", "compile")
FRAMEWORKS = (*WHEEL_ALONE, "openvino", "onnxruntime")
PRECISIONS = ("fp32", "bf16", "int8")


class Peer:
    """A task, a framework that answers it, and the steps."""

    def __init__(self, options, tier):
        import torch

        import inference_frameworks
        import inference_tasks

        self.torch, self.batch = torch, options.batch
        torch.set_num_threads(options.threads)
        self.task = inference_tasks.TASKS[options.task]()
        self.answer = inference_frameworks.FRAMEWORKS[options.framework](self.task, options)
        seed = tier["seed"] if options.seed is None else options.seed
        self.order = inference_tasks.step_order(self.task.count, seed)
        self.check(self.task.tolerances[options.precision])
        self.queue = self.held(self.order)
        self.next = 0

    def held(self, samples):
        return self.answer.hold(self.task.load(samples))

    def answers(self, samples):
        """To any number of samples: the last batch is filled up with its last sample."""
        parts = []
        for first in range(0, len(samples), self.batch):
            part = samples[first:first + self.batch]
            filled = part + part[-1:] * (self.batch - len(part))
            parts.append(self.torch.as_tensor(self.answer(self.held(filled)))[:len(part)].clone())
        return self.torch.cat(parts)

    def check(self, tolerance):
        samples = self.order[:max(self.task.checked, self.batch)]
        with self.torch.inference_mode():
            wanted = self.task.reference(samples)
            error = self.task.error(self.answers(samples), wanted)
        if not error <= tolerance:
            raise ValueError(f"its answers are {error:.1e} off the oracle's, more than {tolerance}")

    def step(self):
        """Seconds, and the mean of the answers: what the workload gives as a loss."""
        begin = time.perf_counter()
        query = []
        for _ in range(self.batch):
            query.append(self.queue[self.next])
            self.next = (self.next + 1) % len(self.queue)
        mean = float(self.answer(query).mean())
        return time.perf_counter() - begin, mean

    def quality(self):
        return {"metric": self.task.metric, "value": self.task.score(self.answers(list(range(self.task.count))))}

    def offline(self, seconds, warmup):
        samples = list(range(self.task.count))
        samples += [i % self.task.count for i in range(-len(samples) % self.batch)]
        samples.sort(key=self.task.length)
        batches = [self.held(samples[i:i + self.batch]) for i in range(0, len(samples), self.batch)]
        random.Random(0).shuffle(batches)
        for i in range(warmup):
            self.answer(batches[i % len(batches)])
        begin, done = time.perf_counter(), 0
        while (passed := time.perf_counter() - begin) < seconds:
            self.answer(batches[done % len(batches)])
            done += 1
        return {"samples_per_second": done * self.batch / passed, "samples": done * self.batch, "seconds": passed}


def follow_orders(peer, say):
    for line in sys.stdin:
        order = json.loads(line)
        if order["do"] == "finish":
            break
        if order["do"] == "evaluate":
            say(quality=peer.quality())
            continue
        steps = [peer.step() for _ in range(order["count"])]
        losses = [mean if math.isfinite(mean) else None for _, mean in steps]
        say(seconds=[seconds for seconds, _ in steps], losses={"answer": losses})
        if losses[-1] is None:
            break


def options_of_command():
    def positive(text):
        if not text.isdecimal() or int(text) < 1:
            raise argparse.ArgumentTypeError(f"'{text}' is no number from 1 on")
        return int(text)

    def duration(text):
        with contextlib.suppress(ValueError):
            if 0 < float(text) <= 86_400:
                return float(text)
        raise argparse.ArgumentTypeError(f"'{text}' is no time of at most 86400 seconds")

    class Parser(argparse.ArgumentParser):
        def error(self, message):
            sys.exit(f"inference_peer: {message}")

    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--setup", action="store_true", help="make build/peer-venv and stop")
    parser.add_argument("--task", choices=TASKS)
    parser.add_argument("--framework", choices=FRAMEWORKS, default="eager")
    parser.add_argument("--precision", choices=PRECISIONS, default="fp32")
    parser.add_argument("--threads", type=positive, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--batch", type=positive, default=1, help="samples of a query")
    parser.add_argument("--seed", type=int, help="of the run, as harness run --seed; by default the rules'")
    parser.add_argument("--offline", type=duration, metavar="SECONDS", help="no side: samples per second by batches")
    options = parser.parse_args()
    if not options.setup and options.task is None:
        parser.error("--task is missing (one of " + ", ".join(TASKS) + ")")
    if options.precision == "int8" and options.framework in WHEEL_ALONE:
        parser.error(f"{options.framework} has no int8 here (--framework openvino or onnxruntime)")
    if options.seed is not None and not 0 <= options.seed < 1 << 32:
        parser.error("--seed is no number from 0 to 4294967295")
    return options


def main():
    options = options_of_command()
    if options.setup:
        return eager_step.make_venv(PEER_VENV, *PACKAGES)
    if options.framework in WHEEL_ALONE:
        eager_step.enter_venv(ROOT / ".venv", "./quickstart list")
    else:
        eager_step.enter_venv(PEER_VENV, "examples/inference_peer.py --setup")

    # Whatever else prints must not come between the answers.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)

    def say(**line):
        print(json.dumps(line), file=answers)

    rules = json.loads((ROOT / "rules" / f"{options.task}.json").read_text())
    tier = rules["tiers"][rules["default_tier"]]
    options.calibration = rules["calibration"]["samples"]
    try:
        peer = Peer(options, tier)
    except Exception as error:  # noqa: BLE001  # whatever it is, the parent is told, and there is no side
        if options.offline is None:
            say(error=f"inference_peer: {error}")
        sys.exit(f"inference_peer: {error}")
    settings = {name: getattr(options, name) for name in ("task", "framework", "precision", "threads", "batch")}
    if options.offline is not None:
        say(**peer.offline(options.offline, tier["scenarios"]["offline"]["warmup_steps"]), **settings)
        return None
    for _ in range(tier["warmup_steps"]):
        peer.step()
    say(lockstep=1, name=f"{peer.answer.name}, {options.precision}, {options.threads} threads", unit="step",
        slices=True, setup=settings)
    follow_orders(peer, say)
    return None


if __name__ == "__main__":
    main()
