// Maps, line by line. Along a line of points one column changes and the others stay, so each hash is a staircase:
// its code is the same for a run of neighbors. A row is read once a run, not once a point, and the runs' counters are
// added up as differences. Where the next run begins is computed and then checked point by point with the very
// arithmetic of `hasher.js`, which rounding leaves monotone: the codes are the same to the last bit.

import * as words from "./coding.js";

const WORTH = 0.35; // more runs than this for each point, and going point by point is quicker

// Whether lines along this axis are staircases with steps wide enough.
export function suits(hasher, axis, values) {
  const step = values.length > 1 ? Math.abs(values[1] - values[0]) : 0;
  const rows = Math.min(hasher.rows, 64);
  let changes = 0;
  for (const { family, which, hashes, width, parameters } of hasher.factors) {
    const j = which.indexOf(axis);
    if (j < 0 || family === "sign") continue;
    if (family !== "floor" && family !== "column") return false;
    for (let k = 0; k < rows * hashes; k++) {
      const slope =
        family === "floor"
          ? parameters[k * width + 1 + j]
          : parameters[k * width] === j
            ? parameters[k * width + 1]
            : 0;
      changes += Math.min(Math.abs(slope) * step, 1) / rows;
    }
  }
  return changes < WORTH;
}

// The runs of one hash along a line: where each ends, and its code's share of the row's accumulator.
class Stairs {
  constructor(n) {
    this.ends = new Int32Array(n);
    this.highs = new Int32Array(n);
    this.lows = new Int32Array(n);
    this.trail = [];
    this.after = -1; // the place in `trail` of the column that tells the lines apart
    this.between = [];
    this.lineSlope = 0;
  }

  // One row's hash: t = (… + line · lineSlope + …) + x · slope + the columns that come after, in their order.
  prepare(factor, at, axis, line, columns) {
    const { family, which, parameters } = factor;
    const sign = family === "sign"; // a code of 1 from zero on, and of 0 below: floors from −1 to 0, and one more
    [this.lowest, this.highest, this.offset] = sign ? [-1, 0, 1] : [-Infinity, Infinity, 0];
    this.slope = this.lineSlope = 0;
    this.trail.length = this.between.length = 0;
    this.after = -1;
    this.first = family === "floor" ? parameters[at] : 0;
    if (family === "column") return this.#ofOneColumn(parameters.subarray(at, at + 5), which, axis, line, columns);
    const from = family === "floor" ? at + 1 : at;
    let seen = 0; // nothing, the line's column, the axis
    for (let j = 0; j < which.length; j++) {
      const a = parameters[from + j];
      if (which[j] === axis) {
        this.slope = a;
        seen = 2;
      } else if (which[j] === line) {
        if (seen === 2) this.after = this.trail.push(0) - 1;
        else seen = 1;
        this.lineSlope = a;
      } else if (seen === 2) this.trail.push(columns[which[j]].value * a);
      else if (seen === 1) this.between.push(columns[which[j]].value * a);
      else this.first += columns[which[j]].value * a;
    }
  }

  #ofOneColumn([j, steps, offset, lowest, highest], which, axis, line, columns) {
    this.lowest = lowest;
    this.highest = highest;
    this.first = offset;
    if (which[j] === axis) this.slope = steps;
    else if (which[j] === line) this.lineSlope = steps;
    else this.first = columns[which[j]].value * steps + offset;
  }

  // A hash that has nothing to do with the axis: one run.
  still(code, n, mHigh, mLow) {
    const word = words.toWord(code);
    words.multiply(word >> 31, word, mHigh, mLow);
    this.ends[0] = n;
    this.highs[0] = words.high;
    this.lows[0] = words.low;
  }

  climb(values, step, place, mHigh, mLow) {
    let lead = this.first;
    if (this.after >= 0) this.trail[this.after] = place * this.lineSlope;
    else if (this.lineSlope !== 0) lead += place * this.lineSlope;
    for (let k = 0; k < this.between.length; k++) lead += this.between[k];
    const { slope, trail, lowest, highest, offset, ends, highs, lows } = this;
    const n = values.length;
    const rise = slope * step;
    const run = 1 / rise;
    const up = rise > 0 ? 1 : 0;
    const still = up ? highest : lowest; // the code that stays
    const first = trail.length ? trail[0] : 0;
    let t = projection(lead, slope, values[0], first, trail);
    let code = clip(Math.floor(t), lowest, highest);
    const word = words.toWord(code + offset);
    words.multiply(word >> 31, word, mHigh, mLow);
    let high = words.high;
    let low = words.low;
    for (let i = 0, k = 0; ; k++) {
      let j = n; // the first point with another code
      let now = code;
      if (rise !== 0 && code !== still) {
        const gap = (code + up - t) * run;
        if (gap < n - i) j = Math.max(i + 1, i + (Math.ceil(gap) | 0));
        for (; j < n; j++) {
          t = projection(lead, slope, values[j], first, trail);
          now = clip(Math.floor(t), lowest, highest);
          if (now !== code) break;
        }
        for (; j > i + 1; j--) {
          const before = projection(lead, slope, values[j - 1], first, trail);
          const its = clip(Math.floor(before), lowest, highest);
          if (its === code) break;
          t = before;
          now = its;
        }
      }
      ends[k] = j;
      highs[k] = high;
      lows[k] = low;
      if (j >= n) return;
      if (now - code === 1 && now < 2147483648 && code >= -2147483647) {
        low = (low + mLow) | 0;
        high = (high + mHigh + (low >>> 0 < mLow >>> 0 ? 1 : 0)) | 0;
      } else if (code - now === 1 && code < 2147483648 && now >= -2147483647) {
        high = (high - mHigh - (low >>> 0 < mLow >>> 0 ? 1 : 0)) | 0;
        low = (low - mLow) | 0;
      } else {
        const other = words.toWord(now + offset);
        words.multiply(other >> 31, other, mHigh, mLow);
        high = words.high;
        low = words.low;
      }
      code = now;
      i = j;
    }
  }
}

