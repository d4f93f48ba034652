#!/usr/bin/env python3
"""The task `detect` by PyTorch's own modules: what is found on each picture of the evaluation set, and its quality by
pycocotools.

    PYTHON tests/oracle/detect_oracle.py --golden FILE               makes the golden file
    python3 tests/oracle/detect_oracle.py --log LOG [--result FILE]  the quality of answers in a LoadGen accuracy log

PYTHON has PyTorch (quickstart's is .venv/bin/python). The scenes are those that the harness composed (any run of
`detect` does). LOG is NAME.loadgen/accuracy/mlperf_log_accuracy.json of a run of detect; pycocotools judges the very
detections in it, and all twelve numbers are held against the result's to 1e-9. It is looked for as
tests/oracle/coco_map_oracle.py says.
"""
import argparse
import json
import math
import os
import struct
import sys
import zlib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
SCENES = CACHE / "harness" / "fashion-scenes" / "1-mini"
WEIGHTS = ROOT / "workloads" / "detect" / "mini_retinanet.safetensors"
SIDE, CLASSES, ANCHORS, STEM, GROUPS, PYRAMID, DEPTH, SMALLEST = 128, 10, 9, 16, 8, 64, 2, 24
THRESHOLD, CANDIDATES, OVERLAP, MOST = 0.05, 1000, 0.5, 300
NUMBERS = 6  # of a detection in an answer


