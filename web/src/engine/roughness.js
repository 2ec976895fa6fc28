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
  let rough = mapped(thin, (x) => (others.length ? (x * x) / 2 : 0));
  const noise = (others.length ? 2.5 : 2) * variance;
  const ones = ({ shape, data }) => boxOf(shape, new Float64Array(data.length).fill(1));
  let [alone, sizes, thickSizes] = [ones(counts), ones(counts), ones(thick)];
  for (const other of others) {
    const block = Math.max(1, Math.floor((2 * slab[other] + 2) / 3));
    [rough, alone] = [rough, alone].map((box) => summed(box, other, block, 0));
    [thin, thick, sizes, thickSizes] = [thin, thick, sizes, thickSizes].map((box) => summed(box, other, block, 1));
  }
  const divided = ({ shape, data }, parts, power, by) =>
    boxOf(shape, data.map((x, k) => x ** power / (by * parts.data[k])));
  const thicker = pairs(divided(thick, thickSizes, 2, 4), axis);
  return mapped(added([divided(thin, sizes, 2, 1), divided(rough, alone, 1, 1), thicker]), (x) => x - noise);
}

// Along an axis, sums over the block of so many cells that each is in, and so many blocks to both sides of it.
function summed(box, axis, block, beside) {
  return along(box, axis, box.shape[axis], (get, put, n) => {
    const running = [0];
    for (let k = 0; k < n; k++) running.push(running[k] + get(k));
    for (let k = 0; k < n; k++) {
      const first = (Math.floor(k / block) - beside) * block;
      put(k, running[Math.min(first + (2 * beside + 1) * block, n)] - running[Math.max(first, 0)]);
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
