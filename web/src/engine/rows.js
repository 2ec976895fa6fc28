// Estimates from hashed rows: the twin of `scumble.density.hashed_layout.HashedReader` and `scumble.density.hashed_layout.RowMoments`.

import { TILE } from "./hasher.js";
import { LineScanner, suits } from "./scan.js";

const places = new Int32Array(TILE);
const sums = new Float64Array(TILE);

export class RowsReader {
  constructor(hasher, { counts, width, shift, gain, noiseVariance, rounding = 0, starts, caution }) {
    Object.assign(this, { hasher, counts, width, shift, gain, noiseVariance, rounding, starts, caution });
    this.degrees = Math.max(starts.length - 1, 1);
  }

  // Kernel sums and their two variances for n records.
  estimate(parts, n) {
    const value = new Float64Array(n);
    const hashing = new Float64Array(n);
    for (let from = 0; from < n; from += TILE) {
      const size = Math.min(TILE, n - from);
      this.#tile(cut(parts, from, size), size, value.subarray(from), hashing.subarray(from));
    }
    const { noiseVariance, degrees, caution } = this;
    return { value, noise: new Float64Array(n).fill(noiseVariance), hashing, degrees, caution };
  }

  #tile(parts, n, value, hashing) {
    const { hasher, counts, width } = this;
    const sum = sums.subarray(0, n);
    this.#moments(sum, value, hashing, (first, end) => {
      for (let row = first; row < end; row++) {
        hasher.look(row, parts, n, places);
        const base = row * width;
        for (let i = 0; i < n; i++) sum[i] += counts[base + places[i]];
      }
    });
  }

  // A map over the values of column x (a line) and those of column y (`lines`: all columns, for each line). Null where
  // going line by line is of no use.
  lines(x, values, y, lines) {
    const { hasher, counts, width } = this;
    if (!suits(hasher, x, values)) return null;
    const n = values.length;
    const scanner = new LineScanner(hasher, x, values, y, lines[0]);
    const sum = new Float64Array(n * lines.length);
    const value = new Float64Array(n * lines.length);
    const hashing = new Float64Array(n * lines.length);
    this.#moments(sum, value, hashing, (first, end) => {
      for (let row = first; row < end; row++) {
        scanner.prepare(row);
        lines.forEach((columns, k) => scanner.add(row, columns[y].value, columns, counts, row * width, sum, k * n));
      }
      for (let i = 0; i < sum.length; i++) if (i % n) sum[i] += sum[i - 1];
    });
    return { value, hashing, noise: new Float64Array(value.length).fill(this.noiseVariance) };
  }

  // The mean over blocks of rows and the spread of their means, around the first block's mean: nothing cancels.
  // `add` adds the counters of some rows to `sum`.
  #moments(sum, value, hashing, add) {
    const { shift, gain, starts } = this;
    const { rows } = this.hasher;
    const n = sum.length;
    const [pilot, drift, first, second] = [0, 1, 2, 3].map(() => new Float64Array(n));
    let squares = 0;
    for (let block = 0; block < starts.length; block++) {
      const end = block + 1 < starts.length ? starts[block + 1] : rows;
      const size = end - starts[block];
      sum.fill(0);
      add(starts[block], end);
      let collisions = 0;
      for (let row = starts[block]; row < end; row++) collisions += shift[row];
      const weight = size / rows;
      const square = weight * weight;
      squares += square;
      if (block === 0) {
        for (let i = 0; i < n; i++) pilot[i] = ((sum[i] - collisions) * gain) / size;
        continue;
      }
      for (let i = 0; i < n; i++) {
        const apart = ((sum[i] - collisions) * gain) / size - pilot[i];
        drift[i] += weight * apart;
        first[i] += square * apart;
        second[i] += square * apart * apart;
      }
    }
    const blocks = starts.length;
    for (let i = 0; i < n; i++) {
      const mean = pilot[i] + drift[i];
      const apart = second[i] - 2 * drift[i] * first[i] + drift[i] * drift[i] * squares;
      const spread = blocks > 1 ? (Math.max(apart, 0) * blocks) / (blocks - 1) : mean * mean;
      value[i] = mean;
      hashing[i] = Math.max(spread - this.noiseVariance, 1 / (rows * rows)) + (this.rounding * Math.max(mean, 0)) ** 2;
    }
  }
}

// Some of the records of every part, without copying them.
export function cut(parts, from, size) {
  return parts.map((columns) =>
    columns.map((column) =>
      column.constant
        ? column
        : {
            values: ArrayBuffer.isView(column.values)
              ? column.values.subarray(from, from + size)
              : column.values.slice(from, from + size),
          },
    ),
  );
}
