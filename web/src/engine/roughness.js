// What is not known of a grid's records, where in its cell each of them lies: the twin of `scumble.grid.places`.

import { added, along, boxOf, mapped } from "./boxes.js";

const SCALE = 1 / Math.sqrt(1.5);

// For each axis, how much the counters vary along it beyond noise.
export const roughness = (counts, variance, slab) => counts.shape.map((_, axis) => alongAxis(axis, counts, variance, slab));

function alongAxis(axis, counts, variance, slab) {
  const edged = along(counts, axis, counts.shape[axis] + 2, (get, put, n) => {
    for (let k = 0; k < n + 2; k++) put(k, get(Math.min(Math.max(k - 1, 0), n - 1)));
  });
  let thin = bend(counts, 1, axis);
  let thick = bend(pairs(edged, axis), 2, axis);
  const others = counts.shape.map((_, j) => j).filter((j) => j !== axis);
  const rough = mapped(thin, (x) => (others.length ? (x * x) / 2 : 0));
  const noise = (others.length ? 2.5 : 2) * variance;
  let sizes = boxOf(counts.shape, new Float64Array(counts.data.length).fill(1));
  let thickSizes = boxOf(thick.shape, new Float64Array(thick.data.length).fill(1));
  for (const other of others) {
    [thin, thick] = [summed(thin, other, slab[other]), summed(thick, other, slab[other])];
    [sizes, thickSizes] = [summed(sizes, other, slab[other]), summed(thickSizes, other, slab[other])];
  }
  const square = ({ shape, data }, parts, by) => boxOf(shape, data.map((x, k) => (x * x) / (by * parts.data[k])));
  const found = added([square(thin, sizes, 1), rough, pairs(square(thick, thickSizes, 4), axis)]);
  return mapped(found, (x) => x - noise);
}

// Sums over boxes that reach so many cells to both sides along an axis.
function summed(box, axis, reach) {
  return along(box, axis, box.shape[axis], (get, put, n) => {
    let sum = 0;
    for (let k = 0; k < Math.min(reach, n); k++) sum += get(k);
    for (let k = 0; k < n; k++) {
      if (k + reach < n) sum += get(k + reach);
      if (k - reach > 0) sum -= get(k - reach - 1);
      put(k, sum);
    }
  });
}

// Value − mean of the two at a distance, scaled so that noise keeps its variance; a lone cell's own value.
function bend(box, gap, axis) {
  if (box.shape[axis] <= gap) return box;
  return along(box, axis, box.shape[axis], (get, put, n) => {
    for (let k = 0; k < n; k++) {
      put(k, (get(k) - (get(Math.max(k - gap, 0)) + get(Math.min(k + gap, n - 1))) / 2) * SCALE);
    }
  });
}

// Sums of neighbours along an axis.
const pairs = (box, axis) =>
  along(box, axis, box.shape[axis] - 1, (get, put, n) => {
    for (let k = 0; k + 1 < n; k++) put(k, get(k) + get(k + 1));
  });
