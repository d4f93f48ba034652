#!/usr/bin/env python3
"""Asks MLPerf's own compliance checker about the altered logs of the tests, and compares its verdicts
with those of `harness check-log`.

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


def main():
    core_tests, harness = sys.argv[1:3]
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        for test in ("each rule of a log broken once is found and named",
                     "submit writes a package and refuses to mix two"):
            subprocess.run([core_tests, test], check=True, stdout=subprocess.DEVNULL,
                           env={**os.environ, "HARNESS_WRITE_LOGS": folder})
        for kind in ("alike", "unreadable", "strict"):
            names = sorted(os.listdir(os.path.join(folder, kind)))
            files = [os.path.join(folder, kind, name) for name in names]
            ours = our_verdicts(harness, files)
            counts = {True: 0, False: 0}
            for name, file in zip(names, files):
                official = official_verdict(file)
                counts[official] += 1
                wanted = {"alike": "passed" if official else "failed",
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
    except ImportError:
        print("skipped: Python has no mlperf_logging (pip install mlperf-logging==4.1.68)")
        sys.exit(77)
    logging.disable(logging.CRITICAL)
    sys.exit(main())
