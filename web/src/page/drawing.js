// From what is to be shown to its numbers: asks the engine for a curve, the workers for a map, coarsely at first.

import { Axis } from "./axes.js";
import { CHOICES, VALUES } from "./state.js";

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

  #axis(j, n, centred) {
    const { exhibit, state } = this;
    return new Axis(exhibit.columns[j], j, state.ranges[j], state.categories[j], n, centred);
  }

  #curve() {
    const { exhibit, state } = this;
    const x = this.#axis(state.x, CURVE, false);
    const cells = [...state.at];
    cells[state.x] = x.values;
    const table = exhibit.engine.table(x.values.length, cells);
    return state.show === "classes"
      ? { kind: "classCurve", x, probabilities: exhibit.engine.probabilities(table), done: true }
      : { kind: "curve", x, found: exhibit.answers(state.release, table, state.confidence), done: true };
  }

  #map(size) {
    const { exhibit, state, pool } = this;
    const [x, y] = [this.#axis(state.x, size, true), this.#axis(state.y, size, true)];
    const [nx, ny] = [x.values.length, y.values.length];
    const asked = performance.now();
    const last = size === MAP || !(x.numeric || y.numeric);
    const classes = state.show === "classes";
    // What comes for each point, and how many numbers it is.
    const parts = Object.entries(
      classes ? { probabilities: exhibit.classifier.classes.length } : { density: 1, relative: 1 },
    );
    const map = { kind: classes ? "classMap" : "map", x, y, size, done: last };
    for (const [name, width] of parts) map[name] = new Float64Array(nx * ny * width);
    const [[first, wide]] = parts;
    let left = ny; // lines
    const question = {
      what: state.show,
      release: state.release,
      cells: state.at,
      x: { column: state.x, values: x.values },
      y: { column: state.y, values: y.values },
    };
    pool.ask(question, ny, (strip) => {
      for (const [name, width] of parts) map[name].set(strip[name], strip.strip * nx * width);
      left -= strip[first].length / (nx * wide);
      if (left > 0) return;
      state.set({ drawn: map });
      // A slow release is drawn once more in between.
      if (!last) this.#map(size === COARSE && performance.now() - asked > SLOW ? MIDDLE : MAP);
    });
  }
}
