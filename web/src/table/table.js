// What is shown: the table's release that lies in the page, what it says of itself, and what it answers.

import { Column } from "./column.js";
import { productOf, withFilter } from "./filters.js";

const { Answers, drawn, interval, narrowed, normalBelow, valueAt } = ScumbleTables;

const MOST = 40; // levels of a vocabulary that are shown
const TINY = 1e-300; // to divide by, where there is no noise
const total = (shares, of) => shares.reduce((sum, share, level) => (share > 0 ? sum + share * of(level) : sum), 0);

export class Table {
  constructor({ description, arrays }) {
    const { title, info, card, columns } = description;
    Object.assign(this, { title, info, card });
    const groups = new Map(description.counted.map((j, k) => [j, arrays[description.groups[k]]]));
    this.columns = columns.map((column, j) => new Column(column, arrays, groups.get(j) ?? null));
    this.answers = new Answers(description, arrays);
    this.columns.forEach((column, j) => {
      if (!column.ordered && column.size > MOST) column.frequent = this.#frequent(j);
      if (column.kind === "number") column.axis.stretch(this.answers.table(j, new Map()).slice(0, column.line));
    });
  }

  #frequent(j) {
    const shares = this.answers.table(j, new Map());
    const falling = Array.from(shares.keys()).sort((a, b) => shares[b] - shares[a]);
    return falling.slice(0, MOST).sort((a, b) => a - b);
  }

  // The places of columns that have a mean.
  get numbers() {
    return this.columns.flatMap(({ values }, j) => (values ? [j] : []));
  }

  count(filters) {
    return this.#counted(productOf(filters));
  }

  // Where a cell is cut, the interval allows for all or none of its records being meant.
  #counted(product) {
    const three = readings(product).map((one) => this.answers.counted(one));
    return { ...three[0], low: Math.min(...three.map(({ low }) => low)), high: Math.max(...three.map(({ high }) => high)) };
  }

  share(filters) {
    const all = interval(this.answers.total, 0);
    const total = Math.max(all.value, 1);
    const { value, low, high } = this.count(filters);
    const part = Math.min(value / total, 1);
    const off = (end, ofAll) => Math.hypot(value - end, part * ofAll) / total; // neither error tells the other's
    return {
      value: part,
      low: Math.max(part - off(low, all.high - all.value), 0),
      high: Math.min(part + off(high, all.value - all.low), 1),
    };
  }

  mean(j, filters) {
    const product = productOf(filters);
    const { values, extremes, kind } = this.columns[j];
    const found = this.#mean(product, j, values, extremes);
    return kind === "number" ? atLeast(found, this.#known(j, product), extremes[0]) : found;
  }

  // `extremes` are the least and the largest value of each level: where between them records lie, nobody knows.
  #mean(product, j, values, extremes = [values.map(Math.floor), values.map(Math.ceil)]) {
    const [lowest, highest] = extremes.map((ends) => ends.filter(Number.isFinite));
    const [least, most] = [Math.min(...lowest), Math.max(...highest)];
    const found = this.answers.mean(product, j, values);
    if (Number.isNaN(found.value)) return { value: NaN, low: least, high: most, error: Infinity, unseen: 0 };
    const shares = this.#known(j, product, values);
    const [few, many = few] = readings(product).slice(-2).map((one) => this.#known(j, one, values));
    const middle = total(shares, (level) => values[level]) / total(shares, () => 1);
    const low = leastMean(few, many, extremes[0]);
    const high = -leastMean(few, many, extremes[1].map((value) => -value));
    return drawnTo(middle, interval(found, least, most, [middle - low, high - middle]), found.value, [least, most]);
  }

  // The shares of the records at the levels of a column that have a value.
  #known(j, product, values = this.columns[j].values) {
    return this.answers.table(j, product).map((share, level) => (Number.isFinite(values[level]) ? share : 0));
  }

  // The count of each bin of a column, given the filters on the others.
  counts(j, bins, filters) {
    const product = productOf(filters, j);
    return bins.map(({ weights }) => this.#counted(narrowed(product, j, weights)));
  }

  // Rows by columns: counts, or each cell's share of its row. The bins are those that the filters keep.
  cross([i, rows], [j, across], filters, shares = false) {
    const product = productOf(withFilter(filters, i, null), j);
    return rows.map((row) => {
      const mine = narrowed(product, i, row.weights);
      return across.map(({ weights }) =>
        shares ? this.#mean(mine, j, weights) : this.#counted(narrowed(mine, j, weights)),
      );
    });
  }

  // Synthetic records that meet the filters, as text.
  rows(size, filters) {
    return drawn(this.answers, this.columns, productOf(filters), size).map((record) =>
      record.map(({ level, within }, j) => this.columns[j].cell(level, within, valueAt, filters.get(j))),
    );
  }

  // Whether a column was counted together with another; the one of the classes is with each.
  paired(j) {
    const { numbers, parts } = this.answers;
    return numbers.has(j) && parts[0].reading.views.ties(numbers.get(j));
  }

  // Pairs among these columns that were never counted together.
  unmeasured(places) {
    const { place, numbers, parts } = this.answers;
    const counted = places.filter((j) => j !== place).sort((a, b) => a - b);
    return counted.flatMap((i, at) =>
      counted
        .slice(at + 1)
        .filter((j) => !parts[0].reading.views.has(numbers.get(i), numbers.get(j)))
        .map((j) => [i, j]),
    );
  }

  // The name under which files of this release are downloaded.
  get fileName() {
    const plain = this.title.replace(/\.[^.]*$/, "").replace(/[^\p{L}\p{N}_-]+/gu, "-");
    return plain.slice(0, 60) || "table";
  }
}

// A question; and where it cuts cells, also with none and with all of their records.
function readings(product) {
  const rounded = (round) => new Map([...product].map(([j, weights]) => [j, weights.map(round)]));
  const cut = [...product.values()].some((weights) => weights.some((weight) => weight % 1));
  return cut ? [product, rounded(Math.floor), rounded(Math.ceil)] : [product];
}

// The least mean of values, of at least `few` and at most `many` records at each level: as many as can be up to some value, and
// above it as few.
function leastMean(few, many, values) {
  let [records, sum] = [total(few, () => 1), total(few, (level) => values[level])];
  const means = [...many.keys()].filter((level) => many[level] > 0).sort((a, b) => values[a] - values[b]).map((level) => {
    const more = many[level] - Math.max(few[level], 0);
    return (sum += more * values[level]) / (records += more);
  });
  return Math.min(...means);
}

// A mean that was cut to what is possible, drawn to the model's by the chance that its value and noise give to what is not.
function drawnTo(model, cut, value, [least, most]) {
  const below = (end) => normalBelow((end - value) / Math.max(cut.error, TINY));
  const impossible = below(least) + 1 - below(most);
  return { ...cut, value: cut.value + impossible * (Math.min(Math.max(model, cut.low), cut.high) - cut.value) };
}

// A mean, not below what the release's own median implies, if no record had more than the `lowest` of its level. It counts only if
// noise is larger than all that the median is above the least.
function atLeast(found, shares, lowest) {
  const all = total(shares, () => 1);
  if (Number.isNaN(found.value) || !(all > 0)) return found;
  let upto = 0;
  const median = lowest[shares.findIndex((share) => (upto += Math.max(share, 0)) >= all / 2)];
  if (found.error <= median - Math.min(...lowest.filter(Number.isFinite))) return found;
  const mean = total(shares, (level) => Math.min(lowest[level], median)) / all;
  return { ...found, value: Math.max(found.value, Math.min(mean, found.high)) };
}
