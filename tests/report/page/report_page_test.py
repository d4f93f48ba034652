#!/usr/bin/env python3
"""Opens the page of `harness report` in Chromium without a window: everything is drawn, sorts, filters,
turns dark and prints; hostile results run nothing; nothing is asked of any network.

usage: report_page_test.py CORE_TESTS HARNESS      (exit code 77: chromium or chromedriver is not installed)
"""
import base64
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import page_axes
import page_layout
import webdriver

failures = []


def check(ok, what, seen=""):
    print(f"{'ok  ' if ok else 'FAIL'} {what}" + ("" if ok else f": {seen}"))
    if not ok:
        failures.append(what)


# Whether all parts are open and filled; opens those that are not. A part may hold others.
OPEN_ALL = """const parts = [...document.querySelectorAll('details.part')];
for (const one of parts) one.open = true;
return parts.every((one) => one.childElementCount > 1);"""
# Every canvas in sight one after the other; those that were never drawn are returned.
BLANK = """
const copy = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
return [...document.querySelectorAll('canvas')].filter((canvas) => canvas.offsetParent).filter((canvas) => {
  if (!canvas.width || !canvas.height) return true;
  [copy.canvas.width, copy.canvas.height] = [canvas.width, canvas.height];
  copy.drawImage(canvas, 0, 0);
  const pixels = copy.getImageData(0, 0, canvas.width, canvas.height).data;
  let painted = 0;
  for (let i = 3; i < pixels.length; i += 4) if (pixels[i]) painted += 1;
  return painted < 200;
}).map((canvas) => canvas.getAttribute('aria-label'));
"""
ROWS = "return [...document.querySelectorAll(arguments[0] + ' tbody tr')].filter((row) => !row.hidden).map((row) => row.cells[arguments[1]].textContent);"
FIRST_ROWS = "return [...document.querySelector(arguments[0] + ' tbody').rows].map((row) => row.cells[arguments[1]].textContent);"
BACKGROUND = "return getComputedStyle(document.body).backgroundColor;"


def look_at_all_plots(browser):
    check(browser.wait_for(OPEN_ALL), "every part opens")
    total = browser.run("return document.querySelectorAll('canvas').length;")
    for number in range(total):
        browser.run("document.querySelectorAll('canvas')[arguments[0]].scrollIntoView({block: 'center', behavior: 'instant'});",
                    number)
        browser.wait_for("""const canvas = document.querySelectorAll('canvas')[arguments[0]];
            return !canvas.offsetParent || Boolean(Report.charts.find((one) => one.canvas === canvas).chart);""", number)
    return total, browser.wait_for("const blank = (() => {" + BLANK + "})(); return blank.length ? false : 'none';",
                                   seconds=10) or browser.run(BLANK)


def test_plots(browser):
    total, blank = look_at_all_plots(browser)
    check(total >= 20, "there are plots of every kind", total)
    check(blank == "none", "every canvas is drawn", blank)
    unnamed = browser.run("""return [...document.querySelectorAll('canvas')].filter((one) =>
        one.getAttribute('role') !== 'img' || one.getAttribute('aria-label').length < 20).length;""")
    check(unnamed == 0, "every canvas says what it shows", unnamed)
    # Another metric of a run.
    browser.run("""const select = document.querySelector('#runs .choose select'); select.selectedIndex = 1;
        select.dispatchEvent(new Event('change')); select.scrollIntoView({behavior: 'instant'});""")
    shown = browser.wait_for("""const select = document.querySelector('#runs .choose select');
        const figures = [...select.closest('details').querySelectorAll('figure')].filter((one) => !one.hidden);
        return figures.some((one) => one.textContent.includes(select.value)) ? figures.length : 0;""")
    check(shown and shown >= 1, "another metric is shown when chosen", shown)
    browser.run("document.querySelector('figure details').open = true;")
    rows = browser.wait_for("return document.querySelectorAll('figure details tbody tr').length;")
    check(rows and rows > 0, "a plot's data stand in a table as well", rows)


