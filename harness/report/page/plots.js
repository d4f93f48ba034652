// Plots by Chart.js. Each says in words what it shows and has its points as a table.
'use strict';

Report.charts = [];  // {canvas, plot, chart}; `chart` is null until it has been in sight

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
  box.style.height = Report.height(plot) + 'px';
  const points = element('details', {}, element('summary', {}, 'Data of this plot'));
  points.addEventListener('toggle', () => {
    if (points.open && points.childElementCount === 1) points.append(Report.pointsTable(plot));
  });
  const figure = element('figure', plot.wide ? {class: 'wide'} : {}, element('figcaption', {}, plot.title), box,
    element('p', {}, plot.description), points);
  const entry = {canvas, plot, chart: null};
  Report.charts.push(entry);
  if (Report.watcher) {
    Report.watcher.observe(canvas);
  } else {
    setTimeout(() => Report.draw(entry));
  }
  return figure;
};

Report.height = function (plot) {
  const rows = plot.y.names.length, names = Report.legendNames(plot).length;
  if (!rows) return plot.x.log && plot.y.log ? 360 : 270;
  // Series of points stand one below the other within their row, bars behind each other.
  const bars = plot.series.some((one) => one.style === 'bars');
  const each = !bars ? Math.max(25, 9 * Math.min(names, 8)) : plot.paired ? 17 * names : 25;
  return 64 + (names > 1 ? 16 + 14 * Math.ceil(names / 3) : 0) + Math.min(rows, 60) * each;
};

Report.legendNames = function (plot) { return [...new Set(plot.series.map((one) => one.name))]; };

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
    caption: plot.title, rows, note: total > rows.length ? 'The first ' + rows.length + ' of ' + total + ' points.' : '',
    columns: [{title: 'series'}, {title: plot.x.label || 'x', number: true}, {title: plot.y.label || 'y', number: true},
      {title: 'from', number: true}, {title: 'to', number: true}, {title: 'note'}],
  });
};

Report.draw = function (entry) {
  if (entry.chart) entry.chart.destroy();
  const bars = entry.plot.series.some((one) => one.style === 'bars');
  const config = bars ? Report.barConfig(entry.plot) : Report.pointConfig(entry.plot);
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

Report.short = function (text, chart) {
  const most = chart.width < 420 ? 14 : chart.width < 760 ? 30 : 60;
  return text.length > most ? text.slice(0, most - 1) + '\u2026' : text;
};

Report.options = function (plot) {
  const ink = Report.colour('--ink'), faint = Report.colour('--faint'), rule = Report.colour('--rule');
  const font = {family: getComputedStyle(document.body).fontFamily, size: 11};
  const axis = (data) => ({
    type: data.log ? 'logarithmic' : 'linear',
    beginAtZero: data.zero,
    title: {display: Boolean(data.label), text: data.label, color: faint, font},
    grid: {color: rule, drawBorder: false, tickLength: 4},
    ticks: {color: faint, font, maxRotation: 0, autoSkipPadding: 12},
  });
  const names = Report.legendNames(plot);
  return {
    animation: false, responsive: true, maintainAspectRatio: false, locale: 'en-US',
    layout: {padding: {top: 4, right: 8}},
    interaction: {mode: 'nearest', intersect: false},
    scales: {x: axis(plot.x), y: axis(plot.y)},
    plugins: {
      legend: {
        display: names.length > 1, align: 'start', onClick: null,
        labels: {color: ink, font, boxWidth: 8, boxHeight: 8, padding: 10,
          filter: (item, data) => data.datasets.findIndex((one) => one.label === item.text) === item.datasetIndex},
      },
      tooltip: {
        displayColors: false, backgroundColor: ink, titleColor: Report.colour('--paper'),
        bodyColor: Report.colour('--paper'), titleFont: font, bodyFont: font,
        callbacks: {title: () => '', label: (item) => Report.pointText(plot, item)},
      },
    },
  };
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

Report.barConfig = function (plot) {
  const sideways = plot.y.names.length > 0;
  const names = sideways ? plot.y.names : plot.x.names;
  const options = Report.options(plot);
  options.indexAxis = sideways ? 'y' : 'x';
  options.interaction = {mode: 'nearest', axis: sideways ? 'y' : 'x', intersect: true};
  const categories = options.scales[sideways ? 'y' : 'x'];
  categories.type = 'category';
  categories.grid.display = false;
  categories.ticks.callback = function (value) { return Report.short(names[value], this.chart); };
  if (sideways) {
    categories.ticks.autoSkip = false;
    categories.ticks.color = Report.colour('--ink');
    options.layout.padding.right = 96;
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
    categoryPercentage: sideways ? 0.9 : 0.96, order: series.colour === 100 ? 1 : 0,
  }));
  return {type: 'bar', data: {labels: names.map((_, i) => i), datasets}, options,
    plugins: [Report.marksPlugin(plot), Report.barLabels(plot)]};
};

Report.pointConfig = function (plot) {
  const options = Report.options(plot);
  const named = (scale, names, most, reverse) => {
    const step = Math.max(1, Math.ceil(names.length / most));
    Object.assign(scale, {
      min: -0.6, max: names.length - 0.4, reverse,
      afterBuildTicks: (axis) => { axis.ticks = names.map((_, i) => ({value: i})).filter((tick) => tick.value % step === 0); },
    });
    scale.grid.display = false;
    scale.ticks.autoSkip = false;
    scale.ticks.callback = function (value) { return names[value] === undefined ? '' : Report.short(names[value], this.chart); };
  };
  if (plot.y.names.length) {
    named(options.scales.y, plot.y.names, 60, true);
    options.scales.y.ticks.color = Report.colour('--ink');
  }
  if (plot.x.names.length) named(options.scales.x, plot.x.names, window.innerWidth < 700 ? 3 : 6, false);
  for (const scale of Object.values(options.scales)) {
    if (scale.type !== 'logarithmic') continue;
    scale.ticks.callback = (value) => {
      const power = Math.log10(value);
      return Math.abs(power - Math.round(power)) < 1e-9 ? Number(value).toLocaleString('en-US') : '';
    };
  }
  // Intervals belong into the picture, not only the points within them.
  const ends = plot.series.flatMap((one) => one.points.flatMap((point) => [point.low, point.high]))
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
