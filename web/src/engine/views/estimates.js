// A count off views' own cells, and one answer of that and the model's: the twin of views/estimates.py and views/interaction.py.

import { ColumnSums } from "./columnsums.js";
import { Misfit } from "./misfit.js";
import { sum } from "./mixture.js";

const LEAST = 1e-300;
const NEAR = 0.5;

export class Views {
  #found = new Map();
  #tied = new Set();
  #misfits = new Map();

  // Each has `columns`, `counts` and `variance`, and if it is a pair's the `errors` of the model, their `step` and `law`, and its `ties`; `groups`
  // says which levels of a column pairs tell apart.
  constructor(views, groups) {
    for (const view of views) {
      this.#found.set(String(view.columns), view);
      if (view.columns.length === 2) view.columns.forEach((j) => this.#tied.add(j));
    }
    this.groups = groups;
    this.sums = new ColumnSums(views, groups);
    this.starts = groups.map(firsts);
    this.ofRecord = 1 / sum(views.map(({ variance }) => 1 / Math.max(variance, 1e-12))); // the variance of one record's presence
  }

  has(i, j) {
    return this.#found.has(`${i},${j}`);
  }

  // Whether a column was measured together with another.
  ties(j) {
    return this.#tied.has(j);
  }

  // How far the model is off in the cells of a measured pair.
  misfit(i, j) {
    const view = this.#found.get(`${i},${j}`);
    if (!this.#misfits.has(view)) this.#misfits.set(view, new Misfit(view, view.counts.length));
    return this.#misfits.get(view);
  }

  // How far the words of a column differ in another one, that was measured with it.
  tie(word, other) {
    return this.#found.get(String([word, other].sort((i, j) => i - j)))?.ties[word < other ? 0 : 1] ?? 0;
  }

  // The weights of a column's groups in a product that they tell.
  weightsOf(j, told) {
    return Float64Array.from(this.starts[j], (at) => told.get(j)[at]);
  }

  // The count of a product of two columns from the cells of their view, or null if no view holds it.
  inside(product, coefficient = 1) {
    const columns = [...product.keys()].sort((i, j) => i - j);
    const view = columns.length === 2 ? this.#found.get(String(columns)) : undefined;
    if (!view) return null;
    if (columns.some((j) => product.get(j).every((weight) => weight === 0))) return { value: 0, variance: 0 };
    const [rows, across] = columns.map((j) => this.#coarse(j, product.get(j)));
    if (!rows || !across) return null;
    let [value, squares] = [0, 0];
    for (let i = 0; i < rows.length; i++) {
      for (let j = 0; j < across.length; j++) {
        const weight = coefficient * rows[i] * across[j];
        value += view.counts[i * across.length + j] * weight;
        squares += weight * weight;
      }
    }
    return { value, variance: view.variance * squares };
  }

  // The count of a product of two columns that the cells of their view tell, by views alone: margins from all of them, the interaction from
  // those cells.
  pairSum(told, coefficient) {
    const [i, j] = [...told.keys()].sort((one, other) => one - other);
    const { counts, variance } = this.#found.get(`${i},${j}`);
    const [rows, across] = [i, j].map((k) => this.weightsOf(k, told));
    const [row, other] = [rows, across].map((weights) => sum(weights) / weights.length);
    let [value, squares] = [0, 0];
    rows.forEach((one, g) =>
      across.forEach((two, h) => {
        const weight = coefficient * (one - row) * (two - other);
        value += counts[g * across.length + h] * weight;
        squares += weight * weight;
      }),
    );
    const margins = [
      this.sums.sum(i, told.get(i).map((weight) => coefficient * other * weight)),
      this.sums.sum(j, told.get(j).map((weight) => coefficient * row * (weight - other))),
    ];
    return { value: value + sum(margins.map((one) => one.value)), variance: variance * squares + sum(margins.map((one) => one.variance)) };
  }

  // The records of all cells of a pair's view, each by the largest or the least weight of its levels.
  cells(pair, product, taken) {
    const { counts, variance } = this.#found.get(String(pair));
    const [rows, across] = pair.map((j) => this.#taken(j, product.get(j), taken));
    const value = sum(rows.map((weight, i) => weight * sum(across.map((other, j) => other * counts[i * across.length + j]))));
    const [one, two] = [rows, across].map((weights) => sum(weights.map((weight) => weight ** 2)));
    return { value, variance: variance * one * two };
  }

  // A product of two columns as far as their view tells it: in each group, levels have the mean of their weights, by the shares of
  // each column's levels. Null if the two were not measured together, or if there are more than two.
  told(product, shares) {
    if (product.size !== 2 || !this.has(...[...product.keys()].sort((i, j) => i - j))) return null;
    return new Map([...product].map(([j, weights]) => [j, evened(weights, shares[j], this.groups[j], this.starts[j].length)]));
  }

  // The noisy counts of a column alone, and their variance.
  single(j) {
    return this.#found.get(String(j));
  }

  // The largest or the least weight of each group's levels.
  #taken(j, weights, taken) {
    const found = this.starts[j].map((at) => weights[at]);
    this.groups[j].forEach((g, level) => (found[g] = taken(found[g], weights[level])));
    return found;
  }

  // Weights of groups, or null if levels of one group have different ones.
  #coarse(j, weights) {
    const [group, starts] = [this.groups[j], this.starts[j]];
    return group.every((g, level) => weights[level] === weights[starts[g]]) ? starts.map((at) => weights[at]) : null;
  }
}

// The model's number, drawn to within half a standard deviation of a reading whose law is exact.
export function nearest(modelled, { value, variance }) {
  const reach = NEAR * Math.sqrt(variance);
  const found = Math.min(Math.max(modelled, value - reach), value + reach);
  return { value: found, variance: variance + (found - value) ** 2 };
}

// The best mean of two estimates whose errors are so correlated, and the weight of the first in it.
export function combined(one, other, correlation) {
  const shared = correlation * Math.sqrt(one.variance * other.variance);
  const total = one.variance + other.variance - 2 * shared;
  const weight = total > 0 ? Math.min(Math.max((other.variance - shared) / total, 0), 1) : 0.5;
  return { value: weight * one.value + (1 - weight) * other.value, weight };
}

// The variance of a mean of two estimates, the first of which has this weight.
export function spread(one, other, weight, correlation) {
  const [s, t] = [weight * Math.sqrt(one.variance), (1 - weight) * Math.sqrt(other.variance)];
  return s ** 2 + t ** 2 + 2 * correlation * s * t;
}

function evened(weights, shares, group, groups) {
  const [met, all] = [new Float64Array(groups), new Float64Array(groups)];
  group.forEach((g, level) => {
    const share = Math.max(shares[level], LEAST);
    met[g] += share * weights[level];
    all[g] += share;
  });
  return Float64Array.from(group, (g) => met[g] / all[g]);
}

function firsts(group) {
  const found = [];
  group.forEach((g, level) => (found[g] ??= level));
  return found;
}
