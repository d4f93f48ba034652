#!/usr/bin/env python3
"""One RetinaNet-ResNeXt50 training step in eager PyTorch from Python: the peer of `retinanet-train`.

The model is put together from torchvision's public Python code and set to the structure of MLPerf
Training's RetinaNet: ResNeXt50_32x4d with frozen batch norm, frozen stem and first stage, FPN on C3 to
C5 with P6 and P7 from P5, plain L1 loss, 264 classes, Adam. `--check` holds it against a golden file.

    tests/oracle/eager_step.py --setup              once: torchvision into build/oracle-venv, no dependencies
    tests/oracle/eager_step.py --steps 6 --warmup 2 one JSON line a step
    tests/oracle/eager_step.py --check tests/golden/retinanet_b.json
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
import types
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VENV = ROOT / "build" / "oracle-venv"
MASK = (1 << 64) - 1


def site_packages(venv):
    """The site-packages folder of a virtual environment, or None."""
    return next(iter(sorted(venv.glob("lib/python3*/site-packages"))), None)


def wheel_folder():
    """Where the LibTorch wheel of .venv lies."""
    wheel = site_packages(ROOT / ".venv")
    if wheel is None or not (wheel / "torch").is_dir():
        sys.exit("no LibTorch wheel in .venv (run ./quickstart list first)")
    return wheel


def make_venv(venv, *packages):
    """Makes a virtual environment that sees the LibTorch wheel of .venv, so that both sides run the same libraries.
    `packages` are what pip is told to install there."""
    wheel = wheel_folder()
    python = ROOT / ".venv" / "bin" / "python"
    subprocess.run([python, "-m", "venv", venv], check=True)
    (site_packages(venv) / "libtorch-wheel.pth").write_text(f"{wheel.resolve()}\n")
    pip = [venv / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, *packages], check=True)


def setup():
    """Makes VENV."""
    version = next(wheel_folder().glob("torch-*.dist-info")).name.split("-")[1].split(".")
    # torchvision 0.(n + 15) is the release that goes with torch 2.n.
    make_venv(VENV, "--no-deps", f"torchvision==0.{int(version[1]) + 15}.*", "numpy", "pillow")


def enter_venv(venv=VENV, remedy="tests/oracle/eager_step.py --setup"):
    """Runs this very command again under the interpreter of `venv`; `remedy` makes it where it is not there."""
    python = venv / "bin" / "python"
    if not python.exists():
        sys.exit(f"{venv.relative_to(ROOT)} is not there (run {remedy})")
    if Path(sys.prefix).resolve() != venv.resolve():
        os.execv(python, [str(python), *sys.argv])


def without_compiled_operators():
    """Lets torchvision's Python code be imported without its compiled operators: they need not load
    beside this wheel, and training calls none of them."""
    import torch

    extension = types.ModuleType("torchvision.extension")
    extension._has_ops = lambda: False
    extension._load_library = lambda name: False
    extension._check_cuda_version = lambda: -1
    extension._assert_has_ops = lambda: None
    sys.modules.setdefault("torchvision.extension", extension)
    for name in ("nms", "qnms"):  # Python code registers something for these names
        if not hasattr(torch.ops.torchvision, name):
            torch.library.define(f"torchvision::{name}", "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")


def build_model(num_classes, image_size):
    """The MLPerf graph; `image_size` is (height, width) after resizing."""
    from torch import nn

    without_compiled_operators()
    from torchvision.models import resnext50_32x4d
    from torchvision.models.detection.anchor_utils import AnchorGenerator
    from torchvision.models.detection.backbone_utils import _resnet_fpn_extractor
    from torchvision.models.detection.retinanet import RetinaNet
    from torchvision.ops.feature_pyramid_network import LastLevelP6P7
    from torchvision.ops.misc import FrozenBatchNorm2d

    body = resnext50_32x4d(weights=None, norm_layer=FrozenBatchNorm2d)
    # 256 channels in and out: P6 is made from P5, not from C5.
    backbone = _resnet_fpn_extractor(
        body, trainable_layers=3, returned_layers=[2, 3, 4], extra_blocks=LastLevelP6P7(256, 256)
    )
    scales = tuple((x, int(x * 2 ** (1 / 3)), int(x * 2 ** (2 / 3))) for x in (32, 64, 128, 256, 512))
    anchors = AnchorGenerator(scales, ((0.5, 1.0, 2.0),) * len(scales))
    height, width = image_size
    model = RetinaNet(backbone, num_classes, anchor_generator=anchors, fixed_size=(width, height))
    for module in model.head.modules():  # the reference's heads keep their activations
        if isinstance(module, nn.ReLU):
            module.inplace = False
    return model.train()


def trainable(model):
    return [p for p in model.parameters() if p.requires_grad]


def step(model, optimizer, images, targets, precision):
    """Forward, losses, backward, update; returns the two losses as tensors."""
    import torch

    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=precision == "bf16"):
        losses = model(images, targets)
        total = sum(losses.values())
    total.backward()
    optimizer.step()
    return losses


def fill(name, shape, center, bound, seed):
    """A tensor of a golden file: splitmix64 on a counter, keyed by the tensor's name."""
    import numpy as np
    import torch

    key = 0xCBF29CE484222325
    for byte in name.encode():
        key = ((key ^ byte) * 0x100000001B3) & MASK
    count = int(np.prod(shape))
    with np.errstate(over="ignore"):
        z = np.uint64(key ^ seed) + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    u = (z >> np.uint64(40)).astype(np.float64) / 2.0**23 - 1.0
    return torch.from_numpy((center + bound * u).astype(np.float32).reshape(shape))


