#!/usr/bin/env python3
"""Holds workloads/coco_map against pycocotools: random and adversarial cases, all twelve numbers to 1e-9.

    tests/oracle/coco_map_oracle.py --setup                once: pycocotools into build/coco-venv, with pip
    tests/oracle/coco_map_oracle.py --program build/release/coco_map_program [--cases 1000] [--seed 1]

Exits with 0 when all agree, 1 when one does not (the case is printed, to be run again with
`--only INDEX`), 77 (ctest: skipped) where there is no pycocotools. It is looked for in the Python that
runs this, in $HARNESS_TEST_PYTHON, and in build/coco-venv.
"""

import argparse
import contextlib
import importlib.util
import io
import json
import math
import os
import random
import struct
import subprocess
import sys
from pathlib import Path

VENV = Path(__file__).resolve().parents[2] / "build" / "coco-venv"
PACKAGES = ["pycocotools==2.0.11", "numpy"]
TOLERANCE = 1e-9
SKIPPED = 77
NAMES = ["ap", "ap_50", "ap_75", "ap_small", "ap_medium", "ap_large",
         "ar_1", "ar_10", "ar_100", "ar_small", "ar_medium", "ar_large"]


def has_pycocotools(python):
    try:
        return subprocess.run([python, "-c", "import numpy, pycocotools.cocoeval"], capture_output=True).returncode == 0
    except OSError:
        return False


def setup():
    python = VENV / "bin" / "python"
    if has_pycocotools(python):
        return
    pip = [python, "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"]
    for command in ([sys.executable, "-m", "venv", VENV], [*pip, *PACKAGES]):
        if subprocess.run(command).returncode != 0:
            sys.exit(f"coco_map_oracle: could not set up {VENV}")


def need_pycocotools():
    """Goes on under a Python that has pycocotools; where there is none, says so and ends as skipped."""
    if importlib.util.find_spec("pycocotools") and importlib.util.find_spec("numpy"):
        return
    for python in (os.environ.get("HARNESS_TEST_PYTHON"), VENV / "bin" / "python"):
        if python and has_pycocotools(python):
            os.execv(python, [str(python), *sys.argv])
    print("skipped: no pycocotools for this Python (python3 tests/oracle/coco_map_oracle.py --setup)")
    sys.exit(SKIPPED)


# --- pycocotools ----------------------------------------------------------------------------------

def load(case):
    """The case as pycocotools' two objects. Adds members to the dictionaries of `case`."""
    from pycocotools.coco import COCO

    with contextlib.redirect_stdout(io.StringIO()):
        truth = COCO()
        truth.dataset = {name: case[name] for name in ("images", "categories", "annotations")}
        truth.createIndex()
        if case["detections"]:
            return truth, truth.loadRes(case["detections"])
        empty = COCO()  # loadRes takes no empty list
        empty.dataset = {**truth.dataset, "annotations": []}
        empty.createIndex()
        return truth, empty


def evaluate(truth, found):
    """The twelve numbers of COCOeval."""
    from pycocotools.cocoeval import COCOeval

    with contextlib.redirect_stdout(io.StringIO()):
        evaluation = COCOeval(truth, found, "bbox")
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    return [float(value) for value in evaluation.stats]


# --- our side -------------------------------------------------------------------------------------

def as_line(case):
    """What coco_map_program reads of a case."""
    wanted = {"annotations": ("image_id", "category_id", "bbox", "area", "iscrowd"),
              "detections": ("image_id", "category_id", "bbox", "score")}
    return json.dumps({part: [{name: element[name] for name in names} for element in case[part]]
                       for part, names in wanted.items()})


# --- cases ----------------------------------------------------------------------------------------

def to_float32(value):
    return struct.unpack("f", struct.pack("f", value))[0]


def neighbour(rng, value):
    """The number itself, or one of the doubles beside it."""
    return rng.choice([value, value, math.nextafter(value, math.inf), math.nextafter(value, -math.inf)])


def uniform_box(rng):
    side = rng.choice([40, 120, 400])
    return [rng.uniform(0, 500), rng.uniform(0, 500), rng.uniform(1, side), rng.uniform(1, side)]


def grid_box(rng):
    """Small integers: IoUs and areas collide."""
    return [rng.randint(0, 6), rng.randint(0, 6), rng.randint(0, 8), rng.randint(0, 8)]


def float32_box(rng):
    return [to_float32(value) for value in uniform_box(rng)]


