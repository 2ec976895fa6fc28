// Synthetic rows: a look at a few, and a file of many.

import { breakable, button, downloadRows, h, labeled, tableOf } from "../page/dom.js";
import { records } from "./filters.js";

const MOST = 200000;
const SHOWN = 5;
const NOBODY = "No record in this release meets the filter, so there is nothing to draw.";

export function rows(table, state) {
  const names = table.columns.map(({ name }) => name);
  const size = h("input", { type: "number", min: 1, max: MOST, step: 1, value: 1000 });
  const only = h("input", { type: "checkbox", onchange: () => draw() });
  only.checked = true;
  const place = h("div", {});
  const told = h("p", { class: "hint", role: "status" });
  const filters = () => (only.checked ? state.filters : new Map());
  const draw = () => {
    const few = table.rows(SHOWN, filters());
    place.replaceChildren(few.length ? preview(table, few) : h("p", { class: "hint" }, NOBODY));
    told.textContent = "";
  };
  const save = () => {
    const wanted = Math.min(Math.max(Math.round(Number(size.value)) || 1, 1), MOST);
    size.value = wanted;
    const found = table.rows(wanted, filters());
    if (found.length) downloadRows(`${table.fileName}-synthetic.csv`, [names, ...found]);
    told.textContent = found.length ? `${records(found.length)} rows.` : NOBODY;
  };
  const node = h("section", { "aria-labelledby": "synthetic" },
    h("h2", { id: "synthetic" }, "Synthetic rows"),
    h("p", {}, "Synthetic records, drawn from the distribution that the release describes. None of them is a real record."),
    place,
    h("div", { class: "buttons" },
      labeled("Rows", size),
      h("label", { class: "only" }, only, h("span", {}, "only those that meet the filter")),
      button("Download CSV", save, { class: "main" }),
      button("Show others", draw),
    ),
    told,
  );
  return { node, draw };
}

function preview({ columns }, few) {
  const headings = columns.map(({ name }) => breakable(name));
  return tableOf("A few synthetic rows", headings, few, { numeric: (j) => Boolean(columns[j].values), keyed: false });
}
