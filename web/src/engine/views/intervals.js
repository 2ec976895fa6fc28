// Counts with the variance of their errors: the twin of views/intervals.py and views/unseen.py. Of measured pairs it has what rehearsals
// tell; of other questions it has the page's own law, that of explore/tablelaw.py, in their place.

import { equal, isWord, oneWord } from "./alike.js";
import { combined, spread } from "./estimates.js";
import { meanSquare } from "./misfit.js";
import { sum } from "./mixture.js";
import { seenAbove, unseenAbove } from "./ties.js";

const SMALL = 0.003;
const USUALLY = 1.5;
const [UNKNOWN, UNKNOWN_LINES, MISSING, ANY] = [0.18, 0.25, 0.2, 0.6];
const [WITHIN, POOLED] = [0.05, 0.13];
const [LEAST, LEAST_LINES] = [0.07, 0.15];
const SHARED_NOISE = 0.5;

export class Reading {
  #variances = new Map();
  #clumpings = new Map();
  #gaps = new Map();
  #alike = new Map();

  // `law` is the page's own, `usual` Python's; `fits` are where in the model each of the fits begins that it is the mean of; `drawn` says whether
  // rehearsals drew records. `unseen` is the correlation of pairs that were not measured, of columns that were with others; `runs` are how many
  // groups of each column have neighbours; `kinds` say of each column whether it has a level for missing cells, whether it is one of dates,
  // and which level is zero's own, if one is.
  constructor(model, views, { count: [count, ofCount], law, usual, fits, drawn, unseen, runs }, kinds) {
    Object.assign(this, { model, views, count, ofCount, law, usual, fits, drawn, correlation: unseen, runs, kinds });
    this.marginals = model.columns.map((column) => column.shares(model.weights));
  }

  // How many records meet a condition on one column, by the views alone; null for others.
  exact(product, coefficient) {
    if (product.size > 1) return null;
    const [[j, weights]] = product;
    return this.views.sums.sum(j, weights.map((weight) => coefficient * weight));
  }

  // How many records meet a product of conditions on two columns or more. Weights may be any numbers, of size one at most; then `alike` is the
  // share of an ordinary condition that errs as much. `unseen` is the part of the variance for what no view shows.
  estimate(product, { coefficient = 1, alike = null } = {}) {
    const whole = this.model.share(product);
    const modelled = coefficient * whole * this.count;
    const unseen = this.#unseen(product, coefficient, whole, alike !== null);
    const share = alike ?? coefficient * whole;
    const least = alike === null ? Math.max(this.#scaled(product, coefficient), this.views.ofRecord) : 0;
    const told = this.views.told(product, this.marginals);
    const signed = alike !== null;
    if (!told) {
      const usual = (coefficient * whole) ** 2 * this.ofCount + smoothed(this.law, share, product.size);
      const variance = Math.max(usual, signed ? this.#ofPairs(product, coefficient) : 0) + unseen;
      return { value: modelled, variance: Math.max(variance, least), unseen };
    }
    const inside = this.views.inside(product, coefficient) !== null;
    const model = { value: modelled, variance: this.#ofCells(told, coefficient, share) + (inside ? unseen : 0) };
    const { value, variance, weight } = this.#both(model, product, told, coefficient, signed);
    if (inside) return { value, variance: Math.max(variance, least), unseen: unseen * (1 - weight) ** 2 };
    return { value, variance: Math.max(variance + unseen, least), unseen };
  }

  // How far above its answer a product's count may be, but for a chance, as words may have their own places.
  above(product, law, chance) {
    let farthest = 0;
    for (const [word, weights] of product) {
      for (const other of product.keys()) {
        const tied = word === other ? 0 : this.views.tie(word, other) * this.#one(word, weights);
        if (!(tied > 0)) continue;
        const beside = new Map([...product].filter(([j]) => j !== other));
        const records = this.columnSum(beside, word, weights.map(() => 1), 1);
        if (!isTold(weights, this.model.columns[word].group)) {
          const share = Math.min(this.model.share(product) / Math.max(this.model.share(beside), 1e-300), 1);
          farthest = Math.max(farthest, unseenAbove(share, tied, records, law, chance));
        } else if (this.views.inside(product)) {
          const [answer, own] = [this.estimate(product).value, this.views.pairSum(product, 1)];
          farthest = Math.max(farthest, seenAbove(answer, own, tied, records.value, law, chance));
        }
      }
    }
    return farthest;
  }

  // Σ n²/(Σ n)² of the words that a product names: one, if it is a single one; nought, if they are no words.
  #one(word, weights) {
    const records = this.marginals[word].map((share, level) => share * weights[level]);
    if (this.runs[word]) return 0;
    return sum(records) > 0 ? sum(records.map((one) => one ** 2)) / sum(records) ** 2 : 1;
  }

  // The variance of the model's count of a product that the cells of a measured pair tell.
  #ofCells(told, coefficient, share) {
    const [i, j] = [...told.keys()].sort((one, other) => one - other);
    const [misfit, rows, across] = [this.views.misfit(i, j), this.views.weightsOf(i, told), this.views.weightsOf(j, told)];
    const square = meanSquare(misfit.off(rows, across, coefficient), this.#between(told, coefficient), this.fits.length);
    const law = misfit.smoothed(rows, across, coefficient, Math.min(share, 1 - share) * this.count);
    const chance = this.drawn ? 0 : this.count * Math.max(share * (1 - share), 0);
    return (square + law + Math.max(law, smoothed(this.usual, share, told.size))) / 3 + chance;
  }

  // The variance of a count between the fits that the model is the mean of.
  #between(product, coefficient) {
    const [masses, times] = [this.model.masses(product), this.fits.length];
    if (times < 2) return 0;
    const counts = this.fits.map((first, k) => coefficient * sum(masses.subarray(first, this.fits[k + 1])) * times * this.count);
    const mean = sum(counts) / times;
    return sum(counts.map((count) => (count - mean) ** 2)) / (times - 1);
  }

  // The largest variance of the columns' own sums, in which records count by the part that meets the rest.
  #scaled(product, coefficient) {
    const sums = [...product].map(([j, weights]) => this.columnSum(product, j, weights.map(() => 1), coefficient));
    return Math.max(...sums.map(({ variance }) => variance));
  }

