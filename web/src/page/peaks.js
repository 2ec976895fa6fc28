// A mesh that is coarser than the kernel steps over peaks, and the scale of colours would end far below them. So in a
// picture each point that is higher than those around it stands for the highest place between them: the twin of
// `scumble.show.mesh`.

import { DROWNED } from "./shading.js";

const PEAKS = 16; // so many of the highest are looked at closely
const WITHIN = 7; // places along each side of the square around a peak, from its one neighbour to the other

// `ask(xs, ys)` answers for all places of a small mesh; `found`: {density, error} on the large one.
export function raised({ x, y }, found, ask) {
  if (!x.numeric || !y.numeric || x.column.code || y.column.code) return found;
  const out = Object.fromEntries(["density", "error"].map((name) => [name, found[name].slice()]));
  for (const at of peaksOf(x.values.length, y.values.length, found)) {
    const [i, j] = [at % x.values.length, Math.floor(at / x.values.length)];
    const near = ask(around(x, i), around(y, j));
    const best = near.density.reduce((top, v, k) => (v > near.density[top] ? k : top), 0);
    if (near.density[best] > out.density[at]) for (const name of Object.keys(out)) out[name][at] = near[name][best];
  }
  return out;
}

// Points clear of the noise and as high as all around them, the highest first.
function peaksOf(nx, ny, { density, error }) {
  const found = [];
  density.forEach((v, at) => {
    if (!(v > 2 * DROWNED * error[at])) return;
    const [i, j] = [at % nx, Math.floor(at / nx)];
    for (let b = Math.max(0, j - 1); b <= Math.min(ny - 1, j + 1); b++)
      for (let a = Math.max(0, i - 1); a <= Math.min(nx - 1, i + 1); a++) if (density[b * nx + a] > v) return;
    found.push(at);
  });
  return found.sort((a, b) => density[b] - density[a]).slice(0, PEAKS);
}

function around({ values, range: [low, high] }, i) {
  const step = values[1] - values[0];
  const place = (k) => values[i] + ((2 * k) / (WITHIN - 1) - 1) * step;
  return Float64Array.from({ length: WITHIN }, (_, k) => Math.min(Math.max(place(k), low), high));
}
