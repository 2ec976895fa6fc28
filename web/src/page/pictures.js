// The pictures: a curve with its band, categories with their bars, maps with contours, classes.

import { contours } from "d3-contour";
import { interpolateRgb } from "d3-interpolate";
import { scaleLinear } from "d3-scale";
import { area, line } from "d3-shape";
import { max } from "d3-array";
import { Chart } from "./chart.js";
import { told } from "./colourscale.js";
import { aspectOf } from "./geography.js";
import { bar, fadeKey, greyKey, key } from "./legends.js";
import { marginals } from "./marginals.js";
import { packed, picture, ramp } from "./raster.js";
import { anyFaded, DROWNED, faded } from "./shading.js";
import { winner } from "./winner.js";
import { NOT_KNOWN, percent, tick } from "./words.js";

// An axis of values that are answers, not questions.
const answers = (label, most, tickFormat = (v) => tick(v, most)) => ({
  label,
  tickFormat,
  scale: (pixels) => scaleLinear([0, most], pixels).nice(5),
});

// `lines`: {found, name, colour}; two of them share the picture.
export function curve({ width, x, lines, palette, title, label, confidence }) {
  const most = max(lines, ({ found }) => max(found.to)) || 1;
  const chart = new Chart({
    width,
    height: heightOf(width, 0.48),
    x,
    y: answers("density", Math.min(1, most * 1.05)),
    title,
    palette,
    label,
  }).grid();
  lines.forEach((one, k) => (x.numeric ? stroke(chart, one) : bars(chart, one, k, lines.length)));
  return key(chart.axes(), [
    ...lines.map(({ name, colour }) => [colour, name]),
    [lighter(lines[0].colour, palette.paper), `${confidence * 100} % interval`],
  ]);
}

const clipped = (scale) => (v) => scale(Math.min(1, Math.max(0, v)));

function stroke({ x, scaleX, scaleY, body }, { found, colour }) {
  const place = (_, i) => x.spot(scaleX, i);
  const clip = clipped(scaleY);
  body
    .append("path")
    .attr("fill", colour)
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
    .attr("stroke", colour)
    .attr("stroke-width", 2)
    .attr("d", line().x(place).y(clip)(found.density));
}

function bars({ x, scaleX, scaleY, body }, { found, colour }, k, n) {
  const clip = clipped(scaleY);
  const wide = Math.min(46, (scaleX.bandwidth() * 0.6) / n);
  const cap = Math.min(6, wide / 2);
  found.density.forEach((v, i) => {
    const px = x.place(scaleX, x.values[i]) + (k - (n - 1) / 2) * wide * 1.1;
    body
      .append("rect")
      .attr("x", px - wide / 2)
      .attr("width", wide)
      .attr("y", clip(v))
      .attr("height", scaleY(0) - clip(v))
      .attr("fill", colour)
      .attr("opacity", 0.35);
    const [low, high] = [clip(found.from[i]), clip(found.to[i])];
    body
      .append("path")
      .attr("d", `M${px},${low}V${high}M${px - cap},${low}h${2 * cap}M${px - cap},${high}h${2 * cap}`)
      .attr("stroke", colour)
      .attr("stroke-width", 2)
      .attr("fill", "none");
  });
}

const lighter = (a, b) => interpolateRgb(b, a)(0.25);

export function densityMap({ width, x, y, density, error, scale, count, palette, title, label, done }) {
  const chart = new Chart({ ...densityFrame(width, x, y), title, palette, label });
  const shade = faded(palette);
  picture(chart, x, y, (i) => shade(scale.place(density[i]), density[i] / error[i]));
  if (done) outlines(chart, x, y, density, scale.levels, (i) => density[i] > DROWNED * error[i]);
  if (chart.strip) marginals(chart, { x, y, density, error });
  bar(chart.axes(), palette.density, told(scale, count));
  return anyFaded(density, error) ? fadeKey(chart, "faded: may be nothing") : chart;
}

const NARROW = 420;

// Margins stand along numbers alone; on a map of the Earth a kilometre is as long across as up.
function frame(width, x, y) {
  const room = x.numeric && y.numeric ? Math.round(Math.min(44, width / 8)) : 0;
  const aside = width < NARROW ? 0 : room; // there the map needs all of it
  return { width, height: heightOf(width, 0.82) + 24 + room, x, y, strip: room, aside, aspect: aspectOf(x, y) };
}

export const densityFrame = (width, x, y) => ({ ...frame(width, x, y), head: 88 });

// Beside the map of densities it stands at the same height; below it, it needs no room for margins.
export const errorFrame = (width, x, y, beside) => ({
  ...frame(width, x, y),
  ...(beside ? { head: 88 } : { head: 78, strip: 0, aside: 0 }),
});

export const classFrame = (width, x, y) => ({ width, height: heightOf(width, 0.82), x, y, head: 66, aspect: aspectOf(x, y) });

// A picture that is to come: its axes, and that it is being drawn.
export const blank = (what) => new Chart(what).axes();

const [LEAST, MOST] = [0.005, 0.5]; // relative errors are shown between these, by their logarithm
const lift = (r) => Math.min(1, Math.max(0, Math.log(r / LEAST) / Math.log(MOST / LEAST)));