  // Cells and model together, `told` being the product as far as the cells tell it; the rest is the model's.
  #both(modelled, product, told, coefficient, signed) {
    const cells = this.views.pairSum(told, coefficient);
    const own = {
      value: modelled.value + cells.value - coefficient * this.model.share(told) * this.count,
      variance: cells.variance,
    };
    const off = apart(own, modelled.value);
    const hidden = () => Math.max(this.#missing(product, coefficient), this.#hidden(product, coefficient, own.variance));
    const model = signed ? { ...modelled, variance: Math.max(modelled.variance, off, hidden()) } : modelled;
    const { value, weight } = combined(own, model, SHARED_NOISE);
    const [i, j] = [...told.keys()].sort((one, other) => one - other);
    const both = spread(own, model, weight, Math.max(this.views.misfit(i, j).shared, SHARED_NOISE));
    const drowned = this.#drowned(product, coefficient, own.variance);
    return { value, variance: Math.max(both, (1 - weight) ** 2 * off, drowned), weight };
  }

  // The largest square by which a sum may be off as those of its measured pairs are, of which it is a part.
  #ofPairs(product, coefficient) {
    const weighed = (asked, law) => this.model.share(new Map([...asked].map(([j, weights]) => [j, weights.map(law)])));
    const size = weighed(product, Math.abs);
    let largest = 0;
    for (const one of product) {
      for (const two of product) {
        if (one[0] >= two[0] || !this.views.has(one[0], two[0])) continue;
        const both = new Map([one, two]);
        const share = weighed(both, Math.abs);
        if (!(share > 0)) continue;
        const alike = coefficient ** 2 * weighed(both, (weight) => weight ** 2);
        const found = this.estimate(both, { coefficient, alike });
        const off = (found.value - coefficient * this.model.share(both) * this.count) ** 2 + found.variance;
        largest = Math.max(largest, (size / share) ** 2 * off);
      }
    }
    return largest;
  }

  // Σ value over the records that meet a product, by the views of the valued column alone. How many of the records in each
  // of its cells meet the product is the model's: alike for all cells of a group.
  columnSum(product, j, values, coefficient) {
    const { group, groups } = this.model.columns[j];
    const others = this.model.masses(new Map([...product].filter(([i]) => i !== j)));
    const [met, all] = [others, this.model.weights].map((masses) => this.model.columns[j].told(masses));
    const shares = Float64Array.from({ length: groups }, (_, g) => (all[g] > 0 ? met[g] / all[g] : sum(others)));
    const own = product.get(j);
    const weight = (value, level) => coefficient * shares[group[level]] * (own ? own[level] : 1) * value;
    return this.views.sums.sum(j, values.map(weight));
  }

  // The variance for what no view shows of pairs of conditions.
  #unseen(product, coefficient, whole, signed) {
    const columns = [...product.keys()].sort((i, j) => i - j);
    let variance = 0;
    for (const [at, i] of columns.entries()) {
      for (const j of columns.slice(at + 1)) {
        const [one, two] = [i, j].map((k) => this.#possible(k, product.get(k), signed));
        const measured = this.views.has(i, j);
        const [rest, both] = [this.#others(product, i, j), one.mean * two.mean];
        const often = signed || !(both > 1e-9) ? rest : whole / both;
        const apart = () => this.#apart(i, j, one, two, inferred(one, two, rest, often), !signed && this.#oneWord(product, i, j));
        const usual = measured ? this.#within(i, j, one, two) : apart();
        variance += (coefficient * (measured ? often : Math.max(rest, often)) * this.count) ** 2 * usual;
        if (measured) variance += (coefficient * this.count) ** 2 * this.#clumped(product, i, j);
      }
    }
    return variance + (coefficient * this.count) ** 2 * this.#doubled(product, whole);
  }

  // φ² times the unseen part of two conditions whose pair was not measured, and is taken for so correlated.
  #apart(i, j, one, two, correlated, alike) {
    const farther = ANY * (1 + Math.abs(correlated));
    const usual = (alike || (this.kinds[i].dated && this.kinds[j].dated) ? farther : this.#correlation(i, j)) ** 2;
    const [any, missing] = [farther, MISSING].map((phi) => Math.max(phi ** 2 - usual, 0));
    const beside = (k, { gaps, zeros }, word) => (this.runs[k] ? 0 : (missing * gaps + any * zeros) * Math.max(word.total - word.gaps, 0));
    const alone = ({ gaps, zeros }) => gaps + zeros;
    return usual * one.total * two.total + any * alone(one) * alone(two) + beside(j, one, two) + beside(i, two, one);
  }

  // The same of two whose pair was measured.
  #within(i, j, one, two) {
    const [first, second] = [i, j].map((k) => (this.runs[k] ? WITHIN : POOLED) ** 2);
    const [rest, other] = [one, two].map(({ total, between }) => Math.max(total - between, 0));
    const alone = first * rest * two.between + second * one.between * other;
    return alone + Math.max(rest ? first : 0, other ? second : 0) * rest * other;
  }

  // Whether the words that two columns are asked for may be one and the same, or one and all but it.
  #oneWord(product, i, j) {
    if ([i, j].some((k) => this.runs[k] || !isWord(product.get(k)))) return false;
    return oneWord(...[i, j].map((k) => this.views.sums.sum(k, product.get(k))), this.count);
  }

  // The variance of a share if columns whose counts are alike were one column, given several times.
  #doubled(product, whole) {
    const one = new Map();
    for (const j of [...product.keys()].sort((i, k) => i - k)) {
      const same = [...one.keys()].find((i) => this.#same(i, j)) ?? j;
      const [known, weights] = [one.get(same), product.get(j)];
      one.set(same, known ? known.map((weight, level) => weight * weights[level]) : weights);
    }
    return one.size === product.size ? 0 : (ANY * (this.model.share(one) - whole)) ** 2;
  }

  // Whether two columns that were not measured together have counts that differ by no more than noise, and are not all equal.
  #same(i, j) {
    const name = `${i},${j}`;
    if (!this.#alike.has(name)) {
      const [one, two] = [i, j].map((k) => this.views.single(k));
      const [kind, other] = [i, j].map((k) => [this.marginals[k].length, this.runs[k] > 0, this.kinds[k].missing, this.kinds[k].dated]);
      const uneven = [one, two].every((view) => !equal(view, view.counts.map(() => sum(view.counts) / view.counts.length), 0));
      const alike = String(kind) === String(other) && uneven && equal(one, two.counts, two.variance);
      this.#alike.set(name, alike && !this.views.has(i, j));
    }
    return this.#alike.get(name);
  }

  // s(1 − s) of the share s of a column's cells that are missing, or may be by one standard deviation.
  #gap(j) {
    if (!this.#gaps.has(j)) {
      const last = this.marginals[j].length - 1;
      const share = this.marginals[j][last];
      const own = this.views.sums.sum(j, this.marginals[j].map((_, level) => (level === last ? 1 : 0)));
      const most = Math.min(Math.max(own.value + Math.sqrt(own.variance), 0) / this.count, 0.5);
      this.#gaps.set(j, this.kinds[j].missing ? Math.max(share * (1 - share), most * (1 - most)) : 0);
    }
    return this.#gaps.get(j);
  }

  // The least variance of a count inside the view of a pair, whose own cells have so much noise.
  #drowned(product, coefficient, noise) {
    const usual = this.#tie(product, coefficient, LEAST);
    return noise > 0 ? usual * (noise / (usual + noise)) ** 2 : 0;
  }

  // The least variance of the model's sum, where weights have both signs: of what it may tell of the tie.
  #hidden(product, coefficient, noise) {
    const usual = this.#tie(product, coefficient, UNKNOWN);
    return noise > 0 ? (usual * noise) / (usual + noise) : 0;
  }

  // The variance that a tie of this size makes.
  #tie(product, coefficient, phi) {
    const [one, two] = [...product].map(([j, weights]) => this.#parts(j, weights).total);
    return (phi * coefficient * this.count) ** 2 * one * two;
  }

  // The variance of a count inside the view of a pair, by what missing cells may have to do with other columns.
  #missing(product, coefficient) {
    const [one, two] = [...product].map(([j, weights]) => this.#parts(j, weights));
    return (MISSING * coefficient * this.count) ** 2 * Math.max(one.gaps * two.total, one.total * two.gaps);
  }

  // φ of a pair that was not measured: half of its logarithm for either column.
  #correlation(i, j) {
    const lines = this.runs[i] > 0 && this.runs[j] > 0;
    const told = [i, j].filter((k) => this.views.ties(k)).length / 2;
    const known = lines ? Math.max(this.correlation, LEAST_LINES) : this.correlation;
    return known ** told * (lines ? UNKNOWN_LINES : UNKNOWN) ** (1 - told);
  }

  // The variance of a share from clumps within the groups of a measured pair.
  #clumped(product, i, j) {
    const [one, two] = [i, j].map((k) => this.#parts(k, product.get(k)));
    const [down, across] = this.#clumping(i, j);
    const cells = this.model.cells(i, j, this.model.masses(without(product, i, j)));
    let variance = 0;
    for (let g = 0, at = 0; g < one.within.length; g++) {
      for (let h = 0; h < two.within.length; h++, at++) {
        const first = down[h] * one.within[g] * (two.means[h] ** 2 + two.within[h] / 2);
        const second = across[g] * two.within[h] * (one.means[g] ** 2 + one.within[g] / 2);
        variance += cells[at] ** 2 * (first + second);
      }
    }
    return variance;
  }

  // ψ² along either column of a measured pair, for each group of the other.
  #clumping(i, j) {
    const name = `${i},${j}`;
    if (!this.#clumpings.has(name)) {
      const cells = this.model.cells(i, j, this.model.weights);
      const [rows, columns] = [i, j].map((k) => this.model.columns[k].groups);
      const down = clumping((g, h) => cells[g * columns + h], this.runs[i], columns);
      this.#clumpings.set(name, [down, clumping((h, g) => cells[g * columns + h], this.runs[j], rows)]);
    }
    return this.#clumpings.get(name);
  }

  #others(product, i, j) {
    return this.model.share(without(product, i, j));
  }

  // A condition's mean, its variance, and the parts of that between groups, between missing cells and others, and between zeros and others.
  #parts(j, weights) {
    if (!this.#variances.has(j)) this.#variances.set(j, new WeakMap());
    const kept = this.#variances.get(j);
    if (!kept.has(weights)) {
      const found = variancesOf(weights, this.marginals[j], this.model.columns[j]);
      kept.set(weights, { ...found, gaps: this.#gap(j) * found.step ** 2, zeros: this.#zeros(j, weights) });
    }
    return kept.get(weights);
  }

  // The part of a condition's variance between zeros, where these have a cell of their own, and other numbers.
  #zeros(j, weights) {
    const { lone, missing } = this.kinds[j];
    if (lone === null) return 0;
    const zero = this.marginals[j][lone];
    const others = this.marginals[j].slice(0, this.marginals[j].length - (missing ? 1 : 0)).map((share, level) => (level === lone ? 0 : share));
    const mean = sum(others.map((share, level) => share * weights[level])) / Math.max(sum(others), 1e-300);
    return zero * (1 - zero) * (mean - weights[lone]) ** 2;
  }

  // The same, where a fit may have taken for empty what holds less than its noise: the variance is no less than one standard deviation of
  // what the column's own views tell of it; if weights are `signed`, than what these tell and one deviation more.
  #possible(j, weights, signed) {
    const found = this.#parts(j, weights);
    const own = this.views.sums.sum(j, weights.map((weight) => (weight - found.mean) ** 2));
    const least = (signed ? own.value : 0) + Math.sqrt(own.variance);
    const more = Math.max(least / this.count - found.total, 0);
    const told = signed ? !this.runs[j] : isTold(weights, this.model.columns[j].group);
    return { ...found, total: found.total + more, between: found.between + (told ? more : 0) };
  }
}

