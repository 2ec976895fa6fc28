// Answers out of a table's draws: the twin of table/answers.py. A statistic is computed on every draw, and `told` makes a value
// with its 95 % interval of the numbers. A question has three products: `even`, with values lying evenly in the cells that it
// cuts; `sure` and `maybe`, without and with all of these cells' records. What leans in cells that are cut has beside it, as
// `even`, what it would be if values were spread evenly: the value is told of that, the interval of all draws.

import { Posterior, sum } from "./draws.js";

export { unpack } from "../unpack.js";

const NONE = 0.5; // a number of records below it counts as none

export class Answers {
  constructor(description, arrays) {
    this.posterior = new Posterior(description, arrays);
    this.lean = description.lean; // of each draw, from −1 to 1: where in their cells values lie
    this.reach = description.reach; // quantiles of Student's t, for one degree of freedom and more
  }

  // How many records are meant.
  counts(question) {
    const { totals } = this.posterior;
    return this.#leaning(question, (product) => this.posterior.counts(product), totals);
  }

  // How many of them are in each part of a column's levels, given by weights.
  parts(question, j, parts) {
    const { totals } = this.posterior;
    const cells = new Map();
    const read = (product) => {
      if (!cells.has(product)) cells.set(product, this.posterior.cells(j, product));
      return cells.get(product);
    };
    return parts.map((weights) => this.#leaning(question, (product) => summed(read(product), weights), totals));
  }

  // How many of them each level of a column has.
  levels(question, j) {
    const found = this.#leaning(question, (product) => this.posterior.cells(j, product));
    const [each, even] = [found, found.even ?? found].map((cells) => cells.map((cell) => Math.max(cell, 0)));
    return Object.assign(each, { even });
  }

  // The share of all records.
  share(question) {
    const { totals } = this.posterior;
    return this.told(both(this.counts(question), (counts) => counts.map((count, draw) => count / Math.max(totals[draw], 1e-300))), 0, 1);
  }

  // The mean of a column's values; levels without one (NaN) are left out. `extremes` are the least and the largest value of each,
  // `drawn` the values on each draw, where they are not all alike.
  mean(question, j, values, extremes, drawn = null) {
    const table = this.levels(question, j);
    const meant = (level) => (question.maybe.get(j)?.[level] ?? 1) > 0 && Number.isFinite(values[level]);
    const known = Array.from(values.keys()).filter((level) => Number.isFinite(values[level]));
    const ends = known.some(meant) ? known.filter(meant) : known;
    const [least, most] = [Math.min(...ends.map((at) => extremes[0][at])), Math.max(...ends.map((at) => extremes[1][at]))];
    const means = (cells, mine) =>
      this.lean.map((_, draw) => {
        const each = known.map((at) => cells[draw * values.length + at]);
        const sums = each.map((count, k) => count * (mine ? mine[draw * values.length + known[k]] : values[known[k]]));
        return sum(sums) / sum(each);
      });
    const records = this.lean.map((_, draw) => sum(known.map((level) => table.even[draw * values.length + level])));
    if (sum(records) / records.length < NONE) return { value: NaN, low: least, high: most };
    return this.told(Object.assign(means(table, drawn), { even: means(table.even, null) }), least, most);
  }

  // The places, counted in cells, up to which a share `q` of the records on a column's line lies.
  quantile(question, j, line, q) {
    const table = this.levels(question, j);
    const wide = table.length / this.lean.length;
    const onLine = (cells) => this.lean.map((_, draw) => cells.subarray(draw * wide, draw * wide + line));
    const even = onLine(table.even);
    if (sum(even.map(sum)) / even.length < NONE) return { value: NaN, low: 0, high: line };
    const places = (each) => each.map((cells) => reached(cells, q));
    return this.told(Object.assign(places(onLine(table)), { even: places(even) }), 0, line);
  }

  // Which part of some records others are, both given by their number on each draw.
  ratio(some, all) {
    const whole = all.even ?? all;
    if (sum(whole) / whole.length < NONE) return { value: NaN, low: 0, high: 1 };
    const even = (some.even ?? some).map((count, draw) => count / whole[draw]);
    return this.told(Object.assign(some.map((count, draw) => count / all[draw]), { even }), 0, 1);
  }

  // A statistic's value and interval out of its values on all draws, cut to what is possible.
  told(each, least = 0, most = Infinity) {
    const known = [...each].filter(Number.isFinite);
    if (known.length < 2) return { value: NaN, low: least, high: most };
    const mean = sum(known) / known.length;
    const variance = sum(known.map((value) => (value - mean) ** 2)) / (known.length - 1);
    const half = this.reach[known.length - 2] * Math.sqrt(variance * (1 + 1 / known.length));
    const evenly = [...(each.even ?? known)].filter(Number.isFinite);
    const middle = sum(evenly) / evenly.length;
    const [value, low, high] = [middle, Math.min(middle, mean - half), Math.max(middle, mean + half)].map((end) => Math.min(Math.max(end, least), most));
    return { value, low, high };
  }

  // The same of a number of records, which is whole: the ends of its interval are rounded outward, but for their last digits.
  counted(each) {
    const { value, low, high } = this.told(each);
    return { value, low: Math.floor(Number(low.toFixed(6))), high: Math.ceil(Number(high.toFixed(6))) };
  }

  // Where a question cuts cells, each draw has its own part of the records in them.
  #leaning({ even, sure, maybe }, count, totals = null) {
    const middle = count(even);
    if (sure === even) return middle;
    const [low, high] = [count(sure), count(maybe)];
    const wide = middle.length / this.lean.length;
    const found = middle.map((one, at) => {
      const draw = Math.floor(at / wide);
      const most = Math.min(Math.max(high[at], one), totals ? totals[draw] : Infinity);
      return leant(this.lean[draw], one, Math.min(low[at], one), most);
    });
    return Object.assign(found, { even: middle });
  }
}

