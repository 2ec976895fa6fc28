// Along the axes of a map: the mean of its densities over each column and each row. A mean's error is at most the mean
// of the errors, and that is the band.

import { max } from "d3-array";
import { scaleLinear } from "d3-scale";
import { area, line } from "d3-shape";
import { ERRORS } from "./shading.js";

const GAP = 5; // between the map and its margins

export function marginals(chart, { x, y, density, error }) {
  const [nx, ny] = [x.values.length, y.values.length];
  const across = means(nx, ny, (i, j) => j * nx + i, density, error);
  const up = means(ny, nx, (j, i) => j * nx + i, density, error);
  const { width, height, left, right, top, bottom, strip, aside } = chart;
  const drawing = (found, range) => ({ found, level: scaleLinear([0, max(found, ({ high }) => high) || 1], range) });
  if (strip) draw(chart, drawing(across, [top - GAP, top - strip + 2]), x.spots.map((_, i) => x.spot(chart.scaleX, i)), false);
  if (aside) draw(chart, drawing(up, [width - right + GAP, width - right + aside - 2]), y.spots.map((_, j) => y.spot(chart.scaleY, j)), true);
  const rule = (d) => chart.body.append("path").attr("d", d).attr("stroke", chart.palette.rule);
  if (strip) rule(`M${left},${top - GAP}H${width - right}`);
  if (aside) rule(`M${width - right + GAP},${top}V${height - bottom}`);
}

function means(n, m, at, density, error) {
  return Array.from({ length: n }, (_, i) => {
    let sum = 0;
    let doubt = 0;
    for (let j = 0; j < m; j++) {
      const k = at(i, j);
      sum += density[k];
      doubt += error[k];
    }
    const [value, half] = [sum / m, (ERRORS * doubt) / m];
    return { value, low: Math.max(0, value - half), high: value + half };
  });
}

function draw(chart, { found, level }, places, upright) {
  const { palette, body } = chart;
  const at = (_, i) => places[i];
  const band = upright
    ? area()
        .y(at)
        .x0(({ low }) => level(low))
        .x1(({ high }) => level(high))
    : area()
        .x(at)
        .y0(({ low }) => level(low))
        .y1(({ high }) => level(high));
  const edge = upright
    ? line()
        .y(at)
        .x(({ value }) => level(value))
    : line()
        .x(at)
        .y(({ value }) => level(value));
  const g = body.append("g").attr("class", "marginal");
  g.append("path").attr("d", band(found)).attr("fill", palette.line).attr("opacity", 0.25);
  g.append("path").attr("d", edge(found)).attr("fill", "none").attr("stroke", palette.line).attr("stroke-width", 1.4);
}
