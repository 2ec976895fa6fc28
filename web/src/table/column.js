// A column as people see it: its levels by name, its line in bins, what is written on its axis.

import { measured, tick } from "../page/words.js";

const { leant, valueAt } = ScumbleTables;

const TINY = 1e-300; // the edge just above zero, where zero has a cell of its own
const DAY = 86400;
const FEW = 8; // whole numbers that each have room for their name
const FEW_DATES = 2;
const MINUTE = 60;
const DIGITS = 7; // of an edge in a field

// How many levels stand together so that there are at most so many bins, all of them alike if that takes less than twice as
// many levels: as in `scumble.table.questions`.
function together(line, most) {
  const least = Math.max(1, Math.ceil(line / most));
  for (let run = least; run < 2 * least; run++) if (line % run === 0) return run;
  return least;
}

const MOST = 40; // words of a long vocabulary that stand together
const plain = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase(); // as people search

const keeps = (filter, level) => !filter || filter.weights[level] > 0;
const WORDS = { boolean: { false: "no", true: "yes" } };

export class Column {
  // `group` has the group of each level in pairs, or is null.
  constructor(described, arrays, group) {
    this.group = group;
    const { name, kind, unit, words, size, missing, levels, log, whole, step, alike, remarks } = described;
    Object.assign(this, { name, kind, unit, words, size, missing, log, whole, step, remarks });
    this.title = unit ? `${name} (${unit})` : name;
    this.edges = described.edges ? arrays[described.edges] : null;
    this.values = described.values ? arrays[described.values] : null;
    this.drawn = arrays[described.drawn] ?? null; // the mean value of each level on each draw, where a level has several
    this.even = arrays[described.even] ?? this.values; // where values lie evenly in each cell
    this.extremes = described.extremes?.map((name) => arrays[name]); // the least and the largest value of each level
    this.heaps = described.heaps; // the shares of the outer cells that lie at the bounds
    this.levels = levels ?? null;
    this.falling = null; // of a long vocabulary, the levels, the most frequent first
    this.line = size - (this.edges && missing ? 1 : 0); // levels that stand in order, or have names
    this.alike = alike ?? Array.from({ length: this.line + 1 }, (_, cut) => cut); // where cells begin that are alike: zero's own is part of one
    this.axis = this.edges ? new Axis(this.edges, this.line, log) : null;
  }

  // The range of all values of a line.
  get all() {
    return { first: 0, end: this.line, low: this.edges?.[0], high: this.edges?.[this.line] };
  }

  get ordered() {
    return this.edges !== null;
  }

