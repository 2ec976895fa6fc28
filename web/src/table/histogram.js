// The picture of a column with an order: a bar for each bin, a whisker for its interval, a line for all records. Drag
// over it to choose a range; arrow keys read it.

import { button, h, put, s, unseen } from "../page/dom.js";
import { interval, records } from "./filters.js";

const [WIDTH, HEIGHT, FLOOR, TOP] = [320, 132, 108, 8];

export class Histogram {
  #from = null; // the bin where dragging began
  #here = null; // the bin that is read

  constructor(column, { choose, read }) {
    Object.assign(this, { column, choose, read });
    this.band = s("rect", { class: "band", y: 0, height: FLOOR, x: 0, width: 0 });
    this.shapes = s("g");
    this.all = s("path", { class: "all" });
    this.cursor = s("rect", { class: "cursor", y: 0, height: FLOOR, x: 0, width: 0 });
    this.svg = s("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, "aria-hidden": "true" });
    this.svg.append(this.band, this.shapes, this.all, this.cursor, ...this.#axis());
    this.node = h("div", { class: "histogram", tabindex: "0", role: "group", "aria-label": this.#label() }, this.svg);
    this.#listen();
  }

  #divide(bins) {
    if (this.bins === bins) return;
    this.bins = bins;
    this.#here = this.#from = null;
    this.spots = bins.map(({ first, end }) => [this.column.spot(first) * WIDTH, this.column.spot(end) * WIDTH]);
    this.bars = bins.map(() => s("rect", { class: "column" }));
    this.whiskers = bins.map(() => s("path", { class: "whisker" }));
    this.shapes.replaceChildren(...this.bars, ...this.whiskers);
  }

  // Whether a bin is far narrower than most: its whisker, being per unit, may be far longer than all others are.
  #narrow(k) {
    const widths = this.spots.map(([left, right]) => right - left);
    return widths[k] < [...widths].sort((a, b) => a - b)[widths.length >> 1] / 2;
  }

  #label() {
    const keys = "Left and right arrows read them, Enter starts a range, Enter again ends it, Escape clears it.";
    return `${this.column.title}: bars. ${keys}`;
  }

  #axis() {
    const rule = s("path", { class: "rule", d: `M0 ${FLOOR}H${WIDTH}` });
    const anchor = (spot) => (spot === 0 ? "start" : spot === 1 ? "end" : "middle");
    const labels = this.column.marks().map(([spot, text]) => {
      const label = s("text", { class: "tick", x: spot * WIDTH, y: HEIGHT - 7, "text-anchor": anchor(spot) });
      label.textContent = text;
      return label;
    });
    return [rule, ...labels];
  }

