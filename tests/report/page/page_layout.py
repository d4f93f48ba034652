"""Whether everything on the report's page can be read at a width: no column out of reach, no label cut off or on
top of another. Texts drawn on a canvas are noted as the browser draws them."""

WIDTHS = (1200, 800, 390)

# Before the page's own scripts: which texts stand on a canvas, and where, in its pixels.
RECORDER = """
(() => {
  const drawn = new WeakMap();
  window.drawnTexts = (canvas) => drawn.get(canvas) || [];
  const own = CanvasRenderingContext2D.prototype, clear = own.clearRect, write = own.fillText;
  own.clearRect = function (...place) {
    drawn.set(this.canvas, []);
    return clear.apply(this, place);
  };
  own.fillText = function (text, x, y, ...rest) {
    const size = this.measureText(text), now = this.getTransform();
    const scale = this.canvas.width / (this.canvas.clientWidth || this.canvas.width);
    const corners = [[x - size.actualBoundingBoxLeft, y - size.actualBoundingBoxAscent],
                     [x + size.actualBoundingBoxRight, y + size.actualBoundingBoxDescent]]
      .map(([a, b]) => now.transformPoint(new DOMPoint(a, b)));
    const [xs, ys] = [corners.map((one) => one.x / scale), corners.map((one) => one.y / scale)];
    if (String(text).trim()) {
      drawn.get(this.canvas)?.push({text: String(text), left: Math.min(...xs), right: Math.max(...xs),
                                    top: Math.min(...ys), bottom: Math.max(...ys)});
    }
    return write.call(this, text, x, y, ...rest);
  };
})();
"""

# Tables of which a column cannot be brought into view, or that do not say that there is more.
TABLES = """
const wrong = [];
for (const box of document.querySelectorAll('.scroll')) {
  if (!box.offsetParent) continue;
  const name = box.getAttribute('aria-label'), heads = [...box.querySelectorAll('thead th')];
  const edges = box.getBoundingClientRect();
  if (edges.left < 0 || edges.right > innerWidth + 1) wrong.push(name + ': the box itself is out of view');
  const told = [...(box.closest('.table') || box).querySelectorAll('.hint')].some((one) =>
    one.offsetParent && one.textContent.includes('columns'));
  if (box.scrollWidth > box.clientWidth + 1 && !told) wrong.push(name + ': nothing tells of the columns out of view');
  heads.forEach((head, i) => {
    box.scrollLeft = Math.max(0, box.scrollLeft + head.getBoundingClientRect().right - edges.left - box.clientWidth);
    const place = head.getBoundingClientRect(), button = head.querySelector('button').getBoundingClientRect();
    const first = i > 0 ? heads[0].getBoundingClientRect() : {right: edges.left};
    const from = getComputedStyle(heads[0]).left === '0px' ? first.right : edges.left;
    if (place.right > edges.left + box.clientWidth + 1 || button.left < from - 1) {
      wrong.push(name + ': column ' + head.textContent + ' cannot be seen whole');
    }
  });
  box.scrollLeft = 0;
  for (const cell of box.querySelectorAll('th, td')) {
    if (cell.scrollWidth > cell.clientWidth + 1) wrong.push(name + ': "' + cell.textContent + '" leaves its cell');
  }
  const caption = box.querySelector('caption > *') || box.querySelector('caption');
  if (caption.getBoundingClientRect().right > edges.right + 1) wrong.push(name + ': its caption is cut');
}
return wrong;
"""

# Texts outside of canvases that are cut off or leave the page.
TEXTS = """
const wrong = [];
const texts = 'h1, h2, h3, h4, p, li, dt, dd, figcaption, caption > span, label, button, summary, nav a, .bar, select';
for (const one of document.querySelectorAll(texts)) {
  if (!one.offsetParent || !one.textContent.trim() || one.closest('.scroll table') || one.matches('.skip')) continue;
  const place = one.getBoundingClientRect();
  const cut = getComputedStyle(one).overflowX !== 'visible' && one.scrollWidth > one.clientWidth + 1;
  if (cut || place.left < -1 || place.right > innerWidth + 1) wrong.push(one.textContent.slice(0, 80));
}
return wrong;
"""

# Bars that do not show their whole name, and do not tell it either.
UNTOLD_BARS = """
const bars = [...document.querySelectorAll('.bar:not(.dust)')].filter((one) => one.offsetParent);
return bars.filter((one) => one.title !== one.getAttribute('aria-label')).map((one) => one.getAttribute('aria-label'));
"""

