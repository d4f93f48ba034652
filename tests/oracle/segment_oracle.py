#!/usr/bin/env python3
"""The task `segment` by PyTorch's own modules, on masks that this script composes by itself.

    PYTHON tests/oracle/segment_oracle.py --weights mobilenet_v2-b0353104.pth --scenes FOLDER [--logged FOLDER]

PYTHON has PyTorch (quickstart's is .venv/bin/python). FOLDER of --scenes holds eval/NNNNNN.png, as
`harness run --workload retinanet-mini-train --dry-run` leaves them in the cache. It prints the mean intersection over
union of the network, counted class by class. --logged names the NAME.loadgen/accuracy folder of a run of `segment`:
its answers get the same count, and are held against the network's, pixel by pixel.
"""
import argparse
import json
import struct
import sys
import zlib
from pathlib import Path

import torch
from torch import nn

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
import classify_oracle as oracle  # noqa: E402

SIDE, SCENES, CLASSES = 128, 400, 11
SIDES, ITEMS = (22, 63), (1, 6)
MASK64 = (1 << 64) - 1
VERSION, EVALUATION = 1, 1
ITEM_COUNT, ITEM = 2, 3  # streams of random numbers
FAINTEST, TRIES = 24, 24
ROOT = Path(__file__).resolve().parents[2]


