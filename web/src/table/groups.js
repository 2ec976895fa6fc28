// The mean and the quartiles of a number or a date: of all records that meet the filters, or by the levels of a column.

import { button, choice, downloadRows, h, labeled } from "../page/dom.js";
import { broken, cellOf, NOBODY, PARTS, sheet } from "./crosstab.js";
import { interval, mean } from "./filters.js";
import { remarks } from "./remarks.js";

const QUARTILES = ["Lower quartile", "Median", "Upper quartile"];

export function groups(table, state) {
  const { columns } = table;
  const titles = columns.map(({ title }, j) => [j, title]);
  const place = h("div", {});
  const note = h("p", { class: "doubt", role: "status" });
  let found = null;
  const node = h("section", { class: "groups", "aria-labelledby": "groups" },
    h("h2", { id: "groups" }, "Means and quartiles"),
    h("div", { class: "choices" },
      labeled("Number", choice(titles.filter(([j]) => table.middled.includes(j)), state.number, (j) => state.set({ number: Number(j) }))),
      labeled("By", choice([["", "all records"], ...titles], "", (j) => state.set({ by: j === "" ? null : Number(j) }))),
    ),
    note, place,
    h("div", { class: "buttons" }, button("Download table (CSV)", () => downloadRows(`${table.fileName}-groups.csv`, lines(found)))),
  );
  const draw = () => {
    const { number, by, filters } = state;
    note.textContent = remarks(table, filters, by === null ? [number] : [number, by]).join(" ");
    note.hidden = !note.textContent;
    found = asked(table, state);
    const { column, rows, heading, names } = found;
    const cells = (all) => all.map((one, k) => cellOf(told(column, names[k], one)));
    place.replaceChildren(sheet("middles", `${column.title} by ${heading}`, heading, names, rows.map(({ text, all }) => [by === null ? text : broken(text, columns[by]), cells(all)])));
  };
  return { node, draw };
}

function asked(table, { number, by, filters }) {
  const column = table.columns[number];
  const names = [...(column.values ? ["Mean"] : []), ...(column.ordered ? QUARTILES : [])];
  const heading = by === null ? "records" : table.columns[by].title;
  const bins = by === null ? [null] : table.columns[by].bins(PARTS, { filter: filters.get(by), grouped: true });
  const rows = bins.map((bin) => ({ text: bin?.text ?? "all", all: table.middles(number, filters, bin, by) }));
  return { column, names, heading, rows };
}

function told(column, name, { value, low, high }) {
  if (Number.isNaN(value)) return NOBODY;
  if (name === "Mean" || !column.whole) return mean({ value, low, high });
  return { value: column.written(value), interval: interval({ low, high }, (end) => column.written(end)) };
}

function lines({ column, names, heading, rows }) {
  const text = (name, end) => (Number.isNaN(end) ? "" : name !== "Mean" && column.kind === "date" ? column.moment(end) : end);
  const each = rows.flatMap(({ text: group, all }) => all.map((one, k) => [group, names[k], ...["value", "low", "high"].map((end) => text(names[k], one[end]))]));
  return [[heading, "statistic", "value", "low", "high"], ...each];
}
