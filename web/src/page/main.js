// The explorer. Everything is computed here, from the release that lies in the page.

import { Axis } from "./axes.js";
import { columnsOf, parse, write } from "./csv.js";
import { button, choice, download, h, labelled, segments, tableOf, unseen } from "./dom.js";
import { PALETTES } from "./palette.js";
import * as pictures from "./pictures.js";
import { Pool } from "./pool.js";
import { measured, number, percent } from "./words.js";

const MAP = 200;
const COARSE = 50;
const MIDDLE = 100;
const SLOW = 400; // milliseconds of the coarse map
const CURVE = 401;
const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

const { unpack, Engine, READ } = ScumbleEngine;
const content = unpack(document.getElementById("release").textContent, document.getElementById("arrays").textContent);
const { description } = content;
const { columns, classes, classifier, modes } = description;

class Explorer {
  constructor(root) {
    this.engine = description.drawable ? new Engine(description, content.arrays) : null;
    this.pool = description.drawable ? new Pool(content, this.engine) : null;
    this.theme = stored("scumble-theme");
    this.marks = [];
    this.charts = [];
    this.here = null;
    this.#begin();
    this.status = h("p", { class: "readout", role: "status", "aria-live": "polite" });
    this.controls = h("form", {
      class: "controls",
      "aria-label": "What to draw",
      onsubmit: (event) => event.preventDefault(),
    });
    this.figures = h("div", { class: "figures" });
    this.markTable = h("div", {});
    root.append(this.#header(), this.#main(), this.#footer());
    if (!description.drawable) return;
    this.#fillControls();
    this.#showMarks();
    new ResizeObserver(() => this.#resized()).observe(this.figures);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#paint());
  }

  // ---- what is shown at first ----

  #begin() {
    const usable = columns.flatMap((column, j) => (column.role === "any" ? [] : [j]));
    const numeric = usable.filter((j) => columns[j].role === "number");
    const peak = modes[0];
    this.usable = usable;
    this.ranges = columns.map((column) => column.range ?? [0, 1]);
    this.categories = columns.map((column) => [...column.values]);
    this.at = columns.map((column, j) => {
      if (column.role !== "number") return column.values[0] ?? "";
      return peak ? peak.point[j] : (this.ranges[j][0] + this.ranges[j][1]) / 2;
    });
    const [first, second] = numeric.length ? numeric : usable;
    this.x = first ?? 0;
    this.y = numeric.length > 1 ? second : null;
    this.release = 0;
    this.show = classifier ? "classes" : "density";
    this.confidence = 0.95;
  }

  get palette() {
    const dark = this.theme ? this.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    return PALETTES[dark ? "dark" : "light"];
  }

  // ---- the page's parts ----

  #header() {
    const { info } = description;
    const error = info.count_standard_error;
    const figure = (name, value, note) =>
      h(
        "div",
        { class: "figure" },
        h("dt", {}, name),
        h("dd", {}, h("strong", {}, value), note && h("span", {}, note)),
      );
    return h(
      "header",
      {},
      h(
        "div",
        { class: "headline" },
        h("div", {}, h("p", { class: "eyebrow" }, "scumble · a private release"), h("h1", {}, description.title)),
        button("Light or dark", () => this.#toggleTheme(), {
          class: "quiet",
          "aria-label": "Switch between light and dark",
        }),
      ),
      h(
        "section",
        { class: "card", "aria-labelledby": "promise" },
        h("h2", { id: "promise" }, "What it promises"),
        h(
          "div",
          { class: "promise" },
          h(
            "dl",
            { class: "facts" },
            figure(
              "Privacy budget",
              `ε = ${number(info.epsilon)}`,
              info.delta ? `δ = ${info.delta.toExponential(0)}` : "δ = 0: no exceptions",
            ),
            figure(
              "Records",
              `about ${number(info.count)}`,
              error ? `± ${number(Math.round(1.96 * error) || 1.96 * error)} (95 %)` : "public",
            ),
            figure("Asking", "free, for ever", "answers cost no further privacy"),
          ),
          h("p", { class: "meaning" }, info.meaning),
        ),
        h(
          "details",
          {},
          h("summary", {}, "The whole privacy card"),
          h(
            "dl",
            { class: "lines" },
            description.card.map(([name, text]) => h("div", {}, h("dt", {}, name), h("dd", {}, text))),
          ),
        ),
      ),
    );
  }

  #main() {
    if (!description.drawable) {
      const reason =
        "This release cannot be drawn here. Its answers need Python: a kernel of someone’s own, or a model whose numbers are no densities. ";
      return h(
        "main",
        {},
        h(
          "section",
          {},
          h("h2", {}, "No picture"),
          h("p", {}, reason, "Programs can ask it over HTTP: scumble explore --api."),
        ),
      );
    }
    return h(
      "main",
      {},
      h(
        "section",
        { class: "explore", "aria-labelledby": "look" },
        h("h2", { id: "look", tabindex: "-1" }, classes.length ? "Look at the classes" : "Look at the density"),
        h("p", { class: "hint" }, this.#whatDensityIs()),
        h(
          "div",
          { class: "workbench" },
          this.controls,
          h("div", { class: "stage" }, this.figures, this.status, this.#pictureButtons()),
        ),
      ),
      h(
        "section",
        { "aria-labelledby": "marked" },
        h("h2", { id: "marked", tabindex: "-1" }, "Marked points"),
        h(
          "p",
          { class: "hint" },
          "Click in a picture, or move the cross-hair with the arrow keys and press Enter, to mark a point and compare it with others.",
        ),
        this.markTable,
      ),
      modes.length ? this.#modes() : null,
      this.#csv(),
    );
  }

  #whatDensityIs() {
    const kernel = description.card.find(([name]) => name === "Kernel")?.[1];
    return `The density at a place is the share of all records near it, between 0 and 1. Near is what the kernel says: ${kernel}.`;
  }

  #footer() {
    return h(
      "footer",
      {},
      h(
        "p",
        {},
        "This page holds the whole release and computes every answer by itself. It sends nothing anywhere. Made with scumble.",
      ),
    );
  }

  // ---- controls ----

  #fillControls() {
    const names = (list) => list.map((j) => [j, columns[j].name]);
    const parts = [];
    if (classifier) {
      parts.push(
        segments(
          "show",
          "Show",
          [
            ["classes", "Classes"],
            ["density", "Densities"],
          ],
          this.show,
          (value) => this.#change({ show: value }),
        ),
      );
    }
    if (classes.length && this.show === "density") {
      parts.push(
        labelled(
          "Class",
          choice(
            classes.map((name, k) => [k, name]),
            this.release,
            (k) => this.#change({ release: Number(k) }),
          ),
        ),
      );
    }
    parts.push(
      labelled(
        "Across",
        choice(names(this.usable), this.x, (j) =>
          this.#change({ x: Number(j), y: this.y === Number(j) ? this.x : this.y }),
        ),
      ),
    );
    if (this.usable.length > 1) {
      const others = this.usable.filter((j) => j !== this.x);
      parts.push(
        labelled(
          "Up",
          choice([["", "nothing: a curve"], ...names(others)], this.y ?? "", (j) =>
            this.#change({ y: j === "" ? null : Number(j) }),
          ),
        ),
      );
    }
    for (const j of [this.x, this.y])
      if (j !== null) parts.push(columns[j].role === "number" ? this.#rangeControl(j) : this.#valuesControl(j));
    const still = this.usable.filter((j) => j !== this.x && j !== this.y);
    if (still.length) {
      parts.push(
        h(
          "fieldset",
          { class: "still" },
          h("legend", {}, still.length > 1 ? "The other columns stay at" : "The other column stays at"),
          still.map((j) => this.#stillControl(j)),
        ),
      );
    }
    if (this.show === "density") {
      parts.push(
        segments(
          "confidence",
          "Intervals",
          [
            [0.9, "90 %"],
            [0.95, "95 %"],
            [0.99, "99 %"],
          ],
          this.confidence,
          (value) => this.#change({ confidence: Number(value) }),
        ),
      );
    }
    const focused = document.activeElement?.closest?.("form.controls")
      ? [...this.controls.elements].indexOf(document.activeElement)
      : -1;
    this.controls.replaceChildren(...parts);
    if (focused >= 0) this.controls.elements[focused]?.focus();
  }

  #rangeControl(j) {
    const [low, high] = this.ranges[j];
    const field = (value, k) => {
      const input = h("input", {
        type: "number",
        step: "any",
        value,
        "aria-label": `${columns[j].name} ${k ? "to" : "from"}`,
        onchange: () => {
          const next = [...this.ranges[j]];
          next[k] = input.valueAsNumber;
          const good = next.every(Number.isFinite) && next[0] < next[1];
          input.setCustomValidity(good ? "" : "The low end must be below the high end.");
          if (!input.reportValidity()) return;
          this.ranges[j] = next;
          this.#draw();
        },
      });
      return input;
    };
    return h(
      "fieldset",
      { class: "range" },
      h("legend", {}, `Range of ${columns[j].name}`),
      h("div", {}, field(low, 0), field(high, 1)),
    );
  }

  #valuesControl(j) {
    const input = h("textarea", {
      rows: 3,
      "aria-label": `Values of ${columns[j].name} to compare, one a line`,
      onchange: () => {
        this.categories[j] = [
          ...new Set(
            input.value
              .split("\n")
              .map((text) => text.trim())
              .filter(Boolean),
          ),
        ];
        this.#draw();
      },
    });
    input.value = this.categories[j].join("\n");
    return labelled(
      `Values of ${columns[j].name}`,
      input,
      "One a line. A release does not list them: write those you want to compare.",
    );
  }

  #stillControl(j) {
    const column = columns[j];
    const name = column.unit ? `${column.name} (${column.unit})` : column.name;
    if (column.role !== "number") {
      const list = h(
        "datalist",
        { id: `values-${j}` },
        this.categories[j].map((value) => h("option", { value })),
      );
      const input = h("input", {
        type: "text",
        list: `values-${j}`,
        value: this.at[j],
        placeholder: "a value",
        oninput: () => this.#move(j, input.value),
      });
      return h("div", {}, labelled(name, input), list);
    }
    const [low, high] = this.ranges[j];
    const box = h("input", {
      type: "number",
      step: "any",
      value: trimmed(this.at[j], high - low),
      "aria-label": `${column.name}, as a number`,
      onchange: () => {
        if (!Number.isFinite(box.valueAsNumber)) return;
        slider.value = box.valueAsNumber;
        this.#move(j, box.valueAsNumber);
      },
    });
    const slider = h("input", {
      type: "range",
      min: low,
      max: high,
      step: (high - low) / 200,
      "aria-label": column.name,
      oninput: () => {
        box.value = trimmed(slider.valueAsNumber, high - low);
        this.#move(j, slider.valueAsNumber);
      },
    });
    slider.value = this.at[j];
    return h("div", { class: "slider" }, h("span", { class: "name" }, name), h("div", {}, slider, box));
  }

  #change(settings) {
    Object.assign(this, settings);
    if (this.x === this.y) this.y = null;
    this.here = null;
    this.#fillControls();
    this.#draw();
  }

  #move(j, value) {
    this.at[j] = value;
    this.#draw();
  }

  #toggleTheme() {
    this.theme = this.palette === PALETTES.dark ? "light" : "dark";
    try {
      localStorage.setItem("scumble-theme", this.theme);
    } catch {
      // a page opened as a file may keep nothing
    }
    this.#paint();
  }

  // ---- drawing ----

  #axis(j, n, centred) {
    return new Axis(columns[j], j, this.ranges[j], this.categories[j], n, centred);
  }

  #resized() {
    const width = this.figures.clientWidth;
    if (Math.abs(width - (this.lastWidth ?? 0)) < 8) return;
    this.lastWidth = width;
    if (this.drawn) this.#paint();
    else this.#draw();
  }

  // Ask for what the picture needs, then paint it: maps coarsely at first.
  #draw() {
    this.pool.stop();
    this.started = performance.now();
    this.figures.dataset.state = "computing";
    const missing = [this.x, this.y, ...this.usable].find(
      (j) =>
        j !== null &&
        columns[j].role !== "number" &&
        !(j === this.x || j === this.y ? this.categories[j].length : this.at[j]),
    );
    if (missing !== undefined) {
      this.drawn = {
        kind: "nothing",
        why: `Write ${missing === this.x || missing === this.y ? "values" : "a value"} of “${columns[missing].name}” to see the density there.`,
      };
      this.#paint();
    } else if (this.y === null) this.#drawCurve();
    else this.#drawMap(COARSE);
  }

  #drawCurve() {
    const x = this.#axis(this.x, CURVE, false);
    const cells = [...this.at];
    cells[this.x] = x.values;
    const table = this.engine.table(x.values.length, cells);
    if (this.show === "classes")
      this.drawn = { kind: "classCurve", x, probabilities: this.engine.probabilities(table) };
    else this.drawn = { kind: "curve", x, found: this.#answers(table) };
    this.#paint();
  }

  #drawMap(size) {
    const [x, y] = [this.#axis(this.x, size, true), this.#axis(this.y, size, true)];
    const [nx, ny] = [x.values.length, y.values.length];
    const what = this.show;
    const parts = what === "classes" ? { probabilities: classifier.classes.length } : { density: 1, relative: 1 };
    const map = { kind: what === "classes" ? "classMap" : "map", x, y, size, left: ny, done: false };
    const asked = performance.now();
    for (const [name, width] of Object.entries(parts)) map[name] = new Float64Array(nx * ny * width);
    const question = {
      what,
      release: this.release,
      cells: this.at,
      x: { column: this.x, values: x.values },
      y: { column: this.y, values: y.values },
    };
    this.pool.ask(question, ny, (strip) => {
      for (const [name, width] of Object.entries(parts)) {
        map[name].set(strip[name], strip.strip * nx * width);
      }
      map.left -= strip[Object.keys(parts)[0]].length / (nx * parts[Object.keys(parts)[0]]);
      if (map.left > 0) return;
      const last = size === MAP || !(x.numeric || y.numeric);
      map.done = last;
      this.drawn = map;
      this.#paint();
      // A slow release is drawn once more in between.
      if (!last) this.#drawMap(size === COARSE && performance.now() - asked > SLOW ? MIDDLE : MAP);
    });
  }

  #paint() {
    const { palette, drawn } = this;
    if (!drawn) return;
    const whole = Math.max(280, this.figures.clientWidth);
    const half = whole >= 720 ? Math.floor((whole - 20) / 2) : whole;
    const name = classes.length && this.show === "density" ? `Density of ${classes[this.release]}` : "Density";
    const common = { palette, ...drawn, confidence: this.confidence, classes: classifier?.classes.map(String) };
    const made = {
      nothing: () => [],
      curve: () => [pictures.curve({ ...common, width: whole, title: name, label: this.#summary(name) })],
      classCurve: () => [
        pictures.classCurve({
          ...common,
          width: whole,
          title: "Probability of each class",
          label: this.#summary("Classes"),
        }),
      ],
      map: () => [
        pictures.densityMap({ ...common, width: half, title: name, label: this.#summary(name) }),
        pictures.errorMap({
          ...common,
          width: half,
          title: "Relative error",
          label: "A map of the relative standard error of the density beside.",
        }),
      ],
      classMap: () => [
        pictures.classMap({ ...common, width: half, title: "Most probable class", label: this.#summary("Classes") }),
        pictures.confidenceMap({
          ...common,
          width: half,
          title: "How sure",
          label: "A map of the probability of the most probable class.",
        }),
      ],
    }[drawn.kind]();
    this.charts = made;
    const focused = this.figures.contains(document.activeElement);
    this.figures.replaceChildren(...(made.length ? [this.#stageOf(made)] : [h("p", { class: "empty" }, drawn.why)]));
    if (focused) this.figures.firstChild.focus();
    this.#pinAll();
    this.#tellHere();
    this.numbers?.open && this.#fillNumbers();
    const done = drawn.kind !== "map" && drawn.kind !== "classMap" ? true : drawn.done;
    this.figures.dataset.size = drawn.size ?? "";
    if (done && this.figures.dataset.state !== "done") {
      this.figures.dataset.milliseconds = Math.round(performance.now() - this.started);
      this.figures.dataset.state = "done";
    }
  }

  // The pictures of one question share one cross-hair.
  #stageOf(charts) {
    const help =
      "Arrow keys move the cross-hair, with Shift in larger steps. Enter marks the point, Escape hides the cross-hair.";
    const stage = h("div", {
      class: "pictures",
      tabindex: "0",
      role: "application",
      "aria-roledescription": "picture",
      "aria-label": `${this.#axesText()}. ${help}`,
    });
    charts.forEach((chart) => {
      chart.node.addEventListener("pointermove", (event) => this.#pointed(chart.under(event)));
      chart.node.addEventListener("pointerleave", () => this.#pointed(null));
      chart.node.addEventListener("click", (event) => {
        const place = chart.under(event);
        if (place) this.#mark(place);
      });
      stage.append(h("figure", {}, chart.node));
    });
    stage.addEventListener("keydown", (event) => this.#key(event));
    return stage;
  }

  #axesText() {
    const name = (j) => columns[j].name;
    return this.y === null ? `Picture over ${name(this.x)}` : `Pictures over ${name(this.x)} and ${name(this.y)}`;
  }

  // A sentence for those who do not see the picture.
  #summary(name) {
    const { drawn } = this;
    const { x, y } = drawn;
    if (drawn.kind === "classCurve" || drawn.kind === "classMap")
      return `${this.#axesText()}: the classes ${classifier.classes.join(", ")}.`;
    const values = drawn.kind === "curve" ? drawn.found.density : drawn.density;
    let best = 0;
    values.forEach((v, i) => (best = v > values[best] ? i : best));
    const where = y
      ? `${x.column.name} ${x.text(x.values[best % x.values.length])}, ${y.column.name} ${y.text(y.values[Math.floor(best / x.values.length)])}`
      : `${x.column.name} ${x.text(x.values[best])}`;
    return `${name} over ${x.column.name}${y ? ` and ${y.column.name}` : ""}: the highest is ${number(values[best])}, near ${where}.`;
  }

  // ---- the cross-hair ----

  #pointed(place) {
    if (!place && this.byKey) return;
    this.byKey = false;
    this.here = place;
    this.#tellHere();
  }

  #key(event) {
    const { x, y } = this.drawn;
    const by = event.shiftKey ? 10 : 1;
    const moves = { ArrowLeft: [-by, 0], ArrowRight: [by, 0], ArrowUp: [0, by], ArrowDown: [0, -by] };
    if (event.key === "Escape") {
      this.byKey = false;
      this.here = null;
      this.#tellHere();
    } else if (event.key === "Enter" && this.here) {
      this.#mark(this.here);
    } else if (moves[event.key]) {
      const middle = (axis) => (axis.numeric ? (axis.range[0] + axis.range[1]) / 2 : axis.categories[0]);
      const [dx, dy] = moves[event.key];
      const from = this.here ?? { x: middle(x), y: y ? middle(y) : null };
      this.byKey = true;
      this.here = this.here
        ? { x: dx ? x.step(from.x, dx) : from.x, y: y && dy ? y.step(from.y, y.numeric ? dy : -dy) : from.y }
        : from;
      this.#tellHere();
    } else return;
    event.preventDefault();
  }

  #cellsAt({ x, y }) {
    const cells = [...this.at];
    cells[this.x] = x;
    if (this.y !== null) cells[this.y] = y;
    return cells;
  }

  #tellHere() {
    for (const chart of this.charts) {
      if (this.here) chart.point(this.here.x, this.y === null ? null : this.here.y);
      else chart.cross.attr("visibility", "hidden");
    }
    if (!this.charts.length) this.status.textContent = "";
    else if (!this.here) this.status.textContent = "Point at a picture to read it.";
    else this.status.replaceChildren(...this.#reading(this.#cellsAt(this.here)));
  }

  #reading(cells) {
    const { x, y } = this.drawn;
    const place = [x, y]
      .filter(Boolean)
      .map(
        (axis) =>
          `${axis.column.name} ${axis.text(cells[axis.index])}${axis.column.unit ? ` ${axis.column.unit}` : ""}`,
      )
      .join(", ");
    const strong = (text) => h("strong", {}, text);
    if (this.show === "classes") {
      const chances = this.engine.probabilities(this.engine.table(1, cells));
      const { best, sure } = pictures.winner(chances, 0, chances.length);
      return [`${place}: `, strong(String(classifier.classes[best])), `, with a probability of ${percent(sure)}`];
    }
    const found = this.#answers(this.engine.table(1, cells));
    const near = (name) => number(Math.max(0, found[name][0]));
    return [
      `${place}: density `,
      strong(number(found.density[0])),
      ` (${number(found.from[0])} to ${number(found.to[0])}); about ${near("kernelSum")} records near (${near("lower")} to ${near("upper")})`,
    ];
  }

  // What the release answers, and the interval as shares of all records: `from` and `to`.
  #answers(table) {
    const found = this.engine.answers(this.release, table, this.confidence);
    const count = Math.max(1, description.releases[this.release].count);
    const share = (values) => values.map((v) => Math.min(1, Math.max(0, v / count)));
    return { ...found, from: share(found.lower), to: share(found.upper) };
  }

  // ---- marks and modes ----

  #mark(place) {
    const letter =
      LETTERS[this.marks.length % 26] + (this.marks.length >= 26 ? Math.floor(this.marks.length / 26) : "");
    this.marks.push({ letter, cells: this.#cellsAt(place) });
    this.#showMarks();
    this.#pinAll();
  }

  #pinAll() {
    if (!this.drawn || this.drawn.kind === "nothing") return;
    const { x, y } = this.drawn;
    const shown = modes.filter((mode) => mode.release === this.release && this.show === "density");
    const pins = [
      ...shown.map((mode, k) => ({ cells: mode.point, text: String(k + 1), kind: "mode" })),
      ...this.marks.map(({ letter, cells }) => ({ cells, text: letter, kind: "mark" })),
    ];
    const points = pins.map(({ cells, ...pin }) => ({
      ...pin,
      x: cells[x.index],
      y: y ? cells[y.index] : this.#height(cells),
      faint: !this.#onCut(cells),
    }));
    this.charts.forEach((chart) => chart.pin(this.drawn.kind === "classCurve" ? [] : points));
  }

  // On a curve a pin stands on the curve.
  #height(cells) {
    const on = [...this.at];
    on[this.x] = cells[this.x];
    return this.show === "density" ? this.#answers(this.engine.table(1, on)).density[0] : 0;
  }

  // Whether a point lies on the cut that the picture shows, within a twentieth of every other column's range.
  #onCut(cells) {
    return this.usable.every((j) => {
      if (j === this.x || j === this.y) return true;
      if (columns[j].role !== "number") return cells[j] === this.at[j];
      return Math.abs(cells[j] - this.at[j]) <= 0.05 * (this.ranges[j][1] - this.ranges[j][0]);
    });
  }

  #cellText(cells) {
    return this.usable.map((j) =>
      columns[j].role === "number" ? measured(cells[j], this.ranges[j][1] - this.ranges[j][0]) : cells[j],
    );
  }

  #showMarks() {
    if (!this.marks.length) {
      this.markTable.replaceChildren(h("p", { class: "empty" }, "None yet."));
      return;
    }
    const names = this.usable.map((j) => columns[j].name);
    const answers = this.marks.map(({ cells }) => this.#answers(this.engine.table(1, cells)));
    const chances = classifier && this.marks.map(({ cells }) => this.engine.probabilities(this.engine.table(1, cells)));
    const rows = this.marks.map(({ letter, cells }, k) => {
      const { density, from, to, kernelSum } = answers[k];
      const times = kernelSum[0] / answers[0].kernelSum[0];
      const ratio = kernelSum[0] > 0 && times > 0 ? number(times) : "unknown";
      const remove = button("Remove", () => this.#unmark(k), { class: "quiet", "aria-label": `Remove mark ${letter}` });
      const row = [
        letter,
        ...this.#cellText(cells),
        number(density[0]),
        `${number(from[0])} to ${number(to[0])}`,
        k ? `${ratio} ×` : "1 ×",
      ];
      if (chances) {
        const { best, sure } = pictures.winner(chances[k], 0, chances[k].length);
        row.push(`${classifier.classes[best]} (${percent(sure)})`);
      }
      return [...row, remove];
    });
    const which = classes.length ? `Density of ${classes[this.release]}` : "Density";
    const headings = [
      "Mark",
      ...names,
      which,
      `${this.confidence * 100} % interval`,
      `Beside ${this.marks[0].letter}`,
      ...(chances ? ["Class"] : []),
      unseen("Remove"),
    ];
    this.markTable.replaceChildren(tableOf("The marked points as a table", headings, rows, (j) => j > 0));
  }

  #unmark(k) {
    this.marks.splice(k, 1);
    this.#showMarks();
    this.#pinAll();
    document.getElementById("marked").focus();
  }

  #modes() {
    const names = this.usable.map((j) => columns[j].name);
    const seen = {};
    const rows = modes.map((mode) => {
      const k = (seen[mode.release] = (seen[mode.release] ?? 0) + 1);
      const of = classes.length ? [classes[mode.release]] : [];
      const go = button("Look there", () => this.#visit(mode), {
        class: "quiet",
        "aria-label": `Look at mode ${k}${of.length ? ` of ${of[0]}` : ""}`,
      });
      return [
        String(k),
        ...of,
        ...this.#cellText(mode.point),
        number(mode.density),
        `${number(mode.lower)} to ${number(mode.upper)}`,
        go,
      ];
    });
    const headings = [
      "Mode",
      ...(classes.length ? ["Class"] : []),
      ...names,
      "Density",
      "95 % interval",
      unseen("Visit"),
    ];
    return h(
      "section",
      { "aria-labelledby": "modes" },
      h("h2", { id: "modes" }, "Where the records crowd"),
      h(
        "p",
        { class: "hint" },
        "Places from which the density falls in all directions, by more than noise explains. They are pinned in the pictures of densities; faint where they lie off the cut.",
      ),
      tableOf("The modes as a table", headings, rows, (j) => j > 0),
    );
  }

  #visit(mode) {
    this.at = [...mode.point];
    this.#change({ release: mode.release, show: "density" });
    this.here = { x: mode.point[this.x], y: this.y === null ? null : mode.point[this.y] };
    this.byKey = true;
    this.#tellHere();
    document.getElementById("look").scrollIntoView({ block: "start" });
  }

  // ---- pictures and numbers to take away ----

  #pictureButtons() {
    this.numbers = h(
      "details",
      { class: "numbers", ontoggle: () => this.numbers.open && this.#fillNumbers() },
      h("summary", {}, "The same in numbers"),
    );
    return h(
      "div",
      {},
      h(
        "div",
        { class: "buttons" },
        button("Download picture (PNG)", () => this.#save("png")),
        button("Download picture (SVG)", () => this.#save("svg")),
      ),
      this.numbers,
    );
  }

  #fillNumbers() {
    const { drawn } = this;
    const body = this.#numberTable(drawn);
    this.numbers.replaceChildren(this.numbers.firstChild, ...(body ? [body] : []));
  }

  #numberTable(drawn) {
    const { x, y } = drawn;
    const pick = (axis, n) =>
      axis.numeric
        ? Array.from({ length: n }, (_, k) => Math.round(((k + 0.5) * axis.values.length) / n - 0.5))
        : axis.values.map((_, k) => k);
    const k = classifier?.classes.length;
    const sureText = (i) => {
      const { best, sure } = pictures.winner(drawn.probabilities, i, k);
      return `${classifier.classes[best]} (${percent(sure)})`;
    };
    if (drawn.kind === "nothing") return null;
    if (!y) {
      const rows = pick(x, 21).map((i) => {
        if (drawn.kind === "classCurve") return [x.text(x.values[i]), sureText(i)];
        const { density, from, to } = drawn.found;
        return [x.text(x.values[i]), number(density[i]), number(from[i]), number(to[i])];
      });
      return tableOf(
        this.#axesText(),
        drawn.kind === "classCurve" ? [x.label, "Class"] : [x.label, "Density", "From", "To"],
        rows,
      );
    }
    const across = pick(x, 7);
    const up = pick(y, 7).reverse();
    const cell = (i) =>
      drawn.kind === "map" ? `${number(drawn.density[i])} ± ${percent(drawn.relative[i])}` : sureText(i);
    const rows = up.map((j) => [y.text(y.values[j]), ...across.map((i) => cell(j * x.values.length + i))]);
    return tableOf(
      `${this.#axesText()}; ${x.label} across, ${y.label} down`,
      [`${y.label} \\ ${x.label}`, ...across.map((i) => x.text(x.values[i]))],
      rows,
    );
  }

  async #save(kind) {
    const name = `${fileName(description.title)}-${this.show}`;
    for (const [k, chart] of this.charts.entries()) {
      const copy = chart.node.cloneNode(true);
      const text = new XMLSerializer().serializeToString(copy);
      const file = `${name}${k ? `-${k + 1}` : ""}.${kind}`;
      if (kind === "svg") download(file, text, "image/svg+xml");
      else download(file, await rasterised(text, chart.width, chart.height));
    }
  }

  // ---- many points at once ----

  #csv() {
    const readable = columns.filter((column) => column.role !== "any").map((column) => column.name);
    const text = h("textarea", {
      rows: 6,
      spellcheck: "false",
      placeholder: `${readable.join(",")}\n…`,
      "aria-describedby": "csv-hint",
    });
    const result = h("div", { role: "status", "aria-live": "polite" });
    const file = h("input", { type: "file", accept: ".csv,.tsv,.txt,text/csv", onchange: () => load(file.files[0]) });
    const load = async (dropped) => {
      if (!dropped) return;
      text.value = await dropped.text();
      ask();
    };
    let kind = classifier ? "classes" : "density";
    const ask = () => {
      try {
        this.#answerTable(parse(text.value), kind, result);
      } catch (problem) {
        result.replaceChildren(h("p", { class: "problem" }, problem.message));
      }
    };
    const zone = h(
      "div",
      {
        class: "drop",
        ondragover: (event) => {
          event.preventDefault();
          zone.classList.add("over");
        },
        ondragleave: () => zone.classList.remove("over"),
        ondrop: (event) => {
          event.preventDefault();
          zone.classList.remove("over");
          load(event.dataTransfer.files[0]);
        },
      },
      labelled("Points as CSV", text),
      h(
        "p",
        { class: "hint", id: "csv-hint" },
        `Paste here or drop a file: a first line with the columns ${readable.join(", ")}, then one point a line. It stays on this page.`,
      ),
      classifier
        ? segments(
            "csv-kind",
            "Answer with",
            [
              ["classes", "Classes"],
              ["density", "Densities"],
            ],
            kind,
            (value) => (kind = value),
          )
        : null,
      h("div", { class: "buttons" }, button("Answer", ask, { class: "main" }), labelled("or a file", file)),
    );
    return h("section", { "aria-labelledby": "many" }, h("h2", { id: "many" }, "Ask for many points"), zone, result);
  }

  #answerTable(rows, kind, result) {
    const cells = columnsOf(rows, columns, READ);
    const n = rows.length - 1;
    const table = this.engine.table(n, cells);
    const { names, answers } = kind === "classes" ? this.#classColumns(table) : this.#densityColumns(table);
    const free = names.map((name) => (rows[0].map((one) => one.trim()).includes(name) ? `scumble_${name}` : name));
    const all = [
      [...rows[0], ...free],
      ...rows.slice(1).map((row, i) => [...row, ...answers.map((column) => column[i])]),
    ];
    const shown = all.slice(1, 9).map((row) => row.map((cell) => (typeof cell === "number" ? number(cell) : cell)));
    result.replaceChildren(
      h("p", {}, `${n === 1 ? "1 point" : `${number(n)} points`} answered${n > 8 ? "; the first eight:" : "."}`),
      tableOf("The answers as a table", all[0], shown, () => true),
      h(
        "div",
        { class: "buttons" },
        button("Download CSV", () => download(`${fileName(description.title)}-answers.csv`, write(all), "text/csv"), {
          class: "main",
        }),
      ),
    );
  }

  #densityColumns(table) {
    const names = [];
    const answers = [];
    (classes.length ? classes : [null]).forEach((name, release) => {
      const found = this.engine.answers(release, table, this.confidence);
      for (const [key, word] of [
        ["kernelSum", "kernel_sum"],
        ["density", "density"],
        ["lower", "lower"],
        ["upper", "upper"],
      ]) {
        names.push(name === null ? word : `${word}_${name}`);
        answers.push(found[key]);
      }
    });
    return { names, answers };
  }

  #classColumns(table) {
    const k = classifier.classes.length;
    const chances = this.engine.probabilities(table);
    const each = (c) => Float64Array.from({ length: table.n }, (_, i) => chances[i * k + c]);
    const best = Array.from({ length: table.n }, (_, i) =>
      String(classifier.classes[pictures.winner(chances, i, k).best]),
    );
    return {
      names: ["prediction", ...classifier.classes.map((name) => `probability_${name}`)],
      answers: [best, ...classifier.classes.map((_, c) => each(c))],
    };
  }
}