def compiled(model):
    """The model with torch.compile where shapes stand: backbone and towers as one graph each, and the focal loss."""
    import torch
    from torchvision.models.detection import retinanet

    model.backbone = torch.compile(model.backbone)
    for head in (model.head.classification_head, model.head.regression_head):
        head.forward = torch.compile(head.forward)
    retinanet.sigmoid_focal_loss = torch.compile(retinanet.sigmoid_focal_loss, fullgraph=True)
    return model


def golden_case(path):
    """The model, images and targets that a golden file describes, and what it expects."""
    import torch

    golden = json.loads(Path(path).read_text())
    case = golden["case"]
    model = build_model(case["num_classes"], case["image_size"])
    state = {t["name"]: fill(t["name"], t["shape"], t["center"], t["bound"], case["seed"]) for t in case["tensors"]}
    # Names of head convolutions are those of older torchvision; its loader translates such dictionaries.
    missing, unexpected = model.load_state_dict(state, strict=False)
    if missing or unexpected:
        sys.exit(f"eager_step: parameters differ from the golden file's: {missing} {unexpected}")
    images = [fill(i["fill"], i["shape"], 0.5, 0.5, case["seed"]) for i in case["images"]]
    targets = [
        {
            "boxes": torch.tensor(i["boxes"], dtype=torch.float32).reshape(-1, 4),
            "labels": torch.tensor(i["labels"], dtype=torch.int64),
        }
        for i in case["images"]
    ]
    return model, images, targets, golden["expected"]


def reference_name(name):
    """torchvision wraps each convolution of neck and heads in a block of its own; the reference does not."""
    name = re.sub(r"(_blocks\.\d+)\.0\.", r"\1.", name)
    return re.sub(r"^(head\..*\.conv)\.(\d+)\.0\.", lambda m: f"{m[1]}.{2 * int(m[2])}.", name)


def check(path):
    """Compares losses and gradients with a golden file; returns whether all agree."""
    import torch

    model, images, targets, expected = golden_case(path)
    model = model.to(memory_format=torch.channels_last)
    optimizer = torch.optim.Adam(trainable(model), lr=1e-4)
    good = True

    def compare(name, actual, wanted, tolerance):
        nonlocal good
        error = abs(actual - wanted) / max(abs(wanted), 1e-30)
        good = good and error <= tolerance
        print(json.dumps({"quantity": name, "expected": wanted, "actual": actual, "error": error, "tolerance": tolerance}))

    def compare_losses(losses, wanted, prefix, tolerance):
        compare(f"{prefix}classification_loss", losses["classification"].item(), wanted["classification_loss"], tolerance)
        compare(f"{prefix}box_loss", losses["bbox_regression"].item(), wanted["box_loss"], tolerance)

    compare_losses(step(model, optimizer, images, targets, "fp32"), expected, "", 1e-5)
    gradients = {
        reference_name(name): parameter.grad.double().norm().item()
        for name, parameter in model.named_parameters()
        if parameter.requires_grad
    }
    if set(gradients) != set(expected["gradients"]):
        good = False
        print(json.dumps({"quantity": "trainable parameters", "differ": sorted(set(gradients) ^ set(expected["gradients"]))}))
    worst = max(
        ((abs(gradients[n] - g["l2"]) / g["l2"], n) for n, g in expected["gradients"].items() if n in gradients),
        default=(1.0, "none"),
    )
    good = good and worst[0] <= 2e-3
    print(json.dumps({"quantity": "gradient l2, the worst", "parameter": worst[1], "error": worst[0], "tolerance": 2e-3}))
    with torch.no_grad():
        compare_losses(model(images, targets), expected["after_one_adam_step"], "after_one_adam_step.", 1e-3)
    print("verified" if good else "not verified")
    return good


def stepper(options):
    """A function that does a step, on one batch of random pictures with ten boxes each, and gives its seconds
    and its losses by name."""
    import torch

    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    size = options.image_size
    model = build_model(options.classes, (size, size)).to(memory_format=torch.channels_last)
    if options.compile:
        model = compiled(model)
    optimizer = torch.optim.Adam(trainable(model), lr=1e-4)
    images = [torch.rand(3, size, size) for _ in range(options.batch_size)]
    targets = []
    for _ in images:
        corner = torch.rand(10, 2) * size * 0.7
        extent = size * (0.05 + 0.25 * torch.rand(10, 2))
        targets.append({"boxes": torch.cat([corner, corner + extent], 1), "labels": torch.randint(0, 10, (10,))})

    def one_step():
        begin = time.perf_counter()
        losses = step(model, optimizer, images, targets, options.precision)
        seconds = time.perf_counter() - begin
        return seconds, {name: loss.item() for name, loss in losses.items()}

    return one_step


def measure(options):
    """Times steps and prints them."""
    one_step = stepper(options)
    for number in range(1, options.warmup + options.steps + 1):
        seconds, losses = one_step()
        line = {"step": number, "warmup": number <= options.warmup, "seconds": seconds}
        print(json.dumps({**line, "loss": sum(losses.values())}), flush=True)


def model_options(parser):
    """The options that say which step it is."""
    parser.add_argument("--warmup", type=int, default=2)
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="fp32")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--batch-size", type=int, default=1)
    parser.add_argument("--classes", type=int, default=264)
    parser.add_argument("--image-size", type=int, default=800)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--compile", action="store_true", help="torch.compile the model and the focal loss")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--setup", action="store_true", help="make build/oracle-venv and stop")
    parser.add_argument("--check", metavar="GOLDEN", help="compare losses and gradients with a golden file")
    parser.add_argument("--steps", type=int, default=6)
    model_options(parser)
    options = parser.parse_args()
    if options.setup:
        setup()
        return 0
    enter_venv()
    if options.check:
        return 0 if check(options.check) else 1
    measure(options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
