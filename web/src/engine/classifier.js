// Classes from one release for each: the twin of `scumble.learn.PrivateKDEClassifier`.

import { TILE } from "./hasher.js";
import { cut } from "./rows.js";

const places = new Int32Array(TILE);
const DOUBT = 2; // standard errors that are allowed for
const CLEAR = 5; // and by which some class must rise above nothing: of the many places of a map, noise passes fewer

export class Classifier {
  // `readers` of the classes in the order of `classes`, and their `counts`; under the rule "ferns" also the `hasher` and
  // `tables`, class by class: what each bucket of each row says.
  constructor({ rule, classes, priors, curve, bounds, readers, counts, hasher, width, tables }) {
    Object.assign(this, { rule, classes, priors, curve, bounds, readers, counts, hasher, width, tables });
  }

  // (n × classes) probabilities, class after class within a record; and (n) how probable the most probable class is at
  // least: if its density were two standard errors lower, and those of the others as much higher. Where the densities of
  // all classes drown in their noise nothing is known, and that is 0.
  answers(table) {
    const k = this.classes.length;
    const inside = this.#clipped(table);
    const ferns = this.rule === "ferns";
    const { probabilities, low, high, clear } = ferns ? { probabilities: this.#ferns(inside) } : this.#densities(inside);
    const least = new Float64Array(table.n);
    for (let i = 0; i < table.n; i++) {
      const z = this.#normal(probabilities.subarray(k * i, k * i + k));
      const best = z.indexOf(Math.max(...z));
      least[i] = z[best];
      if (ferns) continue;
      const doubted = high.subarray(k * i, k * i + k);
      doubted[best] = low[k * i + best];
      least[i] = clear[i] ? Math.min(least[i], this.#normal(doubted)[best]) : 0;
    }
    return { probabilities, least };
  }

  // From logarithms to probabilities, in place.
  #normal(z) {
    if (z.length === 2) {
      z[1] = logOdds(this.curve, z[1] - z[0]);
      z[0] = 0;
    }
    const most = Math.max(...z);
    let sum = 0;
    for (let c = 0; c < z.length; c++) sum += z[c] = Math.exp(z[c] - most);
    for (let c = 0; c < z.length; c++) z[c] /= sum;
    return z;
  }

  // A fitted model moves queries into its public bounds.
  #clipped(table) {
    if (!this.bounds) return table;
    const [low, high] = this.bounds;
    return table.map((x, j) => Math.min(Math.max(x, low[j]), high[j]));
  }

  #ferns(table) {
    const { hasher, width, tables, priors } = this;
    const k = this.classes.length;
    const out = new Float64Array(table.n * k);
    for (let i = 0; i < out.length; i++) out[i] = Math.log(priors[i % k]);
    const parts = table.parts(hasher.factors);
    for (let from = 0; from < table.n; from += TILE) {
      const n = Math.min(TILE, table.n - from);
      const tile = cut(parts, from, n);
      for (let row = 0; row < hasher.rows; row++) {
        hasher.look(row, tile, n, places);
        const base = row * width;
        for (let i = 0; i < n; i++) {
          for (let c = 0; c < k; c++) out[(from + i) * k + c] += tables[c][base + places[i]];
        }
      }
    }
    return out;
  }

  // Logarithms of the classes' densities; the same if they were lower, or higher; and where one of them is clear.
  #densities(table) {
    const k = this.classes.length;
    const [probabilities, low, high] = Array.from({ length: 3 }, () => new Float64Array(table.n * k));
    const clear = new Uint8Array(table.n);
    this.readers.forEach((reader, c) => {
      const { value, noise, hashing, caution } = reader.read(table);
      const density = (sum) => Math.log(Math.max(sum, 0.5) / Math.max(this.counts[c], 1));
      for (let i = 0; i < table.n; i++) {
        const error = Math.sqrt(noise[i] + caution * caution * hashing[i]);
        probabilities[i * k + c] = density(value[i]);
        low[i * k + c] = density(value[i] - DOUBT * error);
        high[i * k + c] = density(value[i] + DOUBT * error);
        if (value[i] > CLEAR * error) clear[i] = 1;
      }
    });
    if (this.rule === "map")
      for (const out of [probabilities, low, high])
        for (let i = 0; i < out.length; i++) out[i] += Math.log(this.priors[i % k]);
    return { probabilities, low, high, clear };
  }
}

// scumble.learn.ferns: a line, or one that bends before it reaches 0.
function logOdds({ center, height, slope, side }, score) {
  const z = height + slope * (score - center);
  if (side === 0 || side * z <= -1) return z;
  return -side / (side * z + 2);
}

// What each bucket of each row says of the classes: the twin of `scumble.learn.ferns`, made from the counters when a page
// opens.

// Tables, class by class, (rows × width): of the `counts` of the classes (rows × width each), their counters' `variances`;
// `totals`: how many records each class has.
export function fernTables({ counts, variances, width }, totals) {
  const all = totals.reduce((a, b) => a + b, 0);
  const shares = totals.map((n) => n / all);
  const seen = counts.map((counters, c) => cleaned(counters, width, totals[c], variances[c]));
  const alpha = 2 + Math.sqrt(Math.max(...variances));
  const evidence = seen.map(({ length }) => new Float64Array(length));
  const weights = new Float64Array(seen[0].length / width);
  for (let row = 0; row < weights.length; row++) {
    let information = 0;
    for (let at = row * width; at < (row + 1) * width; at++) {
      let here = 0;
      for (const table of seen) here += table[at];
      let bits = 0;
      for (let c = 0; c < seen.length; c++) {
        const posterior = (seen[c][at] + alpha * shares[c]) / (here + alpha);
        evidence[c][at] = Math.log(posterior / shares[c]);
        bits += posterior * evidence[c][at];
      }
      information += here * bits;
    }
    weights[row] = Math.max(information, 0) ** 2;
  }
  const length = Math.sqrt(weights.reduce((sum, w) => sum + w * w, 0)) || 1;
  return evidence.map((table) => table.map((value, at) => value * (weights[Math.floor(at / width)] / length)));
}

// Counters freed of their row's common noise, and of negative numbers. A class that drowns shows nothing.
function cleaned(counters, width, total, variance) {
  const out = new Float64Array(counters.length);
  if (total < 2 * Math.sqrt(variance)) return out;
  for (let first = 0; first < out.length; first += width) {
    let sum = 0;
    for (let k = 0; k < width; k++) sum += counters[first + k];
    const excess = (sum - total) / width;
    for (let k = 0; k < width; k++) out[first + k] = Math.max(counters[first + k] - excess, 0);
  }
  return out;
}
