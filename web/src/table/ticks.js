// The picture of a column of words: a row for each, with a box to tick, a bar, a whisker and a number.

import { button, h, put, s, unseen } from "../page/dom.js";
import { interval, records } from "./figures.js";

const SHOWN = 7;
const SORTED = 12; // longer lists stand in the order of their counts

export class Ticks {
  constructor(column, bins, { choose }) {
    Object.assign(this, { column, choose, bins });
    this.rows = bins.map((bin, k) => this.#row(bin, k));
    this.list = h("div", { class: "ticks", role: "group", "aria-label": column.title });
    this.more = button("", () => this.#open(!this.opened), { class: "link more" });
    const told = `The ${bins.length} most frequent of ${column.size}.`;
    const note = column.frequent ? h("p", { class: "read" }, told) : null;
    this.node = h("div", {}, this.list, bins.length > SHOWN + 1 ? this.more : null, note);
    this.opened = false;
  }

  #row({ text, first }) {
    const box = h("input", { type: "checkbox", onchange: () => this.#changed(first, box.checked) });
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

  #changed(level, on) {
    const ticked = new Set(this.rows.flatMap(({ box }, k) => (box.checked ? [this.bins[k].first] : [])));
    if (on) ticked.add(level);
    else ticked.delete(level);
    this.choose(ticked);
  }

  #open(opened) {
    this.opened = opened;
    this.more.textContent = opened ? "Show fewer" : `Show all ${this.bins.length}`;
    const all = opened || this.bins.length <= SHOWN + 1;
    this.order.forEach((k, place) => {
      this.rows[k].node.hidden = !all && place >= SHOWN && !this.rows[k].box.checked;
    });
  }

  draw(_, counts, all, filter) {
    this.#arrange(all);
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

  // Once: long lists with the most frequent first, and what is no word last.
  #arrange(all) {
    if (this.order) return;
    const last = (k) => /^\((other|missing)\)$/.test(this.bins[k].text);
    this.order = this.bins.map((_, k) => k);
    if (this.bins.length > SORTED) this.order.sort((a, b) => last(a) - last(b) || all[b].value - all[a].value);
    this.list.append(...this.order.map((k) => this.rows[k].node));
  }
}
