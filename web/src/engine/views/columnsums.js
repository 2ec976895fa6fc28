// The sum of a column's weights over all records, by the views alone: the twin of views/columnsums.py.

import { sum } from "./mixture.js";

const LEAST = 1e-12;
const ROUNDED = 1e-12; // of the largest weight: what differs by less, differs by rounding

export class ColumnSums {
  #margins = new Map();
  #total = null;

  // Each view has `columns`, `counts` and `variance`; `groups` says which levels of a column pairs tell apart.
  constructor(views, groups) {
    Object.assign(this, { views, groups });
  }

  // An unbiased linear estimate of Σ weight · records over a column's cells, and its exact variance.
  sum(j, weights) {
    if (!this.#margins.has(j)) this.#margins.set(j, this.#marginsOf(j));
    const { single, margins, sure } = this.#margins.get(j);
    const { total, ofTotal } = this.all;
    const [group, noise] = [this.groups[j], Math.max(single.variance, LEAST)];
    const mean = sum(weights) / weights.length;
    const [cells, between] = [new Float64Array(margins.length), new Float64Array(margins.length)];
    group.forEach((g, level) => {
      cells[g] += 1;
      between[g] += weights[level];
    });
    const rounded = ROUNDED * weights.reduce((most, weight) => Math.max(most, Math.abs(weight)), 0);
    between.forEach((all, g) => (between[g] = Math.abs(all / cells[g] - mean) < rounded ? 0 : all / cells[g] - mean));
    const squares = sum(between.map((b) => b * b));
    const ofCells = noise * sum(between.map((b, g) => cells[g] * b * b));
    const common = (mean * sum(between) * ofTotal) / margins.length;
    const both = sure * ofCells + squares;
    const gain = both > 0 ? (ofCells - common) / both : 0;
    const shared = between.map((b) => sure * gain * b);
    const rest = Float64Array.from(weights, (weight, level) => weight - mean - shared[group[level]]);
    const dot = (xs, ys) => sum(xs.map((x, at) => x * ys[at]));
    return {
      value: mean * total + dot(rest, single.counts) + dot(shared, margins),
      variance: mean ** 2 * ofTotal + noise * dot(rest, rest) + sure * gain * (gain * squares + 2 * common),
    };
  }

  // The number of records, by all views, and its variance.
  get all() {
    return (this.#total ??= this.#all());
  }

  // The records of each of a column's groups, by all its pairs, and the inverse of the variance of one of them; and the
  // column alone.
  #marginsOf(j) {
    const found = new Float64Array(Math.max(...this.groups[j]) + 1);
    let [precision, single] = [0, null];
    for (const { columns, counts, variance } of this.views) {
      if (columns.length === 1 && columns[0] === j) single = { counts, variance };
      if (columns.length < 2 || !columns.includes(j)) continue;
      const across = Math.max(...this.groups[columns[1]]) + 1;
      const sure = 1 / (Math.max(variance, LEAST) * (counts.length / found.length));
      counts.forEach((n, at) => (found[columns[0] === j ? Math.floor(at / across) : at % across] += sure * n));
      precision += sure;
    }
    return { single, margins: precision ? found.map((x) => x / precision) : found, sure: precision };
  }

  #all() {
    let [found, precision] = [0, 0];
    for (const { counts, variance } of this.views) {
      const sure = 1 / (Math.max(variance, LEAST) * counts.length);
      found += sure * sum(counts);
      precision += sure;
    }
    return { total: found / precision, ofTotal: 1 / precision };
  }
}
