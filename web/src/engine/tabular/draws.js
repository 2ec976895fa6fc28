// Draws from a table's posterior: the twin of views/posterior.py and tabular/storage.py. A product is a Map from the place of a
// column to weights over its levels. Numbers of all draws stand in one array, draw after draw.

// Draws of one class: mixtures of products.
class Draws {
  constructor(totals, weights, tables, within, groups) {
    Object.assign(this, { totals, weights, tables, within, groups });
    this.components = weights.length / totals.length;
  }

  // The records of each component that meet a product.
  masses(product) {
    const { components, totals } = this;
    const found = Float64Array.from(this.weights, (weight, at) => weight * totals[Math.floor(at / components)]);
    for (const [j, weights] of product) {
      const summed = this.#summed(j, weights);
      const groups = summed.length / totals.length;
      for (let at = 0, cell = 0; at < found.length; at++) {
        const first = Math.floor(at / components) * groups;
        let sum = 0;
        for (let group = 0; group < groups; group++) sum += this.tables[j][cell++] * summed[first + group];
        found[at] *= sum;
      }
    }
    return found;
  }

  // The records at each level of a column that meet a product.
  cells(j, product) {
    const { components, totals } = this;
    const [table, group, within, own] = [this.tables[j], this.groups[j], this.within[j], product.get(j)];
    const masses = this.masses([...product].filter(([i]) => i !== j));
    const [groups, levels] = [table.length / masses.length, group.length];
    const found = new Float64Array(totals.length * levels);
    const sums = new Float64Array(groups);
    for (let draw = 0; draw < totals.length; draw++) {
      sums.fill(0);
      for (let at = draw * components; at < (draw + 1) * components; at++)
        for (let k = 0; k < groups; k++) sums[k] += masses[at] * table[at * groups + k];
      for (let level = 0, at = draw * levels; level < levels; level++, at++)
        found[at] = sums[group[level]] * within[at] * (own ? own[level] : 1);
    }
    return found;
  }

  // The weight of each group, on each draw.
  #summed(j, weights) {
    const [group, within, draws] = [this.groups[j], this.within[j], this.totals.length];
    const groups = this.tables[j].length / this.weights.length;
    const found = new Float64Array(draws * groups);
    for (let draw = 0, at = 0; draw < draws; draw++)
      for (let level = 0; level < group.length; level++, at++)
        found[draw * groups + group[level]] += within[at] * weights[level];
    return found;
  }
}

export class Posterior {
  constructor({ place, counted, groups, draws, lean }, arrays) {
    this.place = place; // of the column whose levels are classes, or null
    this.numbers = new Map(counted.map((j, k) => [j, k]));
    const stored = Object.fromEntries(Object.entries(draws).map(([key, name]) => [key, arrays[name]]));
    this.classes = classesOf(stored, groups.map((name) => arrays[name]), lean.length);
    this.totals = this.classes[0].totals.map((_, draw) => sum(this.classes.map(({ totals }) => totals[draw])));
  }

  // How many records meet a product.
  counts(product) {
    const found = new Float64Array(this.totals.length);
    for (const { factor, draws, own } of this.each(product)) {
      const masses = factor ? draws.masses(own) : [];
      masses.forEach((mass, at) => (found[Math.floor(at / draws.components)] += factor * mass));
    }
    return found;
  }

  // How many of them each level of a column has.
  cells(j, product) {
    const parts = this.each(product);
    if (j === this.place) {
      const found = new Float64Array(this.totals.length * parts.length);
      parts.forEach((part, number) => {
        const only = Float64Array.from(parts, (_, other) => (other === number ? part.factor : 0));
        this.counts(new Map(product).set(j, only)).forEach((count, draw) => (found[draw * parts.length + number] = count));
      });
      return found;
    }
    return parts
      .map(({ factor, draws, own }) => draws.cells(this.numbers.get(j), own).map((cell) => factor * cell))
      .reduce((total, part) => total.map((cell, at) => cell + part[at]));
  }

  // Each class with its own part of a product.
  each(product) {
    const rest = [...product].filter(([j]) => j !== this.place).map(([j, weights]) => [this.numbers.get(j), weights]);
    const classes = this.place === null ? null : product.get(this.place);
    return this.classes.map((draws, number) => ({ factor: classes ? classes[number] : 1, draws, own: new Map(rest) }));
  }
}

// ---- as they are stored: square roots of shares, in 16 bits ----

function classesOf({ totals, weights, tables, within }, groups, size) {
  const components = weights.length / totals.length;
  const sizes = groups.map((group) => group.reduce((most, number) => Math.max(most, number + 1), 0));
  const levels = groups.map(({ length }) => length);
  const shares = [
    [normalized(weights, Array(components).fill(0))],
    sizes.map((width, j) => normalized(columnOf(tables, sizes, j), Array(width).fill(0))),
    groups.map((group, j) => normalized(columnOf(within, levels, j), group)),
  ];
  return Array.from({ length: totals.length / size }, (_, number) => {
    const mine = (all) => all.subarray((number * size * all.length) / totals.length, ((number + 1) * size * all.length) / totals.length);
    const [[mixed], inner, outer] = shares.map((each) => each.map(mine));
    return new Draws(mine(totals), mixed, inner, outer, groups);
  });
}

// One of several columns whose numbers stand side by side in each row.
function columnOf(array, widths, j) {
  const [whole, width, first] = [sum(widths), widths[j], sum(widths.slice(0, j))];
  const found = new Float64Array((array.length / whole) * width);
  for (let at = 0; at < found.length; at++) found[at] = array[Math.floor(at / width) * whole + first + (at % width)];
  return found;
}

// Shares that sum to one in each group of a row.
function normalized(roots, group) {
  const width = group.length;
  const found = new Float32Array(roots.length);
  for (let row = 0; row < roots.length; row += width) {
    const sums = new Float64Array(width);
    for (let at = 0; at < width; at++) sums[group[at]] += roots[row + at] ** 2;
    for (let at = 0; at < width; at++) found[row + at] = roots[row + at] ** 2 / sums[group[at]];
  }
  return found;
}

export const sum = (values) => values.reduce((total, value) => total + value, 0);
