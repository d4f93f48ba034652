// What Chart.js does not draw by itself: shaded bands, marks with labels, intervals, texts at bars.
'use strict';

Report.markFont = () => Report.font(10.5);

// Texts lie over the data, so they stand on a rim of paper.
Report.write = function (ctx, text, x, y) {
  ctx.save();
  ctx.setLineDash([]);
  ctx.lineJoin = 'round';
  ctx.lineWidth = 3;
  ctx.strokeStyle = Report.colour('--paper');
  ctx.strokeText(text, x, y);
  ctx.fillText(text, x, y);
  ctx.restore();
};

// Rows of texts above a plot: the names of its bands and of its upright marks.
Report.kHeadRow = 13;
Report.headRows = function (plot) {
  return Math.min(3, plot.bands.length + plot.marks.filter((mark) => !mark.across).length);
};
Report.headroom = (plot) => Report.kHeadRow * Report.headRows(plot);

// Places for texts above the plot of `chart`: in the lowest row in which a text of `width` pixels has room where it
// starts at one of `lefts`, null where there is none. What fits nowhere is left out: it stands below the plot as well.
Report.headPlaces = function (chart, plot) {
  const taken = [];  // {row, from, to}
  return function (lefts, width) {
    for (let row = 0; row < Report.headRows(plot); row += 1) {
      for (const left of lefts) {
        const from = Math.max(0, Math.min(left, chart.width - width - 2));
        if (taken.some((one) => one.row === row && from < one.to + 6 && one.from < from + width + 6)) continue;
        taken.push({row, from, to: from + width});
        return {x: from, y: chart.chartArea.top - 4 - Report.kHeadRow * row};
      }
    }
    return null;
  };
};

// Shaded parts of the x axis below the data, marked places of either axis above it.
Report.marksPlugin = function (plot) {
  return {
    id: 'marks',
    beforeDatasetsDraw(chart) {
      const {ctx, chartArea: area, scales} = chart;
      ctx.save();
      ctx.fillStyle = Report.colour('--shade');
      for (const band of plot.bands) {
        const from = Math.max(area.left, scales.x.getPixelForValue(band.from));
        const to = Math.min(area.right, scales.x.getPixelForValue(band.to));
        if (to > from) ctx.fillRect(from, area.top, to - from, area.bottom - area.top);
      }
      ctx.restore();
    },
    afterDatasetsDraw(chart) {
      const {ctx, chartArea: area, scales} = chart;
      const place = Report.headPlaces(chart, plot);
      ctx.save();
      ctx.font = Report.markFont();
      ctx.strokeStyle = ctx.fillStyle = Report.colour('--faint');
      ctx.setLineDash([4, 3]);
      const texts = [];  // above all lines
      const head = (text, lefts) => {
        const spot = place(lefts, ctx.measureText(text).width);
        if (spot) texts.push({text, ...spot});
        return spot ? spot.y + 2 : area.top - 2;
      };
      for (const band of plot.bands) {
        const from = Math.max(area.left, scales.x.getPixelForValue(band.from));
        if (from < Math.min(area.right, scales.x.getPixelForValue(band.to))) head(band.label, [from]);
      }
      for (const mark of plot.marks) {
        const scale = mark.across ? scales.y : scales.x;
        const at = scale.getPixelForValue(mark.at);
        const inside = mark.across ? at >= area.top && at <= area.bottom : at >= area.left && at <= area.right;
        if (!inside) continue;
        const width = ctx.measureText(mark.label).width;
        ctx.beginPath();
        if (mark.across) {
          ctx.moveTo(area.left, at);
          ctx.lineTo(area.right, at);
          texts.push({text: mark.label, x: area.right - width - 2, y: at - 4 < area.top + 10 ? at + 12 : at - 4});
        } else {
          // Its name stands to its right or its left, and the line reaches up to it.
          ctx.moveTo(at, Math.min(area.top - 2, head(mark.label, [at - 3, at + 3 - width])));
          ctx.lineTo(at, area.bottom);
        }
        ctx.stroke();
      }
      for (const {text, x, y} of texts) Report.write(ctx, text, x, y);
      ctx.restore();
    },
  };
};

// A line from `low` to `high` through each point that has them, along the axis without names.
Report.intervalsPlugin = function (plot) {
  const sideways = plot.y.names.length > 0;
  return {
    id: 'intervals',
    beforeDatasetsDraw(chart) {
      const {ctx, chartArea: area, scales} = chart;
      ctx.save();
      ctx.beginPath();
      ctx.rect(area.left, area.top, area.right - area.left, area.bottom - area.top);
      ctx.clip();
      plot.series.forEach((series, index) => {
        ctx.strokeStyle = Report.seriesColour(series.colour);
        const alone = sideways || series.style === 'points';
        ctx.globalAlpha = alone ? 1 : 0.45;
        ctx.lineWidth = alone && !sideways ? 2.4 : 1.2;
        chart.getDatasetMeta(index).data.forEach((element, i) => {
          const point = series.points[i];
          if (typeof point.low !== 'number' || typeof point.high !== 'number') return;
          const scale = sideways ? scales.x : scales.y;
          const from = scale.getPixelForValue(point.low), to = scale.getPixelForValue(point.high);
          ctx.beginPath();
          if (sideways) {
            ctx.moveTo(from, element.y);
            ctx.lineTo(to, element.y);
          } else {
            ctx.moveTo(element.x, from);
            ctx.lineTo(element.x, to);
          }
          ctx.stroke();
        });
      });
      ctx.restore();
    },
  };
};

// Pixels to the right of a plot that the labels of its bars need.
Report.barLabelRoom = function (plot) {
  const font = Report.markFont();
  const longest = plot.series.flatMap((series) => series.points)
    .reduce((most, point) => Math.max(most, point.label ? Report.textWidth(point.label, font) : 0), 0);
  return longest ? Math.ceil(longest) + 10 : 8;
};

// The labels of bars, at their ends: those of a series of whole bars where there is one, else all.
Report.barLabels = function (plot) {
  return {
    id: 'labels',
    afterDatasetsDraw(chart) {
      if (!plot.y.names.length) return;
      const whole = plot.series.findIndex((series) => series.colour === 100);
      const {ctx, chartArea: area} = chart;
      ctx.save();
      ctx.font = Report.markFont();
      ctx.fillStyle = Report.colour('--ink');
      ctx.textBaseline = 'middle';
      // By place: where the furthest bar of each ends.
      const ends = new Map();
      const visit = (number, use) => chart.getDatasetMeta(number).data.forEach(
        (bar, i) => use(bar, chart.data.datasets[number].data[i].point));
      plot.series.forEach((_, number) => visit(number, (bar, point) => {
        ends.set(point.y, Math.max(ends.get(point.y) || 0, bar.x, bar.base));
      }));
      plot.series.forEach((_, number) => {
        if (whole >= 0 && number !== whole) return;
        visit(number, (bar, point) => {
          if (!point.label) return;
          const end = whole >= 0 ? ends.get(point.y) : Math.max(bar.x, bar.base);
          Report.write(ctx, point.label, Math.max(end, area.left) + 6, bar.y);
        });
      });
      ctx.restore();
    },
  };
};