  // `counts` and `all` have an estimate for each bin.
  draw(bins, counts, all, filter) {
    this.#divide(bins);
    const total = counts.reduce((sum, { value }) => sum + value, 0);
    const whole = all.reduce((sum, { value }) => sum + value, 0) || 1;
    const dense = (value, k) => value / (this.spots[k][1] - this.spots[k][0]);
    const most = Math.max(...counts.map(({ value, high }, k) => dense(this.#narrow(k) ? value : high, k)), 1e-9);
    const y = (value, k) => Math.max(FLOOR - ((FLOOR - TOP) * dense(value, k)) / most, 0);
    counts.forEach((count, k) => {
      const [left, right] = this.spots[k];
      const gap = Math.min(1, (right - left) / 5);
      const top = y(count.value, k);
      const kept = !filter || (this.bins[k].end > filter.first && this.bins[k].first < filter.end);
      put(this.bars[k], { x: left + gap / 2, width: right - left - gap, y: top, height: Math.max(FLOOR - top, 0) });
      this.bars[k].classList.toggle("out", !kept);
      put(this.whiskers[k], { d: `M${(left + right) / 2} ${y(count.low, k)}V${y(count.high, k)}` });
    });
    const scale = total / whole;
    const steps = all.map(({ value }, k) => `V${y(scale * value, k)}H${this.spots[k][1]}`);
    put(this.all, { d: `M0 ${FLOOR}${steps.join("")}V${FLOOR}` });
    this.counts = counts;
    this.#mark(filter);
    if (this.#here !== null) this.#tell();
  }

  #mark(filter) {
    const { first, end } = filter ?? { first: 0, end: 0 };
    const [left, right] = [first, end].map((cell) => this.column.spot(cell) * WIDTH);
    put(this.band, { x: left, width: right - left });
  }

  #tell() {
    const [left, right] = this.spots[this.#here];
    put(this.cursor, { x: left, width: right - left });
    const count = this.counts[this.#here];
    this.read(`${this.bins[this.#here].text}: ${records(count.value)} (${interval(count)})`);
  }

  #leave() {
    this.#here = null;
    put(this.cursor, { width: 0 });
    this.read("");
  }

  #at({ clientX }) {
    const { left, width } = this.svg.getBoundingClientRect();
    const x = ((clientX - left) / width) * WIDTH;
    const found = this.spots.findIndex(([, right]) => x < right);
    return found < 0 ? this.bins.length - 1 : found;
  }

  #span(to) {
    const [one, other] = [Math.min(this.#from, to), Math.max(this.#from, to)];
    this.choose(this.bins[one].first, this.bins[other].end);
  }

  #listen() {
    const on = (name, listener) => this.node.addEventListener(name, listener);
    on("pointerdown", (event) => {
      if (event.button) return;
      this.#from = this.#at(event);
      this.svg.setPointerCapture?.(event.pointerId);
    });
    on("pointermove", (event) => {
      const at = this.#at(event);
      if (this.#from !== null && event.buttons && (at !== this.#from || this.dragged)) {
        this.dragged = true;
        this.#span(at);
      }
      if (at !== this.#here) {
        this.#here = at;
        this.#tell();
      }
    });
    on("pointerup", (event) => {
      if (this.#from !== null && !this.dragged) this.#span(this.#at(event));
      this.#from = null;
      this.dragged = false;
    });
    on("pointercancel", () => (this.#from = null));
    on("pointerleave", () => this.#leave());
    on("blur", () => this.#leave());
    on("keydown", (event) => this.#key(event));
  }

  #key(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
    const last = this.bins.length - 1;
    if (step !== undefined) {
      const from = this.#here ?? { 1: -1, "-1": last + 1 }[step] ?? 0;
      this.#here = Math.min(Math.max(from + step, 0), last);
      if (this.#from !== null) this.#span(this.#here);
      this.#tell();
    } else if (event.key === "Enter" && this.#here !== null) {
      if (this.#from === null) {
        this.#from = this.#here;
        this.#span(this.#here);
      } else this.#from = null;
    } else if (event.key === "Escape") {
      this.#from = null;
      this.choose(0, this.column.line);
    } else return;
    event.preventDefault();
  }
}

// ---- the picture of a column of words: a row for each, with a box, a bar, a whisker and a number; a long one is searched ----

const SHOWN = 7;
const SORTED = 12; // longer lists stand in the order of their counts

export class Ticks {
  constructor(column, { choose, search }) {
    Object.assign(this, { column, choose, opened: false });
    this.list = h("div", { class: "ticks", role: "group", "aria-label": column.title });
    this.more = button("", () => this.#open(!this.opened), { class: "link more" });
    this.note = h("p", { class: "read", role: "status" });
    const name = { "aria-label": `Search ${column.name}`, placeholder: "Search" };
    this.field = h("input", { type: "search", ...name, oninput: search });
    this.node = h("div", {}, ...(column.falling ? [this.field, this.list, this.more, this.note] : [this.list, this.more]));
  }

  // The levels to show of a long vocabulary: those whose words contain the text; without a text, also those that are ticked.
  // While the text stays they are the same, under the reader's hand, unless a filter has others.
  levels(filter) {
    const text = this.field.value.trim();
    const ticked = text ? [] : [...(filter?.ticked ?? [])];
    if (this.text !== text || !ticked.every((level) => this.shown.includes(level))) {
      const { found, levels } = this.column.search(text);
      this.text = text;
      this.shown = [...new Set([...levels, ...ticked])];
      const part = found > levels.length ? `The ${levels.length} most frequent of ` : "";
      this.note.textContent = `${part}${found || "None"}${text && ` with “${text}”`}.`;
    }
    return this.shown;
  }

  #row({ text, first }) {
    const box = h("input", { type: "checkbox", onchange: () => this.choose(first, box.checked) });
    const bar = s("rect", { class: "column", x: 0, y: 2, height: 10 });
    const whisker = s("path", { class: "whisker" });
    const all = s("path", { class: "all" });
    const value = h("span", { class: "value" });
    const range = unseen("");
    const frame = { viewBox: "0 0 100 14", preserveAspectRatio: "none", "aria-hidden": "true" };
    const svg = s("svg", frame, bar, all, whisker);
    const node = h("label", {}, box, h("span", { class: "word", title: text }, text), svg, value, range);
    return { node, box, bar, whisker, all, value, range };
  }

  #open(opened) {
    this.opened = opened;
    this.more.textContent = opened ? "Show fewer" : `Show all ${this.bins.length}`;
    this.more.hidden = this.bins.length <= SHOWN + 1;
    const all = opened || this.more.hidden;
    this.order.forEach((k, place) => {
      this.rows[k].node.hidden = !all && place >= SHOWN && !this.rows[k].box.checked;
    });
  }

  draw(bins, counts, all, filter) {
    this.#arrange(bins, all);
    const total = counts.reduce((sum, { value }) => sum + value, 0);
    const scale = total / (all.reduce((sum, { value }) => sum + value, 0) || 1);
    const most = Math.max(...counts.map(({ high }) => high), 1e-9);
    const x = (value) => Math.min((100 * value) / most, 100);
    counts.forEach((count, k) => {
      const row = this.rows[k];
      row.box.checked = Boolean(filter?.ticked.has(this.bins[k].first));
      put(row.bar, { width: x(count.value) });
      row.bar.classList.toggle("out", Boolean(filter) && !row.box.checked);
      put(row.whisker, { d: `M${x(count.low)} 7H${x(count.high)}` });
      put(row.all, { d: `M${x(scale * all[k].value)} 0V14` });
      row.value.textContent = records(count.value);
      row.range.textContent = ` (${interval(count)})`;
      row.node.title = `${this.bins[k].text}: ${records(count.value)} (${interval(count)})`;
    });
    this.#open(this.opened);
  }

  // Long lists with the most frequent first, and what is no word last.
  #arrange(bins, all) {
    if (this.bins === bins) return;
    this.bins = bins;
    this.rows = bins.map((bin) => this.#row(bin));
    const last = (k) => /^\((other|missing)\)$/.test(this.bins[k].text);
    this.order = this.bins.map((_, k) => k);
    if (this.bins.length > SORTED) this.order.sort((a, b) => last(a) - last(b) || all[b].value - all[a].value);
    this.list.replaceChildren(...this.order.map((k) => this.rows[k].node));
  }
}
