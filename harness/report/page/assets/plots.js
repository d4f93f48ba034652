// Plots by Chart.js. Each says in words what it shows and has its points as a table.
'use strict';

Report.charts = [];      // {canvas, plot, chart, ...}; `chart` is null until it has been in sight
Report.kMostNames = 60;  // rows; of more, some have no name

Report.colour = function (name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
};

Report.seriesColour = function (number) {
  const meanings = {100: '--muted', 101: '--good', 102: '--bad'};
  return Report.colour(meanings[number] || '--c' + (number % 8));
};

Report.plot = function (plot) {
  const element = Report.element;
  const canvas = element('canvas', {role: 'img', 'aria-label': plot.title + '. ' + plot.description});
  const box = element('div', {class: 'canvas'}, canvas);
  const points = element('details', {}, element('summary', {}, 'Data of this plot'));
  points.addEventListener('toggle', () => {
    if (points.open && points.childElementCount === 1) points.append(Report.pointsTable(plot));
  });
  const keys = Report.plotKeys(plot);
  const figure = element('figure', plot.wide ? {class: 'wide'} : {}, element('figcaption', {}, plot.title),
    ...(keys.length > 1 ? [Report.keys(keys)] : []), box, element('p', {}, plot.description), points);
  const entry = {canvas, plot, box, chart: null, width: 0, names: null};
  box.style.height = Report.layOut(entry, 600) + 'px';
  canvas.addEventListener('mousemove', (event) => {
    const name = Report.cutNameAt(entry, event.offsetX, event.offsetY);
    if (canvas.title !== name) canvas.title = name;
  });
  Report.charts.push(entry);
  if (Report.watcher) {
    Report.watcher.observe(canvas);
  } else {
    setTimeout(() => Report.draw(entry));
  }
  // What is written depends on the room there is.
  new ResizeObserver(() => {
    if (entry.chart && box.clientWidth && box.clientWidth !== entry.width) Report.draw(entry);
  }).observe(box);
  return figure;
};

// Each name once, with the colour it has.
Report.plotKeys = function (plot) {
  const meanings = {100: 'muted', 101: 'good', 102: 'bad'};
  const keys = new Map();
  for (const {name, colour} of plot.series) {
    if (!keys.has(name)) keys.set(name, {name, classes: 'solid ' + (meanings[colour] || 'c' + colour % 8)});
  }
  return [...keys.values()];
};

// Lays the names of `entry` out for a plot of `width` pixels; returns the height that the plot needs.
Report.layOut = function (entry, width) {
  const plot = entry.plot, rows = plot.y.names.length;
  if (!rows) return (plot.x.log && plot.y.log ? 360 : 270) + Report.headroom(plot);
  // Series of points stand one below the other within their row, bars behind each other.
  const bars = plot.series.some((one) => one.style === 'bars'), series = Report.plotKeys(plot).length;
  const marks = !bars ? Math.max(25, 9 * Math.min(series, 8)) : plot.paired ? 17 * series : 19;
  entry.names = Report.layNames(plot.y.names, width, bars ? Report.barLabelRoom(plot) : 8, marks);
  const axis = 45 + 13 * Report.lines(plot.x.label, width - 90, Report.font(11)).length;
  // An axis may have half of a picture at most.
  return Report.headroom(plot) + Math.max(2 * axis, axis + Math.min(rows, Report.kMostNames) * entry.names.row);
};

// The whole name where a cut one is written, else nothing.
Report.cutNameAt = function (entry, x, y) {
  const names = entry.names, scale = entry.chart && entry.chart.scales.y;
  if (!names || !scale || (!names.above && x > entry.chart.chartArea.left)) return '';
  const row = Math.round(scale.getValueForPixel(y));
  return names.whole[row] === false ? entry.plot.y.names[row] : '';
};