def test_tables(browser):
    heads = browser.run("return [...document.querySelectorAll('#summary thead th')].map((one) => one.textContent);")
    check(heads[:4] == ["workload", "figure", "quality", "status"] and len(heads) <= 10,
          "what a reader looks for first stands first", heads)
    when = heads.index("started (UTC)")
    head = f"#summary thead th:nth-child({when + 1})"
    before = browser.run(ROWS, "#summary", when)
    check(len(before) >= 24 and before == sorted(before, reverse=True), "the latest result stands first", before)
    browser.run("document.querySelector('#summary').scrollIntoView({behavior: 'instant'});")
    browser.click(head + " button")
    check(browser.run(ROWS, "#summary", when) == sorted(before), "a click sorts", browser.run(ROWS, "#summary", when))
    check(browser.run("return document.querySelector(arguments[0]).getAttribute('aria-sort');", head) == "ascending",
          "the order is told to screen readers")
    browser.type(head + " button", "\ue007")
    check(browser.run(ROWS, "#summary", when) == sorted(before, reverse=True), "the Enter key sorts the other way")
    told = browser.run("return document.querySelector('#summary .rows').textContent;")
    check("rows are out of view" in told, "rows that are out of view are told of", told)
    browser.type("#summary input[type=search]", "ablation 2026")
    rows = browser.run(ROWS, "#summary", 4)
    check(len(rows) == 1 and rows[0].startswith("ablation"), "the filter hides what does not match", rows)
    told = browser.run("return document.querySelector('#summary [role=status]').textContent;")
    check(told == f"1 of {len(before)} rows", "the number of rows left is told", told)
    browser.run("const box = document.querySelector('#summary input'); box.value = ''; box.dispatchEvent(new Event('input'));")
    check(len(browser.run(ROWS, "#summary", 0)) == len(before), "an empty filter shows all")


BARS = "return [...document.querySelectorAll('#profiles .icicle .bar:not(.dust)')].map((one) => one.getAttribute('aria-label'));"
ENTER, ESCAPE, BACKSPACE = "\ue007", "\ue00c", "\ue003"
LEFT, UP, RIGHT, DOWN = "\ue012", "\ue013", "\ue014", "\ue015"