// A law's squared error of a question, in records.
function smoothed(law, share, size) {
  const rarity = Math.log(Math.max(Math.min(share, 1 - share), SMALL));
  return Math.exp(law[0] + law[1] * rarity + law[2] * rarity ** 2 + law[3] * size);
}

// Whether the groups of a column tell a condition.
function isTold(weights, group) {
  const first = new Map();
  return group.every((g, level) => weights[level] === (first.has(g) ? first.get(g) : first.set(g, weights[level]).get(g)));
}

// By which square the model must be off, as it is farther from a view's own cells than their noise takes it.
const apart = (own, modelled) => Math.max(Math.abs(own.value - modelled) - USUALLY * Math.sqrt(own.variance), 0) ** 2;

const without = (product, i, j) => new Map([...product].filter(([k]) => k !== i && k !== j));

// The correlation of two conditions by the model, among the share of records that meet the others.
function inferred(one, two, rest, often) {
  const varied = rest * Math.sqrt(one.total * two.total);
  return varied > 0 ? Math.min(Math.max(((often - rest) * one.mean * two.mean) / varied, -1), 1) : 0;
}

// For each line of cells, how far the halves of two neighbours together are from alike; at least as far as in all lines.
function clumping(cell, runs, lines) {
  const [off, chance] = [new Float64Array(lines), new Float64Array(lines)];
  for (let g = 0; g + 1 < runs; g += 2) {
    const both = Float64Array.from({ length: lines }, (_, h) => cell(g, h) + cell(g + 1, h));
    const half = sum(both.map((_, h) => cell(g, h))) / Math.max(sum(both), 1e-300);
    both.forEach((held, h) => {
      off[h] += (cell(g, h) - half * held) ** 2;
      chance[h] += held ** 2 * half * (1 - half);
    });
  }
  const all = sum(chance);
  if (!(all > 1e-12)) return new Float64Array(lines);
  const least = sum(off) / all;
  return off.map((value, h) => Math.min(Math.max(value / Math.max(chance[h], 1e-12 * all), least), 1));
}

function variancesOf(weights, shares, { group, groups }) {
  const mean = sum(shares.map((share, level) => share * weights[level]));
  const masses = new Float64Array(groups);
  const means = new Float64Array(groups);
  shares.forEach((share, level) => {
    masses[group[level]] += share;
    means[group[level]] += share * weights[level];
  });
  const squares = new Float64Array(groups);
  shares.forEach((share, level) => (squares[group[level]] += share * weights[level] ** 2));
  means.forEach((met, g) => (means[g] = met / Math.max(masses[g], 1e-300)));
  const last = weights.length - 1;
  const there = shares.slice(0, last);
  const known = sum(there.map((share, level) => share * weights[level])) / Math.max(sum(there), 1e-300);
  return {
    mean,
    means,
    step: known - weights[last], // from cells that are missing to those that are not
    within: means.map((told, g) => Math.max(squares[g] / Math.max(masses[g], 1e-300) - told ** 2, 0)),
    total: sum(shares.map((share, level) => share * (weights[level] - mean) ** 2)),
    between: sum(masses.map((mass, g) => mass * (means[g] - mean) ** 2)),
  };
}
