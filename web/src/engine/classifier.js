// Classes from one release for each: the twin of `scumble.learn.PrivateKDEClassifier`.

import { TILE } from "./hasher.js";
import { cut } from "./rows.js";

const places = new Int32Array(TILE);

export class Classifier {
  // `bundles`: each the readers of the classes in the order of `classes`, and their counts; under the rule "ferns" also
  // the hasher and, class by class, what each bucket of each row says (ferns.js).
  constructor({ rule, classes, priors, curve, bounds, bundles }) {
    Object.assign(this, { rule, classes, priors, curve, bounds, bundles });
  }

  // (n × classes) probabilities, class after class within a record; and (n) how probable the most probable class is at
  // least: if its density were two standard errors lower, and those of the others as much higher.
  answers(table) {
    const k = this.classes.length;
    const inside = this.#clipped(table);
    const ferns = this.rule === "ferns";
    const probabilities = ferns ? this.#ferns(inside) : this.#densities(inside, 0);
    const [low, high] = ferns ? [null, null] : [this.#densities(inside, -2), this.#densities(inside, 2)];
    const least = new Float64Array(table.n);
    for (let i = 0; i < table.n; i++) {
      const z = this.#normal(probabilities.subarray(k * i, k * i + k));
      const best = z.indexOf(Math.max(...z));
      least[i] = z[best];
      if (ferns) continue;
      const doubted = high.subarray(k * i, k * i + k);
      doubted[best] = low[k * i + best];
      least[i] = Math.min(least[i], this.#normal(doubted)[best]);
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
    const k = this.classes.length;
    const out = new Float64Array(table.n * k);
    for (let i = 0; i < out.length; i++) out[i] = Math.log(this.priors[i % k]);
    this.bundles.forEach(({ hasher, width, tables }) => {
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
    });
    return out;
  }

  // Logarithms of the classes' densities, moved by so many standard errors.
  #densities(table, errors) {
    const k = this.classes.length;
    const out = new Float64Array(table.n * k);
    for (const { readers, counts } of this.bundles) {
      readers.forEach((reader, c) => {
        const { value, noise, hashing, caution } = reader.read(table);
        for (let i = 0; i < table.n; i++) {
          const moved = value[i] + errors * Math.sqrt(noise[i] + caution * caution * hashing[i]);
          out[i * k + c] += Math.log(Math.max(moved, 0.5) / Math.max(counts[c], 1)) / this.bundles.length;
        }
      });
    }
    if (this.rule === "map") for (let i = 0; i < out.length; i++) out[i] += Math.log(this.priors[i % k]);
    return out;
  }
}

// scumble.learn.calibration: a line, or one that bends before it reaches 0.
function logOdds({ centre, height, slope, side }, score) {
  const z = height + slope * (score - centre);
  if (side === 0 || side * z <= -1) return z;
  return -side / (side * z + 2);
}
