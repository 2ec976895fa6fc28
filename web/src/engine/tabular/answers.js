// Answers out of a table's release: the twin of tabular/answers.py. A question is a product: a Map from the place of a
// column in the schema to weights over its levels. Classes are disjoint: their answers and variances add up.

import { allowed, ANYTHING } from "../views/allowed.js";
import { nearest, Views } from "../views/estimates.js";
import { Reading } from "../views/intervals.js";
import { Column, Mixture, sum } from "../views/mixture.js";

const DEVIATIONS = 1.959963984540054; // of a 95 % interval
const ERROR = 0.05;
const BEYOND = 0.25 * ERROR; // the part of it that bounds on counts may have
const NONE = 0.5; // a number of records below it is told as 0
const FAR = 1.5; // how far the model's mean of a line may be from the exact law's, in its standard deviations

export class Answers {
  constructor({ columns: described, place, counted, total, groups, noise, parts }, arrays) {
    this.noise = noise; // the law of it
    this.place = place; // of the column whose levels are classes, or null
    this.total = { value: total[0], variance: total[1], unseen: 0 };
    this.numbers = new Map(counted.map((j, k) => [j, k]));
    const kinds = counted
      .map((j) => described[j])
      .map(({ missing, kind, zero }) => ({ missing, dated: kind === "date", lone: zero ?? null }));
    this.lines = new Set(counted.filter((j) => described[j].edges !== undefined));
    const levels = groups.map((name) => arrays[name]);
    this.parts = parts.map((part) => {
      const { count, weights, told, stacks, shapes, views } = part;
      const columns = stacks.map((name, k) => new Column(arrays[name], arrays[told[k]], arrays[shapes[k]]));
      const known = views.map((view) => ({ ...view, counts: arrays[view.counts], errors: arrays[view.errors] }));
      const model = new Mixture(arrays[weights], columns);
      return {
        reading: new Reading(model, new Views(known, levels), part, kinds),
        whole: { value: count[0], variance: count[1], unseen: 0 },
      };
    });
    const all = sum(this.parts.map(({ whole }) => Math.max(whole.value, 0)));
    this.shares = this.parts.map(({ whole }) => (all > 0 ? Math.max(whole.value, 0) / all : 1 / this.parts.length));
  }

  count(product) {
    return product.size ? this.#summed(product) : this.total;
  }

  // The same with its interval: as far as words let it reach that may have their own places, cut to what the published counts allow.
  // No more are told than there are records, or than of each column's own levels that are asked for.
  counted(product) {
    const found = this.count(product);
    const above = Math.max(this.above(product) - DEVIATIONS * Math.sqrt(found.variance), 0);
    const answer = interval(found, ...this.allowed(product), [0, above]);
    const value = Math.min(answer.value, ...this.#wholes(product));
    return { ...answer, value, low: Math.min(answer.low, value) };
  }

  #wholes(product) {
    const parts = product.size < 2 ? [] : [...product].map((part) => this.count(new Map([part])));
    return [this.total, ...parts].map(({ value }) => Math.max(value, 0));
  }

  // Whether the number of records that meet a product is told as 0, or of those at the known levels of a column.
  nobody(product, j, known) {
    const some = known.every(Boolean) ? [product] : [product, narrowed(product, j, known)];
    return some.some((one) => this.counted(one).value < NONE);
  }

  // How far above its answer a count may be, as words may have their own places.
  above(product) {
    const each = this.parts.map(({ reading }, number) => {
      const { coefficient, product: mine } = this.ofClass(product, number);
      return coefficient && coefficient * reading.above(mine, this.noise, ERROR / 2);
    });
    return Math.hypot(...each);
  }

  // Between what a count lies in any table with the published counts, but for a chance that all classes share.
  allowed(product) {
    const classes = this.parts.map(({ reading }, number) => ({ reading, ...this.ofClass(product, number) }));
    const each = classes.filter(({ coefficient }) => coefficient).map((mine) => this.#allowed(mine));
    return each.length ? [0, 1].map((end) => sum(each.map((ends) => ends[end]))) : ANYTHING;
  }

  #allowed({ reading, coefficient, product }) {
    if (coefficient !== 1) return ANYTHING;
    const { views, count } = reading;
    return allowed(views, [count, views.sums.all.ofTotal], this.noise, product, BEYOND / this.parts.length);
  }

  // The mean of a column's values among the records that meet a product; levels without a value (NaN) are left out. `own` is
  // the same by the views of the column alone.
  mean(product, j, values) {
    const known = Float64Array.from(values, (value) => (Number.isFinite(value) ? 1 : 0));
    const kept = values.map((value, level) => (known[level] ? value : 0));
    const records = this.count(narrowed(product, j, known)).value;
    const table = this.table(j, product).map((share, level) => share * known[level]);
    const all = sum(table);
    if (!(records > 0 && all > 0) || this.nobody(product, j, known))
      return { own: null, value: NaN, variance: Infinity, records: Math.max(records, 0), unseen: 0 };
    const first = sum(table.map((share, level) => share * kept[level])) / all;
    const scale = kept.reduce((most, value, level) => Math.max(most, known[level] * Math.abs(value - first)), 0) || 1;
    const off = kept.map((value, level) => (known[level] * (value - first)) / scale);
    const weighed = narrowed(product, j, off);
    const alone = this.#alone(product, j);
    const told = this.#read(weighed, squared(weighed));
    const rest = alone && this.lines.has(j) ? within(told) : drawn(told);
    const unit = scale / records;
    const own = alone ? (rest.own ?? rest) : this.#columnSum(product, j, off);
    return {
      own: { value: first + unit * own.value, variance: unit ** 2 * own.variance },
      value: first + unit * rest.value,
      variance: unit ** 2 * rest.variance,
      unseen: unit ** 2 * rest.unseen,
      records,
    };
  }

