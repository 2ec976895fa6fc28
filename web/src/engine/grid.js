// Estimates from a grid of counters: the twin of `scumble.density.field.Field`. Its tables (tables.js) are interpolated, and the
// cells around a query, where the kernel has its cusp, are read exactly.

import { product } from "./boxes.js";
import { PROFILES, raised, shareOf, valueOf } from "./profile.js";
import { REACH } from "./tables.js";

const NEAR = 2 * REACH + 2; // cells an axis whose kernel value is exact
const INNER = NEAR - 2; // those that also have both neighbors

export class GridReader {
  // `shape`, `start`, `step`, `spread`, `margin`: one number an axis; `total`, `ones`, `squares`, `places`: over the
  // centers of the cells and a margin; `sharp`, `rough`: over the cells, `rough` for each axis; `stepped`: how much of
  // the variance if all records move at once along an axis is added, as `together`; `nearTable` and so on: see Field.
  constructor(fields) {
    Object.assign(this, fields);
    const d = this.shape.length;
    this.d = d;
    const wide = this.shape.map((n, j) => n + 2 * this.margin[j]);
    this.wideStrides = stridesOf(wide);
    this.sharpStrides = stridesOf(this.shape.map((n) => n + 2));
    this.nodes = placesOf(4, d);
    this.near = Uint8Array.from(placesOf(NEAR, d).flat());
    this.inner = placesOf(INNER, d);
    this.nodeSteps = stepsOf(this.nodes, this.wideStrides);
    this.nearStrides = stridesOf(new Array(d).fill(NEAR));
    this.middle = Int32Array.from(this.inner, (place) =>
      place.reduce((sum, k, j) => sum + (k + 1) * this.nearStrides[j], 0),
    );
    this.sharpness = 1 + this.spread.reduce((a, b) => a + b, 0) / 12;
    this.allSharp = rowSums(this.nearSharp, 4 ** d);
    this.allSquare = rowSums(this.nearSquare, 4 ** d);
    this.weights = new Float64Array(4 ** d);
    this.linear = new Float64Array(4 ** d);
    this.sloping = Array.from({ length: d }, () => new Float64Array(4 ** d));
    this.exact = new Float64Array(NEAR ** d);
    this.counts = new Float64Array(NEAR ** d);
    this.nearSum = new Float64Array(4 ** d);
    this.distances = this.factors.map(({ columns }) => new Float64Array(columns.length * NEAR));
    this.base = new Int32Array(d);
    this.fraction = new Float64Array(d);
    this.lastBase = new Int32Array(d).fill(-(2 ** 30));
    this.degrees = Infinity;
    this.terms = { total: 0, ones: 0, squares: 0, places: 0, together: 0 };
  }