def read_png(path):
    """(3, H, W) of a picture with 8 bits for each of three colours, not interlaced."""
    content, at, packed = path.read_bytes(), 8, b""
    while at < len(content):
        length, kind = struct.unpack(">I4s", content[at:at + 8])
        packed += content[at + 8:at + 8 + length] if kind == b"IDAT" else b""
        at += 12 + length
    lines, stride, above, rows = zlib.decompress(packed), 3 * SIDE, bytes(3 * SIDE), bytearray()
    for y in range(SIDE):
        kind, line = lines[y * (stride + 1)], bytearray(lines[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
        for x in range(stride):
            left, up, corner = (line[x - 3], above[x], above[x - 3]) if x >= 3 else (0, above[x], 0)
            if kind == 4:
                near = min((abs(up - corner), 0, left), (abs(left - corner), 1, up),
                           (abs(left + up - 2 * corner), 2, corner))[2]
            else:
                near = (0, left, up, (left + up) // 2)[kind]
            line[x] = (line[x] + near) & 255
        rows, above = rows + line, line
    return torch.frombuffer(rows, dtype=torch.uint8).view(SIDE, SIDE, 3).permute(2, 0, 1)


def mix(word):
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & MASK64
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & MASK64
    return word ^ (word >> 31)


class Stream:
    """A hash of what it is for and how many draws came before."""

    def __init__(self, *words):
        self.key, self.count = 0, 0
        for word in words:
            self.key = mix((self.key + 0x9E3779B97F4A7C15 + word) & MASK64)

    def below(self, n):
        self.count += 1
        return ((mix((self.key + self.count * 0x9E3779B97F4A7C15) & MASK64) >> 32) * n) >> 32

    def between(self, low, high):
        return low + self.below(high - low + 1)


def scaled(picture, side):
    """28x28 to side x side, in 1/256 of a pixel; what is faint is nothing."""
    place = ((2 * torch.arange(side) + 1) * 28 * 128 // side - 128).clamp(0, 27 * 256)
    low, part = place >> 8, place & 255
    high = (low + 1).clamp(max=27)
    across = picture[:, low] * (256 - part) + picture[:, high] * part
    whole = across[low] * (256 - part[:, None]) + across[high] * part[:, None]
    values = (whole + (1 << 15)) >> 16
    return torch.where(values < FAINTEST, 0, values)


def overlap(one, other):
    width = min(one[0] + one[2], other[0] + other[2]) - max(one[0], other[0])
    height = min(one[1] + one[3], other[1] + other[3]) - max(one[1], other[1])
    if width <= 0 or height <= 0:
        return False
    shared, areas = width * height, (one[2] * one[3], other[2] * other[3])
    return shared * 100 > 15 * (sum(areas) - shared) or shared * 100 > 25 * min(areas)


def mask(pictures, labels, index):
    found, boxes = torch.zeros(SIDE, SIDE, dtype=torch.long), []
    wanted = Stream(VERSION, EVALUATION, index, ITEM_COUNT).between(*ITEMS)
    random = Stream(VERSION, EVALUATION, index, ITEM)
    for _ in range(wanted):
        for _ in range(3):
            random.between(90, 255)  # a tint, of no matter here
        random.below(3)
        for _ in range(TRIES):
            which, side = random.below(len(pictures)), random.between(*SIDES)
            across, down = random.below(1 << 16), random.below(1 << 16)
            drawn = scaled(pictures[which, 0].long(), side)
            rows, columns = drawn.any(1).nonzero().flatten(), drawn.any(0).nonzero().flatten()
            if len(rows) == 0:
                continue
            drawn = drawn[rows[0]:rows[-1] + 1, columns[0]:columns[-1] + 1]
            height, width = drawn.shape
            box = (across * (SIDE - width + 1) >> 16, down * (SIDE - height + 1) >> 16, width, height)
            if any(overlap(box, other) for other in boxes):
                continue
            boxes.append(box)
            place = found[box[1]:box[1] + height, box[0]:box[0] + width]
            place[drawn > 0] = int(labels[which]) + 1
            break
    return found


def mean_iou(truth, said):
    shares = []
    for one in range(CLASSES):
        both = ((truth == one) & (said == one)).sum().item()
        either = ((truth == one) | (said == one)).sum().item()
        if either:
            shares.append(both / either)
    return sum(shares) / len(shares)


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.lateral4, self.lateral8, self.lateral16 = (nn.Conv2d(n, 64, 3, padding=1) for n in (24, 32, 96))
        self.smooth, self.classifier = nn.Conv2d(64, 64, 3, padding=1), nn.Conv2d(64, CLASSES, 1)

    def forward(self, quarter, eighth, sixteenth):
        def up(maps, by):
            return nn.functional.interpolate(maps, scale_factor=by, mode="bilinear", align_corners=False)

        maps = torch.relu(self.lateral16(sixteenth))
        maps = torch.relu(self.lateral8(eighth) + up(maps, 2))
        maps = torch.relu(self.lateral4(quarter) + up(maps, 2))
        return up(self.classifier(torch.relu(self.smooth(maps))), 4)


def answers(weights, pictures):
    backbone, decoder = oracle.load_model(weights), Decoder()
    decoder.load_state_dict(oracle.read_safetensors(ROOT / "workloads/segment/decoder.safetensors"))
    said = []
    with torch.no_grad():
        for batch in pictures.split(32):
            maps, kept = batch, []
            for number, layer in enumerate(backbone.features[:14]):
                maps = layer(maps)
                if number in (3, 6, 13):
                    kept.append(maps)
            said.append(decoder(*kept).argmax(1))
    return torch.cat(said)


def logged(folder):
    """What LoadGen was told, a float for each pixel."""
    said = torch.full((SCENES, SIDE, SIDE), -1, dtype=torch.long)
    for entry in json.loads((folder / "mlperf_log_accuracy.json").read_text()):
        values = struct.unpack(f"<{SIDE * SIDE}f", bytes.fromhex(entry["data"]))
        said[entry["qsl_idx"]] = torch.tensor(values).view(SIDE, SIDE).long()
    assert (said >= 0).all(), "not every scene was answered"
    return said


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", required=True)
    parser.add_argument("--scenes", type=Path, required=True)
    parser.add_argument("--logged", type=Path)
    options = parser.parse_args()

    pictures = torch.stack([read_png(options.scenes / f"eval/{i:06}.png") for i in range(SCENES)])
    sources, labels = oracle.split("t10k")
    truth = torch.stack([mask(sources, labels, i) for i in range(SCENES)])
    said = answers(options.weights, (pictures / 255 - oracle.MEAN) / oracle.DEVIATION)
    print(f"network  mIoU {mean_iou(truth, said):.9f}")
    if options.logged:
        told = logged(options.logged)
        print(f"logged   mIoU {mean_iou(truth, told):.9f}, {(told == said).double().mean():.6f} of the network's pixels")


if __name__ == "__main__":
    main()
