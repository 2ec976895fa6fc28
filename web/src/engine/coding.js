// The columns of a model that was fitted by a schema, as people know them, and the numbers that its releases have for
// them: the twin of `scumble.learn.frames`. A cell is a word or a number, NaN where it is missing.

import { READ } from "./table.js";

const NEAR = 1e-9; // of a tick: days times hours are not exact

export class Coding {
  constructor(columns) {
    this.columns = columns.map(columnOf);
    this.roles = this.columns.flatMap(({ roles }) => roles);
    this.plain = columns.every(({ code }) => !code);
    let width = 0;
    this.first = this.columns.map(({ roles }) => (width += roles.length) - roles.length);
  }

  // From cells by column (one, or an array of them) to the same by the release's columns.
  numbers(cells) {
    if (this.plain) return cells;
    return this.columns.flatMap(({ roles, read }, j) => {
      const many = Array.isArray(cells[j]) || ArrayBuffer.isView(cells[j]);
      const found = many ? Array.from(cells[j], read) : read(cells[j]);
      return roles.map((_, k) => (many ? Float64Array.from(found, (numbers) => numbers[k]) : found[k]));
    });
  }

  // A region in the release's own columns, and where it ends in people's.
  box(box) {
    const numbers = (j, ends) => (this.plain ? ends : ends.map((end) => this.columns[j].number(end)));
    return new Map(Array.from(box, ([j, ends]) => [this.first[j], numbers(j, ends)]));
  }

  ends(found) {
    if (this.plain) return found;
    const lines = this.columns.flatMap((column, j) => (column.value && found.has(this.first[j]) ? [j] : []));
    return new Map(lines.map((j) => [j, found.get(this.first[j]).map((end) => this.columns[j].value(end))]));
  }
}

function columnOf({ role, values, code }) {
  if (!code) return { roles: [role], read: READ[role] };
  return code.words ? words(values, code.words) : new Line(code);
}

// Each word has its numbers; one that is not among them is another word, if there is a level for those.
function words(values, numbers) {
  const known = new Map(values.map((word, k) => [word, numbers[k]]));
  const read = (cell) => {
    const word = String(cell).trim();
    return word === "" ? known.get("(missing)") : (known.get(word) ?? known.get("(other)"));
  };
  return { roles: numbers[0].map(() => "number"), read };
}

// A number between two bounds, a tick of a clock, or a place among cells of equal ratio. A missing one stands at `gone`,
// and may have a column of its own.
class Line {
  constructor(code) {
    Object.assign(this, code);
    this.roles = this.flagged ? ["number", "number"] : ["number"];
    this.read = (cell) => this.#read(cell);
  }

  #read(cell) {
    const x = Number.isNaN(cell) || cell === "" ? NaN : READ.number(cell);
    if (x === undefined || (Number.isNaN(x) && this.gone === null)) return undefined;
    const missing = Number.isNaN(x);
    const number = missing ? this.gone : this.number(this.whole ? Math.floor(x * this.ticks + NEAR) / this.ticks : x);
    return this.flagged ? [number, missing ? 1 : 0] : [number];
  }

  // A value's number, within the bounds, and back.
  number(x) {
    return Math.min(Math.max(this.edges ? this.#place(x) : x * this.ticks, this.low), this.high);
  }

  value(number) {
    if (!this.edges) return number / this.ticks;
    const k = Math.min(Math.max(Math.floor(number), 0), this.edges.length - 2);
    return this.edges[k] + (number - k) * (this.edges[k + 1] - this.edges[k]);
  }

  #place(x) {
    const { edges } = this;
    let k = 0;
    while (k < edges.length - 2 && edges[k + 1] <= x) k++;
    const width = edges[k + 1] - edges[k];
    return k + (width < 1e-200 ? 0 : (x - edges[k]) / width);
  }
}

// ---- whole numbers of 64 bits as two halves of 32, modulo 2^64 ----

export let high = 0;
export let low = 0;

const bits = new DataView(new ArrayBuffer(8));

// The high half of the product of two unsigned 32-bit numbers.
function highOfProduct(a, b) {
  const upper = a * (b >>> 16);
  const lower = a * (b & 0xffff);
  return Math.floor((upper + Math.floor(lower / 65536)) / 65536) | 0;
}

// (aHigh, aLow) · (bHigh, bLow); the halves are any 32-bit numbers, signed or not.
export function multiply(aHigh, aLow, bHigh, bLow) {
  high = (highOfProduct(aLow >>> 0, bLow >>> 0) + Math.imul(aHigh, bLow) + Math.imul(aLow, bHigh)) | 0;
  low = Math.imul(aLow, bLow);
}

// x ^ (x >> shift), for 0 < shift < 32, then times a constant: a step of the SplitMix64 finaliser.
function mixStep(xHigh, xLow, shift, byHigh, byLow) {
  const h = xHigh ^ (xHigh >>> shift);
  const l = xLow ^ ((xLow >>> shift) | (xHigh << (32 - shift)));
  multiply(h, l, byHigh, byLow);
}

function mix(xHigh, xLow) {
  mixStep(xHigh, xLow, 30, 0xbf58476d, 0x1ce4e5b9);
  mixStep(high, low, 27, 0x94d049bb, 0x133111eb);
}

// A code as a signed 32-bit word, the twin of `scumble.counting.hasher.to_words`: small codes as they are, others mixed.
export function toWord(code) {
  if (Math.abs(code) < 2147483648) return code | 0;
  bits.setFloat64(0, Number.isFinite(code) ? code : Infinity);
  mix(bits.getInt32(0), bits.getInt32(4));
  return (high >>> 0) - 2147483648;
}

// A token's place in the random order of a key, the twin of `scumble.kernels.jaccard.rank`: a number of 53 bits.
export function rank(token, key) {
  multiply(token / 4294967296, token % 4294967296, 0x9e3779b9, 0x7f4a7c15);
  let h = high ^ (key / 4294967296);
  let l = low ^ (key % 4294967296);
  for (let round = 0; round < 2; round++) {
    mix(h, l);
    h = high ^ (high >>> 31);
    l = low ^ ((low >>> 31) | (high << 1));
  }
  return (h >>> 0) * 2097152 + (l >>> 11);
}
