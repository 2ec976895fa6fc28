// The pictures: a curve with its band, categories with their bars, maps with contours, classes.

import { max, median } from "d3-array";
import { contours } from "d3-contour";
import { interpolateRgb } from "d3-interpolate";
import { area } from "d3-shape";
import { aspectOf } from "./axes.js";
import { answers, bar, Chart, fadeKey, greyKey, heightOf, key, strokes } from "./chart.js";
import { add } from "./dom.js";
import { winner } from "./exhibit.js";
import { anyFaded, DROWNED, faded, packed, picture, ramp } from "./shading.js";
import { NOT_KNOWN, number, percent, tick } from "./words.js";

// `lines`: {found, name, color}; two of them share the picture.
export function curve({ width, x, lines, palette, title, label, confidence }) {
  const most = max(lines, ({ found }) => max(found.to)) || 1;
  const chart = new Chart({
    width, height: heightOf(width, 0.48), x, y: answers("density", 0, Math.min(1, most * 1.05)), title, palette,
    label,
  }).grid();
  lines.forEach(({ found, color }, k) => {
    if (!x.numeric) bars(chart, found, color, k, lines.length);
    else strokes(chart, color, (i) => x.spot(chart.scaleX, i), found.density, found.from, found.to);
  });
  return key(chart.axes(), [
    ...lines.map(({ name, color }) => [color, name]),
    [lighter(lines[0].color, palette.paper), `${confidence * 100} % interval`],
  ]);
}

function bars({ x, scaleX, scaleY, body }, found, color, k, n) {
  const clip = (v) => scaleY(Math.min(1, Math.max(0, v)));
  const wide = Math.min(46, (scaleX.bandwidth() * 0.6) / n);
  const cap = Math.min(6, wide / 2);
  found.density.forEach((v, i) => {
    const px = x.place(scaleX, x.values[i]) + (k - (n - 1) / 2) * wide * 1.1;
    add(body, "rect", {
      x: px - wide / 2, width: wide, y: clip(v), height: scaleY(0) - clip(v), fill: color, opacity: 0.35,
    });
    const [low, high] = [clip(found.from[i]), clip(found.to[i])];
    add(body, "path", {
      d: `M${px},${low}V${high}M${px - cap},${low}h${2 * cap}M${px - cap},${high}h${2 * cap}`, stroke: color,
      "stroke-width": 2, fill: "none",
    });
  });
}

const lighter = (a, b) => interpolateRgb(b, a)(0.25);

export function densityMap({ width, x, y, density, error, scale, count, palette, title, label, done }) {
  const chart = new Chart({ ...mapFrame(width, x, y, 88), title, palette, label });
  const shade = faded(palette);
  picture(chart, x, y, (i) => shade(scale.place(density[i]), density[i] / error[i]));
  if (done) outlines(chart, x, y, density, scale.levels, (i) => density[i] > DROWNED * error[i]);
  bar(chart.axes(), palette.density, told(scale, count));
  return anyFaded(density, error) ? fadeKey(chart, "faded: could be zero") : chart;
}

// On a map of the Earth a kilometre is as long across as up.
const mapFrame = (width, x, y, head) => ({ width, height: heightOf(width, 0.82) + 24, x, y, head, aspect: aspectOf(x, y) });

const [LEAST, MOST] = [0.005, 0.5]; // relative errors are shown between these, by their logarithm
const lift = (r) => Math.min(1, Math.max(0, Math.log(r / LEAST) / Math.log(MOST / LEAST)));

export function errorMap({ width, x, y, density, error, palette, title, label }) {
  const chart = new Chart({ ...mapFrame(width, x, y, 88), title, palette, label });
  const shade = ramp(palette.error);
  const unknown = packed(palette.unknown);
  picture(chart, x, y, (i) => (error[i] > MOST * density[i] ? unknown : shade(lift(error[i] / density[i]))));
  const stops = [0.01, 0.1, MOST].map((r) => [lift(r), percent(r)]);
  return greyKey(bar(chart.axes(), palette.error, stops), "gray: over 50 %");
}

export function classMap({ width, x, y, probabilities, least, classes, palette, title, label }) {
  const chart = new Chart({ ...mapFrame(width, x, y, 66), title, palette, label });
  const k = classes.length;
  // The winner's color, the stronger the surer.
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
      chart, x, y,
      Float64Array.from({ length: probabilities.length / 2 }, (_, i) => probabilities[2 * i + 1]),
      [0.5],
      (i) => least[i] > 0,
    );
  return key(chart.axes(), classKey(classes, palette, least));
}

// The colors of the classes, and of what is not known, where that is in the picture.
const classKey = (classes, palette, least) => [
  ...classes.map((name, c) => [palette.classes[c % palette.classes.length], name]),
  ...(least.includes(0) ? [[palette.unknown, NOT_KNOWN]] : []),
];

export function classCurve({ width, x, probabilities, least, classes, palette, title, label }) {
  const k = classes.length;
  const chart = new Chart({
    width, height: heightOf(width, 0.48), x, y: answers("probability", 0, 1, percent), title, palette, label,
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
    add(body, "path", {
      fill: palette.classes[c % palette.classes.length], opacity: 0.85, stroke: palette.paper,
      d: x.numeric ? band(heights) : Array.from(heights, block).join(""),
    });
  }
  const side = x.numeric ? Math.abs(x.spot(scaleX, 1) - x.spot(scaleX, 0)) / 2 + 0.3 : half;
  const cover = (sure, i) =>
    sure ? "" : `M${x.spot(scaleX, i) - side},${scaleY(0)}h${2 * side}V${scaleY(1)}h${-2 * side}Z`;
  add(body, "path", { fill: palette.unknown, d: Array.from(least, cover).join("") });
  return key(chart.axes(), classKey(classes, palette, least));
}

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
    add(chart.body, "path", {
      d: path, fill: "none", stroke: chart.palette.contour, "stroke-width": 0.8, "stroke-opacity": 0.55,
    });
  }
}

// From densities to places on a scale of colors, for one map or for several that share it: even steps, or by logarithm
// for data of which a small part holds nearly all.

const DEEPEST = 1e-4; // of the greatest density

export function colorScale(maps, log) {
  const most = max(maps, ({ density }) => max(density)) || 1;
  const noise = max(maps, ({ error }) => median(error)) ?? 0; // a typical one
  const least = Math.min(Math.max(2 * noise, DEEPEST * most), most / 3);
  return log ? logarithmic(most, least) : even(most, 3 * noise);
}

function even(most, clear) {
  const levels = [1, 2, 3, 4, 5, 6].map((k) => (k * most) / 7).filter((level) => level > clear);
  return { place: (v) => v / most, stops: [0, most / 2, most].map((v) => [v / most, v]), levels, most };
}

function logarithmic(most, least) {
  const place = (v) => (v > least ? Math.log(v / least) / Math.log(most / least) : 0);
  const decades = [];
  for (let k = Math.ceil(Math.log10(least)); 10 ** k < most; k++) decades.push(10 ** k);
  const between = decades.filter((v) => place(v) > 0.2 && place(v) < 0.8);
  const stops = [least, ...between.slice(-2), most].map((v) => [place(v), v]);
  const levels = [1, 2, 3, 4, 5, 6].map((k) => least * (most / least) ** (k / 7));
  return { place, stops, levels, most };
}

// The stops with their words: the density, and below it what that is in records.
const told = ({ stops }, count) =>
  stops.map(([t, v], k) => [t, tick(rounded(v)), k === 0 ? "" : number(rounded(v * count))]);

const rounded = (v) => Number(v.toPrecision(2));
