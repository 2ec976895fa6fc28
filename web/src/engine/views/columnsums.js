// The sum of a column's weights over all records, by the views alone: the twin of views/columnsums.py.

import { sum } from "./mixture.js";

const LEAST = 1e-12;

export class ColumnSums {
  #beside = new Map();

  // Each view has `columns`, `counts` and `variance`; `groups` says which levels of a column pairs tell apart.
  constructor(views, groups) {
    Object.assign(this, { views, groups });
  }

  // The best unbiased linear estimate of Σ weight · records over a column's cells, and its exact variance.
  sum(j, weights) {
    if (!this.#beside.has(j)) this.#beside.set(j, { ...this.#margins(j), ...this.#total(j) });
    const { single, margins, ofMargin, total, ofTotal } = this.#beside.get(j);
    const group = this.groups[j];
    const noise = Math.max(single.variance, LEAST);
    const [cells, sums] = [new Float64Array(margins.length), new Float64Array(margins.length)];
    group.forEach((g, level) => {
      cells[g] += 1;
      sums[g] += weights[level];
    });
    const less = cells.map((m) => 1 / (m / ofMargin + 1 / noise));
    const common = sum(less.map((k, g) => k * sums[g])) / (sum(less.map((k, g) => k * cells[g])) + ofTotal);
    const shared = less.map((k, g) => (k / ofMargin) * (sums[g] - common * cells[g]));
    const rest = Float64Array.from(weights, (weight, level) => weight - shared[group[level]] - common);
    const parts = [
      [rest, single.counts, noise],
      [shared, margins, ofMargin],
      [[common], [total], ofTotal],
    ];
    const squares = (part, variance) => (part.some((x) => x) ? variance * sum(part.map((x) => x * x)) : 0);
    return {
      value: sum(parts.map(([part, counts]) => sum(part.map((x, at) => x * counts[at])))),
      variance: sum(parts.map(([part, , variance]) => squares(part, variance))),
    };
  }

  // The records of each of a column's groups, by all its pairs, and the variance of one of them; and the column alone.
  #margins(j) {
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
    return { single, margins: precision ? found.map((x) => x / precision) : found, ofMargin: 1 / precision };
  }

  // The number of records, by all views that do not speak of a column, and its variance.
  #total(j) {
    let [found, precision] = [0, 0];
    for (const { columns, counts, variance } of this.views) {
      if (columns.includes(j)) continue;
      const sure = 1 / (Math.max(variance, LEAST) * counts.length);
      found += sure * sum(counts);
      precision += sure;
    }
    return { total: precision ? found / precision : 0, ofTotal: 1 / precision };
  }
}
