#!/usr/bin/env python3
"""Makes the pictures of README.md and docs/ again, from result files, in Chromium without a window:

    docs/pictures.py build/release/harness                       from results/: the page and the ablations
    docs/pictures.py build/release/harness PROFILE [PROFILE]     also those of a profile, and of two side by side

Profiles are too large for this repository: `harness profile --workload retinanet-train` makes one (results/README.md).
Needs the packages chromium and chromium-driver.
"""
import base64
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/report/page"))
sys.dont_write_bytecode = True
import webdriver  # noqa: E402  (lies in tests/report/page/)

RESULTS = ROOT / "results"
WORKLOAD = "retinanet-train"
# What lies around some elements, in pixels of the page; nothing if there are none.
PLACE = """
const wanted = [...document.querySelectorAll('figure')].filter((one) => one.offsetParent &&
  arguments[1].some((title) => one.querySelector('figcaption').textContent.startsWith(title)) &&
  one.closest(arguments[0]));
if (!wanted.length) return null;
const all = wanted.map((one) => one.getBoundingClientRect());
const left = Math.min(...all.map((one) => one.left)), top = Math.min(...all.map((one) => one.top));
return {x: left + scrollX - 12, y: top + scrollY - 12,
        width: Math.max(...all.map((one) => one.right)) - left + 24,
        height: Math.max(...wanted.map((one) => one.lastChild.getBoundingClientRect().top)) - top + 16};
"""


def page_of(harness, paths, folder):
    page = pathlib.Path(folder) / "report.html"
    # The page names files as they were given: by their places in the repository, not on this machine.
    names = [str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path) for path in paths]
    subprocess.run([harness, "report", *names, "-o", str(page)], check=True, stdout=subprocess.DEVNULL, cwd=ROOT)
    return page.as_uri()


def write(browser, place, file):
    shot = browser.devtools("Page.captureScreenshot", format="png", captureBeyondViewport=True,
                            clip={**place, "scale": 1})
    data = base64.b64decode(shot["data"])
    (RESULTS / file).write_bytes(data)
    print(f"results/{file}: {place['width']:.0f} x {place['height']:.0f}, {len(data) / 1024:.0f} KiB")


def open_page(browser, url, width=1180, scale=1):
    browser.devtools("Emulation.setDeviceMetricsOverride", width=width, height=1000, deviceScaleFactor=scale,
                     mobile=False)
    browser.devtools("Emulation.setScrollbarsHidden", hidden=True)  # a picture has none, and room where it was
    browser.open(url)
    browser.run("Report.drawAll();")


def the_ablation(scaling):
    """The latest one of worlds of several ranks, or of kernels: names begin with the day."""
    for path in sorted(RESULTS.glob(f"*/*-{WORKLOAD}-*.json"), key=lambda path: path.name, reverse=True):
        result = json.loads(path.read_text())
        if result["kind"] == "ablation" and ("scaling" in result["settings"]["effective"]) == scaling:
            return path
    return sys.exit(f"docs/pictures.py: no such ablation of {WORKLOAD} in results/")


def figures(browser, section, titles, file):
    place = browser.run(PLACE, section, titles)
    if place is None:
        sys.exit(f"docs/pictures.py: {file}: the page has no picture {titles[0]} in {section}")
    write(browser, place, file)


def main():
    if len(sys.argv) not in (2, 3, 4):
        sys.exit(__doc__.strip())
    if None in webdriver.programs():
        sys.exit("docs/pictures.py: no chromium or chromedriver (apt-get install chromium chromium-driver)")
    harness, *profiles = [pathlib.Path(one).resolve() for one in sys.argv[1:]]
    ablation, scaling = the_ablation(scaling=False), the_ablation(scaling=True)
    drawn = subprocess.run([RESULTS / "step_phases.py", ablation], check=True, capture_output=True).stdout
    (RESULTS / "step-phases.svg").write_bytes(drawn)
    print(f"results/step-phases.svg: {len(drawn) / 1024:.0f} KiB")
    with tempfile.TemporaryDirectory() as folder, webdriver.Browser() as browser:
        results = [one for one in sorted(RESULTS.glob("*/*.json")) if not one.name.endswith(".schema.json")]
        open_page(browser, page_of(harness, results, folder), width=1400)
        write(browser, {"x": 0, "y": 0, "width": 1400, "height": 1000}, "report.png")
        open_page(browser, page_of(harness, [ablation], folder), scale=2)
        figures(browser, "#ablations", ["Waterfall"], "ablation.png")
        open_page(browser, page_of(harness, [scaling], folder), scale=2)
        figures(browser, "#ablations", ["Efficiency"], "scaling.png")
        if profiles:
            open_page(browser, page_of(harness, profiles, folder))
            figures(browser, "#profiles", ["A step, part by part", "Primitives"], "profile.png")
        if len(profiles) == 2:
            figures(browser, "#profile-pairs", ["Change by part", "Change by operator"], "profile-difference.png")


if __name__ == "__main__":
    main()
