"""Whether the axes of the page's plots have few and round ticks, and marks stand within the picture."""

# Of axes from LOW to HIGH of LENGTH pixels: ticks that are not round, too many, or too close.
TICKS = """
const wrong = [];
const round = (value) => /^[125](0*)$/.test(String(Number(value.toPrecision(9)) * 1e6).replace(/\\.0*$/, ''));
for (const [low, high] of [[0.3, 40], [0.0004, 3], [1, 1000], [2e-3, 7e4], [1e-6, 1e6], [90, 120], [3.1, 3.3], [0.65, 9.9]]) {
  for (const length of [120, 300, 900]) {
    for (const upright of [true, false]) {
      const ticks = Report.logTicks(low, high, length, upright), name = [low, high, length, upright, ticks].join(' ');
      const place = (value) => Math.log(value / low) / Math.log(high / low);
      if (ticks.length < (length > 120 ? 2 : 1) || ticks.length > 9) wrong.push(name + ': how many');
      if (ticks.some((one) => one < low * 0.999 || one > high * 1.001)) wrong.push(name + ': out of the axis');
      if (!Report.haveRoom(ticks, place, length, upright)) wrong.push(name + ': too close');
      if (high / low > 10 && !ticks.every(round)) wrong.push(name + ': not round');
    }
  }
}
return wrong;
"""
# The texts below histograms that are no round numbers of their axis.
EDGES = """
const wrong = [], seen = [];
for (const {canvas, plot, chart} of Report.charts) {
  if (!chart || plot.x.edges.length !== 2) continue;
  const labels = chart.scales.x.ticks.map((tick) => tick.label);
  const numbers = labels.map((text) => Number(String(text).replace(/,/g, ''))), [low, high] = plot.x.edges;
  if (low < high) seen.push(labels);
  const step = numbers[1] - numbers[0];
  if (low < high && (numbers.length < 2 || numbers.some((one) => !(one >= low - 1e-9 * high && one <= high * (1 + 1e-9)))
      || ![1, 2, 5, 10].some((one) => Math.abs(step / 10 ** Math.floor(Math.log10(step) + 1e-6) - one) < 1e-3))) {
    wrong.push(plot.title + ': ' + labels.join(' '));
  }
}
return {wrong, seen: seen.length};
"""


def test_axes(browser, check):
    wrong = browser.run(TICKS)
    check(wrong == [], "a logarithmic axis has few and round ticks", wrong)
    edges = browser.run(EDGES)
    check(edges["wrong"] == [] and edges["seen"] > 0, "a histogram's axis has round ticks", edges)


def test_suite(browser, check):
    """Its score is said with its mark, at the mark."""
    seen = browser.run("""const entry = Report.charts.find((one) => one.plot.marks.some((mark) => mark.label.startsWith('score')));
        entry.canvas.scrollIntoView({block: 'center', behavior: 'instant'}); if (!entry.chart) Report.draw(entry);
        const scale = entry.chart.scales.x;
        return entry.plot.marks.map((mark) => [mark.label, mark.at >= scale.min && mark.at <= scale.max]);""")
    check(len(seen) == 2 and all(inside for _, inside in seen) and seen[0][0] == "reference",
          "reference and score lie within a suite's picture", seen)
