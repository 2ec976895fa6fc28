// Points to ask about: columns of numbers, categories or sets of tokens, as the kernels read them.

import { stableHash } from "./blake.js";

const LARGEST = 1e300;
const known = new Map();

function hashOf(text) {
  if (!known.has(text)) known.set(text, stableHash(text));
  return known.get(text);
}

const sets = new Map();

function tokensOf(text) {
  if (!sets.has(text)) sets.set(text, text.split(/\s+/).filter(Boolean).map(hashOf));
  return sets.get(text);
}

// What may stand in a cell, for each role of a column.
export const READ = {
  number: (cell) => {
    const x = typeof cell === "number" ? cell : cell.trim() === "" ? NaN : Number(cell);
    return Math.abs(x) <= LARGEST ? x : undefined;
  },
  category: (cell) => (cell === "" ? undefined : hashOf(String(cell))),
  tokens: (cell) => tokensOf(String(cell)),
  any: () => 0,
};

export class Table {
  // `columns`: for each column either {value} for all n records, or {values}; as `READ` returns them.
  constructor(n, columns) {
    this.n = n;
    this.columns = columns;
  }

  // From cells as people write them: `roles` and `cells` in the order of the columns; a cell or an array of them.
  static of(n, roles, cells) {
    return new Table(
      n,
      roles.map((role, j) => {
        if (!Array.isArray(cells[j]) && !ArrayBuffer.isView(cells[j]))
          return { constant: true, value: READ[role](cells[j]) };
        if (role === "number" && cells[j] instanceof Float64Array) return { values: cells[j] };
        const values = Array.from(cells[j], READ[role]);
        return { values: role === "tokens" ? values : Float64Array.from(values) };
      }),
    );
  }

  // Which records lie beyond bounds in some columns of numbers, and these, moved to the nearest place within.
  beyond([low, high], which) {
    const at = (j, i) => (this.columns[j].constant ? this.columns[j].value : this.columns[j].values[i]);
    const within = (j, i) => Math.min(Math.max(at(j, i), low[j]), high[j]);
    const beyond = [];
    for (let i = 0; i < this.n; i++) if (which.some((j) => within(j, i) !== at(j, i))) beyond.push(i);
    const columns = [...this.columns];
    for (const j of which) columns[j] = { values: Float64Array.from(beyond, (i) => within(j, i)) };
    return { beyond, nearest: new Table(beyond.length, columns) };
  }

  // The columns that each factor of a kernel reads. Several columns of zeros and ones are a set of their numbers.
  parts(factors) {
    return factors.map(({ family, which }) => {
      const mine = which.map((j) => this.columns[j]);
      return family === "minimum" && (mine.length > 1 || !this.#holdsSets(mine[0])) ? [this.#flags(mine)] : mine;
    });
  }

  // The same records with every number changed; sets and categories stay.
  map(change) {
    return new Table(
      this.n,
      this.columns.map((column, j) =>
        column.constant
          ? { constant: true, value: change(column.value, j) }
          : { values: column.values.map((x) => change(x, j)) },
      ),
    );
  }

  #holdsSets({ constant, value, values }) {
    return Array.isArray(constant ? value : values);
  }

  #flags(columns) {
    const names = columns.map((_, j) => hashOf(String(j)));
    const cache = new Map();
    const values = Array.from({ length: this.n }, (_, i) => {
      const flags = columns.map(({ constant, value, values: all }) => ((constant ? value : all[i]) !== 0 ? 1 : 0));
      const key = flags.join("");
      if (!cache.has(key))
        cache.set(
          key,
          names.filter((_, j) => flags[j]),
        );
      return cache.get(key);
    });
    return { values };
  }
}
