#!/usr/bin/env python3
"""Asks MLPerf's own checkers about the altered logs of the tests, and compares their verdicts with those of
`harness check-log`: the compliance checker log by log, that of reference convergence points set by set.

usage: mlperf_logs_test.py CORE_TESTS HARNESS      (exit code 77: mlperf-logging is not installed)
HARNESS_TEST_PYTHON names another interpreter that has it.
"""
import contextlib
import io
import json
import logging
import os
import subprocess
import sys
import tempfile

RULESET = "5.1.0"


def use_chosen_python():
    chosen = os.environ.get("HARNESS_TEST_PYTHON")
    if chosen and not os.environ.get("HARNESS_TEST_PYTHON_CHOSEN"):
        os.environ["HARNESS_TEST_PYTHON_CHOSEN"] = "1"
        os.execvp(chosen, [chosen, *sys.argv])


def official_verdict(file):
    """True when the official checker, warnings as errors, passes the file; a crash is a failure."""
    checker = mlp_compliance.make_checker("training", RULESET, False, True)
    mlp_compliance.enqueued_configs.clear()
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            return bool(mlp_compliance.main(file, f"training_{RULESET}/common.yaml", checker)[0])
    except Exception:
        return False


def official_command(file, folder):
    """The same as people run it."""
    command = [sys.executable, "-m", "mlperf_logging.compliance_checker", "--usage", "training",
               "--ruleset", RULESET, "--werror", "--log_output", os.path.join(folder, "output"), file]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    return done.returncode == 0 and "SUCCESS" in done.stderr