def test_icicle(browser):
    def first():
        return browser.run(BARS)[0].split(":")[0]

    def focused():
        return (browser.run("return document.activeElement.getAttribute('aria-label');") or "").split(":")[0]

    def press(keys):
        for key in keys:
            browser.type(".icicle .bar:focus", key)

    def way():
        return browser.run("return [...document.querySelectorAll('#profiles .path button')].map((one) => one.textContent);")

    browser.run("document.querySelector('#profiles .icicle').scrollIntoView({block: 'center', behavior: 'instant'});")
    bars = browser.run(BARS)
    check(len(bars) > 15 and bars[0].startswith("step, step: "), "a step is drawn as nested bars", bars)
    check(any("reorder" in one and "% of the step" in one for one in bars), "a bar tells its share", bars)
    seen = browser.run("""
        const box = document.querySelector('#profiles .icicle').getBoundingClientRect();
        const bars = [...document.querySelectorAll('#profiles .icicle .bar')].map((one) => one.getBoundingClientRect());
        return {wide: bars[0].width / box.width, out: bars.filter((one) => one.left < box.left - 1 || one.right > box.right + 1
          || one.bottom > box.bottom + 1).length, over: bars.filter((a, i) => bars.some((b, k) => k > i && a.top === b.top
          && a.left + 1.5 < b.right && b.left + 1.5 < a.right)).length};""")
    check(seen["wide"] > 0.98 and seen["out"] == 0 and seen["over"] == 0, "bars lie side by side within the picture", seen)
    roles = browser.run("""const box = document.querySelector('#profiles .icicle'); return {tree: box.getAttribute('role'),
        items: [...box.querySelectorAll('.bar:not(.dust)')].filter((one) => one.getAttribute('role') !== 'treeitem'
          || !one.getAttribute('aria-level') || !one.getAttribute('aria-setsize')).length,
        stops: box.querySelectorAll('[tabindex="0"]').length};""")
    check(roles == {"tree": "tree", "items": 0, "stops": 1}, "they are a tree with one tab stop", roles)
    bad = browser.run("""return getComputedStyle(document.querySelector('#profiles .bar.bad'), '::before').backgroundColor !==
        getComputedStyle(document.querySelector('#profiles .bar.primitive.c1'), '::before').backgroundColor;""")
    check(bad, "a reference implementation has a colour of its own")
    # By mouse.
    browser.click("#profiles .icicle .bar.phase.c1")
    check(first() == "backward, phase", "a click looks into a bar", first())
    check(way() == ["whole step", "backward"], "the way back is shown", way())
    browser.click("#profiles .path button:first-child")
    check(first() == "step, step" and len(browser.run(BARS)) == len(bars), "and leads back", first())
    # By keyboard.
    press([DOWN])
    check(focused() == "forward, phase", "arrow down leads to what is below", focused())
    press([RIGHT])
    check(focused() == "backward, phase", "arrow right leads to the neighbour", focused())
    told = browser.run("return document.querySelector('#profiles .told').textContent;")
    check(told.startswith("backward (phase)") and "% of the step" in told, "what has the focus is told", told)
    press([DOWN, ENTER])
    check(first() == "backbone, module" == focused() and len(way()) == 3, "Enter looks into it", (first(), focused(), way()))
    press([BACKSPACE])
    check(first() == "backward, phase" == focused(), "Backspace goes a level back", first())
    press([DOWN, UP, ESCAPE])
    check(first() == "step, step" == focused(), "Escape does too", first())
    # What was merged, and another order.
    for name in ("forward", "head", "small"):
        browser.run("""[...document.querySelectorAll('#profiles .icicle .bar')].find(
            (one) => (one.getAttribute('aria-label') || '').startsWith(arguments[0] + ', ')).click();""", name)
    merged = [one for one in browser.run(BARS) if one.startswith("41 more: ")]
    check(first() == "small, module" and len(merged) == 1, "what does not fit is merged", browser.run(BARS))
    press([ESCAPE, ESCAPE, ESCAPE])
    browser.run("""const select = document.querySelector('#profiles .choose select'); select.selectedIndex = 1;
        select.dispatchEvent(new Event('change'));""")
    order = [one.split(":")[0] for one in browser.run(BARS)]
    check(order[1] == "backbone, module", "another order is shown when chosen", order)
    browser.run("""const select = document.querySelector('#profiles .choose select'); select.selectedIndex = 0;
        select.dispatchEvent(new Event('change'));""")


def seconds(text):
    number, unit = text.split()
    return float(number) * {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1, "min": 60}[unit]


def test_profiles(browser):
    test_icicle(browser)
    titles = browser.run("return [...document.querySelectorAll('#profiles figcaption')].map((one) => one.textContent);")
    for start in ("A step", "Primitives", "Roofline", "Memory"):
        check(any(one.startswith(start) for one in titles), f"a profile has the picture {start}", titles)
    changes = [seconds(one) for one in browser.run(FIRST_ROWS, "#profile-pairs-1-1", 1)]
    check(len(changes) > 2 and changes[0] and changes == sorted(changes, key=abs, reverse=True),
          "the largest change of two profiles stands first", changes)
    title = browser.run("return document.getElementById('profile-pairs-1-1-title').textContent;")
    check(title == "kernels custom against kernels reference", "the later one stands against the first", title)