def limit_box(rng):
    """Areas at the limits between small, medium, large and too large."""
    side = rng.choice([32, 96, 1e5])
    width, height = rng.choice([(side, side), (side / 2, side * 2), (side / 3, side * 3)])
    return [rng.choice([0, 0.1, 7]), 0, neighbour(rng, width), neighbour(rng, height)]


def extreme_box(rng):
    """Of any size as long as areas neither overflow nor vanish: pycocotools' IoU is NaN then."""
    scale = rng.choice([1e-150, 1e-20, 1e-5, 1, 1e5, 1e20, 1e150])
    origin = rng.choice([0, 0, scale / 2])
    return [origin, origin, scale * rng.choice([1, 1, 2]), scale * rng.choice([1, 1.5])]


def flat_box(rng):
    """Often without width or height."""
    box = rng.choice([uniform_box, grid_box])(rng)
    for side in (2, 3):
        if rng.random() < 0.4:
            box[side] = rng.choice([0, 0.0, 1e-300, 1e-14])
    return box


def exact(rng, box):
    return list(box)


def jittered(rng, box):
    x, y, width, height = box
    spread = rng.choice([0.02, 0.1, 0.3])
    return [x + rng.gauss(0, spread) * width, y + rng.gauss(0, spread) * height,
            abs(width * (1 + rng.gauss(0, spread))), abs(height * (1 + rng.gauss(0, spread)))]


def on_threshold(rng, box):
    """The IoU is 0.50, 0.55 .. but for rounding."""
    share = rng.choice([k / 20 for k in range(9, 21)])
    side = rng.choice([2, 3])
    result = list(box)
    if rng.random() < 0.5:  # a part of the box, at either end of it
        result[side] = box[side] * share
        if rng.random() < 0.5:
            result[side - 2] += box[side] - result[side]
    else:  # of the same size and shifted: IoU = (1 - s) / (1 + s)
        result[side - 2] += box[side] * (1 - share) / (1 + share)
    if rng.random() < 0.3:
        result[side] = abs(neighbour(rng, float(result[side])))
    return result


def random_ids(rng, count):
    kind = rng.choice(["from 0", "from 1", "wide", "any"])
    if kind == "from 0":
        ids = list(range(count))
    elif kind == "from 1":
        ids = list(range(1, count + 1))
    else:
        ids = rng.sample(range(1, 10**6) if kind == "wide" else range(-2**40, 2**40), count)
    rng.shuffle(ids)
    return ids


def random_case(seed):
    """A case in COCO's form: images, categories, annotations, detections. The same for the same seed."""
    rng = random.Random(seed)
    images = random_ids(rng, rng.choice([1, 1, 2, 3, 5, 12, 25]))
    categories = random_ids(rng, rng.choice([1, 1, 2, 3, 6]))
    make_box = rng.choice([uniform_box] * 3 + [grid_box, float32_box, limit_box, extreme_box, flat_box])
    score = rng.choice([rng.random, lambda: to_float32(rng.random()), lambda: round(rng.random(), 1), lambda: 0.5,
                        lambda: rng.choice([0, 0.0, -0.0, 1, 1e-320, 0.3, 0.1 + 0.2, -2.5])])
    crowd_share = rng.choice([0] * 6 + [0.1, 0.1, 0.5, 1])
    own_area = rng.choice([0, 0, 0.3, 1])  # share of annotations whose area is not their box's
    boxes = rng.choice([1, 2, 4, 10])
    strays = rng.choice([0, 0, 2, 10])  # detections apart from any box
    repeats = rng.choice([0, 1, 1, 1, 2, 2, 5, 5, 30])  # detections per box
    with_truth = rng.sample(categories, rng.randint(1, len(categories))) if rng.random() < 0.4 else categories
    shapes = rng.choice([[exact], [jittered], [jittered], [on_threshold], [exact, jittered, on_threshold]])

    annotations, detections = [], []
    for image in images:
        if rng.random() < 0.15:
            continue  # without anything
        targets = [] if rng.random() < 0.1 else [make_box(rng) for _ in range(rng.randint(1, boxes))]
        for box in targets:
            area = box[2] * box[3]
            if rng.random() < own_area:
                area = rng.choice([0, 1, neighbour(rng, 1024.0), 1024, neighbour(rng, 9216.0), 9216, 1e10, 2e10, 5000.5])
            annotations.append({"image_id": image, "category_id": rng.choice(with_truth), "bbox": box,
                                "area": area,
                                "iscrowd": int(rng.random() < crowd_share)})
            if rng.random() < 0.2:  # the same box again, perhaps a crowd
                annotations.append({**annotations[-1], "iscrowd": int(rng.random() < crowd_share)})
            for _ in range(rng.randint(0, repeats)):
                same = rng.random() < 0.8
                detections.append({"image_id": image, "bbox": rng.choice(shapes)(rng, box), "score": score(),
                                   "category_id": annotations[-1]["category_id"] if same else rng.choice(categories)})
        for _ in range(rng.randint(0, strays)):
            detections.append({"image_id": image, "category_id": rng.choice(categories), "bbox": make_box(rng),
                               "score": score()})
        if rng.random() < 0.04:  # more than are looked at
            target = rng.choice(targets) if targets else make_box(rng)
            category = rng.choice(categories)
            for _ in range(rng.randint(99, 160)):
                detections.append({"image_id": image, "category_id": category, "score": score(),
                                   "bbox": rng.choice([*shapes, lambda rng, _: make_box(rng)])(rng, target)})
    if rng.random() < 0.04:
        annotations = []
    if rng.random() < 0.04:
        detections = []
    if rng.random() < 0.5:
        rng.shuffle(annotations)
        rng.shuffle(detections)
    # From 1: pycocotools takes an annotation with id 0 for never matched.
    for number, annotation in enumerate(annotations, start=1):
        annotation["id"] = number
    return {"images": [{"id": image} for image in images],
            "categories": [{"id": category, "name": str(category)} for category in categories],
            "annotations": annotations, "detections": detections}


