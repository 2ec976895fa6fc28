// From what is to be shown to its numbers: asks the engine for a curve, the workers for a map, coarsely at first.

import { Axis } from "./axes.js";
import { CHOICES, shownReleases, VALUES } from "./state.js";

const CURVE = 401;
const COARSE = 50;
const MIDDLE = 100;
const MAP = 200;
const SLOW = 400; // milliseconds of the coarse map

export class Drawing {
  constructor(exhibit, state, pool) {
    Object.assign(this, { exhibit, state, pool });
    state.on([...CHOICES, ...VALUES], () => this.draw());
  }

  draw() {
    const { state, pool } = this;
    pool.stop();
    state.set({ started: performance.now() });
    const why = this.#obstacle();
    if (why) state.set({ drawn: { kind: "nothing", why, done: true } });
    else if (state.y === null) state.set({ drawn: this.#curve() });
    else this.#map(COARSE);
  }

  // A release does not list its categories: somebody must write them first.
  #obstacle() {
    const { exhibit, state } = this;
    const drawn = (j) => j === state.x || j === state.y;
    const missing = [state.x, state.y, ...exhibit.usable].find(
      (j) => j !== null && !exhibit.isNumber(j) && !(drawn(j) ? state.categories[j].length : state.at[j]),
    );
    if (missing === undefined) return null;
    const { name } = exhibit.columns[missing];
    return `Write ${drawn(missing) ? "values" : "a value"} of “${name}” to see the density there.`;
  }

  #axis(j, n, centered) {
    const { exhibit, state } = this;
    return new Axis(exhibit.columns[j], j, state.ranges[j], state.categories[j], n, centered);
  }

  #curve() {
    const { exhibit, state } = this;
    const x = this.#axis(state.x, CURVE, false);
    const cells = [...state.at];
    cells[state.x] = x.values;
    const table = exhibit.engine.table(x.values.length, cells);
    if (state.show === "classes")
      return { kind: "classCurve", x, ...exhibit.engine.classes(table), done: true };
    const curves = shownReleases(state).map((release) => ({
      release, found: exhibit.answers(release, table, state.confidence),
    }));
    return { kind: "curve", x, curves, done: true };
  }

  #map(size) {
    const { exhibit, state } = this;
    const [x, y] = [this.#axis(state.x, size, true), this.#axis(state.y, size, true)];
    const asked = performance.now();
    const last = size === MAP || !(x.numeric || y.numeric);
    const classes = state.show === "classes";
    const map = { kind: classes ? "classMap" : "map", x, y, size, done: last };
    const told = (changes) => {
      state.set({ drawn: { ...map, ...changes } });
      // A slow release is drawn once more in between.
      if (!last) this.#map(size === COARSE && performance.now() - asked > SLOW ? MIDDLE : MAP);
    };
    // What comes for each point, and how many numbers it is.
    if (classes) this.#ask(x, y, 0, { probabilities: exhibit.classifier.classes.length, least: 1 }, told);
    else
      this.#densities(x, y, shownReleases(state), [], (maps) => told({ maps, density: maps[0].density }));
  }

  // One release after the other.
  #densities(x, y, [release, ...more], maps, tell) {
    this.#ask(x, y, release, { density: 1, error: 1 }, (found) => {
      const all = [...maps, { release, ...found }];
      if (more.length) this.#densities(x, y, more, all, tell);
      else tell(all);
    });
  }

  #ask(x, y, release, widths, tell) {
    const { state, pool } = this;
    const [nx, ny] = [x.values.length, y.values.length];
    const parts = Object.entries(widths);
    const found = Object.fromEntries(parts.map(([name, width]) => [name, new Float64Array(nx * ny * width)]));
    const [[first, wide]] = parts;
    let left = ny; // lines
    const question = {
      what: state.show === "classes" ? "classes" : "density", release, cells: state.at,
      x: { column: state.x, values: x.values }, y: { column: state.y, values: y.values },
    };
    pool.ask(question, ny, (strip) => {
      for (const [name, width] of parts) found[name].set(strip[name], strip.strip * nx * width);
      left -= strip[first].length / (nx * wide);
      if (left <= 0) tell(found);
    });
  }
}

// ---- workers that draw maps, strip by strip: they run the page's engine, from its own text ----

const MOST = 4;

export class Pool {
  constructor(content, engine) {
    this.engine = engine;
    this.job = 0;
    this.waiting = [];
    this.workers = this.#start(content);
  }

  #start(content) {
    try {
      const text = document.getElementById("engine").textContent;
      const url = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
      const size = Math.max(1, Math.min(MOST, navigator.hardwareConcurrency || 2));
      return Array.from({ length: size }, () => {
        const worker = new Worker(url);
        worker.postMessage(content);
        worker.onmessage = ({ data }) => this.#done(worker, data);
        worker.onerror = () => this.#lost(worker);
        worker.idle = true;
        return worker;
      });
    } catch {
      return []; // the page then computes on its own thread
    }
  }

  // Ask for a map; `tell` gets each strip as it comes. A new question makes the old ones void.
  ask(question, lines, tell) {
    this.job++;
    this.tell = tell;
    const { y } = question;
    const strips = Math.max(1, Math.min(y.values.length, 4 * Math.max(1, this.workers.length)));
    this.waiting = Array.from({ length: strips }, (_, k) => {
      const from = Math.floor((k * y.values.length) / strips);
      const to = Math.floor(((k + 1) * y.values.length) / strips);
      return { ...question, y: { ...y, values: y.values.slice(from, to) }, job: this.job, strip: from };
    });
    if (this.workers.length) this.#feed();
    else this.#alone(this.job);
  }

  stop() {
    this.job++;
    this.waiting = [];
  }

  #feed() {
    for (const worker of this.workers) {
      if (!worker.idle || !this.waiting.length) continue;
      worker.idle = false;
      worker.doing = this.waiting.shift();
      worker.postMessage(worker.doing);
    }
  }

  #done(worker, data) {
    worker.idle = true;
    this.#feed();
    if (data.job === this.job) this.tell(data);
  }

  #lost(worker) {
    this.workers = this.workers.filter((one) => one !== worker);
    if (worker.doing && worker.doing.job === this.job && !worker.idle) this.waiting.unshift(worker.doing);
    if (this.workers.length) this.#feed();
    else this.#alone(this.job);
  }

  #alone(job) {
    if (job !== this.job || !this.waiting.length) return;
    const data = this.waiting.shift();
    this.tell({ ...ScumbleEngine.answer(this.engine, data), job, strip: data.strip });
    setTimeout(() => this.#alone(job), 0);
  }
}