def test_verdicts(browser):
    """What a reviewer sees without scrolling."""
    browser.run("scrollTo({top: 0, behavior: 'instant'});")
    seen = browser.run("""
        return [...document.querySelectorAll('.verdict')].map((one) => ({
          word: one.querySelector('.word').textContent, tone: ['good', 'doubt', 'bad'].find((name) => one.classList.contains(name)),
          sentence: one.querySelector('.sentence').textContent, bottom: one.querySelector('.sentence').getBoundingClientRect().bottom,
          link: one.querySelector('a').getAttribute('href'),
          colour: getComputedStyle(one.querySelector('.word')).color,
        }));""")
    check([(one["word"], one["tone"]) for one in seen] == [("regressed", "bad"), ("same", "good")],
          "the page begins with the verdicts", seen)
    check(seen[0]["bottom"] < 300 and "time.step" in seen[0]["sentence"] and "margin 1.5 %" in seen[0]["sentence"],
          "what decided stands at the top", seen[0])
    check(seen[0]["colour"] != seen[1]["colour"], "they differ in colour as in word", seen)
    scales = browser.run("""
        const place = (one, name) => one.querySelector(name).getBoundingClientRect();
        return [...document.querySelectorAll('.verdict .scale')].filter((one) => one.querySelector('.span')).map((one) => ({
          box: [place(one.parentNode, '.scale').left, place(one.parentNode, '.scale').right],
          zone: [place(one, '.zone').left, place(one, '.zone').right], one: place(one, '.one').left,
          span: [place(one, '.span').left, place(one, '.span').right], middle: place(one, '.middle').left}));""")
    check(len(scales) == 6, "each ratio has its scale", len(scales))
    worse, same = scales[0], scales[3]
    check(worse["span"][1] < worse["zone"][0] and same["zone"][0] < same["span"][0] <= same["span"][1] < same["zone"][1],
          "an interval lies where its verdict says", (worse, same))
    check(all(one["box"][0] - 2 <= one["span"][0] and one["span"][1] <= one["box"][1] + 2
              and abs((one["zone"][0] + one["zone"][1]) / 2 - one["one"]) < 2 for one in scales),
          "1 is the middle of the margins, and nothing leaves its scale", scales)
    check(browser.run("return Boolean(document.querySelector(arguments[0]));", seen[0]["link"]), "a link tells more")
    titles = browser.run("return [...document.querySelectorAll('#campaigns figcaption')].map((one) => one.textContent);")
    check(titles[:2] == ["Funnel of time.step", "Funnel of time.total"], "how it narrowed is drawn", titles)
    marks = browser.run("""const entry = Report.charts.find((one) => one.plot.title === 'Funnel of time.step');
        entry.canvas.scrollIntoView({block: 'center', behavior: 'instant'}); if (!entry.chart) Report.draw(entry);
        const scale = entry.chart.scales.y;
        return entry.plot.marks.filter((one) => one.across).map((one) => one.at >= scale.min && one.at <= scale.max);""")
    check(marks == [True, True, True], "the margins lie within a funnel's picture", marks)


def test_themes(browser):
    light = browser.run(BACKGROUND)
    bar = "return getComputedStyle(document.querySelector('.icicle .bar.c1'), '::before').backgroundColor;"
    light_bar = browser.run(bar)
    browser.run("scrollTo({top: 0, behavior: 'instant'});")
    browser.click("#theme")
    dark = browser.run(BACKGROUND)
    check(light != dark, "the button turns the page dark", dark)
    check(browser.run(bar) != light_bar, "nested bars turn dark with it")
    check(browser.run("return document.getElementById('theme').getAttribute('aria-pressed');") == "true",
          "the button says so")
    _, blank = look_at_all_plots(browser)
    check(blank == "none", "every canvas is drawn in the dark", blank)
    printed = base64.b64decode(browser.devtools("Page.printToPDF", printBackground=True)["data"])
    check(printed.startswith(b"%PDF") and len(printed) > 20000, "it prints", len(printed))
    check(browser.run(BACKGROUND) == dark, "after printing the theme is as before")


def test_system_theme(browser, url):
    browser.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "light"}])
    browser.open(url)
    light = browser.run(BACKGROUND)
    browser.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    check(browser.run(BACKGROUND) != light, "it follows the system's theme")
    browser.devtools("Emulation.setEmulatedMedia", features=[])