Report.pointsTable = function (plot) {
  const kMost = 2000;
  const name = (axis, value) => axis.names.length ? axis.names[Math.round(value)] || String(value) : String(value);
  const number = (value) => typeof value === 'number' ? {t: String(value), k: value} : {t: '-'};
  const rows = [];
  for (const series of plot.series) {
    for (const point of series.points) {
      if (rows.length >= kMost) break;
      rows.push([{t: series.name}, {t: name(plot.x, point.x), k: point.x}, {t: name(plot.y, point.y), k: point.y},
        number(point.low), number(point.high), {t: point.label || ''}]);
    }
  }
  const total = plot.series.reduce((sum, series) => sum + series.points.length, 0);
  return Report.table({
    caption: plot.title, rows,
    note: total > rows.length ? 'Only the first ' + rows.length + ' of ' + total + ' points are shown.' : '',
    columns: [{title: 'series'}, {title: plot.x.label || 'x', number: true}, {title: plot.y.label || 'y', number: true},
      {title: 'from', number: true}, {title: 'to', number: true}, {title: 'note'}],
  });
};

Report.draw = function (entry) {
  if (entry.chart) entry.chart.destroy();
  entry.width = entry.box.clientWidth || entry.width || 600;
  entry.box.style.height = Report.layOut(entry, entry.width) + 'px';
  const bars = entry.plot.series.some((one) => one.style === 'bars');
  const config = bars ? Report.barConfig(entry) : Report.pointConfig(entry);
  entry.chart = new Chart(entry.canvas, config);
};

// Colours are read when a chart is made, so another theme makes them anew.
Report.redraw = function () {
  for (const entry of Report.charts) if (entry.chart) Report.draw(entry);
};

Report.drawAll = function () {
  for (const entry of Report.charts) if (!entry.chart && entry.canvas.offsetParent) Report.draw(entry);
};

if ('IntersectionObserver' in window) {
  Report.watcher = new IntersectionObserver((changes) => {
    for (const change of changes) {
      if (!change.isIntersecting) continue;
      const entry = Report.charts.find((one) => one.canvas === change.target);
      Report.watcher.unobserve(change.target);
      if (entry && !entry.chart) Report.draw(entry);
    }
  }, {rootMargin: '400px'});
}

Report.kOwnTicks = {autoSkip: false, callback: (value) => Report.tickText(value)};

Report.setLogTicks = function (axis) {
  // The axis has not its last size yet: titles and names take about so much of the picture.
  const upright = !axis.isHorizontal(), {width, height, options} = axis.chart;
  const length = upright ? height - 56 - options.layout.padding.top : width - 80;
  axis.ticks = Report.logTicks(axis.min, axis.max, length, upright)
    .map((value) => ({value}));
};

// Round numbers below bars that stand for equal parts of the way between two edges.
Report.edgeTicks = function (scale, [low, high], bins, width) {
  const place = (value) => (value - low) / (high - low) * bins - 0.5;
  let ticks = [];
  for (let most = 9; most >= 2; most -= 1) {
    ticks = Report.roundTicks(low, high, most);
    if (Report.haveRoom(ticks, (value) => (place(value) + 0.5) / bins, width, false)) break;
  }
  const texts = new Map(ticks.map((value) => [place(value), Report.tickText(value)]));
  Object.assign(scale.grid, {display: true, offset: false, drawOnChartArea: false});
  Object.assign(scale.ticks, {autoSkip: false, callback: (value) => texts.get(value)});
  scale.afterBuildTicks = (axis) => { axis.ticks = [...texts.keys()].map((value) => ({value})); };
};

