#!/usr/bin/env python3
"""The task `classify` by PyTorch's own modules: fits the head, and says what each test picture is taken for.

    PYTHON tests/oracle/classify_oracle.py --weights mobilenet_v2-b0353104.pth --head FILE      makes the head
    PYTHON tests/oracle/classify_oracle.py --weights ... --head FILE --golden FILE              makes the golden file

PYTHON has PyTorch (quickstart's is .venv/bin/python). The head is a ridge regression in double precision on the
features of the first 10,000 training pictures; an existing one is used as it is. It prints the share of the 10,000
test pictures that are taken for what they are.

    PYTHON tests/oracle/classify_oracle.py --weights ... --folder DIR                           a folder for each class
    PYTHON tests/oracle/classify_oracle.py --photograph-golden FILE                             how pictures are scaled

These two need Pillow, which scales as torchvision does: the shorter side to 256, then the middle of 224. The first
prints the shares of DIR's pictures whose class is the first, or among the first five, by the network's own head.
"""
import argparse
import gzip
import json
import os
import struct
from pathlib import Path

import torch
from torch import nn

SIDE, CLASSES, FITTED, RIDGE = 96, 10, 10_000, 100.0
MEAN = torch.tensor([0.485, 0.456, 0.406]).view(1, 3, 1, 1)
DEVIATION = torch.tensor([0.229, 0.224, 0.225]).view(1, 3, 1, 1)
FOLDER = Path(os.environ.get("HARNESS_FASHION_MNIST") or "/usr/share/datasets/fashion-mnist")


class Block(nn.Module):
    """An inverted residual, its modules named as in torchvision's file."""

    def __init__(self, entering, leaving, stride, expansion):
        super().__init__()
        wide = entering * expansion
        layers = [] if expansion == 1 else [unit(entering, wide, 1)]
        layers += [unit(wide, wide, 3, stride, wide), nn.Conv2d(wide, leaving, 1, bias=False), nn.BatchNorm2d(leaving)]
        self.conv = nn.Sequential(*layers)
        self.adds = stride == 1 and entering == leaving

    def forward(self, maps):
        return maps + self.conv(maps) if self.adds else self.conv(maps)