export function errorMap({ width, x, y, density, error, beside, palette, title, label }) {
  const chart = new Chart({ ...errorFrame(width, x, y, beside), title, palette, label });
  const shade = ramp(palette.error);
  const unknown = packed(palette.unknown);
  picture(chart, x, y, (i) => (error[i] > MOST * density[i] ? unknown : shade(lift(error[i] / density[i]))));
  const stops = [0.01, 0.1, MOST].map((r) => [lift(r), percent(r)]);
  return greyKey(bar(chart.axes(), palette.error, stops), "grey: over 50 %");
}

export function classMap({ width, x, y, probabilities, least, classes, palette, title, label }) {
  const chart = new Chart({ ...classFrame(width, x, y), title, palette, label });
  const k = classes.length;
  // The winner's colour, the stronger the surer.
  const shades = classes.map((_, c) =>
    ramp((t) => interpolateRgb(palette.paper, palette.classes[c % palette.classes.length])(0.25 + 0.75 * t)),
  );
  const unknown = packed(palette.unknown);
  picture(chart, x, y, (i) => {
    const { best } = winner(probabilities, i, k);
    return least[i] ? shades[best]((least[i] - 1 / k) / (1 - 1 / k)) : unknown;
  });
  if (k === 2)
    outlines(
      chart,
      x,
      y,
      Float64Array.from({ length: probabilities.length / 2 }, (_, i) => probabilities[2 * i + 1]),
      [0.5],
      (i) => least[i] > 0,
    );
  return key(chart.axes(), classKey(classes, palette, least));
}

// The colours of the classes, and of what is not known, where that is in the picture.
const classKey = (classes, palette, least) => [
  ...classes.map((name, c) => [palette.classes[c % palette.classes.length], name]),
  ...(least.includes(0) ? [[palette.unknown, NOT_KNOWN]] : []),
];

export function confidenceMap({ width, x, y, least, classes, palette, title, label }) {
  const chart = new Chart({ ...classFrame(width, x, y), title, palette, label });
  const k = classes.length;
  const rise = (p) => (p - 1 / k) / (1 - 1 / k);
  const shade = ramp(palette.density);
  const unknown = packed(palette.unknown);
  picture(chart, x, y, (i) => (least[i] ? shade(rise(least[i])) : unknown));
  outlines(
    chart,
    x,
    y,
    least,
    [0.7, 0.9].filter((p) => p > 1 / k),
  );
  bar(chart.axes(), palette.density, [
    [0, percent(1 / k)],
    [0.5, percent((1 + 1 / k) / 2)],
    [1, "100 %"],
  ]);
  return least.includes(0) ? greyKey(chart, `grey: ${NOT_KNOWN}`) : chart;
}

export function classCurve({ width, x, probabilities, least, classes, palette, title, label }) {
  const k = classes.length;
  const chart = new Chart({
    width,
    height: heightOf(width, 0.48),
    x,
    y: answers("probability", 1, percent),
    title,
    palette,
    label,
    head: 66,
  });
  const { scaleX, scaleY, body } = chart;
  const half = x.numeric ? 0 : 0.35 * scaleX.bandwidth(); // words have bars, numbers an area
  const heights = new Float64Array(x.values.length);
  for (let c = 0; c < k; c++) {
    const under = heights.slice();
    for (let i = 0; i < heights.length; i++) heights[i] += probabilities[i * k + c];
    const band = area()
      .x((_, i) => x.spot(scaleX, i))
      .y0((_, i) => scaleY(under[i]))
      .y1((_, i) => scaleY(heights[i]));
    const block = (height, i) =>
      `M${x.spot(scaleX, i) - half},${scaleY(under[i])}h${2 * half}V${scaleY(height)}h${-2 * half}Z`;
    body
      .append("path")
      .attr("fill", palette.classes[c % palette.classes.length])
      .attr("opacity", 0.85)
      .attr("stroke", palette.paper)
      .attr("d", x.numeric ? band(heights) : Array.from(heights, block).join(""));
  }
  const side = x.numeric ? Math.abs(x.spot(scaleX, 1) - x.spot(scaleX, 0)) / 2 + 0.3 : half;
  const cover = (sure, i) =>
    sure ? "" : `M${x.spot(scaleX, i) - side},${scaleY(0)}h${2 * side}V${scaleY(1)}h${-2 * side}Z`;
  body.append("path").attr("fill", palette.unknown).attr("d", Array.from(least, cover).join(""));
  return key(chart.axes(), classKey(classes, palette, least));
}

// ---- parts ----

const heightOf = (width, share) => Math.round(Math.max(300, Math.min(640, 60 + width * share)));

// Contours, where they are clear.
function outlines(chart, x, y, values, levels, clear = () => true) {
  if (!x.numeric || !y.numeric || !levels.length) return;
  const [nx, ny] = [x.values.length, y.values.length];
  const wide = (chart.width - chart.left - chart.right) / nx;
  const tall = (chart.height - chart.top - chart.bottom) / ny;
  const text = ([px, py]) =>
    `${(chart.left + px * wide).toFixed(1)},${(chart.height - chart.bottom - py * tall).toFixed(1)}`;
  const inside = ([px, py]) =>
    px > 0 &&
    px < nx &&
    py > 0 &&
    py < ny &&
    clear(Math.min(ny - 1, Math.floor(py)) * nx + Math.min(nx - 1, Math.floor(px)));
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