Report.options = function (entry) {
  const plot = entry.plot;
  const ink = Report.colour('--ink'), faint = Report.colour('--faint'), rule = Report.colour('--rule');
  const font = {family: getComputedStyle(document.body).fontFamily, size: 11};
  const axis = (data, room) => ({
    type: data.log ? 'logarithmic' : 'linear',
    beginAtZero: data.zero,
    title: {display: Boolean(data.label), text: Report.lines(data.label, room, Report.font(11)), color: faint, font},
    grid: {color: rule, drawBorder: false, tickLength: 4},
    ticks: {color: faint, font, maxRotation: 0, autoSkipPadding: 12, ...(data.log ? Report.kOwnTicks : {})},
    ...(data.log ? {afterBuildTicks: Report.setLogTicks} : {}),
  });
  return {
    animation: false, responsive: true, maintainAspectRatio: false, locale: 'en-US',
    layout: {padding: {top: 4 + Report.headroom(plot), right: 8}},
    interaction: {mode: 'nearest', intersect: false},
    scales: {x: axis(plot.x, entry.width - 90), y: axis(plot.y, 180)},
    plugins: {
      legend: {display: false},
      tooltip: {
        displayColors: false, backgroundColor: ink, titleColor: Report.colour('--paper'),
        bodyColor: Report.colour('--paper'), titleFont: font, bodyFont: font,
        callbacks: {
          title: () => '',
          label: (item) => Report.lines(Report.pointText(plot, item), Math.min(420, entry.width - 50), Report.font(11)),
        },
      },
    },
  };
};

// Writes the names of an axis beside its rows, or above them.
Report.nameTicks = function (entry, ticks) {
  const lines = entry.names.lines, step = Math.ceil(lines.length / Report.kMostNames);
  Object.assign(ticks, {autoSkip: false, color: Report.colour('--ink'),
    callback: (value) => value % step === 0 && lines[value] || ''});
  ticks.padding = 8;  // room for half a point
  if (entry.names.above) Object.assign(ticks, {mirror: true, padding: 0, labelOffset: 7 - entry.names.row / 2});
};

Report.pointText = function (plot, item) {
  const point = item.raw && item.raw.point;
  if (!point) return '';
  const along = plot.y.names.length ? point.x : point.y;
  const place = plot.y.names.length ? plot.y.names[Math.round(point.y)] || ''
    : plot.x.names.length ? '' : plot.x.label + ' ' + point.x;
  const range = typeof point.high === 'number' ? ' [' + point.low + ', ' + point.high + ']' : '';
  return [item.dataset.label, place, along + range, point.label].filter(Boolean).join(' \u00b7 ');
};

Report.barConfig = function (entry) {
  const plot = entry.plot, sideways = plot.y.names.length > 0;
  const names = sideways ? plot.y.names : plot.x.names;
  const options = Report.options(entry);
  options.indexAxis = sideways ? 'y' : 'x';
  options.interaction = {mode: 'nearest', axis: sideways ? 'y' : 'x', intersect: true};
  const categories = options.scales[sideways ? 'y' : 'x'];
  categories.type = 'category';
  categories.grid.display = false;
  if (sideways) {
    Report.nameTicks(entry, categories.ticks);
    options.layout.padding.right = Report.barLabelRoom(plot);
    // A mark beyond the longest bar belongs into the picture.
    const marks = plot.marks.filter((mark) => !mark.across).map((mark) => mark.at);
    if (marks.length) options.scales.x.suggestedMax = Math.max(...marks);
  } else if (plot.x.edges.length === 2 && plot.x.edges[0] < plot.x.edges[1]) {
    Report.edgeTicks(categories, plot.x.edges, names.length, entry.width - 70);
  } else {
    const shown = Report.cutApart(names, 100, Report.font(11));
    categories.ticks.callback = (value) => shown[value];
  }
  const layered = plot.series.some((one) => one.colour === 100);
  // Places are told by number: names may be there twice.
  const datasets = plot.series.map((series) => ({
    label: series.name,
    data: series.points.map((point) => {
      const range = [typeof point.low === 'number' ? point.low : 0, sideways ? point.x : point.y];
      return sideways ? {x: range, y: point.y, point} : {x: point.x, y: range, point};
    }),
    backgroundColor: Report.seriesColour(series.colour), grouped: plot.paired, minBarLength: sideways ? 1 : 0,
    barPercentage: !sideways ? 1 : layered && series.colour > 100 ? 0.45 : 0.78,
    categoryPercentage: !sideways ? 0.96 : entry.names.above ? entry.names.marks / entry.names.row : 0.9,
    order: series.colour === 100 ? 1 : 0,
  }));
  return {type: 'bar', data: {labels: names.map((_, i) => i), datasets}, options,
    plugins: [Report.marksPlugin(plot), Report.barLabels(plot)]};
};

