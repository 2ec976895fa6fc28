// One column: its name, its picture, and its filter.

import { breakable, button, h, tableOf, unfolded } from "../page/dom.js";
import { interval, mean, range, records, ticks, withFilter } from "./filters.js";
import { Histogram, Ticks } from "./histogram.js";

const BARS = 26;

export class Panel {
  constructor(table, state, j) {
    Object.assign(this, { table, state, j, column: table.columns[j] });
    const { column } = this;
    this.divisions = [false, true].map((grouped) => this.#division(column.bins(BARS, { grouped })));
    this.note = h("p", { class: "read" });
    this.clear = button("Clear", () => this.#set(null), {
      class: "link", "aria-label": `Clear the filter on ${column.name}`,
    });
    const headings = [column.title, "Records", "95 % interval"];
    const row = ({ text }, k) => [text, records(this.counts[k].value), interval(this.counts[k])];
    this.numbers = unfolded("Numbers", () => [tableOf(column.title, headings, this.bins.map(row))]);
    const unit = column.unit ? h("span", { class: "unit" }, ` ${column.unit}`) : null;
    const uneven = column.log ? h("span", { class: "unit" }, "log axis") : null;
    const name = h("h3", { id: `column-${j}` }, breakable(column.name), unit);
    this.picture = column.ordered
      ? new Histogram(column, {
          choose: (first, end) => this.#cells(first, end), read: (text) => this.#read(text),
        })
      : new Ticks(column, { choose: (level, on) => this.#tick(level, on), search: () => this.draw() });
    this.node = h("article", { class: "panel", "aria-labelledby": `column-${j}` },
      h("div", { class: "top" }, name, uneven, this.clear),
      this.picture.node,
      column.ordered ? this.note : null,
      column.ordered ? this.#fields() : null,
      this.numbers.node,
    );
  }

  // Bins, those on the line, and how many of all records are in them.
  #division(bins) {
    const line = bins.filter(({ missing }) => !missing);
    return { bins, line, all: this.table.counts(this.j, line, new Map()) };
  }

  // Of a long vocabulary.
  #search() {
    const levels = this.picture.levels(this.filter);
    if (this.levels === levels) return;
    this.levels = levels;
    this.divisions.fill(this.#division(this.column.named(levels)));
  }

  get filter() {
    return this.state.filters.get(this.j) ?? null;
  }

  #set(filter) {
    this.beyond = "";
    this.state.set({ filters: withFilter(this.state.filters, this.j, filter) });
  }

  #tick(level, on) {
    const ticked = new Set(this.filter?.ticked);
    if (on) ticked.add(level);
    else ticked.delete(level);
    this.#set(ticks(this.column, ticked));
  }

  #range(low, high, missing = this.filter?.missing ?? false) {
    this.#set(range(this.column, low, high, missing));
  }

  // Whole cells.
  #cells(first, end) {
    this.#range(this.column.edges[first], this.column.edges[end]);
  }

  #read(text) {
    this.reading = text;
    this.#tell();
  }

  // What is pointed at; else that what was typed last lies beyond the column; else the mean.
  #tell() {
    this.note.textContent = this.reading || this.beyond || this.#mean();
  }

  #mean() {
    if (!this.column.values) return "";
    const found = mean(this.table.mean(this.j, this.state.filters));
    return found.interval ? `mean ${found.value} (${found.interval})` : "mean not known";
  }

  // From and to, for exact ends and for the keyboard.
  #fields() {
    const { column } = this;
    const field = (upper) => {
      const input = h("input", {
        type: column.inputType, step: column.inputType === "number" ? "any" : null,
        "aria-label": `${column.name} ${upper ? "to" : "from"}`, onchange: () => this.#typed(input, upper),
        onkeydown: (event) => this.#nudged(event, upper),
      });
      return input;
    };
    this.from = field(false);
    this.to = field(true);
    this.gone = column.missing
      ? h("input", { type: "checkbox", onchange: () => this.#range(this.span.low, this.span.high, this.gone.checked) })
      : null;
    this.goneText = h("span", {});
    return h("div", { class: "fields" },
      this.from,
      h("span", {}, "to"),
      this.to,
      this.gone ? h("label", { class: "gone" }, this.gone, this.goneText) : null,
    );
  }

  // What is chosen; all of the line where there is no filter.
  get span() {
    return this.filter ?? this.column.all;
  }

  // The end that was typed last counts: if nothing lies between it and the other one, that goes to the end of the line.
  #typed(input, upper) {
    const { column } = this;
    const [limit, beyond] = [column.limitOf(input.value, upper), column.beyond(input.value)];
    const { low, high } = this.span;
    if (limit === null) this.#fill();
    else if (upper) this.#range(low < limit ? low : column.all.low, limit);
    else this.#range(limit, limit < high ? high : column.all.high);
    this.beyond = beyond;
    this.#tell();
  }

  #nudged(event, upper) {
    const step = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    if (!step || this.column.inputType !== "number") return;
    event.preventDefault();
    const { first, end, low, high } = this.span;
    const next = (place) => (step > 0 ? Math.floor(place) + 1 : Math.ceil(place) - 1); // the next edge
    const edge = this.column.edges[next(upper ? end : first)];
    if (upper && edge > low) this.#range(low, edge);
    else if (!upper && edge < high) this.#range(edge, high);
  }

  #fill() {
    const { low, high } = this.span;
    this.from.value = this.column.typed(low);
    this.to.value = this.column.typed(high, true);
  }

  draw() {
    const { filter, column } = this;
    const others = this.state.filters.size > (filter ? 1 : 0);
    if (column.falling) this.#search();
    const { bins, line, all } = this.divisions[others ? 1 : 0];
    this.bins = bins;
    this.counts = this.table.counts(this.j, bins, this.state.filters);
    this.picture.draw(line, this.counts.slice(0, line.length), all, filter);
    this.clear.hidden = !filter;
    this.node.classList.toggle("filtered", Boolean(filter));
    if (column.ordered) {
      this.#fill();
      this.#tell();
      if (this.gone) {
        this.gone.checked = !filter || filter.missing;
        this.goneText.textContent = `${records(this.counts.at(-1).value)} missing`;
      }
    }
    this.numbers.draw();
  }
}
