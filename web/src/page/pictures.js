// The pictures: a curve with its band, categories with their bars, maps with contours, classes.

import { contours } from "d3-contour";
import { interpolateRgb } from "d3-interpolate";
import { scaleLinear } from "d3-scale";
import { area, line } from "d3-shape";
import { max, median } from "d3-array";
import { Chart } from "./chart.js";
import { packed, picture, ramp } from "./raster.js";
import { winner } from "./winner.js";
import { percent, tick } from "./words.js";

// An axis of values that are answers, not questions.
const answers = (label, most, tickFormat = tick) => ({
  label,
  tickFormat,
  scale: (pixels) => scaleLinear([0, most], pixels).nice(5),
});

export function curve({ width, x, found, palette, title, label, confidence }) {
  const most = max(found.to) || 1;
  const chart = new Chart({
    width,
    height: heightOf(width, 0.48),
    x,
    y: answers("density", Math.min(1, most * 1.05)),
    title,
    palette,
    label,
  }).grid();
  const { scaleX, scaleY, body } = chart;
  const place = (_, i) => x.place(scaleX, x.values[i]);
  const clip = (v) => scaleY(Math.min(1, Math.max(0, v)));
  if (x.numeric) {
    body
      .append("path")
      .attr("fill", palette.line)
      .attr("opacity", 0.22)
      .attr(
        "d",
        area()
          .x(place)
          .y0((_, i) => clip(found.from[i]))
          .y1((_, i) => clip(found.to[i]))(found.density),
      );
    body
      .append("path")
      .attr("fill", "none")
      .attr("stroke", palette.line)
      .attr("stroke-width", 2)
      .attr("d", line().x(place).y(clip)(found.density));
  } else {
    found.density.forEach((v, i) => {
      const px = place(v, i);
      const wide = Math.min(46, scaleX.bandwidth() * 0.6);
      body
        .append("rect")
        .attr("x", px - wide / 2)
        .attr("width", wide)
        .attr("y", clip(v))
        .attr("height", scaleY(0) - clip(v))
        .attr("fill", palette.line)
        .attr("opacity", 0.35);
      body
        .append("path")
        .attr(
          "d",
          `M${px},${clip(found.from[i])}V${clip(found.to[i])}M${px - 6},${clip(found.from[i])}h12M${px - 6},${clip(found.to[i])}h12`,
        )
        .attr("stroke", palette.line)
        .attr("stroke-width", 2)
        .attr("fill", "none");
    });
  }
  return chart.axes().key([
    [palette.line, "density"],
    [faded(palette.line, palette.paper), `${confidence * 100} % interval`],
  ]);
}

const faded = (a, b) => interpolateRgb(b, a)(0.25);

export function densityMap({ width, x, y, density, relative, palette, title, label, done }) {
  const most = max(density) || 1;
  const chart = new Chart({ width, height: heightOf(width, 0.82), x, y, title, palette, label });
  const shade = ramp(palette.density);
  picture(chart, x, y, (i) => shade(density[i] / most));
  if (done) {
    const errors = Array.from(density, (v, i) => v * relative[i]).filter((e) => e > 0);
    const clear = 3 * (median(errors) ?? 0);
    outlines(
      chart,
      x,
      y,
      density,
      [1, 2, 3, 4, 5, 6].map((k) => (k * most) / 7).filter((level) => level > clear),
    );
  }
  return chart.axes().colours(palette.density, [
    [0, "0"],
    [0.5, tick(round(most / 2))],
    [1, tick(round(most))],
  ]);
}

const LEAST = 0.005; // relative errors are shown from here to 1, by their logarithm
const lift = (r) => Math.min(1, Math.max(0, 1 - Math.log(r) / Math.log(LEAST)));

export function errorMap({ width, x, y, relative, palette, title, label }) {
  const chart = new Chart({ width, height: heightOf(width, 0.82), x, y, title, palette, label });
  const shade = ramp(palette.error);
  const unknown = packed(palette.unknown);
  picture(chart, x, y, (i) => (relative[i] >= 1 ? unknown : shade(lift(relative[i]))));
  const stops = [0.01, 0.1, 1].map((r) => [lift(r), r === 1 ? "100 %" : percent(r)]);
  return chart.axes().colours(palette.error, stops);
}