Report.pointConfig = function (entry) {
  const plot = entry.plot;
  const options = Report.options(entry);
  const named = (scale, names, most, reverse) => {
    const step = Math.max(1, Math.ceil(names.length / most));
    Object.assign(scale, {
      min: -0.6, max: names.length - 0.4, reverse,
      afterBuildTicks: (axis) => {
        axis.ticks = names.map((_, i) => ({value: i})).filter((tick) => tick.value % step === 0);
      },
    });
    scale.grid.display = false;
    scale.ticks.autoSkip = false;
  };
  if (plot.y.names.length) {
    named(options.scales.y, plot.y.names, Report.kMostNames, true);
    Report.nameTicks(entry, options.scales.y.ticks);
  }
  if (plot.x.names.length) {
    const most = Math.max(1, Math.floor((entry.width - 60) / 110));
    named(options.scales.x, plot.x.names, most, false);
    const shown = Report.cutApart(plot.x.names, 100, Report.font(11));
    options.scales.x.ticks.callback = (value) => shown[value] || '';
  }
  for (const key of ['x', 'y']) {
    if (options.scales[key].type !== 'logarithmic') continue;
    // With the ends of intervals, which lie along the axis without names, and the marks.
    const ranged = key === (plot.y.names.length ? 'x' : 'y');
    const values = plot.series.flatMap((one) => one.points.flatMap((point) =>
      ranged ? [point[key], point.low, point.high] : [point[key]]))
      .concat(plot.marks.filter((mark) => mark.across === (key === 'y')).map((mark) => mark.at))
      .filter((one) => one > 0);
    // Chart.js begins at a power of ten, which may leave half of the picture empty.
    Object.assign(options.scales[key], Report.logBounds(values));
  }
  // Intervals and marks belong into the picture, not only the points.
  const ends = plot.series.flatMap((one) => one.points.flatMap((point) => [point.low, point.high]))
    .concat(plot.marks.filter((mark) => mark.across).map((mark) => mark.at))
    .filter((one) => typeof one === 'number');
  if (ends.length) {
    const scale = options.scales[plot.y.names.length ? 'x' : 'y'];
    scale.suggestedMin = ends.reduce((a, b) => Math.min(a, b));
    scale.suggestedMax = ends.reduce((a, b) => Math.max(a, b));
  }
  // Half a step or half an epoch is no place.
  if (plot.series.every((one) => one.points.every((point) => Number.isInteger(point.x)))) {
    options.scales.x.ticks.precision = 0;
  }
  const datasets = plot.series.map((series) => {
    const colour = Report.seriesColour(series.colour);
    const many = series.points.length > 60, sized = series.points.some((point) => point.size);
    return {
      label: series.name, data: series.points.map((point) => ({x: point.x, y: point.y, point})),
      showLine: series.style === 'line', borderColor: colour, borderWidth: sized ? 0.5 : 1.5,
      backgroundColor: sized ? colour + 'a6' : colour,  // what lies below is seen
      pointRadius: series.style !== 'points' ? (many ? 0 : 2.5)
        : series.points.map((point) => point.size ? 2 + 9 * Math.sqrt(point.size) : 3.5), pointHitRadius: 8, tension: 0,
    };
  });
  return {type: 'scatter', data: {datasets}, options,
    plugins: [Report.marksPlugin(plot), Report.intervalsPlugin(plot)]};
};
