// Points to ask about: columns of numbers, categories or sets of tokens, as the kernels read them.

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
  category: (cell) => (cell === "" ? undefined : hashOf(String(cell))), tokens: (cell) => tokensOf(String(cell)),
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
        cache.set(key, names.filter((_, j) => flags[j]));
      return cache.get(key);
    });
    return { values };
  }
}

// BLAKE2b (RFC 7693) with a digest of 8 bytes and scumble's personalisation: a number for every category, the twin of
// `scumble.columns.hashing`. Texts are few and short, so plain big integers are fast enough.

const MASK = (1n << 64n) - 1n;
const START = [
  0x6a09e667f3bcc908n, 0xbb67ae8584caa73bn, 0x3c6ef372fe94f82bn, 0xa54ff53a5f1d36f1n, 0x510e527fade682d1n,
  0x9b05688c2b3e6c1fn, 0x1f83d9abfb41bd6bn, 0x5be0cd19137e2179n,
];
const ORDER = [
  [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
  [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
  [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
  [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
  [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
  [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
  [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
  [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
  [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
  [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
];
const PERSON = wordsOf(new TextEncoder().encode("scumble"), 0, 16);
const DIGEST = 8;

function wordsOf(bytes, first, size) {
  const view = new DataView(new ArrayBuffer(size));
  for (let i = 0; i < size && first + i < bytes.length; i++) view.setUint8(i, bytes[first + i]);
  return Array.from({ length: size / 8 }, (_, k) => view.getBigUint64(8 * k, true));
}

const rotated = (x, by) => ((x >> by) | (x << (64n - by))) & MASK;

function quarter(v, a, b, c, d, x, y) {
  v[a] = (v[a] + v[b] + x) & MASK;
  v[d] = rotated(v[d] ^ v[a], 32n);
  v[c] = (v[c] + v[d]) & MASK;
  v[b] = rotated(v[b] ^ v[c], 24n);
  v[a] = (v[a] + v[b] + y) & MASK;
  v[d] = rotated(v[d] ^ v[a], 16n);
  v[c] = (v[c] + v[d]) & MASK;
  v[b] = rotated(v[b] ^ v[c], 63n);
}

function compress(h, block, length, last) {
  const v = [...h, ...START];
  v[12] ^= BigInt(length);
  if (last) v[14] ^= MASK;
  for (let round = 0; round < 12; round++) {
    const m = ORDER[round % 10].map((k) => block[k]);
    for (let k = 0; k < 4; k++) quarter(v, k, 4 + k, 8 + k, 12 + k, m[2 * k], m[2 * k + 1]);
    for (let k = 0; k < 4; k++) {
      quarter(v, k, 4 + ((k + 1) % 4), 8 + ((k + 2) % 4), 12 + ((k + 3) % 4), m[8 + 2 * k], m[9 + 2 * k]);
    }
  }
  for (let k = 0; k < 8; k++) h[k] ^= v[k] ^ v[k + 8];
}

// The number of a text: the top 53 bits of its digest.
function stableHash(text) {
  const bytes = new TextEncoder().encode(text);
  const h = [...START];
  h[0] ^= 0x01010000n ^ BigInt(DIGEST);
  h[6] ^= PERSON[0];
  h[7] ^= PERSON[1];
  let first = 0;
  for (; bytes.length - first > 128; first += 128) compress(h, wordsOf(bytes, first, 128), first + 128, false);
  compress(h, wordsOf(bytes, first, 128), bytes.length, true);
  const digest = new DataView(new ArrayBuffer(8));
  digest.setBigUint64(0, h[0], true);
  return Number(digest.getBigUint64(0) >> 11n);
}