export function classMap({ width, x, y, probabilities, classes, palette, title, label }) {
  const chart = new Chart({ width, height: heightOf(width, 0.82), x, y, title, palette, label, top: 62 });
  const k = classes.length;
  // The winner's colour, the stronger the surer.
  const shades = classes.map((_, c) =>
    ramp((t) => interpolateRgb(palette.paper, palette.classes[c % palette.classes.length])(0.25 + 0.75 * t)),
  );
  picture(chart, x, y, (i) => {
    const { best, sure } = winner(probabilities, i, k);
    return shades[best]((sure - 1 / k) / (1 - 1 / k));
  });
  if (k === 2)
    outlines(
      chart,
      x,
      y,
      Float64Array.from({ length: probabilities.length / 2 }, (_, i) => probabilities[2 * i + 1]),
      [0.5],
    );
  return chart.axes().key(classes.map((name, c) => [palette.classes[c % palette.classes.length], name]));
}

export function confidenceMap({ width, x, y, probabilities, classes, palette, title, label }) {
  const chart = new Chart({ width, height: heightOf(width, 0.82), x, y, title, palette, label, top: 62 });
  const k = classes.length;
  const rise = (p) => (p - 1 / k) / (1 - 1 / k);
  const sure = Float64Array.from({ length: probabilities.length / k }, (_, i) => winner(probabilities, i, k).sure);
  const shade = ramp(palette.density);
  picture(chart, x, y, (i) => shade(rise(sure[i])));
  outlines(
    chart,
    x,
    y,
    sure,
    [0.7, 0.9].filter((p) => p > 1 / k),
  );
  return chart.axes().colours(palette.density, [
    [0, percent(1 / k)],
    [0.5, percent((1 + 1 / k) / 2)],
    [1, "100 %"],
  ]);
}

export function classCurve({ width, x, probabilities, classes, palette, title, label }) {
  const k = classes.length;
  const chart = new Chart({
    width,
    height: heightOf(width, 0.48),
    x,
    y: answers("probability", 1, percent),
    title,
    palette,
    label,
    top: 62,
  });
  const { scaleX, scaleY, body } = chart;
  const heights = new Float64Array(x.values.length);
  for (let c = 0; c < k; c++) {
    const under = heights.slice();
    for (let i = 0; i < heights.length; i++) heights[i] += probabilities[i * k + c];
    body
      .append("path")
      .attr("fill", palette.classes[c % palette.classes.length])
      .attr("opacity", 0.85)
      .attr("stroke", palette.paper)
      .attr(
        "d",
        area()
          .x((_, i) => x.place(scaleX, x.values[i]))
          .y0((_, i) => scaleY(under[i]))
          .y1((_, i) => scaleY(heights[i]))(heights),
      );
  }
  return chart.axes().key(classes.map((name, c) => [palette.classes[c % palette.classes.length], name]));
}

// ---- parts ----

const heightOf = (width, share) => Math.round(Math.max(300, Math.min(560, 60 + width * share)));
const round = (v) => Number(v.toPrecision(2));

function outlines(chart, x, y, values, levels) {
  if (!x.numeric || !y.numeric || !levels.length) return;
  const [nx, ny] = [x.values.length, y.values.length];
  const wide = (chart.width - chart.left - chart.right) / nx;
  const tall = (chart.height - chart.top - chart.bottom) / ny;
  const text = ([px, py]) =>
    `${(chart.left + px * wide).toFixed(1)},${(chart.height - chart.bottom - py * tall).toFixed(1)}`;
  const inside = ([px, py]) => px > 0 && px < nx && py > 0 && py < ny;
  for (const level of contours().size([nx, ny]).thresholds(levels)(values)) {
    let path = "";
    for (const polygon of level.coordinates) {
      for (const ring of polygon) {
        // Along the frame there is no contour: the pen is lifted there.
        for (let k = 0, down = false; k < ring.length; k++) {
          const draw = inside(ring[k]) || (k > 0 && inside(ring[k - 1]));
          path += draw && down ? `L${text(ring[k])}` : `M${text(ring[k])}`;
          down = draw || inside(ring[k]);
        }
      }
    }
    chart.body
      .append("path")
      .attr("d", path)
      .attr("fill", "none")
      .attr("stroke", chart.palette.contour)
      .attr("stroke-width", 0.8)
      .attr("stroke-opacity", 0.55);
  }
}
