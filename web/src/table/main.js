// The page of a table. Everything is computed here, from the release that lies in the page.

import { h, tableOf } from "../page/dom.js";
import { app, budgetText, footer, promised, start, wholeCard } from "../page/frame.js";
import { State } from "../page/state.js";
import { rememberedTheme, wearTheme } from "../page/theme.js";
import { counted, number } from "../page/words.js";
import { answer, elsewhere } from "./answer.js";
import { compared } from "./compared.js";
import { crosstab } from "./crosstab.js";
import { groups } from "./groups.js";
import { Panel } from "./panel.js";
import { rows } from "./rows.js";
import { followAddress, taking } from "./taking.js";
import { Table } from "./table.js";

const FEW = 12; // levels of a column that the cross-table begins with, if there are such

start(ScumbleTables.unpack, (content) => {
  const table = new Table(content);
  const { numbers, columns } = table;
  const long = (j) => columns[j].size > FEW;
  const words = columns.flatMap(({ ordered }, j) => (ordered ? [] : [j])).sort((i, j) => long(i) - long(j));
  const state = new State({
    theme: rememberedTheme(),
    filters: new Map(), // place of a column → its filter
    mean: numbers[0] ?? 0, // the column whose mean is shown
    number: table.middled[0] ?? 0, // whose mean and quartiles are shown
    by: null, // the column that makes groups of records
    rows: words[0] ?? 0, // of the cross-table
    across: words[1] ?? (words[0] > 0 ? 0 : Math.min(1, columns.length - 1)),
    measure: "count",
    of: "populations", // what a comparison of two tables is about
  });
  state.set({ filters: followAddress(columns, state) });
  wearTheme(state);
  const parts = {
    answer: answer(table, state), elsewhere: elsewhere(table, state), cross: crosstab(table, state),
    rows: rows(table, state), ...(table.middled.length && { groups: groups(table, state) }), ...(table.compared && { compared: compared(table, state) }),
  };
  const panels = columns.map((_, j) => new Panel(table, state, j));
  app.append(header(table, state), main(table, state, parts, panels), footer());

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
  state.on(["number", "by"], () => parts.groups.draw());
  state.on(["of"], () => parts.compared.draw());
  draw();
  window.scumble = { table, state };
});

function header({ title, info, compared }, state) {
  const { count, count_standard_error: error } = info;
  const sure = error ? ` (±\u00a0${number(Math.round(1.96 * error) || 1.96 * error)})` : "";
  const free = "Ask as often as you like: answers cost no further privacy.";
  const promise = `${compared ? `${compared.names[0]}: about` : "About"} ${counted(count)} records${sure}, protected by noise: ${budgetText(info)}. ${free}`;
  return promised("a private table", title, state, promise);
}

function main(table, state, parts, panels) {
  const key = h("p", { class: "legend" },
    h("span", { class: "key" }, h("i", { class: "bar-key" }), "records that meet the filters on the other columns"),
    h("span", { class: "key" }, h("i", { class: "whisker-key" }), "95 % interval"),
    h("span", { class: "key" }, h("i", { class: "all-key" }), "shape of all records"),
  );
  const charts = h("div", { class: "panels" }, panels.map(({ node }) => node));
  return h("main", {},
    parts.compared?.node,
    parts.answer.node,
    h("section", { class: "columns", "aria-labelledby": "columns" },
      h("h2", { id: "columns" }, "Every column"),
      key,
      charts,
      taking(table, state, panels, charts),
      parts.elsewhere.node,
    ),
    table.columns.length > 1 ? parts.cross.node : null,
    parts.groups?.node,
    parts.rows.node,
    about(table),
  );
}

// What the table holds, and what is promised: for those who must judge it.

const KINDS = { number: "number", category: "category", boolean: "yes or no", date: "date" };

function about(table) {
  const paired = table.columns.some((_, j) => table.paired(j));
  const rows = table.columns.map(({ title, kind, words, size, group }, j) => [
    title,
    KINDS[kind],
    words,
    String(size),
    ...(paired ? [group ? (table.paired(j) ? String(Math.max(...group) + 1) : "in none") : "all"] : []),
  ]);
  const headings = ["Column", "Kind", "What it can hold", ...(paired ? ["Levels alone", "Levels in pairs"] : ["Levels"])];
  const options = { numeric: (at) => at > 2, stacked: true };
  return h("section", { "aria-labelledby": "about" },
    h("h2", { id: "about" }, "About this release"),
    h("p", {}, table.info.meaning),
    h("details", {}, h("summary", {}, "The columns"), tableOf("The columns", headings, rows, options)),
    wholeCard(table.card),
    h("details", {}, h("summary", {}, "How far to trust the intervals"), trust()),
  );
}

function trust() {
  const told = [
    "Many tables are consistent with the noisy counts. This release comes with a sample of them, and every answer is computed on each:",
    "the value is the mean, and the interval shows how much they differ.",
    "A 95 % interval should contain the true number of the table for 95 of 100 questions.",
  ];
  return h("p", {}, told.join(" "));
}
