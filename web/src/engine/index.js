// The engine: answers questions about a release, on the page and in its workers. It sees no document and no network.

import { Classifier, fernTables } from "./classifier.js";
import { Coding } from "./coding.js";
import { GridReader } from "./grid.js";
import { Hasher } from "./hasher.js";
import { RowsReader } from "./rows.js";
import { READ, Table } from "./table.js";
import { tablesOf } from "./tables.js";
import { unpack as unpacked } from "./unpack.js";

const MANY = 1e6; // degrees of freedom that are as good as all

// What lies in a page, made ready. It holds counters alone: a grid's tables and the ferns' are made here, once for the
// page and all of its workers.
export async function unpack(text, base64) {
  const { description, arrays } = await unpacked(text, base64);
  const { releases, classifier } = description;
  for (const { grid } of releases) {
    if (grid) keep(arrays, grid.counts, tablesOf(grid, arrays[grid.counts]));
  }
  if (classifier?.rule === "ferns") {
    const mine = classifier.releases.map((k) => releases[k]);
    const counts = mine.map((one) => arrays[one.counts]);
    keep(arrays, "ferns", fernTables({ ...classifier, counts, width: mine[0].width }, classifier.totals));
  }
  return { description, arrays };
}

function keep(arrays, prefix, found) {
  for (const [name, values] of Object.entries(found)) arrays[`${prefix} ${name}`] = values;
}

// A release's content: `description` (JSON) and `arrays` (name → typed array), as `scumble.show.pages` writes them.
export class Engine {
  constructor(description, arrays) {
    this.coding = new Coding(description.columns);
    this.roles = this.coding.roles;
    this.reach = new Map(Object.entries(description.reach).map(([confidence, logs]) => [Number(confidence), arrays[logs]]));
    this.hashers = description.hashers.map((hasher) => hasherOf(hasher, arrays));
    this.releases = description.releases.map((release) => this.#reader(release, arrays));
    this.classifier = description.classifier && this.#classifier(description.classifier, arrays);
  }

  table(n, cells) {
    return Table.of(n, this.roles, this.coding.numbers(cells));
  }

  // Kernel sums with what is known of their errors, of one release.
  estimate(release, table) {
    return this.releases[release].read(table);
  }

  // What `scumble query` gives: kernel_sum, density, lower, upper, and the standard error. Records beyond the bounds were
  // counted at the edge: what is near a point there is at least nothing, and at most what is near the nearest point within.
  answers(release, table, confidence = 0.95) {
    const out = this.#asCounted(release, table, confidence);
    const { bounds, which } = this.releases[release];
    const { beyond, nearest } = bounds ? table.beyond(bounds, which) : { beyond: [] };
    if (beyond.length) {
      const { upper } = this.#asCounted(release, nearest, confidence);
      beyond.forEach((i, k) => {
        out.lower[i] = Math.min(out.lower[i], 0);
        out.upper[i] = Math.max(out.upper[i], upper[k]);
      });
    }
    return out;
  }

  // With every record where it was counted.
  #asCounted(release, table, confidence) {
    const { divisor } = this.releases[release];
    const estimate = this.estimate(release, table);
    const { value, noise, hashing, degrees, caution } = estimate;
    const n = value.length;
    const out = {
      kernelSum: value, density: new Float64Array(n), lower: new Float64Array(n), upper: new Float64Array(n),
      error: new Float64Array(n),
    };
    for (let i = 0; i < n; i++) {
      const wide = caution * caution * hashing[i];
      const variance = noise[i] + wide;
      const quantile = this.#quantile(degrees * (variance / wide) ** 2, confidence);
      const half = quantile * Math.sqrt(variance);
      out.density[i] = densityOf(value[i], divisor);
      out.lower[i] = value[i] - half;
      out.upper[i] = value[i] + half;
      out.error[i] = Math.sqrt(noise[i] + hashing[i]);
    }
    return out;
  }

