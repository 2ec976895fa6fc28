// The R hash functions of a release: from records to buckets, the twin of `scumble.counting`.
// Sums run in the order of the columns and without fused operations, so every bucket is Python's.

import * as words from "./coding.js";

export const TILE = 2048;

const projected = new Float64Array(TILE);
const reference = new Float64Array(TILE);
const sides = new Int32Array(TILE);
const lows = new Int32Array(TILE);
const highs = new Int32Array(TILE);

// t = start + Σ aⱼ xⱼ. A column that is the same in all records is multiplied once.
function project(columns, direction, at, start, n, t) {
  const d = columns.length;
  let j = 0;
  while (j < d && columns[j].constant) start += columns[j].value * direction[at + j++];
  if (j === d) {
    t.fill(start, 0, n);
    return;
  }
  const first = columns[j].values;
  const factor = direction[at + j++];
  for (let i = 0; i < n; i++) t[i] = start + first[i] * factor;
  for (; j < d; j++) {
    const a = direction[at + j];
    if (columns[j].constant) {
      const share = columns[j].value * a;
      for (let i = 0; i < n; i++) t[i] += share;
    } else {
      const values = columns[j].values;
      for (let i = 0; i < n; i++) t[i] += values[i] * a;
    }
  }
}

// Adds code · multiplier to the accumulators of all records; neighbors often share a code.
function addCodes(codes, n, multipliers, m) {
  const mLow = multipliers[2 * m];
  const mHigh = multipliers[2 * m + 1];
  let last = NaN;
  let addHigh = 0;
  let addLow = 0;
  for (let i = 0; i < n; i++) {
    const code = codes[i];
    if (code !== last) {
      last = code;
      const word = words.toWord(code);
      words.multiply(word >> 31, word, mHigh, mLow);
      addHigh = words.high;
      addLow = words.low;
    }
    const sum = (lows[i] + addLow) | 0;
    highs[i] = highs[i] + addHigh + (sum >>> 0 < addLow >>> 0 ? 1 : 0);
    lows[i] = sum;
  }
}

// One entry a family: the codes of hash h in row r, written to `projected`.
const CODES = {
  floor(factor, columns, at, n) {
    project(columns, factor.parameters, at + 1, factor.parameters[at], n, projected);
    for (let i = 0; i < n; i++) projected[i] = Math.floor(projected[i]);
  },
  sign(factor, columns, at, n) {
    project(columns, factor.parameters, at, 0, n, projected);
    for (let i = 0; i < n; i++) projected[i] = projected[i] >= 0 ? 1 : 0;
  },
  folded(factor, columns, at, n) {
    const d = columns.length;
    const planes = factor.width / d;
    project(columns, factor.parameters, at + (planes - 1) * d, 0, n, reference);
    sides.fill(0, 0, n);
    for (let j = 0; j < planes - 1; j++) {
      project(columns, factor.parameters, at + j * d, 0, n, projected);
      for (let i = 0; i < n; i++) if (projected[i] >= 0 !== reference[i] >= 0) sides[i] |= 1 << j;
    }
    for (let i = 0; i < n; i++) projected[i] = sides[i];
  },
  column(factor, columns, at, n) {
    const [column, steps, offset, lowest, highest] = factor.parameters.subarray(at, at + 5);
    const { constant, value, values } = columns[column];
    for (let i = 0; i < n; i++) {
      const v = Math.floor((constant ? value : values[i]) * steps + offset);
      projected[i] = Math.min(Math.max(v, lowest), highest);
    }
  },
  pick(factor, columns, at, n) {
    const { constant, value, values } = columns[factor.parameters[at]];
    if (constant) projected.fill(value, 0, n);
    else projected.set(values.subarray(0, n));
  },
  minimum(factor, columns, at, n) {
    const key = factor.parameters[at];
    const known = new Map();
    const { constant, value, values } = columns[0];
    for (let i = 0; i < n; i++) {
      const tokens = constant ? value : values[i];
      if (!known.has(tokens)) {
        let least = -1;
        for (const token of tokens) {
          const place = words.rank(token, key);
          if (least < 0 || place < least) least = place;
        }
        known.set(tokens, least);
      }
      projected[i] = known.get(tokens);
    }
  },
};

export class Hasher {
  // `factors`: {family, which, hashes, width, parameters}; `start` and `multipliers`: pairs of 32-bit halves, low first.
  constructor({ rows, buckets, direct, factors, start, multipliers }) {
    Object.assign(this, { rows, buckets, direct, factors, start, multipliers });
    this.hashes = factors.reduce((sum, factor) => sum + factor.hashes, 0);
  }

  // The buckets of n records in one row. `parts`: the columns that each factor reads.
  look(row, parts, n, out) {
    lows.fill(this.start[2 * row] | 0, 0, n);
    highs.fill(this.start[2 * row + 1] | 0, 0, n);
    let m = row * this.hashes;
    for (let k = 0; k < this.factors.length; k++) {
      const factor = this.factors[k];
      for (let h = 0; h < factor.hashes; h++) {
        CODES[factor.family](factor, parts[k], (row * factor.hashes + h) * factor.width, n);
        addCodes(projected, n, this.multipliers, m++);
      }
    }
    if (this.direct) this.#numbered(n, out);
    else this.#rehashed(n, out);
  }

  // The code of one hash of factor k where none of its columns changes.
  still(k, row, h, columns) {
    const factor = this.factors[k];
    const mine = factor.which.map((j) => columns[j]);
    CODES[factor.family](factor, mine, (row * factor.hashes + h) * factor.width, 1);
    return projected[0];
  }

  #numbered(n, out) {
    const most = this.buckets - 1;
    for (let i = 0; i < n; i++) out[i] = highs[i] ? most : Math.min(lows[i] >>> 0, most);
  }

  // (high half · W) >> 32, in two steps that stay below 2^53.
  #rehashed(n, out) {
    const w = this.buckets;
    for (let i = 0; i < n; i++) {
      const h = highs[i];
      out[i] = ((h >>> 16) * w + Math.floor(((h & 0xffff) * w) / 65536)) / 65536;
    }
  }
}
