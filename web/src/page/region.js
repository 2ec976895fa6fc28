// A part of the picture that the reader chooses, by dragging, by keys or by numbers, and what the release says of it.

import { endField, entryOf } from "./axes.js";
import { add, button, h } from "./dom.js";
import { shownReleases } from "./state.js";
import { number, percent, recordsText, trimmed } from "./words.js";

const HELP =
  "Drag in a picture, or put the cross-hair with the arrow keys, press Space, move on and press Space again; or write the ends.";

export function region(exhibit, state) {
  const fields = h("div", { class: "ends" });
  const answer = h("p", { class: "answer", role: "status", "aria-live": "polite" });
  const clear = button("Clear the region", () => state.set({ region: null, corner: null }), { class: "quiet" });
  const node = h("div", { class: "region" }, h("p", { class: "hint" }, HELP), fields, answer, clear);
  const frame = h("details", { class: "regions", open: true, hidden: true }, h("summary", {}, "Ask for a region"), node);
  let axes = "";
  state.on(["drawn", "region", "confidence"], () => {
    if (!state.drawn) return;
    frame.hidden = !suits(state);
    if (frame.hidden) return;
    const now = JSON.stringify([state.x, state.y]);
    if (now !== axes) fields.replaceChildren(...drawnAxes(state).map((axis) => endsOf(state, axis)));
    axes = now;
    fill(fields, state);
    clear.hidden = !state.region;
    if (state.region && !state.drawn.done) return;
    answer.replaceChildren(...(state.region ? answersOf(exhibit, state) : ["No region is chosen."]));
  });
  state.on(["x", "y"], () => (state.region || state.corner) && state.set({ region: null, corner: null }));
  state.on(["charts", "region"], () => state.charts.forEach((chart) => shade(chart, state)));
  return frame;
}

const drawnAxes = ({ drawn }) => [["x", drawn.x], ...(drawn.y ? [["y", drawn.y]] : [])];

// Regions are of numbers on grids, which count what lies in their cells; classes have none.
export const suits = (state) =>
  state.grids && state.show !== "classes" && state.drawn?.x?.numeric && (!state.drawn.y || state.drawn.y.numeric);

// From one place to another, in any order.
export function between(state, one, other) {
  const known = (name, value) => (Number.isNaN(value) ? state.drawn[name].range[0] : value); // missing cells are in none
  const side = (name) => [one, other].map((place) => known(name, place[name])).sort((a, b) => a - b);
  return { x: side("x"), y: state.y === null ? null : side("y") };
}

function endsOf(state, [name, axis]) {
  const now = () => state.region ?? whole(state);
  const tell = (ends) => state.set({ region: { ...now(), [name]: ends } });
  const end = (k) => {
    const named = { "data-end": `${name}${k}`, "aria-label": `Region: ${axis.column.name} ${k ? "to" : "from"}` };
    return endField(axis.column, k, named, () => now()[name], tell);
  };
  return h("label", { class: "end" }, h("span", {}, axis.column.name), end(0), h("span", {}, "to"), end(1));
}

const whole = ({ drawn }) => ({ x: drawn.x.range, y: drawn.y ? drawn.y.range : null });

function fill(fields, state) {
  for (const input of fields.querySelectorAll("input")) {
    const [name, k] = input.dataset.end;
    const span = state.drawn[name].range[1] - state.drawn[name].range[0];
    entryOf(state.drawn[name].column).put(input, state.region ? trimmed(state.region[name][k], span) : "");
  }
}

function answersOf(exhibit, state) {
  const { x, y } = state.drawn;
  const box = new Map([[x.index, state.region.x], ...(y ? [[y.index, state.region.y]] : [])]);
  return shownReleases(state).flatMap((release, k) => {
    const found = exhibit.engine.region(release, box, state.confidence);
    const name = state.show === "sides" ? `${exhibit.nameOf(release)}: ` : "";
    return [...(k ? [h("br", {})] : []), name, ...count(exhibit, state, release, found)];
  });
}

function count(exhibit, { drawn }, release, { value, lower, upper, ends, others }) {
  const text = (axis) => {
    const [from, to] = onNumbers(axis.column, ends.get(axis.index)).map((end) => axis.text(end));
    return `${axis.column.name} ${from} to ${to}`;
  };
  const where = [drawn.x, drawn.y].filter(Boolean).map(text).join(", ");
  const all = others ? ", at any value of the other columns" : "";
  const share = percent(Math.min(1, Math.max(0, value) / exhibit.countOf(release)));
  return [h("strong", {}, `about ${recordsText(value, lower, upper)} records`), `, ${share} of all: ${where}${all}.`];
}

// Cells of whole numbers and of dates end half-way between two: from the first of these to the last.
const onNumbers = ({ kind }, [low, high]) =>
  ["whole", "date", "boolean"].includes(kind) ? [Math.ceil(low), Math.floor(high)] : [low, high];

function shade(chart, { region }) {
  chart.brush.selectAll("*").remove();
  if (!region) return;
  const [a, b] = region.x.map((value) => clamp(chart.placeX(value), chart.left, chart.width - chart.right));
  const [low, high] = [chart.height - chart.bottom, chart.top];
  const [c, d] = region.y && chart.y.place ? region.y.map((v) => clamp(chart.placeY(v), high, low)) : [low, high];
  const frame = (color, dashes) =>
    add(chart.brush, "rect", {
      x: a, y: d, width: Math.max(1, b - a), height: Math.max(1, c - d), fill: "none", stroke: color,
      "stroke-width": 2, "stroke-dasharray": dashes,
    });
  frame(chart.palette.paper, null); // seen on any color
  frame(chart.palette.mark, "6 3");
}

const clamp = (x, low, high) => Math.min(Math.max(x, low), high);
