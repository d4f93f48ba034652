// What Chart.js does not draw by itself: shaded bands, marks with labels, intervals, texts at bars.
'use strict';

Report.markFont = () => '10.5px ' + getComputedStyle(document.body).fontFamily;

// Shaded parts of the x axis below the data, marked places of either axis above it.
Report.marksPlugin = function (plot) {
  return {
    id: 'marks',
    beforeDatasetsDraw(chart) {
      const {ctx, chartArea: area, scales} = chart;
      ctx.save();
      ctx.font = Report.markFont();
      ctx.textBaseline = 'top';
      for (const band of plot.bands) {
        const from = Math.max(area.left, scales.x.getPixelForValue(band.from));
        const to = Math.min(area.right, scales.x.getPixelForValue(band.to));
        if (!(to > from)) continue;
        ctx.fillStyle = Report.colour('--shade');
        ctx.fillRect(from, area.top, to - from, area.bottom - area.top);
        ctx.fillStyle = Report.colour('--faint');
        if (ctx.measureText(band.label).width < to - from - 6) ctx.fillText(band.label, from + 4, area.top + 3);
      }
      ctx.restore();
    },
    afterDatasetsDraw(chart) {
      const {ctx, chartArea: area, scales} = chart;
      ctx.save();
      ctx.font = Report.markFont();
      ctx.strokeStyle = ctx.fillStyle = Report.colour('--faint');
      ctx.setLineDash([4, 3]);
      let turn = 0;
      for (const mark of plot.marks) {
        const scale = mark.across ? scales.y : scales.x;
        const at = scale.getPixelForValue(mark.at);
        const inside = mark.across ? at >= area.top && at <= area.bottom : at >= area.left && at <= area.right;
        if (!inside) continue;
        ctx.beginPath();
        if (mark.across) {
          ctx.moveTo(area.left, at);
          ctx.lineTo(area.right, at);
        } else {
          ctx.moveTo(at, area.top);
          ctx.lineTo(at, area.bottom);
        }
        ctx.stroke();
        const width = ctx.measureText(mark.label).width;
        if (mark.across) {
          ctx.fillText(mark.label, area.right - width - 2, at - 4 < area.top + 10 ? at + 12 : at - 4);
        } else {
          // Neighbouring labels stand at different heights.
          const left = at + width + 6 > area.right ? at - width - 4 : at + 4;
          ctx.fillText(mark.label, left, area.top + 10 + 12 * (turn++ % 3));
        }
      }
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
      ctx.lineWidth = 1.2;
      plot.series.forEach((series, index) => {
        ctx.strokeStyle = Report.seriesColour(series.colour);
        ctx.globalAlpha = sideways ? 1 : 0.45;
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
          ctx.fillText(point.label, Math.max(end, area.left) + 6, bar.y);
        });
      });
      ctx.restore();
    },
  };
};
