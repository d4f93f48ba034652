#!/usr/bin/env python3
"""RetinaNet's training step in eager PyTorch as a side in lockstep: the peer of `retinanet-train`.

    tests/oracle/eager_step.py --setup      once
    harness bench --lockstep 'python3 examples/lockstep_peer.py' \\
        'harness run --workload retinanet-train --kernels reference --allocator system --lockstep'

The protocol is in docs/lockstep.md: one line of JSON for each order, on standard input and output.
"""

import argparse
import json
import math
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "oracle"))
import eager_step  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    eager_step.model_options(parser)
    options = parser.parse_args()
    eager_step.enter_venv()

    # Whatever else prints must not come between the answers.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)

    def say(**line):
        print(json.dumps(line), file=answers)

    step = eager_step.stepper(options)
    for _ in range(options.warmup):
        step()
    stack = "torch.compile" if options.compile else "eager PyTorch"
    say(lockstep=1, name=f"{stack}, {options.precision}, {options.threads} threads", unit="step", slices=True)
    for line in sys.stdin:
        order = json.loads(line)
        if order["do"] == "finish":
            break
        if order["do"] == "evaluate":
            say(quality=None)
            continue
        steps = [step() for _ in range(order["count"])]
        losses = [sum(by_name.values()) for _, by_name in steps]
        finite = [loss if math.isfinite(loss) else None for loss in losses]
        say(seconds=[seconds for seconds, _ in steps], losses={"total": finite})
        if finite[-1] is None:
            break


if __name__ == "__main__":
    main()
