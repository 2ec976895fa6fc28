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

  // Whether a cell of a column can be read.
  reads(j, cell) {
    return this.columns[j].read(cell) !== undefined;
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