  // The values that a filter keeps of each level: the mean, the least and the largest, and the mean on each draw (null if all
  // are alike). Values in a part of a cell lean as much as can be: so far as each draw says, from −1 to 1.
  valued(filter, leans) {
    const { values, extremes, drawn, even } = this;
    if (!this.ordered || !filter) return [values, extremes, drawn];
    const [low, high] = extremes.map((side) => side.map((value) => this.#kept(value, filter)));
    const cut = (level) => low[level] > extremes[0][level] || high[level] < extremes[1][level];
    const part = (level) => (high[level] - low[level]) / (extremes[1][level] - extremes[0][level] || 1);
    const middle = values.map((value, level) => (cut(level) ? low[level] + part(level) * (even[level] - extremes[0][level]) : value));
    const each = drawn?.map((value, at) => {
      const level = at % this.size;
      return cut(level) ? leant(leans[Math.floor(at / this.size)], middle[level], low[level], high[level]) : value;
    });
    return [middle, [low, high], each ?? null];
  }

  #kept(value, { low, high }) {
    return Math.min(Math.max(value, low), this.whole ? high - 1 : high);
  }

  // The value so far into what a filter keeps of a cell.
  valueAt(cell, within, filter = this.all) {
    const [first, end] = [filter.first, filter.end].map((place) => Math.min(Math.max(place - cell, 0), 1));
    return this.#kept(valueAt(this, cell, first + within * (end - first)), filter);
  }

  // Runs of levels, at most so many, and the missing cells of a line; each with its weights and its name. Of a filter,
  // only what it keeps. `grouped` ones end where groups do: together with others, a column is known by groups alone.
  bins(most, { filter = null, grouped = false } = {}) {
    if (!this.ordered) {
      const levels = this.falling && !filter ? this.search().levels : this.#levels();
      return this.named(levels.filter((level) => keeps(filter, level)));
    }
    const [first, end] = filter ? [Math.floor(filter.first), Math.ceil(filter.end)] : [0, this.line];
    const cuts = this.#cuts(first, end, most, grouped);
    const bins = cuts.slice(1).map((cut, k) => this.#bin(cuts[k], cut, filter));
    if (this.missing && (!filter || filter.missing)) bins.push(this.#bin(this.line, this.size));
    return bins;
  }

  named(levels) {
    return levels.map((level) => this.#bin(level, level + 1));
  }

  // How many words of a long vocabulary contain a text, and the levels of the most frequent of them.
  search(text = "") {
    const found = this.falling.filter((level) => plain(this.levels[level]).includes(plain(text)));
    return { found: found.length, levels: found.slice(0, MOST).sort((a, b) => a - b) };
  }

  #levels() {
    return Array.from({ length: this.size }, (_, level) => level);
  }

  // Where bins begin and end: after so many levels. No short one is left over at the end,
  // and zero stands with the cell beside it.
  #cuts(first, end, most, grouped) {
    const length = (from, to) => this.alike.filter((cut) => cut > from && cut <= to).length;
    const run = together(length(first, end), most);
    const cuts = [first];
    for (let cut = first + 1; cut < end; cut++) {
      if (!this.alike.includes(cut)) continue;
      const allowed = !grouped || !this.group || this.group[cut] !== this.group[cut - 1];
      if (allowed && length(cuts.at(-1), cut) >= run) cuts.push(cut);
    }
    if (cuts.length > 1 && length(cuts.at(-1), end) < run / 2) cuts.pop();
    return end > first ? [...cuts, end] : cuts;
  }

  // The levels from `first` to before `end`, named by what a filter leaves of them.
  #bin(first, end, filter = null) {
    const weights = new Float64Array(this.size).fill(1, first, end);
    const ends = filter && first < this.line ? [first < filter.first ? filter.low : null, end > filter.end ? filter.high : null] : [];
    return { first, end, weights, text: this.text(first, end, ...ends), missing: this.ordered && first === this.line };
  }

  // Levels from `first` to before `end`, in words; or only what lies between two values that cut the outer ones.
  text(first, end, low = null, high = null) {
    if (!this.ordered) return WORDS[this.kind]?.[this.levels[first]] ?? this.levels[first];
    if (first === this.line) return "(missing)";
    const [least, most] = [low === null ? this.start(first) : this.typed(low), high === null ? this.stop(end) : this.typed(high, true)];
    return least === most ? least : `${least} to ${most}`;
  }

  // The first value of a cell, and the last one before an edge, as they are written.
  start(cell) {
    const edge = this.edges[cell];
    return edge > 0 && edge < TINY ? "above 0" : this.written(edge);
  }

  stop(edge) {
    return this.written(this.whole ? this.edges[edge] - 1 : Math.abs(this.edges[edge]) < TINY ? 0 : this.edges[edge]);
  }

  // What stands at the axis: edges, as short as tells them apart; below a few whole numbers, each of them if all have room;
  // powers of ten where it is logarithmic; days, of times that go on for several. What has no room is left out.
  marks() {
    const dated = this.kind === "date";
    if (this.whole && this.line <= (dated ? FEW_DATES : FEW) && this.edges[this.line] - this.edges[0] === this.line) {
      const each = Array.from({ length: this.line }, (_, k) => [this.spot(k + 0.5), this.start(k)]);
      if (clear(each, 0.25).length === each.length) return each;
    }
    const value = (edge) => this.edges[edge] - (this.whole && edge === this.line ? 1 : 0);
    const days = dated && (this.edges[this.line] - this.edges[0]) * this.step >= 3 * DAY;
    const mark = (edge, text) => [this.spot(edge), days ? text.slice(0, 10) : dated ? text : this.#short(value(edge))];
    const off = (edge) => Math.abs(this.spot(edge) - 0.5);
    const middle = this.alike.reduce((best, edge) => (off(edge) < off(best) - 1e-9 ? edge : best));
    const last = this.line;
    const between = this.log
      ? this.axis.decades().map(([spot, power]) => [spot, this.#short(power)])
      : last > 2 && (!dated || days)
        ? [mark(middle, this.start(middle))]
        : [];
    return clear([mark(0, this.start(0)), ...between, mark(last, this.stop(last))]);
  }

  #short(value) {
    if (Math.abs(value) < TINY) return "0";
    const [low, high] = [this.edges[0], this.edges[this.line]];
    const digits = this.log ? 3 : 3 + Math.max(0, Math.ceil(Math.log10(Math.abs(value) / (high - low))));
    const most = this.log && value < 1 ? Math.abs(value) : Math.max(-low, high);
    return tick(Number(value.toPrecision(Math.min(digits, 15))), most);
  }

  written(value) {
    if (this.kind === "date") return this.moment(value);
    if (this.whole) return Math.abs(value) < 10000 ? String(value).replace("-", "−") : measured(value, 1);
    const span = this.log ? Math.abs(value) : this.edges[this.line] - this.edges[0];
    return measured(value, span / 10);
  }

  moment(tick) {
    return new Date(tick * this.step * 1000).toISOString().slice(0, this.step === DAY ? 10 : 16);
  }

  // Where an edge stands on the axis, from 0 to 1.
  spot(edge) {
    return this.axis.spot(edge);
  }

  // ---- what people type ----

  get inputType() {
    if (this.kind !== "date") return "number";
    return this.step === DAY ? "date" : "datetime-local";
  }

  // What stands in the fields of a range that begins at a value, or ends before it.
  typed(limit, upper = false) {
    const value = upper && this.whole ? limit - 1 : limit;
    if (this.kind === "date") return this.moment(value);
    return String(Math.abs(value) < TINY ? 0 : this.edges.includes(value) ? Number(value.toPrecision(DIGITS)) : value);
  }

  #valueOf(typed) {
    if (typed === "") return NaN;
    return this.kind === "date" ? Date.parse(`${typed}Z`) / 1000 / this.step : Number(typed);
  }

  // What is said of a number or a date that the column cannot hold; nothing of one that it can.
  beyond(typed) {
    const [value, low, high] = [this.#valueOf(typed), this.edges[0], this.edges[this.line] - (this.whole ? 1 : 0)];
    if (!(value < low || value > high)) return "";
    return `${this.written(value)} is beyond ${this.start(0)} to ${this.stop(this.line)}, and was cut`;
  }

  // Where a range begins, or before which value it ends, that is to go from or to what was typed; null if that is no value.
  // An edge may be typed as it is shown. A minute is typed as a whole, and so is a whole number.
  limitOf(typed, upper) {
    const value = this.#valueOf(typed);
    if (!Number.isFinite(value)) return null;
    const [least, most] = [this.edges[0], this.edges[this.line]];
    if (this.whole) {
      const gap = this.kind === "date" ? Math.max(MINUTE / this.step, 1) : 1;
      return Math.min(Math.max(upper ? Math.floor(value + gap) : Math.ceil(value), least + upper), most - !upper);
    }
    const shown = upper ? this.edges.slice(1) : this.edges.slice(0, -1);
    return shown.find((edge) => this.typed(edge) === this.typed(value)) ?? Math.min(Math.max(value, least), most);
  }

  // Where a value stands among the cells, counted from the first: 2.5 is the middle of the third. Values lie evenly in a cell, or
  // on its logarithm, as in columns/cuts.py.
  place(value) {
    let cell = 0;
    while (cell < this.line - 1 && this.edges[cell + 1] <= value) cell++;
    const [low, high] = [this.edges[cell], this.edges[cell + 1]];
    const even = (x) => (this.log && low > TINY ? Math.log(x) : x);
    return cell + Math.min(Math.max((even(value) - even(low)) / (even(high) - even(low)), 0), 1);
  }

  // ---- cells of a table ----

  // A drawn value as CSV has it, within the part of its cell that a filter leaves.
  cell(level, within, filter) {
    if (!this.ordered) return this.levels[level] === "(missing)" && this.missing ? "" : this.levels[level];
    if (level === this.line) return "";
    const value = this.valueAt(level, within, filter);
    if (this.kind === "date") return this.moment(value);
    return String(this.whole ? value : Number(value.toPrecision(6)));
  }
}

// Where the values of a column stand along its axis, from 0 to 1: evenly by value, or by cell on a logarithmic scale.

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
function clear(marks, gap = 0.5) {
  const [last, kept] = [marks.at(-1), []];
  for (const mark of marks.slice(0, -1)) {
    const [left, right] = reach(mark, gap);
    if (left >= (kept.length ? reach(kept.at(-1), gap)[1] : 0) && right <= reach(last, gap)[0]) kept.push(mark);
  }
  return [...kept, last];
}

class Axis {
  constructor(edges, line, log) {
    Object.assign(this, { edges, line, log });
  }

  // The place of an edge, or so far from one to the next.
  spot(edge) {
    if (this.log) return edge / this.line;
    const [low, high] = [Math.floor(edge), Math.ceil(edge)].map((one) => this.edges[one]);
    return (low + (edge % 1) * (high - low) - this.edges[0]) / (this.edges[this.line] - this.edges[0]);
  }

  // The place of a value on a logarithm; null where there is none.
  #at(value) {
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