function projection(lead, slope, x, first, trail) {
  let t = lead + x * slope + first;
  for (let k = 1; k < trail.length; k++) t += trail[k];
  return t;
}

const clip = (code, lowest, highest) => (code < lowest ? lowest : code > highest ? highest : code);

export class LineScanner {
  // `axis`: the column along the lines, with its values; `line`: the column that tells them apart.
  constructor(hasher, axis, values, line, columns) {
    Object.assign(this, { hasher, axis, values, line, columns });
    this.step = values.length > 1 ? values[1] - values[0] : 0;
    this.stairs = Array.from({ length: hasher.hashes }, () => new Stairs(values.length));
    this.at = new Int32Array(hasher.hashes);
  }

  prepare(row) {
    const { hasher, stairs, axis, line, columns } = this;
    let h = 0;
    for (const factor of hasher.factors) {
      for (let q = 0; q < factor.hashes; q++, h++) {
        const at = (row * factor.hashes + q) * factor.width;
        if (STEPPED.has(factor.family)) stairs[h].prepare(factor, at, axis, line, columns);
      }
    }
  }

  // Adds to `differences`, from place `from` on, what the row's counters change from point to point of a line.
  add(row, place, columns, counts, base, differences, from) {
    const { hasher, stairs, values, step, at } = this;
    const { hashes, multipliers, start, direct, buckets, factors } = hasher;
    const n = values.length;
    let h = 0;
    for (let k = 0; k < factors.length; k++) {
      for (let q = 0; q < factors[k].hashes; q++, h++) {
        const mLow = multipliers[2 * (row * hashes + h)] | 0;
        const mHigh = multipliers[2 * (row * hashes + h) + 1] | 0;
        if (factors[k].family === "floor" || STEPPED.has(factors[k].family))
          stairs[h].climb(values, step, place, mHigh, mLow);
        else stairs[h].still(hasher.still(k, row, q, columns), n, mHigh, mLow);
        at[h] = 0;
      }
    }
    const startLow = start[2 * row] | 0;
    const startHigh = start[2 * row + 1] | 0;
    const shift = 31 & Math.clz32(buckets - 1); // for a power of two of buckets: its highest bits
    const halves = !direct && buckets > 1 && (buckets & (buckets - 1)) === 0;
    const { ends: ends0, highs: highs0, lows: lows0 } = stairs[0];
    let k0 = 0;
    let before = 0;
    for (let i = 0; i < n;) {
      let low = (startLow + lows0[k0]) | 0;
      let high = (startHigh + highs0[k0] + (low >>> 0 < lows0[k0] >>> 0 ? 1 : 0)) | 0;
      let end = ends0[k0];
      for (h = 1; h < hashes; h++) {
        const { ends, highs, lows } = stairs[h];
        const k = at[h];
        low = (low + lows[k]) | 0;
        high = (high + highs[k] + (low >>> 0 < lows[k] >>> 0 ? 1 : 0)) | 0;
        if (ends[k] < end) end = ends[k];
      }
      const bucket = halves ? high >>> shift : direct ? numbered(high, low, buckets) : rehashed(high, buckets);
      const value = counts[base + bucket];
      differences[from + i] += value - before;
      before = value;
      if (ends0[k0] === end) k0++;
      for (h = 1; h < hashes; h++) if (stairs[h].ends[at[h]] === end) at[h]++;
      i = end;
    }
  }
}

// The twins of `Hasher`'s own ways from an accumulator to a bucket.
const numbered = (high, low, buckets) => (high ? buckets - 1 : Math.min(low >>> 0, buckets - 1));
const rehashed = (high, buckets) =>
  Math.floor(((high >>> 16) * buckets + Math.floor(((high & 0xffff) * buckets) / 65536)) / 65536);

const STEPPED = new Set(["floor", "sign", "column"]);
