// What a reader takes away: the filters in the page's address, what is shown as CSV, and the charts as a picture.

import { button, download, downloadRows, h, rasterised, s } from "../page/dom.js";
import { app } from "../page/frame.js";
import { condition, range, ticks } from "./filters.js";

// ---- the address: each filtered column with its ticked levels, or with its range and whether missing cells count ----

export function addressOf(columns, filters) {
  const said = ({ levels }, { ticked, low, high, missing }) => (ticked ? [...ticked].map((level) => levels[level]) : [low, high, missing]);
  return String(new URLSearchParams([...filters].map(([j, filter]) => [columns[j].name, JSON.stringify(said(columns[j], filter))])));
}

// The filters that an address asks for; what this table does not have is passed over.
export function filtersIn(address, columns) {
  const asked = [...new URLSearchParams(address)].map(([name, text]) => [columns.findIndex((column) => column.name === name), text]);
  return new Map(asked.map(([j, text]) => [j, j < 0 ? null : filterOf(columns[j], text)]).filter(([, filter]) => filter));
}

function filterOf(column, text) {
  let said;
  try {
    said = JSON.parse(text);
  } catch {
    return null;
  }
  if (!Array.isArray(said)) return null;
  if (!column.ordered) return ticks(column, new Set(said.map((word) => column.levels.indexOf(word)).filter((level) => level >= 0)));
  const { low, high } = column.all;
  const [from, to] = [Math.max(said[0], low), Math.min(said[1], high)];
  return from < to ? range(column, from, to, column.missing && said[2] === true) : null;
}

export function followAddress(columns, state) {
  const asked = () => filtersIn(location.hash.slice(1), columns);
  addEventListener("hashchange", () => state.set({ filters: asked() }));
  state.on(["filters"], () => {
    const address = addressOf(columns, state.filters);
    if (address !== addressOf(columns, asked())) history.replaceState(null, "", `#${address}`);
  });
  return asked();
}

// ---- files ----

export function taking(table, state, panels, charts) {
  return h("div", { class: "buttons" },
    button("Download numbers (CSV)", () => downloadRows(`${table.fileName}-numbers.csv`, numbers(table, state, panels))),
    button("Download charts (PNG)", async () => download(`${table.fileName}-charts.png`, await pictureOf(charts))),
    h("span", { class: "hint" }, "The page's address keeps the filters."),
  );
}

// All numbers on the page: those that meet all filters, and the bars of each column.
function numbers(table, { filters }, panels) {
  const line = (name, text, { value, low, high }) => [name, text, ...[value, low, high].map((number) => Math.round(number) || 0)];
  const all = line("", condition(table.columns, filters) || "all records", table.count(filters));
  const bars = panels.flatMap(({ column, bins, counts }) => bins.map(({ text }, k) => line(column.name, text, counts[k])));
  return [["column", "value", "records", "low", "high"], all, ...bars];
}

const MARGIN = 16;

// A part of the page as PNG, styled as it is.
function pictureOf(node) {
  const { width, height } = node.getBoundingClientRect();
  const sheets = [...document.querySelectorAll("style")].map(({ textContent }) => h("style", {}, textContent));
  const copy = node.cloneNode(true);
  const inputs = [node, copy].map((each) => [...each.querySelectorAll("input")]);
  inputs[0].forEach(({ value, checked }, k) => {
    inputs[1][k].setAttribute("value", value);
    inputs[1][k].toggleAttribute("checked", checked);
  });
  const body = h("body", {}, ...sheets, h("div", { class: app.className }, copy));
  body.style.cssText = `margin:0;padding:${MARGIN}px`;
  const [wide, tall] = [width, height].map((side) => Math.ceil(side) + 2 * MARGIN);
  const sheet = s("svg", { width: wide, height: tall, "data-theme": document.documentElement.dataset.theme },
    s("foreignObject", { width: "100%", height: "100%" }, body));
  return rasterised(new XMLSerializer().serializeToString(sheet), wide, tall);
}