def test_structure(browser):
    facts = browser.run("""
        const all = (selector) => [...document.querySelectorAll(selector)];
        const ids = all('[id]').map((one) => one.id);
        return {
          landmarks: ['header', 'nav', 'main', 'footer'].filter((one) => all('body > ' + one).length !== 1),
          twice: ids.filter((one, i) => ids.indexOf(one) !== i),
          heads: all('th').filter((one) => !one.getAttribute('scope')).length,
          captions: all('table').filter((one) => !one.caption || !one.caption.textContent).length,
          titles: all('h1').length,
          skip: document.getElementById('main') && all('a.skip').map((one) => one.getAttribute('href'))[0],
          links: all('a[href]').map((one) => one.getAttribute('href')).filter((one) => !/^#[a-z0-9-]+$/.test(one)),
          lost: all('a[href]').map((one) => one.getAttribute('href').slice(1)).filter((one) => !document.getElementById(one)),
          notice: document.body.textContent.includes('Result not verified by MLCommons Association.'),
          change: document.getElementById('history').textContent.includes('(worse): commit aaaaaaa before, bbbbbbb after'),
        };""")
    wanted = {"landmarks": [], "twice": [], "heads": 0, "captions": 0, "titles": 1, "skip": "#main", "links": [],
              "lost": [], "notice": True, "change": True}
    for name, value in wanted.items():
        check(facts[name] == value, f"structure: {name}", facts[name])
    browser.devtools("Emulation.setDeviceMetricsOverride", width=390, height=800, deviceScaleFactor=2, mobile=True)
    wide = browser.wait_for("return innerWidth < 400 && document.documentElement.scrollWidth <= innerWidth;", seconds=5)
    check(wide, "a phone need not scroll sideways", browser.run("return document.documentElement.scrollWidth;"))
    browser.devtools("Emulation.clearDeviceMetricsOverride")


def test_hostile(browser):
    total, blank = look_at_all_plots(browser)
    check(blank == "none", "a hostile result's plots are drawn", blank)
    facts = browser.run("""
        return {
          ran: 'hostile' in window,
          elements: document.querySelectorAll('img, svg, iframe, object, embed, base, [onerror], [onload]').length,
          scripts: document.scripts.length,
          text: ['<script>window.hostile=1</script>', '<img src=x onerror="window.hostile=1">', 'javascript:window.hostile=1',
                 '"><svg onload=window.hostile=1>', '{{data}}<!-- ${window.hostile=1}'].filter(
                   (one) => !document.body.innerText.includes(one)),
        };""")
    check(facts["ran"] is False, "no script of a hostile file has run")
    check(facts["elements"] == 0, "no text became an element", facts["elements"])
    drawn = browser.run(BARS)
    check(any("window.hostile=1" in one for one in drawn), "a hostile profile's bars are drawn", drawn)
    check(facts["scripts"] == 9, "the scripts are those of the page", facts["scripts"])
    check(facts["text"] == [], "what it says stands there as text", facts["text"])


def forget_start(browser):
    """What the browser's own first page says and loads is none of ours."""
    browser.open("about:blank")
    for kind in ("browser", "performance"):
        browser.log(kind)


def check_logs(browser, page):
    errors = [entry["message"] for entry in browser.log("browser") if entry["level"] in ("SEVERE", "WARNING")]
    check(errors == [], "the console is clean", errors)
    asked = set()
    for entry in browser.log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            asked.add(message["params"]["request"]["url"].partition("#")[0])
    strange = [url for url in asked if url != page and not url.startswith(("data:", "about:"))]
    check(page in asked and strange == [], "nothing but the page itself was asked for", strange)


def make_page(harness, folder, name, codes):
    page = folder / f"{name}.html"
    done = subprocess.run([harness, "report", str(folder / name), "-o", str(page)], capture_output=True, text=True)
    check(done.returncode in codes, f"harness report of {name} results", (done.returncode, done.stderr))
    return page.as_uri()


def main():
    core_tests, harness = sys.argv[1:3]
    if None in webdriver.programs():
        print("chromium or chromedriver is not installed")
        return 77
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run([core_tests, "files for the page's test are written"], check=True,
                       env={**os.environ, "HARNESS_WRITE_RESULTS": name})
        sound = make_page(harness, folder, "sound", [0])
        long_names = make_page(harness, folder, "long", [0])
        hostile = make_page(harness, folder, "hostile", [3])
        with webdriver.Browser() as browser:
            forget_start(browser)
            browser.open(sound)
            test_structure(browser)
            test_verdicts(browser)
            test_tables(browser)
            test_profiles(browser)
            test_plots(browser)
            page_axes.test_axes(browser, check)
            page_axes.test_suite(browser, check)
            test_themes(browser)
            test_system_theme(browser, sound)
            check_logs(browser, sound)
            page_layout.test_widths(browser, {"its page": sound, "long names": long_names}, check, look_at_all_plots)
            forget_start(browser)
            browser.open(hostile)
            test_hostile(browser)
            check_logs(browser, hostile)
    print(f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
