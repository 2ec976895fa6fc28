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
    "The noisy counts leave many tables possible. This release comes with a sample of them, and every answer is computed on each:",
    "its value is their mean, and its interval shows how far they differ.",
    "A 95 % interval is meant to hold the number that the table itself would give, in 95 of 100 questions.",
    "Answers in Python come from the same sample.",
  ];
  return h("p", {}, told.join(" "));
}