// ---- small things ----

const fileName = (title) =>
  title
    .replace(/\.[^.]*$/, "")
    .replace(/[^\p{L}\p{N}_-]+/gu, "-")
    .slice(0, 60) || "release";
const trimmed = (x, span) => Number(x.toFixed(Math.max(0, Math.min(12, 3 - Math.floor(Math.log10(span))))));

function stored(name) {
  try {
    const value = localStorage.getItem(name);
    return value === "light" || value === "dark" ? value : null;
  } catch {
    return null;
  }
}

function rasterised(svg, width, height) {
  return new Promise((resolve, reject) => {
    const image = new Image();
    image.onload = () => {
      const canvas = document.createElement("canvas");
      canvas.width = 2 * width;
      canvas.height = 2 * height;
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob(resolve, "image/png");
    };
    image.onerror = reject;
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  });
}

const explorer = new Explorer(document.getElementById("app"));

// For the console: points as lists in the order of the columns; the map as it was last drawn.
window.scumble = {
  answers: (points, { release = 0, confidence = 0.95 } = {}) =>
    plain(explorer.engine.answers(release, tableOfPoints(points), confidence)),
  probabilities: (points) => Array.from(explorer.engine.probabilities(tableOfPoints(points))),
  drawn: () => {
    const { x, y, density } = explorer.drawn;
    return plain({ x: x.values, y: y.values, density });
  },
};

function tableOfPoints(points) {
  const cells = columns.map((_, j) => points.map((point) => point[j]));
  return explorer.engine.table(points.length, cells);
}

function plain(found) {
  return Object.fromEntries(Object.entries(found).map(([name, values]) => [name, Array.from(values)]));
}
