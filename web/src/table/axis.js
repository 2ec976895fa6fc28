// Where the values of a column stand along its axis, from 0 to 1: evenly by value; by cell on a logarithmic scale; and if
// most records crowd at the lower end, by the logarithm of their distance from it.

const TINY = 1e-300; // the edge just above zero, where zero has a cell of its own
const CROWDED = 0.05; // of the axis: where half of the records are, if they crowd
const LEAST = 16; // cells of an axis that can be stretched
const GAP = 0.15; // between two marks
const END = 0.24; // before the last, which ends where the axis ends
const LETTER = 0.029; // how wide a digit of a mark is
const letters = (sign) => (/[-,.:]/.test(sign) ? 0.6 : /[−MG]/.test(sign) ? 1.4 : 1); // in widths of a digit

// Where a mark begins, and where the gap behind it ends: it stands around its spot, or within the axis at its ends.
function reach([spot, text], gap) {
  const wide = LETTER * [...text].reduce((sum, sign) => sum + letters(sign), gap);
  const left = spot === 0 ? 0 : spot === 1 ? 1 - wide : spot - wide / 2;
  return [left, left + wide];
}

// The last mark, and those before it that have room, the first of them first: none is printed over another. The gap
// between two is in widths of a digit.
export function clear(marks, gap = 0.5) {
  const [last, kept] = [marks.at(-1), []];
  for (const mark of marks.slice(0, -1)) {
    const [left, right] = reach(mark, gap);
    if (left >= (kept.length ? reach(kept.at(-1), gap)[1] : 0) && right <= reach(last, gap)[0]) kept.push(mark);
  }
  return [...kept, last];
}

export class Axis {
  // `first` is where the first of the cells ends that are all alike.
  constructor(edges, line, log, first = 1) {
    Object.assign(this, { edges, line, log, first });
    this.knee = null; // the distance from the lower end up to which the axis is even
  }

  get logarithmic() {
    return this.log || this.knee !== null;
  }

  // Stretched at its lower end, if so many records of each cell ask for it.
  stretch(shares) {
    const [low, high] = [this.edges[0], this.edges[this.line]];
    const half = shares.reduce((sum, share) => sum + Math.max(share, 0), 0) / 2;
    let upto = 0;
    const median = shares.findIndex((share) => (upto += Math.max(share, 0)) >= half);
    const crowded = half > 0 && this.edges[median + 1] - low < CROWDED * (high - low);
    if (!this.log && this.line >= LEAST && crowded) this.knee = this.edges[this.first] - low;
  }

  // The place of an edge, or so far from one to the next.
  spot(edge) {
    if (this.log) return edge / this.line;
    const [low, high] = [Math.floor(edge), Math.ceil(edge)].map((one) => this.edges[one]);
    return this.#along(low + (edge % 1) * (high - low));
  }

  #along(value) {
    const [from, all] = [value - this.edges[0], this.edges[this.line] - this.edges[0]];
    return this.knee === null ? from / all : Math.log1p(from / this.knee) / Math.log1p(all / this.knee);
  }

  // The place of a value; null where there is no logarithm.
  #at(value) {
    if (!this.log) return this.#along(value);
    const cell = this.edges.findIndex((edge) => edge > value) - 1;
    const [low, high] = [this.edges[cell], this.edges[cell + 1]];
    return low > TINY ? (cell + Math.log(value / low) / Math.log(high / low)) / this.line : null;
  }

  // Powers of ten with their places, far enough from each other and from the ends.
  decades() {
    const [low, high] = [Math.max(this.edges[0], this.edges[1], TINY), this.edges[this.line]];
    const found = [];
    for (let power = Math.ceil(Math.log10(Math.max(low, 1e-12))); 10 ** power < high; power++) {
      const spot = this.#at(10 ** power);
      if (spot !== null && spot - (found.at(-1)?.[0] ?? 0) >= GAP && 1 - spot >= END) found.push([spot, 10 ** power]);
    }
    return found;
  }
}