// The same of what leans and of what is even.
const both = (each, change) => Object.assign(change(each), { even: change(each.even ?? each) });


// Where a share of the records is reached: the cell, and how far into it.
function reached(cells, q) {
  const mark = q * sum(cells);
  let [cell, before] = [0, 0];
  while (cell < cells.length - 1 && before + cells[cell] < mark) before += cells[cell++];
  return cell + (cells[cell] > 0 ? Math.min(Math.max((mark - before) / cells[cell], 0), 1) : 0.5);
}

export const leant = (lean, middle, low, high) => middle + lean * (lean > 0 ? high - middle : middle - low);

function summed(cells, weights) {
  const wide = weights.length;
  const found = new Float64Array(cells.length / wide);
  for (let at = 0; at < cells.length; at++) found[Math.floor(at / wide)] += cells[at] * weights[at % wide];
  return found;
}

// The same question, with weights on the levels of one more column.
export function narrowed(question, j, weights) {
  const weighed = (product) => {
    const own = product.get(j);
    return new Map(product).set(j, own ? weights.map((weight, level) => weight * own[level]) : weights);
  };
  const even = weighed(question.even);
  if (question.sure === question.even) return { even, sure: even, maybe: even };
  return { even, sure: weighed(question.sure), maybe: weighed(question.maybe) };
}

// Synthetic rows, exactly those that meet a product of conditions: the twin of table/rows.py and columns/cuts.py.

const LEAST = 1e-300; // a cell that begins below has no sensible logarithm
const TRIES = 10000; // of a record that obeys the rules

// So many records, of all draws alike: the level of each column, and how far into that level its value lies. `kept` makes
// something of these, or null of a record that breaks a rule.
export function drawn({ posterior }, columns, product, size, kept = (record) => record, random = Math.random) {
  const { totals, place, numbers, derived } = posterior;
  const parts = posterior.each(product);
  const masses = parts.map(({ factor, draws, own }) =>
    draws.masses(own).map((mass, at) => (factor * mass) / Math.max(totals[Math.floor(at / draws.components)], LEAST)),
  );
  const ends = risen(masses.flatMap((each) => [...each]));
  if (!(ends.at(-1) > 0)) return [];
  const starts = risen([0, ...masses.map(({ length }) => length)]);
  const known = new Map(); // the risen shares of levels that were asked for, by component and column
  const level = (number, at, j) => {
    const key = at * columns.length + j;
    if (!known.has(key)) {
      const { draws, own } = parts[number];
      known.set(key, risen(levels(draws, numbers.get(j), own.get(numbers.get(j)), at - starts[number])));
    }
    return found(known.get(key), random());
  };
  const record = (number, at) => {
    const counted = columns.map((_, j) => (derived.has(j) ? null : j === place ? number : level(number, at, j)));
    const levels = counted.map((own, j) => (own === null ? derived.get(j).levels[counted[derived.get(j).root]] : own));
    return kept(levels.map((level) => ({ level, within: random() })));
  };
  return Array.from({ length: size }, () => {
    const at = found(ends, random());
    const number = starts.findLastIndex((start) => start <= at);
    for (let attempt = 0; attempt < TRIES; attempt++) {
      const one = record(number, at);
      if (one) return one;
    }
    return null;
  }).filter((one) => one);
}

// The shares of a column's levels in one component of one draw.
function levels({ tables, within, groups, weights, components }, j, own, at) {
  const [group, size] = [groups[j], tables[j].length / weights.length];
  const first = Math.floor(at / components) * group.length;
  return Array.from(group, (k, level) => (own ? own[level] : 1) * within[j][first + level] * tables[j][at * size + k]);
}

function risen(values) {
  let total = 0;
  return values.map((value) => (total += value));
}

// The place whose part of the whole holds the share u.
function found(ends, u) {
  const wanted = u * ends.at(-1);
  let [low, high] = [0, ends.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ends[middle] > wanted) high = middle;
    else low = middle + 1;
  }
  return low;
}

// The value so far into a cell of a line.
export function valueAt({ edges, log, whole }, cell, within) {
  const [low, high] = [edges[cell], edges[cell + 1]];
  if (!whole && high < LEAST) return low;
  const value =
    log && low > LEAST ? Math.exp(Math.log(low) + within * Math.log(high / low)) : low + within * (high - low);
  return whole ? Math.min(Math.max(Math.floor(value), low), high - 1) : Math.min(value, high);
}