# Texts on a canvas that leave it or lie on another one.
PLOTS = """
const wrong = [];
for (const canvas of document.querySelectorAll('canvas')) {
  if (!canvas.offsetParent) continue;
  const name = canvas.getAttribute('aria-label').slice(0, 60), texts = drawnTexts(canvas);
  if (!texts.length) wrong.push(name + ': nothing is written on it');
  texts.forEach((one, i) => {
    if (one.left < -1 || one.top < -1 || one.right > canvas.clientWidth + 1 || one.bottom > canvas.clientHeight + 1) {
      wrong.push(name + ': "' + one.text + '" leaves the picture');
    }
    for (const other of texts.slice(i + 1)) {
      if (Math.min(one.right, other.right) - Math.max(one.left, other.left) > 1 &&
          Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top) > 1) {
        wrong.push(name + ': "' + one.text + '" and "' + other.text + '" lie on each other');
      }
    }
  });
}
return wrong;
"""

# Rows of plots whose names are not written, or written like another row's. A name that is cut keeps its end, and whoever
# points at it reads it whole.
NAMES = """
const wrong = [];
let cut = 0;
for (const {canvas, plot, chart} of Report.charts) {
  if (!canvas.offsetParent || !plot.y.names.length || plot.y.names.length > 60) continue;
  const scale = chart.scales.y, seen = new Map();
  const beside = drawnTexts(canvas).filter((one) => one.left < chart.chartArea.left + 4);
  plot.y.names.forEach((name, i) => {
    const at = scale.getPixelForValue(i);
    const half = Math.abs(scale.getPixelForValue(1) - scale.getPixelForValue(0)) / 2 || 1000;
    const shown = beside.filter((one) => Math.abs((one.top + one.bottom) / 2 - at) < half)
      .sort((a, b) => a.top - b.top).map((one) => one.text).join('').replace(/\\s/g, '');
    const whole = name.replace(/\\s/g, '');
    if (!shown) wrong.push(plot.title + ': nothing is written for ' + name);
    if ((seen.get(shown) || name) !== name) wrong.push(plot.title + ': ' + shown + ' stands for two names');
    seen.set(shown, name);
    if (shown === whole) return;
    cut += 1;
    const parts = shown.split('\\u2026');
    if (!parts.slice(1).join('')) wrong.push(plot.title + ': ' + name + ' lost its end: ' + shown);
    canvas.dispatchEvent(new MouseEvent('mousemove', {bubbles: true, clientX: canvas.getBoundingClientRect().left + 4,
      clientY: canvas.getBoundingClientRect().top + at}));
    if (canvas.title !== name) wrong.push(plot.title + ': who points at ' + shown + ' reads "' + canvas.title + '"');
  });
}
return {wrong, cut};
"""


def set_width(browser, width):
    browser.devtools("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1,
                     mobile=width < 600)


def test_widths(browser, pages, check, look_at_all_plots):
    """Of each of `pages`, by what is said of it."""
    script = browser.devtools("Page.addScriptToEvaluateOnNewDocument", source=RECORDER)["identifier"]
    cut = 0
    for name, url in pages.items():
        for width in WIDTHS:
            browser.open("about:blank")  # else the page before would be laid out anew
            set_width(browser, width)
            browser.open(url)
            cut += test_width(browser, width, lambda ok, what, seen: check(
                ok, f"{name} at {width} pixels: {what}", seen), look_at_all_plots)
    check(cut > 0, "some names were too long for their room", cut)
    browser.devtools("Page.removeScriptToEvaluateOnNewDocument", identifier=script)
    browser.devtools("Emulation.clearDeviceMetricsOverride")


def test_width(browser, width, check, look_at_all_plots):
    """How many names of rows were cut."""
    _, blank = look_at_all_plots(browser)
    check(blank == "none", "every canvas is drawn", blank)
    browser.run("document.querySelectorAll('figure details').forEach((one) => { one.open = true; });")
    browser.wait_for("return ![...document.querySelectorAll('figure details')].some((one) => !one.querySelector('table'));")
    page = browser.run("return [document.documentElement.scrollWidth, innerWidth];")
    check(page[0] <= page[1] == width, "the page does not scroll sideways", page)
    for script, what in ((TABLES, "every column of every table can be seen"), (TEXTS, "no text is cut off"),
                         (UNTOLD_BARS, "every bar has its whole name as a title"),
                         (PLOTS, "no label in a plot is cut off or on top of another")):
        wrong = browser.run(script)
        check(wrong == [], what, (len(wrong), wrong[:12]))
    names = browser.run(NAMES)
    check(names["wrong"] == [], "the rows of plots can be told apart", (len(names["wrong"]), names["wrong"][:12]))
    if width == 1200:
        room = browser.run("""const box = document.querySelector('#summary .scroll');
            return [box.scrollWidth, box.clientWidth];""")
        check(room[0] <= room[1] + 1, "the table of results has room for all columns", room)
    return names["cut"]
