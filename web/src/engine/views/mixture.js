// One distribution over a whole table, a mixture of products: the twin of views/mixture.py.
//
// A product is a Map from the number of a column to weights over its levels. Weights are never changed once they are
// made, so what a column makes of them is kept.

const FINEST = 65535;

// One column of all components: the shares of its groups, and how each group is divided into levels.
export class Column {
  #factors = new WeakMap();

  // `rounded` has the square roots of the shares in 16 bits, group by group.
  constructor(rounded, group, shape) {
    this.size = group.length;
    this.groups = group.reduce((most, g) => Math.max(most, g), 0) + 1;
    this.components = rounded.length / this.groups;
    this.group = group;
    this.shape = shape;
    this.stack = Float64Array.from(rounded, (root) => (root / FINEST) ** 2);
    const sums = new Float64Array(this.components);
    this.stack.forEach((share, at) => (sums[at % this.components] += share));
    this.stack.forEach((share, at) => (this.stack[at] = share / sums[at % this.components]));
  }

  // (A v)_k: the weight of the column in each component.
  factor(weights) {
    let found = this.#factors.get(weights);
    if (!found) {
      found = new Float64Array(this.components);
      const coarse = this.coarse(weights);
      for (let g = 0; g < this.groups; g++) {
        if (coarse[g] === 0) continue;
        const from = g * this.components;
        for (let k = 0; k < this.components; k++) found[k] += coarse[g] * this.stack[from + k];
      }
      this.#factors.set(weights, found);
    }
    return found;
  }

  // The mean weight of each group.
  coarse(weights) {
    const found = new Float64Array(this.groups);
    for (let level = 0; level < this.size; level++) found[this.group[level]] += this.shape[level] * weights[level];
    return found;
  }

  // The shares of groups, where components have these masses.
  told(masses) {
    const found = new Float64Array(this.groups);
    for (let g = 0; g < this.groups; g++) {
      const from = g * this.components;
      for (let k = 0; k < this.components; k++) found[g] += masses[k] * this.stack[from + k];
    }
    return found;
  }

  // The shares of levels, likewise.
  shares(masses) {
    const coarse = this.told(masses);
    return Float64Array.from(this.shape, (share, level) => share * coarse[this.group[level]]);
  }
}

export class Mixture {
  constructor(weights, columns) {
    this.weights = weights;
    this.columns = columns;
  }

  // w_k Π_j (A_j v_j)_k for each component.
  masses(product) {
    const found = this.weights.slice();
    for (const [j, weights] of product) {
      const factor = this.columns[j].factor(weights);
      for (let k = 0; k < found.length; k++) found[k] *= factor[k];
    }
    return found;
  }

  // The shares of records in each cell of two columns' groups, where components have these masses.
  cells(i, j, masses) {
    const [one, two] = [this.columns[i], this.columns[j]];
    const found = new Float64Array(one.groups * two.groups);
    for (let g = 0, at = 0; g < one.groups; g++) {
      const weighed = masses.map((mass, k) => mass * one.stack[g * one.components + k]);
      for (let h = 0; h < two.groups; h++, at++) {
        for (let k = 0; k < weighed.length; k++) found[at] += weighed[k] * two.stack[h * two.components + k];
      }
    }
    return found;
  }

  share(product) {
    return sum(this.masses(product));
  }

  // The shares of records that meet the product at each level of a column.
  table(j, product) {
    const outside = new Map([...product].filter(([i]) => i !== j));
    const found = this.columns[j].shares(this.masses(outside));
    const own = product.get(j);
    return own ? found.map((share, level) => share * own[level]) : found;
  }
}

export function sum(values) {
  let total = 0;
  for (let i = 0; i < values.length; i++) total += values[i];
  return total;
}
