// The whole of a grid at once: sums at the centers of all cells and of a margin, from which queries are interpolated. The
// twin of `scumble.density.field.Tables`: a page holds the counters alone, and makes these when it opens.

import { added, along, boxOf, cutOut, mapped, sharpened, windowed } from "./boxes.js";
import { convolved } from "./fourier.js";
import { smoothTable, tableOf } from "./profile.js";

export const REACH = 2;
const NODES = [-1, 0, 1, 2];

// The arrays that `GridReader` reads, by name. `grid`: as `scumble.density.field.Field.on_page` describes it.
export function tablesOf(grid, counters) {
  const { shape, margin, spread, hidden, variance, slab } = grid;
  const counts = boxOf(shape, Float64Array.from(counters));
  const d = shape.length;
  const sharp = sharpened(padded(counts, 2), spread);
  const rough = roughness(counts, variance, slab).map((box, j) => mapped(box, (x) => x * hidden[j]));
  const wide = smoothTable(grid, shape.map((n, j) => n + margin[j]));
  const sharper = sharpened(wide, spread);
  const small = smoothTable(grid, new Array(d).fill(REACH + 3));
  const smallSharp = sharpened(small, spread);
  return {
    total: sums(sharp, wide).data, ones: sharpened(windowed(wide, shape), spread).data,
    squares: windowed(mapped(sharper, (x) => x * x), shape).data, places: placeField(grid, counts, rough).data,
    sharp: sharp.data, rough: joined(rough.map(({ data }) => data)), nearTable: interpolation(small, REACH),
    nearSharp: interpolation(smallSharp, REACH - 1),
    nearSquare: interpolation(mapped(smallSharp, (x) => x * x), REACH - 1),
  };
}

const padded = (box, by) =>
  cutOut(box, box.shape.map(() => -by), box.shape.map((n) => n + 2 * by));

// Σ counts[c] table[g − c] for all g at which the table covers every c.
function sums(counts, table) {
  const full = convolved([[counts, table]], table.shape);
  const first = counts.shape.map((n) => n - 1);
  return cutOut(full, first, table.shape.map((n, j) => n - first[j]));
}

// Σ_c Σ_j W_j[c] h²/12 (∂_j k(g − c))² at all centers g, for each axis no more than its ceiling.
function placeField(grid, counts, rough) {
  const { shape, margin, reach, variance } = grid;
  const moved = displacement(tableOf(grid, reach.map((r) => r + 1), reach.map(() => 0)));
  const size = shape.map((n, j) => n + 2 * reach[j]);
  const records = mapped(counts, (x) => Math.max(x, 0) + 2 * Math.sqrt(variance));
  const capped = rough.map((box, j) => {
    const most = convolved([[records, mapped(moved[j], Math.sqrt)]], size).data;
    const found = convolved([[box, moved[j]]], size);
    return boxOf(size, found.data.map((x, i) => Math.min(x, most[i] ** 2)));
  });
  return cutOut(added(capped), reach.map((r, j) => r - margin[j]), shape.map((n, j) => n + 2 * margin[j]));
}

// For each axis h²/12 (∂k)², from the values on a lattice, on the cells that have both neighbors.
function displacement(box) {
  const d = box.shape.length;
  const size = box.shape.map((n) => n - 2);
  const at = (axis, by) => cutOut(box, new Array(d).fill(1).with(axis, 1 + by), size).data;
  const middle = at(0, 0);
  return box.shape.map((_, axis) => {
    const [before, after] = [at(axis, -1), at(axis, 1)];
    return boxOf(size, middle.map((k, i) => ((before[i] - k) ** 2 + (after[i] - k) ** 2) / 24));
  });
}

// (nodes × cells): the kernel between each node and each near cell, so that weights · table interpolates it.
function interpolation({ shape, data }, reach) {
  const d = shape.length;
  const center = shape[0] >> 1;
  const cells = 2 * reach + 2;
  const out = new Float64Array((NODES.length * cells) ** d);
  const digit = (number, base, j) => Math.floor(number / base ** (d - 1 - j)) % base;
  for (let node = 0, to = 0; node < NODES.length ** d; node++) {
    for (let cell = 0; cell < cells ** d; cell++, to++) {
      let at = 0;
      for (let j = 0; j < d; j++) {
        at = at * shape[j] + NODES[digit(node, NODES.length, j)] - (digit(cell, cells, j) - reach) + center;
      }
      out[to] = data[at];
    }
  }
  return out;
}

function joined(arrays) {
  const out = new Float64Array(arrays.reduce((n, array) => n + array.length, 0));
  let at = 0;
  for (const array of arrays) {
    out.set(array, at);
    at += array.length;
  }
  return out;
}

// What is not known of a grid's records, where in its cell each of them lies: the twin of `scumble.density.places_in_cells`.

const SCALE = 1 / Math.sqrt(1.5);

// For each axis, how much the counters vary along it beyond noise.
const roughness = (counts, variance, slab) => counts.shape.map((_, axis) => alongAxis(axis, counts, variance, slab));

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

// Sums of neighbors along an axis.
const pairs = (box, axis) =>
  along(box, axis, box.shape[axis] - 1, (get, put, n) => {
    for (let k = 0; k + 1 < n; k++) put(k, get(k) + get(k + 1));
  });
