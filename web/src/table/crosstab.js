// Two columns at once: how many records have each combination of their levels. Cells that are not known well are
// hatched.

import { choice, h, labeled, segments } from "../page/dom.js";
import { doubt, interval, records, share } from "./filters.js";
import { remarks } from "./remarks.js";

export const PARTS = 8; // of a column with an order
const NONE = 3; // the doubt of what may be none at all: it gets no color
const MEASURES = [["count", "Records"], ["row", "Share of row"]];

export function crosstab(table, state) {
  const options = table.columns.map(({ title }, j) => [j, title]);
  const place = h("div", {});
  const note = h("p", { class: "doubt", role: "status" });
  const node = h("section", { "aria-labelledby": "cross", class: "cross" },
    h("h2", { id: "cross" }, "Two columns together"),
    h("div", { class: "choices" },
      labeled("Rows", choice(options, state.rows, (j) => state.set({ rows: Number(j) }))),
      labeled("Columns", choice(options, state.across, (j) => state.set({ across: Number(j) }))),
      segments("measure", "Show", MEASURES, state.measure, (measure) => state.set({ measure })),
    ),
    note, place,
    legend(),
  );
  const draw = () => {
    note.textContent = state.rows === state.across ? "" : remarks(table, state.filters, [state.rows, state.across]).join(" ");
    note.hidden = !note.textContent;
    place.replaceChildren(drawn(table, state));
  };
  return { node, draw };
}

function drawn(table, state) {
  const [i, j] = [state.rows, state.across];
  if (i === j) return h("p", { class: "hint" }, "Choose two different columns.");
  const binsOf = (at) => table.columns[at].bins(PARTS, { filter: state.filters.get(at), grouped: true });
  const [rows, across] = [binsOf(i), binsOf(j)];
  const shares = state.measure === "row";
  const found = table.cross([i, rows], [j, across], state.filters, shares);
  const sure = found.flat().filter((one) => doubt(one) < NONE);
  const most = Math.max(...sure.map(({ value }) => value), 1e-9);
  const [one, two] = [table.columns[i].title, table.columns[j].title];
  const caption = `${shares ? "Share of each row" : "Records"} by ${one} (rows) and ${two} (columns)`;
  const headings = across.map(({ text }) => broken(text, table.columns[j]));
  const cells = (row) => row.map((one) => counted(one, most, shares));
  return sheet("crosstab", caption, `${one} \\ ${two}`, headings, rows.map(({ text }, r) => [broken(text, table.columns[i]), cells(found[r])]));
}

// A table of cells with intervals; each line has a name and its cells.
export function sheet(name, caption, corner, headings, lines) {
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    h("table", { class: `cells ${name}` },
      h("caption", {}, caption),
      h("thead", {}, lineOf("col", corner, headings.map((text) => h("th", { scope: "col" }, text)))),
      h("tbody", {}, lines.map(([name, cells]) => lineOf("row", name, cells))),
    ),
  );
}

// A range breaks between its ends, not within a date.
export const broken = (text, { ordered }) =>
  ordered ? text.split(/(?<= to) /u).flatMap((end, k) => [k ? " " : "", h("span", { class: "end-of-range" }, end)]) : text;

const lineOf = (scope, name, cells) => h("tr", {}, h("th", { scope }, name), cells);

function counted(found, most, shares) {
  const known = Number.isFinite(found.value);
  const level = known ? doubt(found) : NONE;
  const told = shares ? share(found) : { value: records(found.value), interval: interval(found) };
  return cellOf(known ? told : NOBODY, level, level < NONE ? found.value / most : 0);
}

export const NOBODY = { value: "–", interval: "no records" };

// A number with its interval; its doubt hatches it, and its part of the largest colors it.
export function cellOf({ value, interval }, level = 0, part = 0) {
  const cell = h("td", { class: `doubt-${level}` }, h("span", { class: "value" }, value), h("span", { class: "range" }, interval));
  cell.style.setProperty("--part", part);
  return cell;
}

function legend() {
  const entries = ["within 20 %", "within 50 %", "very uncertain", "could be zero"];
  return h("p", { class: "legend" },
    "Stronger color: more records. Hatched: less certain. ",
    entries.map((text, k) => h("span", { class: "key" }, h("i", { class: `doubt-${k}` }), text)),
  );
}
