// Names in the room there is. A name that is too long loses its middle, because what tells modules and
// kernels apart stands at their ends; the whole name is a title and stands in a table.
'use strict';

Report.font = (size) => size + 'px ' + getComputedStyle(document.body).fontFamily;

// Pixels that `text` takes in `font`.
Report.textWidth = (function () {
  const context = document.createElement('canvas').getContext('2d');
  return function (text, font) {
    if (context.font !== font) context.font = font;
    return context.measureText(text).width;
  };
})();

// The longest of make(n), make(n - 1), ... that fits; make(1) where none does.
Report.longestFitting = function (make, most, width, font) {
  let low = 1, high = most;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (Report.textWidth(make(middle), font) <= width) low = middle; else high = middle - 1;
  }
  return make(low);
};

// `text` in at most `width` pixels, without its middle where it is longer.
Report.cut = function (text, width, font) {
  if (Report.textWidth(text, font) <= width) return text;
  const letters = [...text];
  return Report.longestFitting((kept) => {
    const end = Math.ceil(kept * 0.6);
    return letters.slice(0, kept - end).join('') + '\u2026' + letters.slice(letters.length - end).join('');
  }, letters.length, width, font);
};

// `name` with its beginning, its end, and some of it from `from` on, where it differs from names that are alike at
// both.
Report.cutAround = function (name, from, width, font) {
  const letters = [...name];
  const part = (start, end) => letters.slice(start, end).join('');
  let start = Math.min(from, letters.length - 1);
  // From the beginning of the word that differs, if that is near.
  while (start > 0 && start > from - 6 && !/[._\/: -]/.test(letters[start - 1])) start -= 1;
  return Report.longestFitting((kept) => {
    const head = Math.floor(kept * 0.2), tail = letters.length - Math.ceil(kept * 0.4);
    const middle = Math.min(Math.max(start, head), tail), end = middle + kept - head - (letters.length - tail);
    return part(0, head) + (middle > head ? '\u2026' : '') +
      (end < tail ? part(middle, end) + '\u2026' + part(tail) : part(middle));
  }, letters.length, width, font);
};

// All `names` in at most `width` pixels. Names that would look the same without their middle show where they differ.
Report.cutApart = function (names, width, font) {
  const cut = names.map((name) => Report.cut(name, width, font));
  const alike = new Map();
  names.forEach((name, i) => alike.set(cut[i], new Set(alike.get(cut[i])).add(name)));
  return names.map((name, i) => {
    const group = [...alike.get(cut[i])];
    if (group.length < 2) return cut[i];
    let from = 0;
    while (from < name.length && group.every((other) => other[from] === name[from])) from += 1;
    return Report.cutAround(name, from, width, font);
  });
};

// `text` in lines of at most `width` pixels, broken after blanks, dots and the like. A word that is longer than half a
// line may break anywhere.
Report.lines = function (text, width, font) {
  const lines = [];
  let rest = text;
  while (Report.textWidth(rest, font) > width && rest.length > 1) {
    const fits = Report.longestFitting((kept) => rest.slice(0, kept), rest.length, width, font);
    let end = fits.length;
    for (let i = end; i > fits.length / 2; i -= 1) {
      if (/[\s._\/:,+-]/.test(rest[i - 1])) {
        end = i;
        break;
      }
    }
    lines.push(rest.slice(0, end).trim());
    rest = rest.slice(end).trim();
  }
  return [...lines, rest];
};

// How the names of a plot's rows are written when it is `width` pixels wide, `right` of them taken at its right: their
// lines, whether they stand above their rows, which are whole, and the height of a row whose own marks take `marks`
// pixels.
Report.layNames = function (names, width, right, marks) {
  const font = Report.font(11), kLine = 13;
  const longest = names.reduce((most, name) => Math.max(most, Report.textWidth(name, font)), 0);
  // Chart.js gives an axis half of what is left, with its ticks.
  const beside = Math.floor(Math.min(width * (width < 480 ? 0.34 : 0.4), (width - right) / 2 - 16));
  const above = width < 480 && longest > beside;
  const room = above ? width - 24 : beside;
  let lines = names.map((name) => [name]);
  if (longest > room) {
    // Two lines hold less than twice the room where words do not break at its end.
    for (const share of above ? [1] : [1.9, 1.7, 1.5, 1]) {
      lines = Report.cutApart(names, room * share, font).map((name) => Report.lines(name, room, font));
      if (lines.every((one) => one.length <= 2)) break;
    }
  }
  const most = lines.reduce((count, one) => Math.max(count, one.length), 1);
  return {
    lines, above, whole: names.map((name, i) => lines[i].join('').replace(/\s/g, '') === name.replace(/\s/g, '')),
    row: above ? marks + 2 * kLine + 4 : Math.max(marks, kLine * most + 6), marks,
  };
};

