// The answer to the filter: how many records, which share, and the mean of a column.

import { button, choice, h } from "../page/dom.js";
import { condition, interval, mean, records, share, withFilter, words } from "./filters.js";
import { remarks } from "./remarks.js";

const EVERYBODY = "All records. Drag across a chart or tick boxes to select some of them.";

export function answer(table, state) {
  const asked = h("div", { class: "asked" });
  const count = h("p", { class: "count", role: "status" });
  const part = h("p", { class: "part" });
  const average = h("p", { class: "average" });
  const note = h("p", { class: "doubt", role: "status" });
  const ofMean = h("p", { class: "doubt-of-mean", role: "status" });
  ofMean.hidden = true;
  const { numbers, columns } = table;
  const select = numbers.length
    ? choice(numbers.map((j) => [j, columns[j].title]), state.mean, (j) => state.set({ mean: Number(j) }))
    : null;
  select?.setAttribute("aria-label", "Column to take the mean of");
  const node = h("section", { class: "answer", "aria-label": "The answer" },
    asked,
    h("div", { class: "results" },
      h("div", {}, h("h2", { class: "small" }, "How many"), count),
      h("div", {}, h("h2", { class: "small" }, "Share of all records"), part),
      select ? h("div", {}, h("h2", { class: "small" }, h("span", {}, "Mean of "), select), average) : null,
    ),
    note, ofMean,
  );
  const draw = () => {
    asked.replaceChildren(...chips(table, state));
    const found = table.count(state.filters);
    figure(count, records(found.value), interval(found), " (95 % interval)");
    const shared = share(table.share(state.filters));
    figure(part, shared.value, state.filters.size ? shared.interval : "");
    const told = remarks(table, state.filters, [], found).join(" ");
    note.textContent = told;
    note.hidden = !told;
  };
  const drawMean = () => {
    if (!select) return;
    const found = mean(table.mean(state.mean, state.filters));
    figure(average, found.value, found.interval);
    ofMean.textContent = remarks(table, state.filters, [state.mean]).join(" ");
    ofMean.hidden = !ofMean.textContent;
  };
  return {
    node,
    draw() {
      draw();
      drawMean();
    },
    drawMean,
  };
}

function figure(place, value, between, about = "") {
  place.replaceChildren(h("strong", {}, value), h("span", {}, between), h("span", { class: "about" }, about));
}

function chips(table, state) {
  const { filters } = state;
  if (!filters.size) return [h("span", { class: "hint" }, EVERYBODY)];
  const each = [...filters].map(([j, filter]) => {
    const { name } = table.columns[j];
    const clear = () => state.set({ filters: withFilter(filters, j, null) });
    const text = words(table.columns[j], filter);
    const cross = button("×", clear, { "aria-label": `Clear ${name}` });
    return h("span", { class: "chip" }, h("b", {}, name), ` ${text}`, cross);
  });
  const clear = button("Clear all", () => state.set({ filters: new Map() }), { class: "link" });
  return [h("span", { class: "lead" }, "Records with"), ...each, clear];
}

// The same question as release.count, `scumble count` and SQL's WHERE take it.
export function elsewhere(table, state) {
  const code = h("code", {});
  const name = "As a condition";
  const block = h("pre", { tabindex: "0", role: "region", "aria-label": name }, code);
  const node = h("details", { class: "elsewhere" }, h("summary", {}, name), block);
  const draw = () => {
    code.textContent = condition(table.columns, state.filters);
    node.hidden = !state.filters.size;
  };
  return { node, draw };
}
