// What is shown: the table's release that lies in the page, what it says of itself, and what it answers.

import { fileNameOf } from "../page/dom.js";
import { Column } from "./column.js";
import { questionOf } from "./filters.js";

const { Answers, drawn, narrowed } = ScumbleTables;

const QUARTILES = [0.25, 0.5, 0.75];
const LONG = 40; // levels of a vocabulary that is searched
const EVERYBODY = questionOf(new Map());

export class Table {
  constructor({ description, arrays }) {
    const { title, info, card, columns, place, pairs, compared } = description;
    const rules = description.kept.map((rule) => ({ ...rule, allowed: arrays[rule.allowed] }));
    Object.assign(this, { title, info, card, place, pairs, rules, compared, said: description.remarks });
    this.fileName = fileNameOf(title);
    const groups = new Map(description.counted.map((j, k) => [j, arrays[description.known[k]]])); // as pairs were counted
    this.columns = columns.map((column, j) => new Column(column, arrays, groups.get(j) ?? null));
    this.answers = new Answers(description, arrays);
    this.columns.forEach((column, j) => {
      if (!column.ordered && column.size > LONG) column.falling = this.#falling(j);
    });
  }

  // The records of each level of a column.
  #levels(j) {
    const { size } = this.columns[j];
    const found = new Float64Array(size);
    const cells = this.answers.levels(EVERYBODY, j);
    cells.forEach((cell, at) => (found[at % size] += (cell * size) / cells.length));
    return found;
  }

  #falling(j) {
    const records = this.#levels(j);
    return Array.from(records.keys()).sort((a, b) => records[b] - records[a]);
  }

  // The places of columns that have a mean or quartiles.
  get middled() {
    return this.columns.flatMap(({ values, ordered }, j) => (values || ordered ? [j] : []));
  }

  // The places of columns that have a mean.
  get numbers() {
    return this.columns.flatMap(({ values }, j) => (values ? [j] : []));
  }

  count(filters) {
    return this.answers.counted(this.answers.counts(questionOf(filters)));
  }

  share(filters) {
    return this.answers.share(questionOf(filters));
  }

  mean(j, filters) {
    return this.answers.mean(questionOf(filters), j, ...this.columns[j].valued(filters.get(j), this.answers.lean));
  }

  // The mean of a column, where it has one, and its quartiles, where it has an order: of those who meet the filters, and are
  // in a bin of another column.
  middles(j, filters, bin = null, place = null) {
    const column = this.columns[j];
    const all = questionOf(filters);
    const question = bin ? narrowed(all, place, bin.weights) : all;
    const found = column.values ? [this.answers.mean(question, j, ...column.valued(filters.get(j), this.answers.lean))] : [];
    if (!column.ordered) return found;
    const at = (place, within = null) => {
      const cell = Math.min(Math.floor(place), column.line - 1);
      return Number.isNaN(place) ? NaN : column.valueAt(cell, within ?? place - cell, filters.get(j));
    };
    return [...found, ...QUARTILES.map((q) => {
      const { value, low, high } = this.answers.quantile(question, j, column.line, q);
      return { value: at(value), low: at(low, 0), high: at(high, 1) };
    })];
  }

  // The count of each bin of a column, given the filters on the others.
  counts(j, bins, filters) {
    const found = this.answers.parts(questionOf(filters, j), j, bins.map(({ weights }) => weights));
    return found.map((each) => this.answers.counted(each));
  }

  // Rows by columns: counts, or each cell's share of its row. The bins are those that the filters keep.
  cross([i, rows], [j, across], filters, shares = false) {
    const question = questionOf(filters);
    return rows.map((row) => {
      const mine = narrowed(question, i, row.weights);
      const whole = shares ? this.answers.counts(mine) : null;
      const found = this.answers.parts(mine, j, across.map(({ weights }) => weights));
      return found.map((each) => (shares ? this.answers.ratio(each, whole) : this.answers.counted(each)));
    });
  }

  // Synthetic records that meet the filters, as text.
  rows(size, filters) {
    return drawn(this.answers, this.columns, questionOf(filters).even, size, (record) => {
      const cells = record.map(({ level, within }, j) => this.columns[j].cell(level, within, filters.get(j)));
      return this.rules.every((rule) => this.#obeys(rule, record, cells)) ? cells : null;
    });
  }

  // Whether a record with these cells obeys a rule; the second of two cells that must be equal is set.
  #obeys({ places, allowed, comparison, steps }, record, cells) {
    const [one, two] = places;
    const share = allowed[two === undefined ? record[one].level : record[one].level * this.columns[two].size + record[two].level];
    if (share === 0 || !comparison) return share === 1; // of cells that a condition cuts, none
    if (cells[one] === "" || cells[two] === "") return true;
    const step = Math.max(...steps);
    const [a, b] = places.map((j) => (this.columns[j].kind === "date" ? Math.floor(Date.parse(`${cells[j]}Z`) / 1000 / step) : Number(cells[j])));
    if (comparison === "==" && steps[0] === steps[1]) cells[two] = cells[one];
    else return { "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b, "==": a === b, "!=": a !== b }[comparison];
    return true;
  }

  // Whether a column was counted together with another; the one of the classes is with each.
  paired(j) {
    return this.pairs.some((pair) => pair.includes(j));
  }

  together(i, j) {
    return [i, j].includes(this.place) || this.pairs.some((pair) => pair.includes(i) && pair.includes(j));
  }
}
