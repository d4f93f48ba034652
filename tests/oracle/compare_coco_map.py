#!/usr/bin/env python3
"""Times workloads/coco_map against pycocotools on a set of the size of MLPerf's OpenImages validation.

    tests/oracle/compare_coco_map.py --program build/release/coco_map_program [--images 24781] [--rounds 3]

Both evaluate the same boxes in turns, pycocotools once and ours a few times in each round. Timed is the
evaluation from boxes in memory to the twelve numbers: not the reading, nor pycocotools' index. The
numbers have to agree. Both use one thread, and processor time is counted, which other processes disturb
less than the clock on the wall. The full size takes pycocotools about 7 GB of memory and minutes a round.
"""

import argparse
import json
import random
import statistics
import subprocess
import sys
import time
from pathlib import Path

import coco_map_oracle as oracle

CATEGORIES = 264


def synthetic_set(images, per_image, seed):
    """Some ten boxes an image in a few categories, most of them found once or more, and strays."""
    rng = random.Random(seed)
    annotations, detections = [], []

    def random_box():
        width, height = (min(800, 8 * 2 ** (7 * rng.random())) for _ in range(2))
        return [rng.uniform(0, 800 - width), rng.uniform(0, 800 - height), width, height]

    for image in range(1, images + 1):
        present = rng.sample(range(CATEGORIES), rng.randint(1, 5))
        for _ in range(rng.randint(1, 20)):
            box = random_box()
            annotations.append({"id": len(annotations) + 1, "image_id": image, "category_id": rng.choice(present),
                                "bbox": box, "area": box[2] * box[3], "iscrowd": int(rng.random() < 0.03)})
            for _ in range(rng.randint(0, 3)):
                detections.append({"image_id": image, "category_id": annotations[-1]["category_id"],
                                   "bbox": oracle.jittered(rng, box), "score": oracle.to_float32(rng.random())})
        for _ in range(rng.randint(0, 2 * max(0, per_image - 16))):
            detections.append({"image_id": image, "category_id": rng.randrange(CATEGORIES), "bbox": random_box(),
                               "score": oracle.to_float32(0.7 * rng.random())})
    return {"images": [{"id": image} for image in range(1, images + 1)],
            "categories": [{"id": category, "name": str(category)} for category in range(CATEGORIES)],
            "annotations": annotations, "detections": detections}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--images", type=int, default=24781)
    parser.add_argument("--detections", type=int, default=30, help="an image, on average (16 or more)")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    oracle.need_pycocotools()

    case = synthetic_set(arguments.images, arguments.detections, seed=1)
    print(f"{arguments.images} images, {CATEGORIES} categories, {len(case['annotations'])} boxes, "
          f"{len(case['detections'])} detections", flush=True)
    line = oracle.as_line(case) + "\n"
    truth, found = oracle.load(case)
    ratios, ours_all, theirs_all = [], [], []
    for _ in range(arguments.rounds):
        start = time.process_time()
        expected = oracle.evaluate(truth, found)
        theirs = time.process_time() - start
        answer = json.loads(subprocess.run([arguments.program, "5"], input=line, capture_output=True, text=True,
                                           check=True).stdout)
        ours = statistics.median(answer["seconds"])
        for name, value in zip(oracle.NAMES, expected):
            if not abs(answer["metrics"][name] - value) <= oracle.TOLERANCE:
                sys.exit(f"{name}: pycocotools {value!r}, ours {answer['metrics'][name]!r}")
        ratios.append(theirs / ours)
        ours_all.append(ours)
        theirs_all.append(theirs)
        print(f"pycocotools {theirs:.2f} s, ours {ours:.3f} s, ratio {ratios[-1]:.0f}", flush=True)
    print(f"median: pycocotools {statistics.median(theirs_all):.2f} s, ours {statistics.median(ours_all):.3f} s, "
          f"ratio {statistics.median(ratios):.0f} ({min(ratios):.0f} .. {max(ratios):.0f}); AP {expected[0]:.4f}")


if __name__ == "__main__":
    main()