def unit(entering, leaving, kernel, stride=1, groups=1):
    return nn.Sequential(
        nn.Conv2d(entering, leaving, kernel, stride, (kernel - 1) // 2, groups=groups, bias=False),
        nn.BatchNorm2d(leaving), nn.ReLU6(inplace=True))


class MobileNetV2(nn.Module):
    def __init__(self):
        super().__init__()
        layers, channels = [unit(3, 32, 3, 2)], 32
        for expansion, leaving, count, stride in [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2),
                                                  (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]:
            for i in range(count):
                layers.append(Block(channels, leaving, stride if i == 0 else 1, expansion))
                channels = leaving
        layers.append(unit(channels, 1280, 1))
        self.features = nn.Sequential(*layers)

    def forward(self, pictures):
        return self.features(pictures).mean((2, 3))


def load_model(weights):
    model = MobileNetV2()
    state = torch.load(weights, weights_only=True)
    model.load_state_dict({name: value for name, value in state.items() if not name.startswith("classifier.")})
    return model.eval()


def read_idx(name, header):
    for path, opened in ((FOLDER / name, open), (FOLDER / (name + ".gz"), gzip.open)):
        if path.exists():
            with opened(path, "rb") as file:
                return torch.frombuffer(bytearray(file.read()[header:]), dtype=torch.uint8)
    raise SystemExit(f"{FOLDER / name}: is not there")


def split(prefix):
    return (read_idx(prefix + "-images-idx3-ubyte", 16).view(-1, 1, 28, 28),
            read_idx(prefix + "-labels-idx1-ubyte", 8).long())


def prepared(pictures):
    large = nn.functional.interpolate(pictures.float() / 255, size=(SIDE, SIDE), mode="bilinear", align_corners=False)
    return (large.expand(-1, 3, -1, -1) - MEAN) / DEVIATION


def photograph(image):
    """What torchvision's evaluation makes of a picture, from 0 to 1."""
    from PIL import Image
    width, height = image.size
    shorter = min(width, height)
    image = image.convert("RGB").resize((256 * width // shorter, 256 * height // shorter), Image.BILINEAR)
    left, top = (round((side - 224) / 2) for side in image.size)
    content = bytearray(image.crop((left, top, left + 224, top + 224)).tobytes())
    return torch.frombuffer(content, dtype=torch.uint8).view(224, 224, 3).permute(2, 0, 1)[None].float() / 255


def classify_folder(folder, state):
    from PIL import Image
    model = MobileNetV2()
    model.load_state_dict({name: value for name, value in state.items() if not name.startswith("classifier.")})
    model.eval()
    first = among = count = 0
    for place in sorted(Path(folder).iterdir()):
        for file in sorted(place.iterdir()):
            with torch.inference_mode():
                own = model((photograph(Image.open(file)) - MEAN) / DEVIATION)
                best = nn.functional.linear(own, state["classifier.1.weight"], state["classifier.1.bias"]).topk(5)
            chosen = best.indices[0].tolist()
            print(f"{place.name}/{file.name} {chosen} {best.values[0][0].item():.5f}")
            first, among, count = first + (chosen[0] == int(place.name)), among + (int(place.name) in chosen), count + 1
    print(f"top-1 {first / count:.4f}, top-5 {among / count:.4f} of {count}")


def write_photographs(file):
    """Made-up pictures with much detail, and their scaled middle at every 211th place."""
    from PIL import Image
    rows = []
    for width, height in [(640, 427), (300, 400), (257, 256), (200, 180), (1000, 1000)]:
        content = bytes((7 * x + 13 * y + 50 * c + x * y // 31) % 256
                        for y in range(height) for x in range(width) for c in range(3))
        levels = 255 * photograph(Image.frombytes("RGB", (width, height), content))
        rows.append({"width": width, "height": height, "levels": levels.flatten()[::211].round().int().tolist()})
    Path(file).write_text(json.dumps({"format": "photograph-golden/1", "made_by": "tests/oracle/classify_oracle.py",
                                      "every": 211, "pictures": rows}, separators=(",", ":")) + "\n")


def features(model, pictures):
    return torch.cat([model(prepared(part)) for part in pictures.split(100)])


def fit(model):
    pictures, labels = split("train")
    x = features(model, pictures[:FITTED]).double()
    y = nn.functional.one_hot(labels[:FITTED], CLASSES).double()
    mean, target = x.mean(0), y.mean(0)
    centred = x - mean
    weight = torch.linalg.solve(centred.T @ centred + RIDGE * torch.eye(x.shape[1], dtype=torch.float64),
                                centred.T @ (y - target))
    return weight.T.float().contiguous(), (target - mean @ weight).float()


def write_safetensors(path, tensors):
    header, data = {}, b""
    for name, tensor in sorted(tensors.items()):
        content = struct.pack(f"<{tensor.numel()}f", *tensor.flatten().tolist())
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    Path(path).write_bytes(struct.pack("<Q", len(text)) + text + data)


def read_safetensors(path):
    content = Path(path).read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    tensors = {}
    for name, what in json.loads(content[8:8 + length]).items():
        if what.get("dtype") != "F32":
            continue
        begin, end = (8 + length + at for at in what["data_offsets"])
        tensors[name] = torch.frombuffer(bytearray(content[begin:end]), dtype=torch.float32).view(what["shape"])
    return tensors


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights")
    parser.add_argument("--head")
    parser.add_argument("--golden")
    parser.add_argument("--folder")
    parser.add_argument("--photograph-golden")
    options = parser.parse_args()
    if options.photograph_golden:
        return write_photographs(options.photograph_golden)
    if not options.weights or not (options.head or options.folder):
        parser.error("--weights and --head, or --weights and --folder")
    if options.folder:
        return classify_folder(options.folder, torch.load(options.weights, weights_only=True))
    torch.manual_seed(0)
    model = load_model(options.weights)
    with torch.inference_mode():
        if not Path(options.head).exists():
            weight, bias = fit(model)
            write_safetensors(options.head, {"weight": weight, "bias": bias})
        head = read_safetensors(options.head)
        pictures, labels = split("t10k")
        answers = nn.functional.linear(features(model, pictures), head["weight"], head["bias"])
    chosen = answers.argmax(1)
    right = (chosen == labels).sum().item()
    print(f"top-1 {right / len(labels):.4f}, {right} of {len(labels)}")
    if options.golden:
        two = answers.topk(2).values
        Path(options.golden).write_text(json.dumps({
            "format": "classify-golden/1",
            "made_by": f"tests/oracle/classify_oracle.py, PyTorch {torch.__version__}",
            "right": right,
            "chosen": "".join(str(c) for c in chosen.tolist()),
            "least_lead": (two[:, 0] - two[:, 1]).min().item(),
            "answers": [[round(v, 7) for v in row] for row in answers[:16].tolist()]}, indent=0) + "\n")


if __name__ == "__main__":
    main()
