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
import ctypes
import ctypes.util
import dataclasses
import json
import math
import os
import struct
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "harness" / "fashion-scenes"
SCENES = CACHE / "1-mini"
WEIGHTS = ROOT / "workloads" / "detect" / "mini_retinanet.safetensors"
ANCHORS, THRESHOLD, CANDIDATES, OVERLAP, MOST = 9, 0.05, 1000, 0.5, 300
NUMBERS = 6  # of a detection in an answer


@dataclasses.dataclass(frozen=True)
class Architecture:
    """workloads/retinanet/architecture.hpp; by default MLPerf's model."""
    side: int = 800
    classes: int = 264
    stem: int = 64
    blocks: tuple = (3, 4, 6, 3)
    groups: int = 32
    pyramid: int = 256
    levels: int = 5
    depth: int = 4
    smallest: int = 32


FULL = Architecture()
MINI = Architecture(side=128, classes=10, stem=16, blocks=(1, 1, 1, 1), groups=8, pyramid=64, levels=3, depth=2,
                    smallest=24)


class PngImage(ctypes.Structure):
    """png_image of libpng's simplified interface."""

    _fields_ = [("opaque", ctypes.c_void_p)] + [(name, ctypes.c_uint32) for name in (
        "version", "width", "height", "format", "flags", "colormap_entries", "warning_or_error")] + [
            ("message", ctypes.c_char * 64)]


def read_png(path):
    """(3, H, W) from 0 to 1."""
    import torch

    png = ctypes.CDLL(ctypes.util.find_library("png16") or "libpng16.so.16")
    image = PngImage(version=1)
    if not png.png_image_begin_read_from_file(ctypes.byref(image), str(path).encode()):
        raise SystemExit(f"{path}: {image.message.decode()}")
    image.format = 2  # red, green, blue, 8 bits each
    pixels = bytearray(3 * image.width * image.height)
    buffer = (ctypes.c_char * len(pixels)).from_buffer(pixels)
    if not png.png_image_finish_read(ctypes.byref(image), None, buffer, 0, None):
        raise SystemExit(f"{path}: {image.message.decode()}")
    levels = torch.frombuffer(pixels, dtype=torch.uint8).view(image.height, image.width, 3)
    return levels.permute(2, 0, 1).float() / 255


def prepared(picture, side=MINI.side):
    import classify_oracle
    from torch import nn

    normalised = (picture[None] - classify_oracle.MEAN) / classify_oracle.DEVIATION
    if picture.shape[1:] == (side, side):
        return normalised
    return nn.functional.interpolate(normalised, size=(side, side), mode="bilinear", align_corners=False)


def pictures_of(scenes, split="eval"):
    """The files of a set, and the width and height that all of its pictures have."""
    images = json.loads((CACHE / scenes / f"{split}.json").read_text())["images"]
    return [CACHE / scenes / split / image["file_name"] for image in images], (images[0]["width"], images[0]["height"])


def golden_weights(path):
    """The model's tensors as a golden file describes them, the detections' bias shifted as it says."""
    import torch

    case = json.loads(Path(path).read_text())["case"]
    mask = (1 << 64) - 1

    def signed(value):
        return (value & mask) - ((value & mask) >> 63 << 64)

    def shifted(z, bits):
        return (z >> bits) & ((1 << (64 - bits)) - 1)

    state = {}
    for tensor in case["tensors"]:
        key = 0xCBF29CE484222325
        for byte in tensor["name"].encode():
            key = ((key ^ byte) * 0x100000001B3) & mask
        z = torch.arange(1, math.prod(tensor["shape"]) + 1) * signed(0x9E3779B97F4A7C15) + signed(key ^ case["seed"])
        z = (z ^ shifted(z, 30)) * signed(0xBF58476D1CE4E5B9)
        z = (z ^ shifted(z, 27)) * signed(0x94D049BB133111EB)
        u = shifted(z ^ shifted(z, 31), 40).double() / 2.0**23 - 1.0
        state[tensor["name"]] = (tensor["center"] + tensor["bound"] * u).float().view(tensor["shape"])
    state["head.classification_head.cls_logits.bias"] += case["detection_bias_shift"]
    return state


