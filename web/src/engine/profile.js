// A stationary kernel as a function of x − y alone: the twin of `scumble.density.profile`.

import { added, along, boxOf, mapped, sharpened } from "./boxes.js";
import { erf } from "./special.js";

export const PROFILES = {
  euclidean(square, bandwidth) {
    const t = bandwidth / Math.sqrt(square);
    if (t > 9) return 1 - Math.sqrt(2 / Math.PI) / t; // the rest is below the last digit
    if (t === 0) return 0;
    const power = -0.5 * t * t;
    return erf(t / Math.SQRT2) + (Math.sqrt(2 / Math.PI) * (t > 1 ? Math.exp(power) - 1 : Math.expm1(power))) / t;
  },
  manhattan(distance, bandwidth) {
    const t = bandwidth / distance;
    if (t === 0) return 0;
    const log = t < 1 ? Math.log1p(t * t) : 2 * Math.log(Math.hypot(1, t));
    return (2 / Math.PI) * Math.atan(t) - log / (Math.PI * t);
  },
};

// One factor's kernel value, from its columns' shares of the distance (squares for the Euclidean kernel).
export const shareOf = (kernel, gap) => (kernel === "euclidean" ? gap * gap : Math.abs(gap));
export const valueOf = ({ kernel, bandwidth, power }, distance) =>
  distance > 0 ? raised(PROFILES[kernel](distance, bandwidth), power) : 1;
export const raised = (x, power) => (power === 1 ? x : power === 2 ? x * x : x ** power);

// The kernel at (whole numbers + shift) × step, from −reach to reach along each axis. Signs play no part: each distance
// is computed once.
export function tableOf({ factors, step }, reach, shift) {
  const corner = boxOf(reach.map((r) => r + 1));
  const d = reach.length;
  const place = new Array(d).fill(0);
  for (let at = 0; at < corner.data.length; at++) {
    let product = 1;
    for (const factor of factors) {
      let distance = 0;
      for (let c = 0; c < factor.columns.length; c++) {
        const j = factor.columns[c];
        distance += shareOf(factor.kernel, ((place[j] + shift[j]) * step[j]) / factor.scales[c]);
      }
      product *= valueOf(factor, distance);
    }
    corner.data[at] = product;
    for (let j = d - 1; j >= 0 && ++place[j] > reach[j]; j--) place[j] = 0;
  }
  return mirrored(corner);
}

// From a corner, whose first cell is the middle, to all directions.
function mirrored(corner) {
  return corner.shape.reduce(
    (box, n, axis) =>
      along(box, axis, 2 * n - 1, (get, put) => {
        for (let k = 0; k < 2 * n - 1; k++) put(k, get(Math.abs(k - n + 1)));
      }),
    corner,
  );
}

// The same for interpolation: where a kernel has ridges, they are rounded off, so that the interpolant has no bias.
export function smoothTable(grid, reach) {
  const d = reach.length;
  if (!grid.ridged) return tableOf(grid, reach, new Array(d).fill(0));
  const corners = Array.from({ length: 2 ** d }, (_, k) => reach.map((_, j) => ((k >> j) & 1 ? 0.2 : -0.2)));
  const wider = reach.map((r) => r + 1);
  const mean = mapped(added(corners.map((shift) => tableOf(grid, wider, shift))), (x) => x / 2 ** d);
  return sharpened(mean, new Array(d).fill(12 * 0.2 ** 2));
}
