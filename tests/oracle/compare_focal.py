#!/usr/bin/env python3
"""What our focal loss brings over torch.compile and over eager PyTorch, at MLPerf's shape (120087 x 264).

Forward and backward of torch.ops.harness.focal_loss against the dense loss (sigmoid_focal_loss of the MLPerf
reference, from one-hot targets) compiled and eager, and against the reference's whole composition, which also makes
the targets and gathers the rows that count; the dense ones get their targets for nothing. All are first compared with
each other, then take turns in one process, backwards every other round. Prints a table: the median time, and
the median ratio over the rounds with its interval from the sign test. Each combination runs in a process of its own;
`--allocator kept` tells the C library to hold on to freed memory, so that nobody pays for fresh pages.
Needs the Python and torch that build/release/libharness_ops.so was built with.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from compare_eager import ROOT, median_interval

CLASSES, ANCHORS, SIZES, BOXES = 264, 9, (100, 50, 25, 13, 7), 8
ALLOCATORS = {
    "system": {},
    "kept": {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(2**40), "MALLOC_TOP_PAD_": str(2**29)},
}


def make_problem(torch, dtype):
    torch.manual_seed(1)
    rows = [ANCHORS * size * size for size in SIZES]
    logits = (torch.randn(sum(rows), CLASSES) - 4).to(dtype)
    # The same logits as five feature maps, (1, A * classes, H, W), channels_last: the same order in memory.
    levels = [
        part.reshape(1, size, size, ANCHORS * CLASSES).permute(0, 3, 1, 2).requires_grad_()
        for part, size in zip(logits.split(rows), SIZES)
    ]
    matched = torch.full((sum(rows),), -1)
    places = torch.randperm(sum(rows))
    matched[places[:80]] = torch.randint(0, BOXES, (80,))
    matched[places[80:240]] = -2
    return logits.clone().requires_grad_(), levels, matched, torch.randint(0, CLASSES, (BOXES,))


def make_contestants(torch, dtype):
    """name -> function that gives (loss, gradient as rows)."""
    logits, levels, matched, labels = make_problem(torch, dtype)
    foreground, valid = matched >= 0, matched != -2
    count = max(1, int(foreground.sum()))

    def targets():
        target = torch.zeros(logits.shape)
        target[foreground, labels[matched[foreground]]] = 1
        return target

    def dense(x, target, alpha=0.25, gamma=2.0):
        x = x.float()
        p = torch.sigmoid(x)
        entropy = torch.nn.functional.binary_cross_entropy_with_logits(x, target, reduction="none")
        p_t = p * target + (1 - p) * (1 - target)
        return (alpha * target + (1 - alpha) * (1 - target)) * entropy * (1 - p_t) ** gamma

    given, weight = targets(), valid.float()[:, None] / count

    def weighted(x, target, row_weight):
        return (dense(x, target) * row_weight).sum()

    compiled = torch.compile(weighted, fullgraph=True)

    def of_rows(loss):
        return loss, torch.autograd.grad(loss, logits)[0]

    def ours():
        loss = torch.ops.harness.focal_loss(levels, CLASSES, [matched], [labels])
        return loss, torch.autograd.grad(loss, levels)

    return {
        "ours": ours,
        "compiled, dense": lambda: of_rows(compiled(logits, given, weight)),
        "eager, dense": lambda: of_rows(weighted(logits, given, weight)),
        "eager, reference": lambda: of_rows(dense(logits[valid], targets()[valid]).sum() / count),
    }


def verify(torch, contestants, dtype):
    loss, gradient = contestants["ours"]()
    ours = torch.cat([level.permute(0, 2, 3, 1).reshape(-1, CLASSES) for level in gradient]).float()
    for name, run in contestants.items():
        if name == "ours":
            continue
        other, rows = run()
        loss_error = abs(loss.item() / other.item() - 1)
        gradient_error = ((ours - rows.float()).norm() / ours.norm()).item()
        if not (loss_error < 1e-5 and gradient_error < (1e-5 if dtype == torch.float32 else 1e-2)):
            sys.exit(f"compare_focal: '{name}' differs: loss by {loss_error:.1e}, gradient by {gradient_error:.1e}")


def measure(options):
    import torch

    torch.ops.load_library(str(options.library))
    torch.set_num_threads(options.threads[0])
    dtype = {"fp32": torch.float32, "bf16": torch.bfloat16}[options.precision[0]]
    contestants = make_contestants(torch, dtype)
    verify(torch, contestants, dtype)
    if options.compiled_only:
        contestants = {name: run for name, run in contestants.items() if not name.startswith("eager")}
    seconds = {name: [] for name in contestants}
    for turn in range(options.rounds + 2):  # two to warm up
        order = list(contestants)
        for name in order[:: 1 if turn % 2 == 0 else -1]:
            start = time.perf_counter()
            result = contestants[name]()
            seconds[name].append(time.perf_counter() - start)
            del result
    for name, samples in seconds.items():
        samples = samples[2:]
        ratios = [other / ours for other, ours in zip(samples, seconds["ours"][2:])]
        center, low, high, _ = median_interval(ratios, 0.95)
        ratio = "" if name == "ours" else f"{center:6.1f} [{low:.1f}, {high:.1f}]"
        where = f"{options.threads[0]:>7}  {options.precision[0]:<9}  {options.allocator[0]:<9}"
        print(f"{where}  {name:<17} {1e3 * statistics.median(samples):9.1f}  {ratio}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cpus = len(os.sched_getaffinity(0))
    parser.add_argument("--threads", type=int, nargs="+", default=sorted({1, cpus}))
    parser.add_argument("--precision", nargs="+", choices=("fp32", "bf16"), default=["fp32", "bf16"])
    parser.add_argument("--allocator", nargs="+", choices=tuple(ALLOCATORS), default=list(ALLOCATORS))
    parser.add_argument("--rounds", type=int, default=12, help="timed ones (default 12; 6 are the fewest for 95 %%)")
    parser.add_argument("--library", type=Path, default=ROOT / "build/release/libharness_ops.so")
    parser.add_argument("--compiled-only", action="store_true", help="time nothing eager, which takes a second a turn")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        return measure(options)
    print("threads  precision  allocator  loss              median ms  times ours", flush=True)
    for threads in options.threads:
        for precision in options.precision:
            for allocator in options.allocator:
                command = [sys.executable, __file__, "--measure", "--threads", threads, "--precision", precision]
                command += ["--allocator", allocator, "--rounds", options.rounds, "--library", options.library]
                command += ["--compiled-only"] if options.compiled_only else []
                environment = os.environ | ALLOCATORS[allocator] | {"OMP_NUM_THREADS": str(threads)}
                subprocess.run([str(part) for part in command], env=environment, check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
