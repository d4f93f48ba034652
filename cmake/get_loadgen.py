#!/usr/bin/env python3
"""Gets the sources of MLPerf's LoadGen by pip, as its authors publish them, byte for byte what is pinned here.

usage: get_loadgen.py FOLDER      FOLDER must not exist
"""
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

PACKAGE = "mlcommons-loadgen==6.0.17"
SHA256 = "a2e85d09e3cc0c606f89bfe1fbf97537c8b5b238ae0afbd923ad9c710fcf2ca8"


def main(folder):
    target = Path(folder)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as temporary:
        # With its hash given, pip looks at the archive before it runs anything that is in there.
        wanted = Path(temporary) / "wanted.txt"
        wanted.write_text(f"{PACKAGE} --hash=sha256:{SHA256}\n")
        subprocess.run([sys.executable, "-m", "pip", "download", "--no-input", "--disable-pip-version-check", "--no-deps",
                        "--no-binary", "mlcommons-loadgen", "--require-hashes", "--dest", temporary,
                        "--requirement", wanted], check=True, stdin=subprocess.DEVNULL)
        (archive,) = Path(temporary).glob("*.tar.gz")
        with tarfile.open(archive) as members:
            members.extractall(temporary, filter="data")
        (sources,) = (path for path in Path(temporary).iterdir() if path.is_dir())
        try:
            os.rename(sources, target)
        except OSError as error:
            shutil.rmtree(sources)
            raise SystemExit(f"{target}: {error.strerror}") from None
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] in ("-h", "--help"):
        raise SystemExit(__doc__)
    sys.exit(main(sys.argv[1]))
