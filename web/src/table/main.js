// The page of a table. Everything is computed here, from the release that lies in the page.

import { button, h } from "../page/dom.js";
import { State } from "../page/state.js";
import { rememberedTheme, toggleTheme, wearTheme } from "../page/theme.js";
import { counted, number } from "../page/words.js";
import { about } from "./about.js";
import { answer, elsewhere } from "./answer.js";
import { crosstab } from "./crosstab.js";
import { Panel } from "./panel.js";
import { rows } from "./rows.js";
import { Table } from "./table.js";

const FEW = 12; // levels of a column that the cross-table begins with, if there are such

const app = document.getElementById("app");
const textOf = (id) => document.getElementById(id).textContent;

start().catch((problem) => {
  app.append(h("p", { class: "problem" }, "This page needs a browser of 2023 or later."));
  throw problem;
});

async function start() {
  const table = new Table(await ScumbleTables.unpack(textOf("release"), textOf("arrays")));
  const { numbers, columns } = table;
  const long = (j) => columns[j].size > FEW;
  const words = columns.flatMap(({ ordered }, j) => (ordered ? [] : [j])).sort((i, j) => long(i) - long(j));
  const state = new State({
    theme: rememberedTheme(),
    filters: new Map(), // place of a column → its filter
    mean: numbers[0] ?? 0, // the column whose mean is shown
    rows: words[0] ?? 0, // of the cross-table
    across: words[1] ?? (words[0] > 0 ? 0 : Math.min(1, columns.length - 1)),
    measure: "count",
  });
  wearTheme(state);
  const parts = {
    answer: answer(table, state),
    elsewhere: elsewhere(table, state),
    cross: crosstab(table, state),
    rows: rows(table, state),
  };
  const panels = columns.map((_, j) => new Panel(table, state, j));
  app.append(header(table, state), main(table, parts, panels), footer());

  const draw = () => {
    app.classList.toggle("unfiltered", !state.filters.size);
    for (const part of [...Object.values(parts), ...panels]) part.draw();
    app.dataset.state = "done";
  };
  let asked = 0;
  state.on(["filters"], () => {
    app.dataset.state = "busy";
    cancelAnimationFrame(asked);
    asked = requestAnimationFrame(draw);
  });
  state.on(["mean"], parts.answer.drawMean);
  state.on(["rows", "across", "measure"], parts.cross.draw);
  draw();
  window.scumble = { table, state };
}

function header({ title, info }, state) {
  const { epsilon, delta, count, count_standard_error: error } = info;
  const budget = `ε\u00a0=\u00a0${number(epsilon)}${delta ? `, δ\u00a0=\u00a0${delta.toExponential(0)}` : ""}`;
  const sure = error ? ` (±\u00a0${number(Math.round(1.96 * error) || 1.96 * error)})` : "";
  const free = "Ask as often as you like: no answer costs anybody privacy.";
  const promise = `About ${counted(count)} records${sure}, protected by noise: ${budget}. ${free}`;
  return h(
    "header",
    {},
    h(
      "div",
      { class: "headline" },
      h("div", {}, h("p", { class: "eyebrow" }, "scumble · a private table"), h("h1", {}, title)),
      button("Light or dark", () => toggleTheme(state), {
        class: "quiet",
        "aria-label": "Switch between light and dark",
      }),
    ),
    h("p", { class: "promise-line" }, promise),
  );
}

function main(table, parts, panels) {
  const key = h(
    "p",
    { class: "legend" },
    h("span", { class: "key" }, h("i", { class: "bar-key" }), "records that meet the filters on the other columns"),
    h("span", { class: "key" }, h("i", { class: "whisker-key" }), "95 % interval"),
    h("span", { class: "key" }, h("i", { class: "all-key" }), "shape of all records"),
  );
  return h(
    "main",
    {},
    parts.answer.node,
    h(
      "section",
      { class: "columns", "aria-labelledby": "columns" },
      h("h2", { id: "columns" }, "Every column"),
      key,
      h("div", { class: "panels" }, panels.map(({ node }) => node)),
      parts.elsewhere.node,
    ),
    table.columns.length > 1 ? parts.cross.node : null,
    parts.rows.node,
    about(table),
  );
}

function footer() {
  const promise =
    "This page holds the whole release and computes every answer by itself. It sends nothing anywhere. Made with scumble.";
  return h("footer", {}, h("p", {}, promise));
}
