// Classes from one release for each: the twin of `scumble.learn.PrivateKDEClassifier` and `scumble.learn.ferns`.

import { TILE } from "./hasher.js";
import { cut } from "./rows.js";

const places = new Int32Array(TILE);

export class Classifier {
  // `bundles`: each the readers of the classes in the order of `classes`; under the rule "ferns" also the hasher, the
  // released counters and their deviation.
  constructor({ rule, classes, counts, priors, slope, shift, bounds, bundles }) {
    Object.assign(this, { rule, classes, counts, priors, slope, shift, bounds, bundles });
    if (rule === "ferns") this.tables = fernTables(bundles, counts);
  }

  // (n × classes) probabilities, class after class within a record.
  probabilities(table) {
    const k = this.classes.length;
    const inside = this.#clipped(table);
    const out = this.rule === "ferns" ? this.#ferns(inside) : this.#densities(inside);
    for (let i = 0; i < table.n; i++) {
      const z = out.subarray(k * i, k * i + k);
      if (k === 2) {
        z[1] = this.slope * (z[1] - z[0] - this.shift);
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
    this.bundles.forEach(({ hasher }, b) => {
      const tables = this.tables[b];
      const parts = table.parts(hasher.factors);
      for (let from = 0; from < table.n; from += TILE) {
        const n = Math.min(TILE, table.n - from);
        const tile = cut(parts, from, n);
        for (let row = 0; row < hasher.rows; row++) {
          hasher.look(row, tile, n, places);
          const base = row * hasher.buckets;
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

// What each bucket of each row says of each class, weighed by what the row knows: see `scumble.learn.ferns`.
function fernTables(bundles, counts) {
  const all = counts.reduce((a, b) => a + b, 0);
  const shares = counts.map((count) => count / all);
  const experts = bundles.map((bundle) => opinions(bundle, counts, shares));
  const length = Math.sqrt(experts.reduce((sum, { weights }) => sum + weights.reduce((s, w) => s + w * w, 0), 0)) || 1;
  return experts.map(({ evidence, weights }, b) => {
    const { buckets } = bundles[b].hasher;
    for (const table of evidence)
      for (let at = 0; at < table.length; at++) table[at] *= weights[Math.floor(at / buckets)] / length;
    return evidence;
  });
}

function opinions({ hasher, released, deviation, used }, counts, shares) {
  const { rows, buckets } = hasher;
  const k = shares.length;
  const seen = released.map((table, c) => cleaned(table, counts[c], deviation[c], rows, buckets, used));
  const alpha = 2 + Math.max(...deviation);
  const evidence = seen.map(() => new Float64Array(rows * buckets));
  const weights = new Float64Array(rows);
  for (let at = 0; at < rows * buckets; at++) {
    let sum = 0;
    for (let c = 0; c < k; c++) sum += seen[c][at];
    let information = 0;
    for (let c = 0; c < k; c++) {
      const posterior = (seen[c][at] + alpha * shares[c]) / (sum + alpha);
      evidence[c][at] = Math.log(posterior / shares[c]);
      information += posterior * evidence[c][at];
    }
    weights[Math.floor(at / buckets)] += sum * information;
  }
  return { evidence, weights: weights.map((w) => Math.max(w, 0)) };
}

// Counters freed of their row's common noise and of negative numbers.
function cleaned(released, total, deviation, rows, buckets, used) {
  const out = new Float64Array(rows * buckets);
  if (total < 2 * deviation) return out;
  for (let row = 0; row < rows; row++) {
    const base = row * buckets;
    let sum = 0;
    for (let b = 0; b < used; b++) sum += released[base + b];
    const excess = (sum - total) / used;
    for (let b = 0; b < used; b++) out[base + b] = Math.max(released[base + b] - excess, 0);
  }
  return out;
}
