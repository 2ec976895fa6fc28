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

  // (n × classes) probabilities, class after class within a record.
  probabilities(table) {
    const k = this.classes.length;
    const inside = this.#clipped(table);
    const out = this.rule === "ferns" ? this.#ferns(inside) : this.#densities(inside);
    for (let i = 0; i < table.n; i++) {
      const z = out.subarray(k * i, k * i + k);
      if (k === 2) {
        z[1] = logOdds(this.curve, z[1] - z[0]);
        z[0] = 0;
      }
      const most = Math.max(...z);
      let sum = 0;
      for (let c = 0; c < k; c++) sum += z[c] = Math.exp(z[c] - most);
      for (let c = 0; c < k; c++) z[c] /= sum;
    }
    return out;
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

  #densities(table) {
    const k = this.classes.length;
    const out = new Float64Array(table.n * k);
    for (const { readers, counts } of this.bundles) {
      readers.forEach((reader, c) => {
        const { value } = reader.read(table);
        for (let i = 0; i < table.n; i++) {
          out[i * k + c] += Math.log(Math.max(value[i], 0.5) / Math.max(counts[c], 1)) / this.bundles.length;
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
