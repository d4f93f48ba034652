#!/usr/bin/env python3
"""Draws results/ranks-trace.svg, the picture in docs/ranks.md, from the trace of several ranks (`harness run --ranks
N --trace`): one step of all of them on one time line. Standard error gets what share of the gradients' way was hidden.

    results/ranks_trace.py NAME.trace [STEP] > picture.svg
"""

import json
import math
import sys
from html import escape

COLOURS = {"data": "#bbbbbb", "forward": "#4477aa", "loss": "#ee6677", "backward": "#228833",
           "communication": "#aa3377", "optimizer": "#ccbb44", "gradients": "#66ccee"}
OTHER = "#dddddd"
BESIDE = "gradients"
WHOLE = "step"  # lies behind all its phases
LEFT, TOP, WIDTH, LINE, BAR = 150, 46, 1000, 24, 18


def fail(why):
    sys.exit(f"ranks_trace.py: {why}")


def events_of(path):
    """(rank, step, name, begin, end), in seconds. What a killed run left of a line does not count."""
    try:
        lines = open(path, encoding="utf-8", errors="replace").read().splitlines()
    except OSError as error:
        fail(f"{path}: {error.strerror}")
    events = []
    for line in lines:
        try:
            event = json.loads(line.lstrip("[,"))
            if event["ph"] == "X" and event["name"] != WHOLE:
                begin, length = float(event["ts"]) / 1e6, float(event["dur"]) / 1e6
                if math.isfinite(begin) and math.isfinite(length) and length >= 0:
                    events.append((int(event["pid"]), int(event["args"]["step"]), str(event["name"]), begin,
                                   begin + length))
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
            continue
    if not events:
        fail(f"{path}: no step of a trace (`harness run --ranks N --trace` writes one)")
    return events


def seconds_of(spans, name):
    """Of all its spans together: what two of them share counts once."""
    total, behind = 0, float("-inf")
    for what, begin, end in spans:
        if what == name:
            total += max(0, end - max(begin, behind))
            behind = max(behind, end)
    return total


def picture(step, ranks):
    begin = min(span[1] for spans in ranks.values() for span in spans)
    length = max(span[2] for spans in ranks.values() for span in spans) - begin or 1e-9
    height = TOP + len(ranks) * (2 * LINE + 14) + 24
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1180 {height}" font-family="sans-serif" font-size="13">'
    yield f"<title>Step {step} of {len(ranks)} ranks</title>"
    yield f'<rect width="1180" height="{height}" fill="white"/>'
    x = LEFT
    names = {span[0] for spans in ranks.values() for span in spans}
    for name in [one for one in COLOURS if one in names] + sorted(names - COLOURS.keys()):
        yield (f'<rect x="{x}" y="14" width="12" height="12" fill="{COLOURS.get(name, OTHER)}"/>'
               f'<text x="{x + 17}" y="25">{escape(name)}</text>')
        x += 44 + 8 * len(name)
    for row, (rank, spans) in enumerate(ranks.items()):
        top = TOP + row * (2 * LINE + 14)
        for line, label in enumerate((f"rank {rank}", BESIDE)):
            yield f'<text x="{LEFT - 8}" y="{top + line * LINE + 14}" text-anchor="end">{label}</text>'
        for name, first, last in spans:
            yield (f'<rect x="{LEFT + WIDTH * (first - begin) / length:.2f}" y="{top + (LINE if name == BESIDE else 0)}" '
                   f'width="{max(WIDTH * (last - first) / length, 0.5):.2f}" height="{BAR}" '
                   f'fill="{COLOURS.get(name, OTHER)}"/>')
    yield (f'<text x="{LEFT}" y="{height - 8}">0</text><text x="{LEFT + WIDTH}" y="{height - 8}" '
           f'text-anchor="end">{length:.2f} s</text></svg>')


def main():
    if len(sys.argv) not in (2, 3) or not sys.argv[-1].isdigit() and len(sys.argv) == 3:
        sys.exit(__doc__.strip())
    events = events_of(sys.argv[1])
    step = int(sys.argv[2]) if len(sys.argv) == 3 else max(event[1] for event in events)
    ranks = {}
    for rank, at, *span in sorted(events, key=lambda event: (event[0], event[3])):
        if at == step:
            ranks.setdefault(rank, []).append(tuple(span))
    if not ranks:
        fail(f"{sys.argv[1]}: no step {step}")
    print("\n".join(picture(step, ranks)))
    for rank, spans in ranks.items():
        way, waited = seconds_of(spans, BESIDE), seconds_of(spans, "communication")
        hidden = f"{1 - waited / way:.1%} hidden" if way else "no gradients"
        print(f"rank {rank}: {way * 1e3:.1f} ms under way, {waited * 1e3:.1f} ms waited for: {hidden}", file=sys.stderr)


if __name__ == "__main__":
    main()