def tell_kinds(cases, results):
    """How often what was met: a family of cases that died out would show here."""
    kinds = {
        "no boxes": lambda case, _: not case["annotations"],
        "no detections": lambda case, _: not case["detections"],
        "all crowd": lambda case, _: case["annotations"] and all(a["iscrowd"] for a in case["annotations"]),
        "nothing counts": lambda _, result: result[0] == -1,
        "all found": lambda _, result: result[8] == 1,
        "in between": lambda _, result: 0 < result[0] < 0.999,
        "over 100 detections": lambda case, _: most_in_one_place(case) > 100,
    }
    return {name: sum(bool(is_kind(*pair)) for pair in zip(cases, results)) for name, is_kind in kinds.items()}


def most_in_one_place(case):
    counts = {}
    for detection in case["detections"]:
        place = detection["image_id"], detection["category_id"]
        counts[place] = counts.get(place, 0) + 1
    return max(counts.values(), default=0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--setup", action="store_true")
    parser.add_argument("--program", type=Path)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="one case by its index, printed whole")
    arguments = parser.parse_args()
    if arguments.setup:
        return setup()
    if not arguments.program:
        parser.error("--program is needed")
    need_pycocotools()

    indices = range(arguments.cases) if arguments.only is None else [arguments.only]
    cases = [random_case(f"{arguments.seed}/{index}") for index in indices]
    lines = [as_line(case) for case in cases]
    ours = subprocess.run([arguments.program], input="\n".join(lines), capture_output=True, text=True)
    if ours.returncode != 0:
        sys.exit(f"coco_map_program ended with {ours.returncode}: {ours.stderr}")
    answers = [json.loads(line)["metrics"] for line in ours.stdout.splitlines()]
    if len(answers) != len(cases):
        sys.exit(f"{len(cases)} cases, {len(answers)} answers")

    differing, largest, results = 0, 0.0, []
    for index, case, line, answer in zip(indices, cases, lines, answers):
        expected = evaluate(*load(case))
        results.append(expected)
        if sorted(answer) != sorted(NAMES):
            sys.exit(f"unexpected names: {sorted(answer)}")
        if arguments.only is not None:
            print(line)
        errors = {name: abs(answer[name] - value) for name, value in zip(NAMES, expected)}
        largest = max(largest, *errors.values())
        if not all(error <= TOLERANCE for error in errors.values()):
            differing += 1
            print(f"case {index} (seed {arguments.seed}):")
            for name, value in zip(NAMES, expected):
                print(f"  {name:10} expected {value:.12f}  actual {answer[name]:.12f}")
    print(f"{len(cases)} cases, {differing} differ by more than {TOLERANCE:g}, largest difference {largest:.2g}")
    print("of these:", ", ".join(f"{count} {name}" for name, count in tell_kinds(cases, results).items()))
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
