#!/usr/bin/env python3
"""Draws results/ranks-trace.svg, the picture in docs/ranks.md, from the trace of several ranks (`harness run --ranks
N --trace`): one step of all of them on one time line. Standard error gets what share of the gradients' way was hidden.

    results/ranks_trace.py NAME.trace [STEP] > results/ranks-trace.svg
"""

import json
import sys
from html import escape

COLOURS = {"data": "#bbbbbb", "forward": "#4477aa", "loss": "#ee6677", "backward": "#228833",
           "communication": "#aa3377", "optimizer": "#ccbb44", "gradients": "#66ccee"}
BESIDE = "gradients"
LEFT, TOP, WIDTH, LINE, BAR = 150, 46, 1000, 24, 18


def spans_of(events, step):
    """Of each rank: (name, begin, end) in seconds, in order."""
    ranks = {}
    for event in events:
        if event["ph"] == "X" and event["args"]["step"] == step and event["name"] in COLOURS:
            begin = event["ts"] / 1e6
            ranks.setdefault(event["pid"], []).append((event["name"], begin, begin + event["dur"] / 1e6))
    return {rank: sorted(spans, key=lambda span: span[1]) for rank, spans in sorted(ranks.items())}


def seconds_of(spans, name):
    """Of all its spans together: what two of them share counts once."""
    total, behind = 0, float("-inf")
    for what, begin, end in spans:
        if what == name:
            total += max(0, end - max(begin, behind))
            behind = max(behind, end)
    return total


def main():
    text = open(sys.argv[1]).read().rstrip().removesuffix("]")
    events = json.loads(text + "]")  # a killed run has no bracket at its end
    steps = sorted({event["args"]["step"] for event in events if event["ph"] == "X"})
    step = int(sys.argv[2]) if len(sys.argv) > 2 else steps[-1]
    ranks = spans_of(events, step)
    begin = min(span[1] for spans in ranks.values() for span in spans)
    length = max(span[2] for spans in ranks.values() for span in spans) - begin
    names = {span[0] for spans in ranks.values() for span in spans}
    height = TOP + len(ranks) * (2 * LINE + 14) + 24
    svg = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1180 {height}" font-family="sans-serif" font-size="13">',
        f"<title>Step {step} of {len(ranks)} ranks</title>",
        f'<rect width="1180" height="{height}" fill="white"/>',
    ]
    x = LEFT
    for name, colour in COLOURS.items():
        if name in names:
            svg.append(f'<rect x="{x}" y="14" width="12" height="12" fill="{colour}"/>'
                       f'<text x="{x + 17}" y="25">{escape(name)}</text>')
            x += 24 + 8 * len(name) + 20
    for row, (rank, spans) in enumerate(ranks.items()):
        top = TOP + row * (2 * LINE + 14)
        for line, label in enumerate((f"rank {rank}", "gradients")):
            svg.append(f'<text x="{LEFT - 8}" y="{top + line * LINE + 14}" text-anchor="end">{label}</text>')
        for name, first, last in spans:
            y = top + (LINE if name == BESIDE else 0)
            svg.append(f'<rect x="{LEFT + WIDTH * (first - begin) / length:.2f}" y="{y}" '
                       f'width="{max(WIDTH * (last - first) / length, 0.5):.2f}" height="{BAR}" '
                       f'fill="{COLOURS.get(name, "#dddddd")}"/>')
        way, waited = seconds_of(spans, BESIDE), seconds_of(spans, "communication")
        hidden = f"{1 - waited / way:.1%} hidden" if way else "no gradients"
        print(f"rank {rank}: {way * 1e3:.1f} ms under way, {waited * 1e3:.1f} ms waited for: {hidden}", file=sys.stderr)
    svg.append(f'<text x="{LEFT}" y="{height - 8}">0</text><text x="{LEFT + WIDTH}" y="{height - 8}" '
               f'text-anchor="end">{length:.2f} s</text></svg>')
    print("\n".join(svg))


if __name__ == "__main__":
    main()
