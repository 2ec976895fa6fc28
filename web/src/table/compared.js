// What differs between two tables, as Python compared them: the rows with the best evidence first.

import { button, downloadRows, h, segments, tableOf, unfolded } from "../page/dom.js";
import { CLAIMS, RARE } from "../page/words.js";
import { mean } from "./filters.js";

const CHOICES = [["populations", "Populations"], ["tables", "These two tables"]];
const MOST = 12; // rows that are shown at once
const RANK = "Rank: the share of both tables' values that a value exceeds, on average.";
const EVIDENCE = "By chance: how often a difference as large as this would appear anywhere in the list if nothing differed.";

export function compared(table, state) {
  const { names, level, claims } = table.compared;
  const place = h("div", {});
  const rows = () => claims[state.of].rows;
  const headings = ["Statistic", ...names, "Difference", "95 % interval", "Evidence"];
  const sheet = (some) => tableOf(`${names[1]} minus ${names[0]}`, headings, some.map((row) => cells(table, row, level)), { stacked: true });
  const all = unfolded("All comparisons", () => [sheet(rows())]);
  const draw = () => {
    const sure = rows().filter(({ p_adjusted }) => p_adjusted < level);
    const found = `${sure.length || "None"} of ${rows().length} comparisons ${sure.length === 1 ? "is" : "are"} significant. `;
    place.replaceChildren(
      h("p", { role: "status" }, h("strong", {}, found), CLAIMS[state.of]),
      ...claims[state.of].remarks.map((text) => h("p", { class: "doubt" }, text)),
      sure.length ? sheet(sure.slice(0, MOST)) : "",
      h("p", { class: "hint" }, EVIDENCE, rows().some(({ statistic }) => statistic === "rank") ? ` ${RANK}` : ""),
    );
    all.draw();
  };
  const save = () => {
    const keys = Object.keys(rows()[0]);
    const lines = rows().map((row) => keys.map((key) => row[key] ?? ""));
    downloadRows(`${table.fileName}-${state.of}.csv`, [keys, ...lines]);
  };
  const node = h("section", { class: "compared", "aria-labelledby": "compared" },
    h("h2", { id: "compared" }, "What differs"),
    segments("of", "Compare", CHOICES, state.of, (of) => state.set({ of })),
    place, all.node,
    h("div", { class: "buttons" }, button("Download comparison (CSV)", save)),
    h("p", { class: "hint" }, `The rest of this page is about ${names[0]}.`),
  );
  return { node, draw };
}

const ended = (end, infinity) => (end === null ? infinity : end); // JSON has no infinities

function cells(table, { column, statistic, level, first, second, difference, low, high, p_adjusted: p }, most) {
  const points = statistic === "share" || statistic === "rank";
  const [factor, unit] = points ? [100, " %"] : [1, ""];
  const half = (factor * (ended(high, Infinity) - ended(low, -Infinity))) / 2;
  const text = (value) => (value === null ? "not known" : mean({ value: factor * value, low: factor * value - half, high: factor * value + half }).value + unit);
  const told = difference === null ? { value: "not known", interval: "" } : mean({ value: factor * difference, low: factor * low, high: factor * high });
  const signed = difference > 0 ? `+${told.value}` : told.value;
  const by = table.columns.find(({ name }) => name === column);
  return [
    by ? `${by.title} · ${level === null ? statistic : by.kind === "boolean" ? by.text(by.levels.indexOf(level)) : level}` : "records",
    text(first), text(second), signed + (points && difference !== null ? " points" : ""), told.interval,
    p < most ? h("strong", {}, `Differs; by chance: ${p < RARE ? "under 1 in 1,000" : `1 in ${Math.floor(1 / p)}`}`)
      : p < 1 ? `May be chance: ${Math.round(100 * p)} %` : "May be chance",
  ];
}