def official_package_verdict(package, folder):
    """The package checker ends with 0 whatever it finds: its text tells."""
    command = [sys.executable, "-m", "mlperf_logging.package_checker", package, "training", RULESET,
               "--werror", "--log_output", os.path.join(folder, "output")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    lines = (done.stdout + done.stderr).splitlines()
    troubles = [line for line in lines if line.startswith(("ERROR", "WARNING", "Traceback"))]
    return any("FOUND NO ERRORS" in line for line in lines), troubles


def our_verdicts(harness, files):
    done = subprocess.run([harness, "check-log", "--json", *files], capture_output=True, text=True, errors="replace")
    return {log["file"]: log["verdict"] for log in json.loads(done.stdout)["logs"]}


# Global batch size and the epochs of five runs (None: missed its target): points of the reference, between
# them, below and above them; as fast as the reference, a little and far too fast.
SETS = [
    (256, [4, 4, 4, 4, 4]), (256, [3, 4, 4, 4, 4]), (256, [3, 3, 4, 4, 4]), (256, [4, 4, 4, 4, None]),
    (256, [4, 4, 4, None, None]), (16, [4, 4, 4, 4, 4]), (16, [3, 3, 3, 3, 3]), (8, [9, 8, 10, 9, None]),
    (320, [4, 4, 4, 4, 4]), (320, [3, 4, 4, 4, 4]), (320, [3, 3, 4, 4, 4]), (320, [3, 3, 3, 4, 4]),
    (300, [4, 4, 4, 4, 4]), (256, [3.9996, 3.9996, 4, 4, 4]), (300, [3, 3, 4, 4, 5]), (512, [5, 5, 5, 5, 5]), (512, [4, 4, 4, 5, 5]),
    (512, [4, 4, 4, 4, 4]), (768, [5, 5, 5, 5, 5]), (1024, [6, 6, 6, 6, 6]), (1024, [5, 5, 6, 6, 6]),
    (1024, [5, 5, 5, 5, 5]), (1280, [6, 6, 6, 6, 6]), (1280, [6, 6, 7, 7, 8]), (2048, [7, 7, 7, 8, 8]),
    (2048, [7, 7, 8, 8, 9]), (2048, [6, 7, 7, 7, 8]), (2560, [8, 8, 8, 8, 9]), (2560, [8, 8, 8, 8, 8]),
    (2560, [7, 8, 8, 8, 8]), (3000, [9, 9, 10, 10, 11]), (3000, [10, 10, 10, 10, 10]), (4096, [14, 15, 15, 15, 16]),
    (4096, [14, 14, 14, 15, 15]), (4096, [15, 14, 15, 15, 14]), (4096, [13, 14, 14, 14, None]),
    (5000, [20, 20, 20, 20, 20]),
]


def altered(lines, batch, epochs):
    """The log with that batch size, whose last evaluation before its end is that of an epoch."""
    token = ":::MLLOG "
    out = []
    for line in lines:
        if line.startswith(token):
            event = json.loads(line[len(token):])
            if event["key"] == "global_batch_size":
                event["value"] = batch
            if event["key"] == "eval_accuracy":
                event["metadata"]["epoch_num"] = epochs or 7
            if event["key"] == "run_stop":
                event["metadata"]["status"] = "success" if epochs else "aborted"
            line = token + json.dumps(event)
        out.append(line)
    return "\n".join(out) + "\n"


def compare_convergence(harness, template, folder):
    """How many verdicts or factors differ from those of MLPerf's checker."""
    with open(template, encoding="utf-8") as log:
        lines = log.read().splitlines()
    different = 0
    counts = {True: 0, False: 0}
    for number, (batch, epochs) in enumerate(SETS):
        place = os.path.join(folder, "sets", str(number))
        os.makedirs(place)
        files = [os.path.join(place, f"result_{i}.txt") for i in range(len(epochs))]
        for file, count in zip(files, epochs):
            with open(file, "w", encoding="utf-8") as log:
                log.write(altered(lines, batch, count))
        passed, _, factor = rcp_checker.check_directory(place, "training", RULESET, False, False, rcp_pass="pruned_rcps")
        counts[bool(passed)] += 1
        done = subprocess.run([harness, "check-log", "--rcp", "--json", *files], capture_output=True, text=True)
        ours = json.loads(done.stdout)["convergence"]
        if (ours["verdict"] == "passed") != bool(passed) or (passed and abs(ours["score_factor"] - factor) > 1e-9):
            different += 1
            print(f"global batch size {batch}, epochs {epochs}: official {passed}, {factor}; ours {ours}")
    print(f"convergence: {len(SETS)} sets, official checker: {counts[True]} pass, {counts[False]} fail")
    return different


def main():
    core_tests, harness = sys.argv[1:3]
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        for test in ("each rule of a log broken once is found and named",
                     "submit writes a package and refuses to mix two"):
            subprocess.run([core_tests, test], check=True, stdout=subprocess.DEVNULL,
                           env={**os.environ, "HARNESS_WRITE_LOGS": folder})
        for kind in ("alike", "stricter", "unreadable", "strict"):
            names = sorted(os.listdir(os.path.join(folder, kind)))
            files = [os.path.join(folder, kind, name) for name in names]
            ours = our_verdicts(harness, files)
            counts = {True: 0, False: 0}
            for name, file in zip(names, files):
                official = official_verdict(file)
                counts[official] += 1
                wanted = {"alike": "passed" if official else "failed",
                          "stricter": "failed" if official else "the official checker refuses it too",
                          "unreadable": "unreadable" if not official else "passed",
                          "strict": "unreadable" if official else "the official checker refuses it too"}
                if ours[file] != wanted[kind]:
                    failures += 1
                    print(f"{kind}/{name}: official {'SUCCESS' if official else 'FAILED'}, "
                          f"ours {ours[file]}, wanted {wanted[kind]}")
            print(f"{kind}: {len(names)} logs, official checker: {counts[True]} pass, {counts[False]} fail")
        for name, expected in (("untouched", True), ("open", True), ("another optimiser", False)):
            if official_command(os.path.join(folder, "alike", name + ".log"), folder) != expected:
                failures += 1
                print(f"{name}: the command of the official checker says otherwise")
        failures += compare_convergence(harness, os.path.join(folder, "alike", "untouched.log"), folder)
        passed, troubles = official_package_verdict(os.path.join(folder, "package"), folder)
        print(f"package: official checker: {'pass' if passed else 'fail'}, {len(troubles)} complaints")
        if not passed or troubles:
            failures += 1
            print("\n".join(troubles))
    print(f"{failures} disagreements")
    return 1 if failures else 0


if __name__ == "__main__":
    use_chosen_python()
    try:
        from mlperf_logging.compliance_checker import mlp_compliance
        from mlperf_logging.rcp_checker import rcp_checker
    except ImportError:
        print("skipped: Python has no mlperf_logging (pip install mlperf-logging==4.1.68)")
        sys.exit(77)
    logging.disable(logging.CRITICAL)
    sys.exit(main())