def read_png(path):
    """(3, H, W) from 0 to 1 of an RGB picture of 8 bits, not interlaced."""
    import torch

    content, at, packed = Path(path).read_bytes(), 8, b""
    while at < len(content):
        length, kind = struct.unpack(">I4s", content[at:at + 8])
        chunk = content[at + 8:at + 8 + length]
        if kind == b"IHDR":
            width, height, depth, colours, _, _, interlaced = struct.unpack(">IIBBBBB", chunk)
            if (depth, colours, interlaced) != (8, 2, 0):
                raise SystemExit(f"{path}: is no RGB picture of 8 bits")
        packed += chunk if kind == b"IDAT" else b""
        at += 12 + length
    lines, stride = zlib.decompress(packed), 3 * width
    above, pixels = bytearray(stride), bytearray()
    for row in range(height):
        kind, *line = lines[row * (stride + 1):(row + 1) * (stride + 1)]
        for i in range(stride):
            left, up, corner = (line[i - 3] if i > 2 else 0), above[i], (above[i - 3] if i > 2 else 0)
            if kind == 4:
                by_left, by_up, by_corner = abs(up - corner), abs(left - corner), abs(left + up - 2 * corner)
                near = left if by_left <= by_up and by_left <= by_corner else up if by_up <= by_corner else corner
            else:
                near = (0, left, up, (left + up) // 2)[kind]
            line[i] = (line[i] + near) & 255
        above = line
        pixels += bytes(line)
    return torch.frombuffer(pixels, dtype=torch.uint8).view(height, width, 3).permute(2, 0, 1).float() / 255


def prepared(picture):
    import classify_oracle

    return (picture[None] - classify_oracle.MEAN) / classify_oracle.DEVIATION


def make_model(state):
    """ResNeXt of one bottleneck a stage, pyramid of P3 to P5, heads two deep; modules are named as in `state`."""
    import torch
    from torch import nn

    class Norm(nn.Module):
        def __init__(self, channels):
            super().__init__()
            for name in ("weight", "bias", "running_mean", "running_var"):
                self.register_buffer(name, torch.zeros(channels))

        def forward(self, maps):
            scale = self.weight * (self.running_var + 1e-5).rsqrt()
            shift = self.bias - self.running_mean * scale
            return maps * scale.view(1, -1, 1, 1) + shift.view(1, -1, 1, 1)

    class Bottleneck(nn.Module):
        def __init__(self, entering, width, leaving, stride):
            super().__init__()
            self.conv1, self.bn1 = nn.Conv2d(entering, width, 1, bias=False), Norm(width)
            self.conv2 = nn.Conv2d(width, width, 3, stride, 1, groups=GROUPS, bias=False)
            self.bn2 = Norm(width)
            self.conv3, self.bn3 = nn.Conv2d(width, leaving, 1, bias=False), Norm(leaving)
            self.downsample = nn.Sequential(nn.Conv2d(entering, leaving, 1, stride, bias=False), Norm(leaving))

        def forward(self, maps):
            out = self.bn1(self.conv1(maps)).relu()
            out = self.bn2(self.conv2(out)).relu()
            return (self.bn3(self.conv3(out)) + self.downsample(maps)).relu()

    class Body(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1, self.bn1 = nn.Conv2d(3, STEM, 7, 2, 3, bias=False), Norm(STEM)
            entering = STEM
            for i in range(4):
                width, leaving = 4 * GROUPS << i, 4 * STEM << i
                stage = nn.Sequential(Bottleneck(entering, width, leaving, 1 if i == 0 else 2))
                setattr(self, f"layer{i + 1}", stage)
                entering = leaving

        def forward(self, pictures):
            maps = nn.functional.max_pool2d(self.bn1(self.conv1(pictures)).relu(), 3, 2, 1)
            stages = []
            for i in range(4):
                maps = getattr(self, f"layer{i + 1}")(maps)
                stages.append(maps)
            return stages[1:]

    class Pyramid(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner_blocks = nn.ModuleList(nn.Conv2d(4 * STEM << i, PYRAMID, 1) for i in (1, 2, 3))
            self.layer_blocks = nn.ModuleList(nn.Conv2d(PYRAMID, PYRAMID, 3, 1, 1) for _ in range(3))

        def forward(self, stages):
            inner, levels = None, []
            for stage, lateral, outer in reversed(list(zip(stages, self.inner_blocks, self.layer_blocks))):
                own = lateral(stage)
                inner = own if inner is None else own + nn.functional.interpolate(inner, own.shape[2:], mode="nearest")
                levels.insert(0, outer(inner))
            return levels

    class Head(nn.Module):
        def __init__(self, name, columns):
            super().__init__()
            towers = [m for _ in range(DEPTH) for m in (nn.Conv2d(PYRAMID, PYRAMID, 3, 1, 1), nn.ReLU())]
            self.conv, self.columns = nn.Sequential(*towers), columns
            self.last = name
            setattr(self, name, nn.Conv2d(PYRAMID, ANCHORS * columns, 3, 1, 1))

        def forward(self, levels):
            """(N, anchors of the level, columns) each."""
            return [getattr(self, self.last)(self.conv(level)).permute(0, 2, 3, 1).flatten(1).unflatten(
                1, (-1, self.columns)) for level in levels]

    class Detector(nn.Module):
        def __init__(self):
            super().__init__()
            self.backbone = nn.ModuleDict({"body": Body(), "fpn": Pyramid()})
            self.head = nn.ModuleDict({"classification_head": Head("cls_logits", CLASSES),
                                       "regression_head": Head("bbox_reg", 4)})

        def forward(self, pictures):
            """Scores and box codes of each level."""
            levels = self.backbone["fpn"](self.backbone["body"](pictures))
            logits = self.head["classification_head"](levels)
            return [x.sigmoid() for x in logits], self.head["regression_head"](levels)

    model = Detector()
    model.load_state_dict(state)
    return model.eval()


def level_anchors():
    import torch

    levels = []
    for i in range(3):
        size = SMALLEST << i
        sizes = [float(math.trunc(size * 2 ** (k / 3))) for k in range(3)]
        tall = torch.tensor([0.5, 1.0, 2.0]).sqrt()
        widths, heights = torch.outer(1 / tall, torch.tensor(sizes)), torch.outer(tall, torch.tensor(sizes))
        base = (torch.stack((-widths, -heights, widths, heights), 2).view(-1, 4) / 2).round()
        places = torch.arange(SIDE >> (i + 3)) * float(8 << i)
        y, x = torch.meshgrid(places, places, indexing="ij")
        centres = torch.stack((x, y, x, y), 2).view(-1, 1, 4)
        levels.append((centres + base).view(-1, 4))
    return levels


def decoded(codes, anchors):
    import torch

    size = anchors[:, 2:] - anchors[:, :2]
    centre = codes[:, :2] * size + anchors[:, :2] + 0.5 * size
    half = 0.5 * codes[:, 2:].clamp(max=math.log(1000 / 16)).exp() * size
    return torch.cat((centre - half, centre + half), 1).clamp(0, SIDE)


def kept(boxes, scores):
    """Indices by falling score; what overlaps a better one by more than OVERLAP is dropped."""
    import torch

    order = scores.argsort(descending=True, stable=True)
    boxes = boxes[order]
    area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    meeting = (torch.minimum(boxes[:, None, 2:], boxes[:, 2:]) - torch.maximum(boxes[:, None, :2], boxes[:, :2])).clamp(0)
    shared = meeting.prod(2)
    over = shared / (area[:, None] + area - shared) > OVERLAP
    alive = torch.ones(len(order), dtype=torch.bool)
    for i in range(len(order)):
        if alive[i]:
            alive[i + 1:] &= ~over[i, i + 1:]
    return order[alive]


def found(scores, codes, anchors):
    """(detections, NUMBERS) of one picture: x1, y1, x2, y2, score, label."""
    import torch

    rows = []
    for level_scores, level_codes, level in zip(scores, codes, anchors):
        flat = level_scores.flatten()
        best, places = flat.where(flat > THRESHOLD, 0).topk(min(CANDIDATES, int((flat > THRESHOLD).sum())))
        where = places // CLASSES
        boxes = decoded(level_codes[where], level[where])
        rows.append(torch.cat((boxes, best[:, None], (places % CLASSES)[:, None].float()), 1))
    rows = torch.cat(rows)
    # Classes do not meet: each is moved to a place of its own.
    apart = rows[:, :4] + rows[:, 5:] * (rows[:, :4].max() + 1 if len(rows) else 0)
    return rows[kept(apart, rows[:, 4])][:MOST]


def annotations():
    return json.loads((SCENES / "eval.json").read_text())


def write_golden(file):
    import torch

    sys.path.insert(0, str(Path(__file__).parent))
    import classify_oracle

    if not (SCENES / "eval.json").exists():
        raise SystemExit(f"{SCENES}: is not there (a run of detect composes the scenes)")
    model, anchors = make_model(classify_oracle.read_safetensors(WEIGHTS)), level_anchors()
    pictures = []
    for image in annotations()["images"]:
        with torch.inference_mode():
            scores, codes = model(prepared(read_png(SCENES / "eval" / image["file_name"])))
            rows = found([x[0] for x in scores], [x[0] for x in codes], anchors)
        first = [[round(x, 6) for x in row] for row in rows[:10].double().tolist()]
        pictures.append({"count": len(rows), "score_sum": round(rows[:, 4].double().sum().item(), 6), "first": first})
    golden = {"format": "detect-golden/1", "made_by": "tests/oracle/detect_oracle.py", "pictures": pictures}
    Path(file).write_text(json.dumps(golden, separators=(",", ":")) + "\n")
    print(f"{len(pictures)} pictures, {sum(p['count'] for p in pictures)} detections")


def judge(log, result):
    import coco_map_oracle

    coco_map_oracle.need_pycocotools()
    import contextlib
    import io

    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    truth = annotations()
    detections = []
    for entry in json.loads(Path(log).read_text()):
        image = truth["images"][entry["qsl_idx"]]["id"]
        row = struct.unpack(f"<{len(entry['data']) // 8}f", bytes.fromhex(entry["data"]))
        for i in range(int(row[0])):
            x1, y1, x2, y2, score, label = row[1 + NUMBERS * i:1 + NUMBERS * (i + 1)]
            detections.append({"image_id": image, "category_id": sorted(c["id"] for c in truth["categories"])[int(label)],
                               "bbox": [x1, y1, x2 - x1, y2 - y1], "score": score})
    with contextlib.redirect_stdout(io.StringIO()):
        coco = COCO()
        coco.dataset = truth
        coco.createIndex()
        evaluation = COCOeval(coco, coco.loadRes(detections), "bbox")
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    numbers = dict(zip(coco_map_oracle.NAMES, evaluation.stats.tolist()))
    print(f"{len(detections)} detections, mAP {numbers['ap']:.9f}")
    if result is None:
        return
    quality = json.loads(Path(result).read_text())["quality"]
    ours = {"ap": quality["value"], **quality["details"]}
    worst = max(abs(numbers[name] - value) for name, value in ours.items())
    print(f"largest difference {worst:.1e} of {len(ours)} numbers")
    if not worst <= coco_map_oracle.TOLERANCE:
        sys.exit(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--golden")
    parser.add_argument("--log")
    parser.add_argument("--result")
    options = parser.parse_args()
    if options.golden:
        return write_golden(options.golden)
    if not options.log:
        parser.error("--golden or --log")
    return judge(options.log, options.result)


if __name__ == "__main__":
    main()
