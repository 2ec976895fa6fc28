// What the table holds, and what is promised: for those who must judge it.

import { h, tableOf } from "../page/dom.js";

const KINDS = { number: "number", category: "category", boolean: "yes or no", date: "date" };

export function about(table) {
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
  return h(
    "section",
    { "aria-labelledby": "about" },
    h("h2", { id: "about" }, "About this release"),
    h("p", {}, table.info.meaning),
    h("details", {}, h("summary", {}, "The columns"), tableOf("The columns", headings, rows, options)),
    h(
      "details",
      {},
      h("summary", {}, "The whole privacy card"),
      h("dl", { class: "lines" }, table.card.map(([name, text]) => h("div", {}, h("dt", {}, name), h("dd", {}, text)))),
    ),
    h("details", {}, h("summary", {}, "How far to trust the intervals"), trust()),
  );
}

function trust() {
  const told = [
    "A 95 % interval is meant to hold the number that the table itself would give, in 95 of 100 questions.",
    "It allows for the noise that protects people, and for what the release does not know.",
    "Python makes an interval for each question; this page has a law that was fitted to such intervals and set a little",
    "wider. Numbers on one column are Python’s. Those on two are weighed by such errors, what the pair was counted as",
    "against what the model of all columns says, and may differ by a fifth of a standard error or so; of more columns the",
    "intervals may be somewhat wider or narrower than Python’s.",
  ];
  return h("p", {}, told.join(" "));
}
