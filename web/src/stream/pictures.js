// A map or a curve of one picture, the same small, and a line over time. What the noise drowns is faded.

import { interpolateRgb } from "d3-interpolate";
import { scaleLinear } from "d3-scale";
import { area, line } from "d3-shape";
import { aspectOf } from "../page/axes.js";
import { answers, bar, Chart, fadeKey, heightOf, strokes } from "../page/chart.js";
import { add, s } from "../page/dom.js";
import { ERRORS, faded, picture, ramp, raster } from "../page/shading.js";
import { tick } from "../page/words.js";

function colorOf({ sums, halves }, most, palette) {
  const shade = faded(palette);
  return (i) => shade(sums[i] / most, (ERRORS * sums[i]) / halves[i]);
}

export function map(story, shown, { most }, { width, palette, title, label }) {
  const { x, y } = story;
  const height = heightOf(width, 0.66);
  const chart = new Chart({ width, height, x, y, title, palette, label, aspect: aspectOf(x, y) });
  picture(chart, x, y, colorOf(shown, most, palette));
  const stops = [0, 0.5, 1].map((share) => [share, tick(Number((share * most).toPrecision(2)), most)]);
  return fadeKey(bar(chart.axes(), palette.density, stops), "faded: could be zero");
}

export function curve(story, { sums, halves }, { high }, { width, palette, title, label }) {
  const { x } = story;
  const y = answers("records near", 0, high);
  const chart = new Chart({ width, height: heightOf(width, 0.5), x, y, title, palette, label }).grid();
  const [low, upper] = [sums.map((value, i) => value - halves[i]), sums.map((value, i) => value + halves[i])];
  strokes(chart, palette.line, (i) => x.place(chart.scaleX, x.values[i]), sums, low, upper, (i) => low[i] > 0);
  return chart.axes();
}

export function overTime(story, found, { width, palette, title, label }) {
  const ends = story.ends;
  const x = {
    label: "period", numeric: true, tickFormat: (v) => (Number.isInteger(v) ? tick(v) : ""),
    scale: (pixels) => scaleLinear([ends[0], Math.max(ends.at(-1), ends[0] + 1)], pixels),
    place: (scale, value) => scale(value), invert: (scale, pixel) => scale.invert(pixel),
  };
  const low = Math.min(0, ...found.map((one) => one.low));
  const y = answers("records near", low, Math.max(...found.map((one) => one.high), 1e-9));
  const chart = new Chart({ width, height: heightOf(width, 0.36), x, y, title, palette, label }).grid();
  strokes(chart, palette.line, (at) => chart.scaleX(ends[at]), ...parts(found), (at) => found[at].low > 0);
  return chart.axes();
}

// What differs between two periods, with a dot on each point that differs significantly.
export function difference(story, found, { width, palette, title, label }) {
  const { x, y } = story;
  const most = Math.max(...found.map(({ value }) => Math.abs(value))) || 1;
  const known = found.flatMap(({ low, high }) => [low, high]).filter(Number.isFinite);
  const ends = [Math.min(0, ...known), Math.max(0, ...known)];
  const up = y ?? answers("difference of density", ...ends);
  const aspect = y && aspectOf(x, y);
  const height = heightOf(width, y ? 0.66 : 0.5);
  const chart = new Chart({ width, height, x, y: up, title, palette, label, aspect, head: y ? 64 : 34 });
  if (y) {
    const color = (t) => interpolateRgb(palette.paper, palette.classes[t < 0 ? 0 : 5])(Math.abs(t));
    const shade = ramp((t) => color(2 * t - 1));
    picture(chart, x, y, (i) => shade(0.5 + found[i].value / most / 2));
    bar(chart, (t) => color(2 * t - 1), [-1, 0, 1].map((t) => [(t + 1) / 2, tick(Number((t * most).toPrecision(2)), most)]));
  } else {
    const place = (i) => x.place(chart.scaleX, x.values[i]);
    strokes(chart.grid(), palette.line, place, ...parts(found), (i) => found[i].sure);
  }
  for (const { here, value } of found.filter(({ sure }) => sure)) {
    const at = story.values(here);
    const cy = y ? chart.placeY(at.y) : chart.scaleY(value);
    add(chart.body, "circle", { cx: chart.placeX(at.x), cy, r: y ? 1.6 : 2.6, fill: palette.ink });
  }
  return chart.axes().node;
}

const parts = (found) => ["value", "low", "high"].map((name) => found.map((one) => one[name]));

// A picture as large as a stamp, on the same scale.
export function small(story, shown, choice, palette) {
  if (story.y) {
    const map = raster(story.x, story.y, colorOf(shown, choice.most, palette));
    const aspect = aspectOf(story.x, story.y);
    if (aspect) map.style.aspectRatio = 1 / aspect;
    return map;
  }
  const [wide, tall] = [120, 80];
  const x = scaleLinear([0, shown.sums.length - 1], [0, wide]);
  const y = scaleLinear([0, choice.high], [tall - 1, 2]);
  const found = Array.from(shown.sums, (value, i) => [value, shown.halves[i]]);
  const at = (value) => y(Math.max(0, value));
  const place = (_, i) => x(i);
  const band = area()
    .x(place)
    .y0(([v, half]) => at(v - half))
    .y1(([v, half]) => at(v + half));
  const path = line()
    .x(place)
    .y(([v]) => at(v));
  return s(
    "svg",
    { viewBox: `0 0 ${wide} ${tall}`, preserveAspectRatio: "none", "aria-hidden": "true" },
    s("path", { d: band(found), fill: palette.line, opacity: 0.2 }),
    s("path", { d: path(found), fill: "none", stroke: palette.line, "stroke-width": 1.5 }),
  );
}