  estimate([columns], n) {
    const value = new Float64Array(n);
    const noise = new Float64Array(n);
    const hashing = new Float64Array(n);
    const point = new Float64Array(this.d);
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < this.d; j++) point[j] = columns[j].constant ? columns[j].value : columns[j].values[i];
      const { total, ones, squares, places, together } = this.#read(point);
      const beta = this.projected ? (this.variance * ones) / (this.variance * this.cells + this.countVariance) : 0;
      value[i] = total + beta * this.excess;
      noise[i] = this.variance * Math.max(squares - beta * ones, 0);
      hashing[i] = Math.max(places, 0) + together;
    }
    return { value, noise, hashing, degrees: this.degrees, caution: this.caution };
  }

  // The records in a box, moved to the nearest edges of cells: their counters' sum, with the noise that the number of all
  // records explains taken out, as `estimate` does. `box`: column → [from, to]; other columns may have any value.
  region(box) {
    const sides = this.shape.map((n, j) => {
      if (!box.has(this.which[j])) return [0, n];
      const [from, to] = box.get(this.which[j]).map((x) => Math.round((x - this.start[j]) / this.step[j]));
      const first = Math.min(Math.max(from, 0), n - 1);
      return [first, Math.min(Math.max(to, first + 1), n)];
    });
    const sizes = sides.map(([a, b]) => b - a);
    const strides = stridesOf(this.shape);
    let sum = 0;
    eachPlace(sizes, (_, cell) => {
      sum += this.counters[cell.reduce((at, k, j) => at + (sides[j][0] + k) * strides[j], 0)];
    });
    const cells = product(sizes);
    const beta = this.projected ? (this.variance * cells) / (this.variance * this.cells + this.countVariance) : 0;
    return {
      value: sum + beta * this.excess, variance: this.variance * Math.max(cells - beta * cells, 0),
      ends: new Map(sides.map((side, j) => [this.which[j], side.map((k) => this.start[j] + k * this.step[j])])),
      others: this.d > box.size,
    };
  }

  #read(point) {
    const { base, fraction } = this;
    for (let j = 0; j < this.d; j++) {
      const place = (point[j] - this.start[j]) / this.step[j] - 0.5;
      if (!(place >= 1 - this.margin[j] && place < this.shape[j] + this.margin[j] - 3)) return this.#summed(point);
      base[j] = Math.floor(place);
      fraction[j] = place - base[j];
    }
    return this.#interpolated(fraction);
  }

  #interpolated(fraction) {
    const { weights, linear, nodeSteps, nearSum, exact, counts, terms } = this;
    const { total: sums, ones: allOnes, squares: allSquares, places: allPlaces } = this;
    outer(fraction, cubic, weights);
    outer(fraction, hat, linear);
    this.sloping.forEach((out, j) => outer(fraction, cubic, out, j));
    this.#gather();
    let first = 0;
    for (let j = 0; j < this.d; j++) first += (this.base[j] + this.margin[j] - 1) * this.wideStrides[j];
    let total = 0;
    let ones = 0;
    let squares = 0;
    let places = 0;
    for (let k = 0; k < weights.length; k++) {
      const at = first + nodeSteps[k];
      total += weights[k] * (sums[at] - nearSum[k]);
      ones += weights[k] * allOnes[at];
      squares += weights[k] * allSquares[at];
      places += linear[k] * allPlaces[at];
    }
    let together = 0;
    this.sloping.forEach((weigh, j) => {
      let change = 0;
      for (let k = 0; k < weigh.length; k++) change += weigh[k] * sums[first + nodeSteps[k]];
      together += this.stepped[j] * (this.spread[j] / 12) * change * change;
    });
    this.#kernelNearby(fraction);
    for (let k = 0; k < exact.length; k++) total += counts[k] * exact[k];
    terms.total = total;
    terms.ones = ones;
    terms.squares = squares;
    terms.places = places;
    terms.together = together;
    this.#correctSums();
    return terms;
  }

  // The counters around a base cell, and what interpolation makes of them; neighboring queries often share them.
  #gather() {
    let same = true;
    for (let j = 0; j < this.d; j++) same = same && this.base[j] === this.lastBase[j];
    if (same) return;
    this.lastBase.set(this.base);
    const { d, base, near, shape, sharp, sharpStrides, counts, nearSum, nearTable } = this;
    const size = counts.length;
    for (let k = 0; k < size; k++) {
      let at = 0;
      for (let j = 0; j < d && at >= 0; j++) {
        const cell = base[j] + near[k * d + j] - REACH + 1;
        at = cell < 0 || cell > shape[j] + 1 ? -1 : at + cell * sharpStrides[j];
      }
      counts[k] = at < 0 ? 0 : sharp[at];
    }
    for (let node = 0, at = 0; node < nearSum.length; node++) {
      let sum = 0;
      for (let k = 0; k < size; k++, at++) sum += counts[k] * nearTable[at];
      nearSum[node] = sum;
    }
    this.whole = true;
    for (let j = 0; j < this.d; j++) this.whole &&= this.base[j] >= 1 && this.base[j] + 2 < this.shape[j];
    if (this.whole) return;
    this.outside = this.inner.map((place) =>
      place.some((k, j) => this.base[j] + k - 1 < 0 || this.base[j] + k - 1 >= this.shape[j]),
    );
  }

  // The kernel between a query and the cells around it.
  #kernelNearby(fraction) {
    const { d, exact, near, step } = this;
    exact.fill(1);
    for (let f = 0; f < this.factors.length; f++) {
      const { kernel, bandwidth, power, columns, scales } = this.factors[f];
      const profile = PROFILES[kernel];
      const shares = this.distances[f];
      for (let c = 0; c < columns.length; c++) {
        const j = columns[c];
        for (let o = 0; o < NEAR; o++) {
          shares[c * NEAR + o] = shareOf(kernel, ((fraction[j] - (o - REACH)) * step[j]) / scales[c]);
        }
      }
      for (let k = 0; k < exact.length; k++) {
        let distance = 0;
        for (let c = 0; c < columns.length; c++) distance += shares[c * NEAR + near[k * d + columns[c]]];
        if (distance > 0) exact[k] *= raised(profile(distance, bandwidth), power);
      }
    }
  }

  // Σ k and Σ k² near the query: the exact kernel, sharpened, for the interpolated one.
  #correctSums() {
    const { d, exact, middle, nearStrides, spread, sharpness, whole, weights, terms } = this;
    let ones = 0;
    let squares = 0;
    for (let k = 0; k < middle.length; k++) {
      if (!whole && this.outside[k]) continue;
      const at = middle[k];
      let sharp = exact[at] * sharpness;
      for (let j = 0; j < d; j++) sharp -= (spread[j] / 24) * (exact[at - nearStrides[j]] + exact[at + nearStrides[j]]);
      ones += sharp;
      squares += sharp * sharp;
      if (!whole) {
        ones -= column(weights, this.nearSharp, middle.length, k);
        squares -= column(weights, this.nearSquare, middle.length, k);
      }
    }
    if (whole) {
      for (let node = 0; node < weights.length; node++) {
        ones -= weights[node] * this.allSharp[node];
        squares -= weights[node] * this.allSquare[node];
      }
    }
    terms.ones += ones;
    terms.squares += squares;
  }

  // Well outside the bounds: all cells, one by one.
  #summed(point) {
    const { d, terms, spread } = this;
    const sizes = this.shape.map((n) => n + 2);
    const strides = this.sharpStrides;
    const k = new Float64Array(product(sizes));
    let total = 0;
    eachPlace(sizes, (at, cell) => {
      let near = 1;
      for (const factor of this.factors) {
        let distance = 0;
        factor.columns.forEach((j, c) => {
          const gap = (point[j] - (this.start[j] + (cell[j] - 0.5) * this.step[j])) / factor.scales[c];
          distance += shareOf(factor.kernel, gap);
        });
        near *= valueOf(factor, distance);
      }
      k[at] = near;
      total += this.sharp[at] * near;
    });
    let [ones, squares, places] = [0, 0, 0];
    const changes = new Float64Array(d);
    eachPlace(this.shape, (at, cell) => {
      let here = 0;
      for (let j = 0; j < d; j++) here += (cell[j] + 1) * strides[j];
      let sharp = k[here] * this.sharpness;
      for (let j = 0; j < d; j++) {
        const [before, after] = [k[here - strides[j]], k[here + strides[j]]];
        sharp -= (spread[j] / 24) * (before + after);
        changes[j] += (this.counters[at] * (before - after)) / 2;
        places += (this.rough[j * this.cells + at] * ((before - k[here]) ** 2 + (after - k[here]) ** 2)) / 24;
      }
      ones += sharp;
      squares += sharp * sharp;
    });
    const together = changes.reduce((sum, change, j) => sum + this.stepped[j] * (spread[j] / 12) * change * change, 0);
    return Object.assign(terms, { total, ones, squares, places, together });
  }
}

