// Draws from a table's posterior: the twin of table/posterior.py and table/storage.py. A product is a Map from the place of a
// column to weights over its levels. Numbers of all draws stand in one array, draw after draw.

// Draws of one class: mixtures of products.
class Draws {
  constructor(totals, weights, tables, within, groups, rules) {
    Object.assign(this, { totals, weights, tables, within, groups, rules });
    this.components = weights.length / totals.length;
    const obeying = this.#masses(this.#weighed(new Map())); // the share of each draw's mixture that obeys the rules
    this.scale = totals.map((total, draw) => total / Math.max(sum(obeying.subarray(draw * this.components, (draw + 1) * this.components)), 1e-12));
  }

  // The records of each component that meet a product.
  masses(product) {
    return this.#masses(this.#weighed(product)).map((mass, at) => mass * this.scale[Math.floor(at / this.components)]);
  }

  // A product with the rules on single columns.
  #weighed(product) {
    const found = new Map(product);
    for (const [j, weights] of this.rules.alone) {
      const own = found.get(j);
      found.set(j, own ? weights.map((weight, level) => weight * own[level]) : weights);
    }
    return found;
  }

  // The shares of a whole mixture, of all trees of columns that rules join or without the one that a column is in.
  #masses(product, without = null) {
    const { components, totals } = this;
    const found = Float64Array.from(this.weights);
    for (const tree of this.rules.trees) {
      if (tree.includes(without)) continue;
      const sent = this.#sent(tree[0], product);
      const levels = sent.length / found.length;
      for (let at = 0; at < found.length; at++) found[at] *= sum(sent.subarray(at * levels, (at + 1) * levels));
    }
    for (const [j, weights] of product) {
      if (this.rules.beside.has(j)) continue;
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

  // A column's shares by component and level, times what the columns beside it send, but for one of them.
  #sent(column, product, to = null) {
    const { components, tables, groups, within } = this;
    const [table, group, own] = [tables[column], groups[column], product.get(column)];
    const [levels, size] = [group.length, table.length / this.weights.length];
    const found = new Float32Array(this.weights.length * levels);
    for (let at = 0, cell = 0; at < this.weights.length; at++)
      for (let level = 0, first = Math.floor(at / components) * levels; level < levels; level++, cell++)
        found[cell] = table[at * size + group[level]] * within[column][first + level] * (own ? own[level] : 1);
    for (const [other, allowed] of this.rules.beside.get(column)) {
      if (other === to) continue;
      const theirs = this.#sent(other, product, column);
      const width = theirs.length / this.weights.length;
      for (let at = 0, cell = 0; at < this.weights.length; at++)
        for (let level = 0; level < levels; level++, cell++) {
          let message = 0;
          if (found[cell]) for (let k = 0; k < width; k++) message += theirs[at * width + k] * allowed[level * width + k];
          found[cell] *= message;
        }
    }
    return found;
  }

  // The records at each level of a column that meet a product.
  cells(j, asked) {
    const { components, totals, scale } = this;
    const product = this.#weighed(asked);
    const [table, group, within, own] = [this.tables[j], this.groups[j], this.within[j], product.get(j)];
    if (this.rules.beside.has(j)) {
      const [outside, sent] = [this.#masses(product, j), this.#sent(j, product)];
      const found = new Float64Array(totals.length * group.length);
      for (let at = 0, cell = 0; at < outside.length; at++)
        for (let level = 0, draw = Math.floor(at / components); level < group.length; level++, cell++)
          found[draw * group.length + level] += scale[draw] * outside[at] * sent[cell];
      return found;
    }
    const rest = this.#masses(new Map([...product].filter(([i]) => i !== j)));
    const masses = rest.map((mass, at) => mass * scale[Math.floor(at / components)]);
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
  constructor({ place, counted, derived, rules, groups, draws, lean }, arrays) {
    this.place = place; // of the column whose levels are classes, or null
    this.derived = new Map(derived.map(({ place, root, levels, size }) => [place, { root, levels: arrays[levels], size }]));
    this.numbers = new Map(counted.map((j, k) => [j, k]));
    const stored = Object.fromEntries(Object.entries(draws).map(([key, name]) => [key, arrays[name]]));
    const obeyed = rules.map((one) => rulesOf(one, arrays));
    this.classes = classesOf(stored, groups.map((name) => arrays[name]), lean.length, obeyed);
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
    if (this.derived.has(j)) {
      const { root, levels, size } = this.derived.get(j);
      const found = new Float64Array(this.totals.length * size);
      this.cells(root, product).forEach((cell, at) => {
        found[Math.floor(at / levels.length) * size + levels[at % levels.length]] += cell;
      });
      return found;
    }
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

  // The same product, which asks about no column that follows from another.
  folded(product) {
    const found = new Map();
    for (const [j, weights] of product) {
      const { root, levels } = this.derived.get(j) ?? { root: j };
      const mine = levels ? Float64Array.from(levels, (level) => weights[level]) : weights;
      const own = found.get(root);
      found.set(root, own ? mine.map((weight, level) => weight * own[level]) : mine);
    }
    return found;
  }

  // Each class with its own part of a product.
  each(asked) {
    const product = this.folded(asked);
    const rest = [...product].filter(([j]) => j !== this.place).map(([j, weights]) => [this.numbers.get(j), weights]);
    const classes = this.place === null ? null : product.get(this.place);
    return this.classes.map((draws, number) => ({ factor: classes ? classes[number] : 1, draws, own: new Map(rest) }));
  }
}

// What the records of a class obey: weights on single columns, factors of joined ones, and the trees that these make.
function rulesOf({ alone, pairs }, arrays) {
  const beside = new Map();
  for (const [one, other, name] of pairs) {
    if (!beside.has(one)) beside.set(one, []);
    beside.get(one).push([other, arrays[name]]);
  }
  const trees = [];
  for (const first of beside.keys()) {
    if (trees.some((tree) => tree.includes(first))) continue;
    const tree = [first];
    for (const column of tree) tree.push(...beside.get(column).map(([other]) => other).filter((other) => !tree.includes(other)));
    trees.push(tree);
  }
  return { alone: new Map(alone.map(([j, name]) => [j, arrays[name]])), beside, trees };
}

// ---- as they are stored: square roots of shares, in 16 bits ----

function classesOf({ totals, weights, tables, within }, groups, size, rules) {
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
    return new Draws(mine(totals), mixed, inner, outer, groups, rules[number]);
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
