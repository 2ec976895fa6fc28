// Two columns at once: how many records have each combination of their levels. Cells that are not known well are
// hatched.

import { choice, h, labeled, segments } from "../page/dom.js";
import { apart, doubt, interval, records, share } from "./filters.js";

const PARTS = 8; // of a column with an order
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
    note.textContent = state.rows === state.across ? "" : apart(table, [...new Set([state.rows, state.across, ...state.filters.keys()])]);
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
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    h("table", { class: "crosstab" },
      h("caption", {}, caption),
      h("thead", {}, lineOf("col", `${one} \\ ${two}`, across.map(({ text }) => h("th", { scope: "col" }, broken(text, table.columns[j]))))),
      h("tbody", {}, rows.map(({ text }, r) => lineOf("row", broken(text, table.columns[i]), found[r].map((one) => cellOf(one, most, shares))))),
    ),
  );
}

// A range breaks between its ends, not within a date.
const broken = (text, { ordered }) =>
  ordered ? text.split(/(?<= to) /u).flatMap((end, k) => [k ? " " : "", h("span", { class: "end-of-range" }, end)]) : text;

const lineOf = (scope, name, cells) => h("tr", {}, h("th", { scope }, name), cells);

function cellOf(found, most, shares) {
  const known = Number.isFinite(found.value);
  const told = shares ? share(found) : { value: records(found.value), interval: interval(found) };
  const level = known ? doubt(found) : NONE;
  const cell = h("td", { class: `doubt-${level}` },
    h("span", { class: "value" }, known ? told.value : "–"),
    h("span", { class: "range" }, known ? told.interval : "no records"),
  );
  cell.style.setProperty("--part", level < NONE ? found.value / most : 0);
  return cell;
}

function legend() {
  const entries = ["within 20 %", "within 50 %", "very uncertain", "could be zero"];
  return h("p", { class: "legend" },
    "Stronger color: more records. Hatched: less certain. ",
    entries.map((text, k) => h("span", { class: "key" }, h("i", { class: `doubt-${k}` }), text)),
  );
}