  // The model's share of records at each level of a column, among those that meet a product.
  table(j, product) {
    const size = j === this.place ? this.parts.length : this.parts[0].reading.model.columns[this.numbers.get(j)].size;
    const found = new Float64Array(size);
    this.parts.forEach(({ reading }, number) => {
      const mine = this.ofClass(product, number);
      const share = mine.coefficient * this.shares[number];
      if (j === this.place) found[number] = share * reading.model.share(mine.product);
      else reading.model.table(this.numbers.get(j), mine.product).forEach((p, level) => (found[level] += share * p));
    });
    return found;
  }

  // The same question to the records of one class: the class's own weight, and the rest.
  ofClass(product, number) {
    const coefficient = this.place !== null && product.has(this.place) ? product.get(this.place)[number] : 1;
    const rest = [...product].filter(([j]) => j !== this.place);
    return { coefficient, product: new Map(rest.map(([j, weights]) => [this.numbers.get(j), weights])) };
  }

  #summed(product) {
    return drawn(this.#read(product));
  }

  // Classes whose laws are exact are summed first, by these and by the model; and the others.
  #read(product, alike = null) {
    const [exact, others] = [nothing(), nothing()];
    let modelled = 0;
    this.parts.forEach(({ reading, whole }, number) => {
      const mine = this.ofClass(product, number);
      const own = mine.product.size ? reading.exact(mine.product, mine.coefficient) : scaled(whole, mine.coefficient);
      if (own) {
        add(exact, own);
        modelled += mine.coefficient * reading.model.share(mine.product) * reading.count;
      } else if (mine.coefficient) {
        const options = { coefficient: mine.coefficient, alike: this.#alike(alike, number) };
        add(others, reading.estimate(mine.product, options));
      }
    });
    return { exact, modelled, others };
  }

  // Whether a question has one reading only.
  #alone(product, j) {
    return j === this.place || [...product.keys()].every((i) => i === j || i === this.place);
  }

  #columnSum(product, j, values) {
    const each = this.parts.map(({ reading }, number) => {
      const mine = this.ofClass(product, number);
      return reading.columnSum(mine.product, this.numbers.get(j), values, mine.coefficient);
    });
    return { value: sum(each.map(({ value }) => value)), variance: sum(each.map(({ variance }) => variance)) };
  }

  #alike(alike, number) {
    if (alike === null) return null;
    const { coefficient, product } = this.ofClass(alike, number);
    return coefficient * this.parts[number].reading.model.share(product);
  }
}

// The model's sum is drawn to that of classes whose laws are exact.
function drawn({ exact, modelled, others }) {
  return add(others, nearest(modelled, exact));
}

// The exact law's interval stands as it is, and the model says where in it to look.
function within({ exact, modelled }) {
  const reach = FAR * Math.sqrt(exact.variance);
  return { own: exact, value: Math.min(Math.max(modelled, exact.value - reach), exact.value + reach), variance: 0, unseen: 0 };
}

// The same question, with weights on the levels of one more column.
export function narrowed(product, j, weights) {
  const own = product.get(j);
  return new Map(product).set(j, own ? weights.map((weight, level) => weight * own[level]) : weights);
}

// An estimate with its 95 % interval, cut to what is possible: first the value, so that noise leaves no interval empty. The
// truth may also be `below` lower or `above` higher. Where there are two readings, the interval reaches over both of theirs.
export function interval({ value, variance, unseen, own }, least = 0, most = Infinity, [below, above] = [0, 0]) {
  const cut = (x) => Math.min(Math.max(x, least), most);
  const error = Math.sqrt(Math.max(variance, 0));
  const reach = DEVIATIONS * error;
  const part = unseen / variance || 0; // of the variance, for what no view shows
  const middle = cut(value);
  const found = { value: middle, low: cut(middle - reach - below), high: cut(middle + reach + above) };
  if (!own) return { ...found, error, unseen: part };
  const other = interval({ ...own, unseen: 0 }, least, most, [below, above]);
  const [low, high] = [Math.min(found.low, other.low), Math.max(found.high, other.high)];
  return { value: found.value, low, high, error: Math.max(error, other.error), unseen: part };
}

const squared = (product) => new Map([...product].map(([j, weights]) => [j, weights.map((weight) => weight ** 2)]));

const nothing = () => ({ value: 0, variance: 0, unseen: 0 });

function add(total, { value, variance, unseen = 0 }) {
  total.value += value;
  total.variance += variance;
  total.unseen += unseen;
  return total;
}

function scaled({ value, variance }, factor) {
  return { value: factor * value, variance: factor ** 2 * variance, unseen: 0 };
}