// A number at an axis.
Report.tickText = function (value) {
  const size = Math.abs(value);
  if (size && (size >= 1e7 || size < 1e-4)) return Number(value.toPrecision(6)).toExponential();
  return Number(value.toPrecision(6)).toLocaleString('en-US', {maximumSignificantDigits: 6});
};

// Round numbers from `low` to `high`, at most `most` of them where that is two or more.
Report.roundTicks = function (low, high, most) {
  const rough = (high - low) / Math.max(most - 1, 1);
  if (!(rough > 0)) return [low];
  const power = Math.pow(10, Math.floor(Math.log10(rough)));
  const step = power * [1, 2, 5, 10].find((one) => one * power >= rough * (1 - 1e-9));
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i += 1) {
    ticks.push(Number((i * step).toPrecision(12)));
  }
  return ticks;
};

// The numbers 1, 2 or 5 times a power of ten that lie next around `values`, and are two.
Report.logBounds = function (values) {
  if (!values.length) return {};
  const low = values.reduce((a, b) => Math.min(a, b)), high = values.reduce((a, b) => Math.max(a, b));
  const around = (value) => [-1, 0, 1].flatMap((more) =>
    [1, 2, 5].map((digit) => Number(digit + 'e' + (Math.floor(Math.log10(value)) + more))));
  const min = around(low).filter((one) => one <= low * (1 + 1e-9)).pop();
  return {min, max: around(high).find((one) => one >= high * (1 - 1e-9) && one > min)};
};

// Whether texts of `ticks` have room at an axis of `length` pixels; `place` gives 0 to 1 along it.
Report.haveRoom = function (ticks, place, length, upright) {
  const font = Report.font(11), size = (tick) => upright ? 13 : Report.textWidth(Report.tickText(tick), font);
  return ticks.every((tick, i) => i === 0 ||
    length * Math.abs(place(tick) - place(ticks[i - 1])) >= (size(tick) + size(ticks[i - 1])) / 2 + (upright ? 7 : 12));
};

// Of a logarithmic axis: 1, 2, 5, 10, ... where they have room, else powers of ten, else every second, third, ... of
// them. Where an axis is too short for two of these, round numbers in equal steps.
Report.logTicks = function (low, high, length, upright) {
  const kMost = 9, first = Math.floor(Math.log10(low)), last = Math.ceil(Math.log10(high));
  const place = (value) => Math.log(value / low) / Math.log(high / low);
  const fits = (ticks) => ticks.length >= 2 && ticks.length <= kMost && Report.haveRoom(ticks, place, length, upright);
  const every = (step, digits) => {
    const ticks = [];
    for (let power = Math.ceil(first / step) * step; power <= last; power += step) {
      for (const digit of digits) ticks.push(Number(digit + 'e' + power));
    }
    return ticks.filter((one) => one >= low * (1 - 1e-9) && one <= high * (1 + 1e-9));
  };
  for (let most = kMost; high / low < 10 && most >= 2; most -= 1) {
    const ticks = high / low > 3 ? every(1, [1, 2, 5]) : Report.roundTicks(low, high, most);
    if (fits(ticks)) return ticks;
  }
  if (fits(every(1, [1, 2, 5]))) return every(1, [1, 2, 5]);
  for (let step = 1; step <= last - first; step += 1) if (fits(every(step, [1]))) return every(step, [1]);
  return every(1, [1, 2, 5]).slice(0, 1);
};

// What the colours of a plot mean, as a list.
Report.keys = function (keys) {
  const element = Report.element;
  return element('ul', {class: 'keys'}, ...keys.map((key) =>
    element('li', {}, element('span', {class: 'swatch ' + key.classes}), key.name)));
};
