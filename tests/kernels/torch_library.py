"""What the tests of torch.ops.harness share: loads the library that their command line names.

usage: TEST.py LIBHARNESS_OPS.so LIBTORCH_FOLDER [TEST]...
Ends with 77, which ctest shows as skipped, where the LibTorch of the build is one for C++ alone.
"""

import os
import sys
import sysconfig
import tempfile
import unittest
import warnings
from pathlib import Path

LIBRARY, LIBTORCH = Path(sys.argv[1]), Path(sys.argv[2]).resolve()

if not (LIBTORCH / "__init__.py").exists():
    print(f"skipped: {LIBTORCH} is LibTorch for C++ alone, without Python's torch")
    sys.exit(77)
sys.path.insert(0, str(LIBTORCH.parent))
COMPILED = tempfile.TemporaryDirectory()  # what torch.compile writes: not from a run before
os.environ["TORCHINDUCTOR_CACHE_DIR"] = COMPILED.name
os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"

warnings.filterwarnings("ignore", message="Failed to initialize NumPy")
import torch  # noqa: E402
from torch.testing import assert_close  # noqa: E402

if Path(torch.__file__).resolve().parent != LIBTORCH:
    sys.exit(f"{torch.__file__} was imported instead of {LIBTORCH}")
torch.ops.load_library(str(LIBRARY))

TYPES = (torch.float32, torch.bfloat16)

# torch.compile builds a C++ extension for the Python that runs it.
compiles = unittest.skipUnless((Path(sysconfig.get_paths()["include"]) / "Python.h").exists(),
                               "torch.compile needs Python.h (Debian: apt-get install python3-dev)")


def train_eager_and_compiled(test, make_parameters, loss_of, step):
    """Trains from the same start with `step` and with it compiled; loss_of(step) is the loss. It falls, both times alike."""
    curves = []
    for function in (step, torch.compile(step, fullgraph=True)):
        torch.manual_seed(5)
        optimizer = torch.optim.Adam(make_parameters(), lr=1e-2)
        losses = []
        for _ in range(20):
            optimizer.zero_grad()
            loss = loss_of(function)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        curves.append(torch.tensor(losses))
    eager, compiled = curves
    test.assertLess(eager[-1], 0.8 * eager[0])
    assert_close(compiled, eager, rtol=1e-4, atol=0)


def run_tests():
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