const axis = new Float64Array(4);

// Lagrange's weights of the nodes −1, 0, 1, 2, and the linear ones of the same nodes.
function cubic(t) {
  axis[0] = (-t * (t - 1) * (t - 2)) / 6;
  axis[1] = ((t + 1) * (t - 1) * (t - 2)) / 2;
  axis[2] = (-(t + 1) * t * (t - 2)) / 2;
  axis[3] = ((t + 1) * t * (t - 1)) / 6;
}

// How Lagrange's weights change by the step.
function slopes(t) {
  axis[0] = -(3 * t * t - 6 * t + 2) / 6;
  axis[1] = (3 * t * t - 4 * t - 1) / 2;
  axis[2] = -(3 * t * t - 2 * t - 2) / 2;
  axis[3] = (3 * t * t - 1) / 6;
}

function hat(t) {
  axis[0] = axis[3] = 0;
  axis[1] = 1 - t;
  axis[2] = t;
}

// Products of one weight an axis; along the axis `sloping`, of the weights' changes.
function outer(fraction, weigh, out, sloping = -1) {
  out[0] = 1;
  for (let j = 0, size = 1; j < fraction.length; j++, size *= 4) {
    (j === sloping ? slopes : weigh)(fraction[j]);
    for (let k = size - 1; k >= 0; k--) for (let c = 3; c >= 0; c--) out[4 * k + c] = out[k] * axis[c];
  }
}

// Σ over nodes of weight · table[node, k].
function column(weights, table, width, k) {
  let sum = 0;
  for (let node = 0, at = k; node < weights.length; node++, at += width) sum += weights[node] * table[at];
  return sum;
}

function rowSums(table, rows) {
  const width = table.length / rows;
  return Float64Array.from({ length: rows }, (_, r) =>
    table.subarray(r * width, (r + 1) * width).reduce((a, b) => a + b, 0),
  );
}

function stridesOf(sizes) {
  const out = new Array(sizes.length).fill(1);
  for (let j = sizes.length - 2; j >= 0; j--) out[j] = out[j + 1] * sizes[j + 1];
  return out;
}

const stepsOf = (places, strides) =>
  Int32Array.from(places, (place) => place.reduce((sum, k, j) => sum + k * strides[j], 0));

// Every place of a box in order, with its flat number.
function eachPlace(sizes, visit) {
  const place = new Array(sizes.length).fill(0);
  const all = product(sizes);
  for (let at = 0; at < all; at++) {
    visit(at, place);
    for (let j = sizes.length - 1; j >= 0 && ++place[j] === sizes[j]; j--) place[j] = 0;
  }
}

function placesOf(side, d) {
  const places = [];
  eachPlace(new Array(d).fill(side), (_, place) => places.push([...place]));
  return places;
}
