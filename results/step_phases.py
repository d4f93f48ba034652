#!/usr/bin/env python3
"""Draws results/step-phases.svg, the picture in README.md, from an ablation file of retinanet-train:
one bar a variant, cut by phase (medians), with how many times faster than the first it is. Variants that were measured
in groups saw different times, so a bar is then as long as the first one's median over that ratio.

    results/step_phases.py results/MACHINE/NAME.json > results/step-phases.svg
"""

import json
import sys
from html import escape

COLOURS = {"forward": "#4477aa", "loss": "#ee6677", "backward": "#228833", "optimizer": "#ccbb44"}
LEFT, TOP, WIDTH, ROW, BAR = 150, 46, 560, 30, 20


def main():
    ablation = json.load(open(sys.argv[1]))
    variants = [v for v in ablation["variants"] if v["median_seconds"] is not None and v["phases"]]
    grouped = len({turn.get("group", 1) for v in variants for turn in v["turns"]}) > 1
    first = variants[0]["median_seconds"]

    def seconds_of(variant):
        ratio = variant["ratio_to_first"]["median"]
        return first / ratio if grouped and ratio else variant["median_seconds"]

    longest = max(map(seconds_of, variants))
    height = TOP + ROW * len(variants) + 12
    svg = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 820 {height}" font-family="sans-serif" font-size="13">',
        f"<title>Seconds a training step takes, by variant and phase</title>",
        f'<rect width="820" height="{height}" fill="white"/>',
    ]
    x = LEFT
    for phase, colour in COLOURS.items():
        svg.append(f'<rect x="{x}" y="14" width="12" height="12" fill="{colour}"/><text x="{x + 17}" y="25">{phase}</text>')
        x += 100
    for row, variant in enumerate(variants):
        y = TOP + ROW * row
        svg.append(f'<text x="{LEFT - 8}" y="{y + 15}" text-anchor="end">{escape(variant["name"])}</text>')
        x = float(LEFT)
        phases = {phase["name"]: phase["median_seconds"] or 0 for phase in variant["phases"]}
        for phase, colour in COLOURS.items():
            seconds = phases.get(phase, 0) * seconds_of(variant) / variant["median_seconds"]
            length = WIDTH * seconds / longest
            svg.append(f'<rect x="{x:.1f}" y="{y}" width="{length:.1f}" height="{BAR}" fill="{colour}"/>')
            x += length
        ratio = variant["ratio_to_first"]["median"]
        times = "" if row == 0 or ratio is None else f", {ratio:.2f}x"
        svg.append(f'<text x="{x + 6:.1f}" y="{y + 15}">{seconds_of(variant):.2f} s{times}</text>')
    print("\n".join(svg + ["</svg>"]))


if __name__ == "__main__":
    main()