def folded(model):
    """The model with its norms within the convolutions before them."""
    from torch import nn

    for module in model.modules():
        children = list(module.named_children())
        for (_, convolution), (name, norm) in zip(children, children[1:]):
            if not isinstance(convolution, nn.Conv2d) or not hasattr(norm, "running_var"):
                continue
            scale = norm.weight.double() * (norm.running_var.double() + 1e-5).rsqrt()
            shift = norm.bias.double() - norm.running_mean.double() * scale
            convolution.weight.data = (convolution.weight.double() * scale.view(-1, 1, 1, 1)).float()
            convolution.bias = nn.Parameter(shift.float())
            setattr(module, name, nn.Identity())
    return model


def make_model(state, wanted=MINI):
    """ResNeXt, pyramid from P3 on, heads; modules are named as in `state`, the reference's."""
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
            self.conv2 = nn.Conv2d(width, width, 3, stride, 1, groups=wanted.groups, bias=False)
            self.bn2 = Norm(width)
            self.conv3, self.bn3 = nn.Conv2d(width, leaving, 1, bias=False), Norm(leaving)
            self.downsample = None
            if stride > 1 or entering != leaving:
                self.downsample = nn.Sequential(nn.Conv2d(entering, leaving, 1, stride, bias=False), Norm(leaving))

        def forward(self, maps):
            out = self.bn1(self.conv1(maps)).relu()
            out = self.bn2(self.conv2(out)).relu()
            return (self.bn3(self.conv3(out)) + (self.downsample(maps) if self.downsample else maps)).relu()

    class Body(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1, self.bn1 = nn.Conv2d(3, wanted.stem, 7, 2, 3, bias=False), Norm(wanted.stem)
            entering = wanted.stem
            for i, count in enumerate(wanted.blocks):
                width, leaving = 4 * wanted.groups << i, 4 * wanted.stem << i
                stage = [Bottleneck(entering, width, leaving, 1 if i == 0 else 2)]
                stage += [Bottleneck(leaving, width, leaving, 1) for _ in range(count - 1)]
                setattr(self, f"layer{i + 1}", nn.Sequential(*stage))
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
            channels = wanted.pyramid
            self.inner_blocks = nn.ModuleList(nn.Conv2d(4 * wanted.stem << i, channels, 1) for i in (1, 2, 3))
            self.layer_blocks = nn.ModuleList(nn.Conv2d(channels, channels, 3, 1, 1) for _ in range(3))
            self.extra_blocks = nn.ModuleDict({f"p{i + 3}": nn.Conv2d(channels, channels, 3, 2, 1)
                                               for i in range(3, wanted.levels)})

        def forward(self, stages):
            inner, levels = None, []
            for stage, lateral, outer in reversed(list(zip(stages, self.inner_blocks, self.layer_blocks))):
                own = lateral(stage)
                inner = own if inner is None else own + nn.functional.interpolate(inner, own.shape[2:], mode="nearest")
                levels.insert(0, outer(inner))
            for i, extra in enumerate(self.extra_blocks.values()):
                levels.append(extra(levels[-1].relu() if i else levels[-1]))
            return levels

    class Head(nn.Module):
        def __init__(self, name, columns):
            super().__init__()
            channels = wanted.pyramid
            towers = [m for _ in range(wanted.depth) for m in (nn.Conv2d(channels, channels, 3, 1, 1), nn.ReLU())]
            self.conv, self.columns = nn.Sequential(*towers), columns
            self.last = name
            setattr(self, name, nn.Conv2d(channels, ANCHORS * columns, 3, 1, 1))

        def forward(self, levels):
            """(N, anchors of the level, columns) each."""
            return [getattr(self, self.last)(self.conv(level)).permute(0, 2, 3, 1).flatten(1).unflatten(
                1, (-1, self.columns)) for level in levels]

    class Detector(nn.Module):
        def __init__(self):
            super().__init__()
            self.backbone = nn.ModuleDict({"body": Body(), "fpn": Pyramid()})
            self.head = nn.ModuleDict({"classification_head": Head("cls_logits", wanted.classes),
                                       "regression_head": Head("bbox_reg", 4)})

        def forward(self, pictures):
            """(N, anchors of all levels, classes + 4): scores, then the box's code."""
            levels = self.backbone["fpn"](self.backbone["body"](pictures))
            scores = torch.cat(self.head["classification_head"](levels), 1).sigmoid()
            return torch.cat((scores, torch.cat(self.head["regression_head"](levels), 1)), 2)

    model = Detector()
    model.load_state_dict(state)
    return model.eval()


def level_anchors(wanted=MINI):
    import torch

    levels, extent = [], wanted.side
    for i in range(3):
        extent = (extent + 1) // 2
    for i in range(wanted.levels):
        size = wanted.smallest << i
        sizes = torch.tensor([float(math.trunc(size * 2 ** (k / 3))) for k in range(3)])
        tall = torch.tensor([0.5, 1.0, 2.0]).sqrt()
        widths, heights = torch.outer(1 / tall, sizes), torch.outer(tall, sizes)
        base = (torch.stack((-widths, -heights, widths, heights), 2).view(-1, 4) / 2).round()
        places = torch.arange(extent) * float(wanted.side // extent)
        y, x = torch.meshgrid(places, places, indexing="ij")
        levels.append((torch.stack((x, y, x, y), 2).view(-1, 1, 4) + base).view(-1, 4))
        extent = (extent + 1) // 2
    return levels


def decoded(codes, anchors, side):
    import torch

    size = anchors[:, 2:] - anchors[:, :2]
    centre = codes[:, :2] * size + anchors[:, :2] + 0.5 * size
    half = 0.5 * codes[:, 2:].clamp(max=math.log(1000 / 16)).exp() * size
    return torch.cat((centre - half, centre + half), 1).clamp(0, side)


def kept(boxes, scores):
    """The first MOST indices by falling score of those that no better one kept overlaps by more than OVERLAP.

    In parts, each as one matrix: who is dropped hangs on better ones alone, so what is known of them settles from the
    first to the last."""
    import torch

    def overlaps(ours, theirs):
        size = (torch.minimum(ours[:, None, 2:], theirs[:, 2:]) - torch.maximum(ours[:, None, :2], theirs[:, :2])).clamp(0)
        area, others = ((x[:, 2:] - x[:, :2]).prod(1) for x in (ours, theirs))
        shared = size.prod(2)
        return (shared / (area[:, None] + others - shared) > OVERLAP).float()

    order = scores.argsort(descending=True, stable=True)
    best = order[:0]
    for part in order.split(500):
        part = part[overlaps(boxes[best], boxes[part]).sum(0) == 0]
        over = overlaps(boxes[part], boxes[part]).triu(1)
        alive, before = torch.ones(len(part)), None
        while before is None or not torch.equal(alive, before):
            alive, before = (alive @ over == 0).float(), alive
        best = torch.cat((best, part[alive > 0]))
        if len(best) >= MOST:
            break
    return best[:MOST]


def found(outputs, anchors, wanted=MINI):
    """(detections, NUMBERS) of one picture, from (anchors, classes + 4): x1, y1, x2, y2, score, label."""
    import torch

    rows = []
    for level, output in zip(anchors, outputs.split([len(a) for a in anchors])):
        flat = output[:, :wanted.classes].flatten()
        above = (flat > THRESHOLD).nonzero()[:, 0]
        best, chosen = flat[above].topk(min(CANDIDATES, len(above)))
        places = above[chosen]
        where = places // wanted.classes
        boxes = decoded(output[where, wanted.classes:], level[where], wanted.side)
        rows.append(torch.cat((boxes, best[:, None], (places % wanted.classes)[:, None].float()), 1))
    rows = torch.cat(rows)
    # Classes do not meet: each is moved to a place of its own.
    apart = rows[:, :4] + rows[:, 5:] * (rows[:, :4].max() + 1 if len(rows) else 0)
    return rows[kept(apart, rows[:, 4])]


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
            outputs = model(prepared(read_png(SCENES / "eval" / image["file_name"])))
            rows = found(outputs[0], anchors)
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