  // Student's: the logarithms that Python wrote into the page, over the inverse degrees of freedom, by Lagrange's cubic.
  #quantile(degrees, confidence) {
    const logs = this.reach.get(confidence);
    const place = (logs.length - 1) / Math.min(degrees || MANY, MANY);
    const first = Math.min(Math.max(Math.floor(place) - 1, 0), logs.length - 4);
    const [a, b, c, d] = [0, 1, 2, 3].map((k) => place - first - k);
    const weights = [(b * c * d) / -6, (a * c * d) / 2, (a * b * d) / -2, (a * b * c) / 6];
    return Math.exp(weights.reduce((sum, weight, k) => sum + weight * logs[first + k], 0));
  }

  // How many records of a grid are in a region. `box`: column → [from, to].
  region(release, box, confidence = 0.95) {
    const { value, variance, ends, others } = this.releases[release].region(this.coding.box(box));
    const half = this.#quantile(Infinity, confidence) * Math.sqrt(variance);
    return { value, lower: value - half, upper: value + half, ends: this.coding.ends(ends), others };
  }

  // A map, or a strip of one: densities and their standard errors over x, then y. `cells` hold the other columns.
  map(release, x, y, cells) {
    const { divisor, lines } = this.releases[release];
    const found = lines(x, y, this.table(1, cells)) ?? this.estimate(release, this.mesh(x, y, cells));
    const { value, noise, hashing } = found;
    const density = value.map((v) => densityOf(v, divisor));
    const error = value.map((_, i) => Math.sqrt(noise[i] + hashing[i]) / divisor);
    return { density, error };
  }

  // All points of a map as a table, x changing first.
  mesh(x, y, cells) {
    const n = x.values.length * y.values.length;
    const spread = (values, every) => {
      const all = ArrayBuffer.isView(values) ? new Float64Array(n) : new Array(n);
      for (let i = 0; i < n; i++) all[i] = values[Math.floor(i / every) % values.length];
      return all;
    };
    const full = [...cells];
    full[x.column] = spread(x.values, 1);
    full[y.column] = spread(y.values, x.values.length);
    return this.table(n, full);
  }

  // Of each point the classes' probabilities, and how probable the most probable one is at least.
  classes(table) {
    return this.classifier.answers(table);
  }

  probabilities(table) {
    return this.classes(table).probabilities;
  }

  #reader(release, arrays) {
    const inner = release.grid ? gridOf(release.grid, arrays) : rowsOf(release, this.hashers[release.hasher], arrays);
    const factors = release.grid ? [{ which: release.grid.which }] : this.hashers[release.hasher].factors;
    return {
      count: release.count, divisor: release.divisor, width: release.width, bounds: release.bounds,
      which: factors.flatMap((factor) => factor.which),
      read: (table) => inner.estimate(table.parts(factors), table.n),
      region: (box) => inner.region(box),
      lines: (x, y, { columns }) => {
        if (release.grid || !this.coding.plain || this.roles[x.column] !== "number") return null;
        const ys = Array.from(y.values, READ[this.roles[y.column]]);
        return inner.lines(
          x.column,
          x.values,
          y.column,
          ys.map((value) => columns.with(y.column, { constant: true, value })),
        );
      },
    };
  }

  #classifier(model, arrays) {
    return new Classifier({
      ...model,
      readers: model.releases.map((one) => this.releases[one]),
      counts: model.releases.map((one) => this.releases[one].count),
      hasher: model.hasher === null ? null : this.hashers[model.hasher],
      width: this.releases[model.releases[0]].width,
      tables: model.classes.map((_, c) => arrays[`ferns ${c}`]),
    });
  }
}

const densityOf = (sum, divisor) => Math.min(Math.max(sum / divisor, 0), 1);

function hasherOf(hasher, arrays) {
  const factors = hasher.factors.map((factor) => ({ ...factor, parameters: arrays[factor.parameters] }));
  const made = new Hasher({ ...hasher, factors, start: arrays[hasher.start], multipliers: arrays[hasher.multipliers] });
  return Object.assign(made, { starts: hasher.starts, caution: hasher.caution });
}

function rowsOf(release, hasher, arrays) {
  const { counts, width, shift, gain, noiseVariance, rounding } = release;
  const { starts, caution } = hasher;
  return new RowsReader(hasher, {
    counts: arrays[counts], width, shift: arrays[shift], gain, noiseVariance, rounding, starts, caution,
  });
}

function gridOf(grid, arrays) {
  const names = ["total", "ones", "squares", "places", "sharp", "rough", "nearTable", "nearSharp", "nearSquare"];
  const found = names.map((name) => [name, arrays[`${grid.counts} ${name}`]]);
  return new GridReader({ ...grid, counters: arrays[grid.counts], ...Object.fromEntries(found) });
}

// One strip of a map, of densities or of classes.
export function answer(engine, { what, release, x, y, cells }) {
  return what === "classes"
    ? engine.classes(engine.mesh(x, y, cells))
    : engine.map(release, x, y, cells);
}

// In a worker: the first message brings the release, each further one asks for a strip.
function work(scope) {
  let engine = null;
  scope.onmessage = ({ data }) => {
    if (data.description) {
      engine = new Engine(data.description, data.arrays);
      return;
    }
    const found = answer(engine, data);
    scope.postMessage(
      { job: data.job, strip: data.strip, ...found },
      Object.values(found).map((array) => array.buffer),
    );
  };
}

if (typeof document === "undefined" && typeof importScripts === "function") work(globalThis);
