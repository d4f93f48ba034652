#!/usr/bin/env python3
"""A side in lockstep that is slower than its command by a known amount: what the gate has to find, on any machine.

    C='build/release/harness run --workload focal-loss --lockstep'
    build/release/harness gate --lockstep --budget 5 --ab-base "$C" \\
        --ab-cand "python3 tests/gate/planted_side.py --slower 0.03 -- $C"

Orders and answers go through (docs/lockstep.md). Behind the steps that are to be slow it waits, and adds that time
to their seconds, as a program would that takes so long. `--slower 0.5 --every 5`: every fifth step takes half as long
again. `--slower 0.1 --starts 3`: one start of three, by chance, is slow throughout. `--slower 0`: nothing but the way
through this program, for the other side, where the sides' start or memory matters. Steps of a
side whose times hold its stops are not cut up.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import time


def wait(seconds):
    """Returns how long it took. Sleep alone is late by a tenth of a millisecond, by chance by much more."""
    begin = time.perf_counter()
    time.sleep(max(0.0, seconds - 1e-3))
    while time.perf_counter() - begin < seconds:
        pass
    return time.perf_counter() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--slower", type=float, required=True, help="share of a step's time that is added")
    parser.add_argument("--every", type=int, default=1, help="each step of so many")
    parser.add_argument("--starts", type=int, default=1, help="one start of so many, by chance")
    parser.add_argument("command", nargs="+", help="a side in lockstep, after --")
    options = parser.parse_args()
    if options.slower < 0 or options.every < 1 or options.starts < 1:
        parser.error("--slower is no less than 0, --every and --starts are no less than 1")

    is_slow = random.randrange(options.starts) == 0
    # The side is to speak to this program, not to who started it.
    environment = {name: value for name, value in os.environ.items() if name != "HARNESS_LOCKSTEP_OUTPUT"}
    try:
        side = subprocess.Popen(
            options.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, env=environment
        )
    except OSError as error:
        sys.exit(f"planted_side.py: {error}")

    def pass_on(line):
        sys.stdout.write(line)
        sys.stdout.flush()

    done = 0
    hello = side.stdout.readline()
    if not hello:  # it was only asked what it is, or does not run
        sys.exit(side.wait())
    greeting = json.loads(hello)
    if not greeting.get("leaves_out_stops") and greeting.pop("slices", False):
        hello = json.dumps(greeting) + "\n"
    pass_on(hello)
    for order in sys.stdin:
        side.stdin.write(order)
        if json.loads(order)["do"] == "finish":
            break
        line = side.stdout.readline()
        answer = json.loads(line) if line else {}
        for i, seconds in enumerate(answer.get("seconds", [])):
            done += 1
            if is_slow and options.slower > 0 and done % options.every == 0:
                answer["seconds"][i] += wait(options.slower * seconds)
        pass_on(json.dumps(answer) + "\n" if "seconds" in answer else line)
        if not line:
            break
    side.stdin.close()
    sys.exit(side.wait())


if __name__ == "__main__":
    main()
