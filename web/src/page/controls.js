// The form beside the pictures: what to draw.

import { endField, entryOf } from "./axes.js";
import { choice, h, labeled, segments } from "./dom.js";
import { CHOICES, replaced, SHOWS, SIDES } from "./state.js";
import { exact, mayMiss, titleOf, trimmed } from "./words.js";

const CONFIDENCES = [[0.9, "90 %"], [0.95, "95 %"], [0.99, "99 %"]];

const COLORS = [["even", "Even"], ["log", "Log"]];

export function controls(exhibit, state) {
  const form = h("form", {
    class: "controls", "aria-label": "What to draw", onsubmit: (event) => event.preventDefault(),
  });
  const fill = () => refill(form, fields(exhibit, state));
  state.on(CHOICES, fill);
  fill();
  return form;
}

// The control in use may be replaced by its like: the keyboard goes on from there.
function refill(form, parts) {
  const focused = form.contains(document.activeElement) ? [...form.elements].indexOf(document.activeElement) : -1;
  form.replaceChildren(...parts);
  if (focused >= 0) form.elements[focused]?.focus();
}

function fields(exhibit, state) {
  const drawn = [state.x, state.y].filter((j) => j !== null);
  const still = exhibit.usable.filter((j) => !drawn.includes(j));
  const change = (choices) => state.set({ ...choices, here: null });
  return [
    ...whatToShow(exhibit, state, change),
    ...axes(exhibit, state, change),
    ...drawn.map((j) => (exhibit.isNumber(j) ? rangeField : valuesField)(exhibit, state, j)),
    ...(still.length ? [stillFields(exhibit, state, still)] : []),
    ...(state.show === "classes" ? [] : [intervals(state, change)]),
    ...(state.show === "classes" || state.y === null ? [] : [colors(state, change)]),
  ];
}

function whatToShow({ classes, classifier, compared }, state, change) {
  const one = compared ? ["density", "One alone"] : SHOWS[1];
  const shows = [...(classifier ? [SHOWS[0]] : []), one, ...(classes.length > 1 ? [SIDES] : [])];
  const parts = shows.length > 1 ? [segments("show", "Show", shows, state.show, (show) => change({ show }))] : [];
  const whose = (name, chosen, tell) =>
    labeled(name, choice(classes.map((one, k) => [k, one]), chosen, (k) => tell(Number(k))));
  if (!classes.length || state.show === "classes") return parts;
  const sides = state.show === "sides";
  const what = compared ? "Release" : "Class";
  parts.push(whose(sides ? "Left" : what, state.release, (release) => change({ release })));
  if (sides) parts.push(whose("Right", state.other, (other) => change({ other })));
  return parts;
}

function axes({ columns, usable }, state, change) {
  const names = (list) => list.map((j) => [j, columns[j].name]);
  // A column that stood up changes places with the one across.
  const across = (j) => change({ x: j, y: state.y === j ? state.x : state.y });
  const parts = [labeled("Across", choice(names(usable), state.x, (j) => across(Number(j))))];
  if (usable.length > 1) {
    const options = [["", "nothing: a curve"], ...names(usable.filter((j) => j !== state.x))];
    const up = (j) => change({ y: j === "" ? null : Number(j) });
    parts.push(labeled("Up", choice(options, state.y ?? "", up)));
  }
  return parts;
}

function stillFields(exhibit, state, still) {
  return h("fieldset", { class: "still" },
    h("legend", {}, still.length > 1 ? "The other columns stay at" : "The other column stays at"),
    still.map((j) => stillField(exhibit, state, j)),
  );
}

function intervals(state, change) {
  return segments("confidence", "Intervals", CONFIDENCES, state.confidence, (value) =>
    change({ confidence: Number(value) }),
  );
}

function colors(state, change) {
  return segments("colors", "Colors", COLORS, state.colors, (value) => change({ colors: value }));
}

// The fields of one column: its range or its values if it is drawn, and where it stays if it is not.

function rangeField({ columns }, state, j) {
  const { name } = columns[j];
  const end = (k) => {
    const tell = (range) => state.set({ ranges: replaced(state.ranges, j, range) });
    const input = endField(columns[j], k, { "aria-label": `${name} ${k ? "to" : "from"}` }, () => state.ranges[j], tell);
    entryOf(columns[j]).put(input, state.ranges[j][k]);
    return input;
  };
  return h("fieldset", { class: "range" }, h("legend", {}, `Range of ${name}`), h("div", {}, end(0), end(1)));
}

function valuesField({ columns }, state, j) {
  const { name, code, values } = columns[j];
  const input = h("textarea", {
    rows: 3, "aria-label": `Values of ${name} to compare, one per line`,
    onchange: () => {
      const lines = differentLines(input.value);
      state.set({ categories: replaced(state.categories, j, code ? lines.filter((line) => values.includes(line)) : lines) });
    },
  });
  input.value = state.categories[j].join("\n");
  const hint = code
    ? `One per line: some or all of the ${values.length}.`
    : "One per line. A release does not list them: write those you want to compare.";
  return labeled(`Values of ${name}`, input, hint);
}

function differentLines(text) {
  const lines = text.split("\n").map((line) => line.trim());
  return [...new Set(lines.filter(Boolean))];
}

function stillField(exhibit, state, j) {
  const column = exhibit.columns[j];
  const move = (value) => state.set({ at: replaced(state.at, j, value) });
  if (exhibit.isNumber(j)) return stillNumber(column, state.ranges[j], state.at[j], move);
  if (column.code) return labeled(titleOf(column), choice(column.values.map((word) => [word, word]), state.at[j], move));
  return stillText(column, `values-${j}`, state.categories[j], state.at[j], move);
}

function stillText(column, id, categories, value, move) {
  const list = h("datalist", { id },
    categories.map((value) => h("option", { value })),
  );
  const input = h("input", {
    type: "text", list: id, value, placeholder: "a value", oninput: () => move(input.value),
  });
  return h("div", {}, labeled(titleOf(column), input), list);
}

// A slider, a box for an exact value, and one to tick where cells may be missing.
function stillNumber(column, [low, high], value, move) {
  const span = high - low;
  const { type, put, take } = entryOf(column);
  const box = h("input", {
    type, step: "any",
    "aria-label": `${column.name}, as a ${type === "number" ? "number" : "date"}`,
    onchange: () => {
      if (!Number.isFinite(take(box))) return;
      slider.value = take(box);
      move(take(box));
    },
  });
  const middle = exact(column, (low + high) / 2);
  const [first, missing] = [Number.isNaN(value) ? middle : value, Number.isNaN(value)];
  put(box, trimmed(first, span));
  const slider = h("input", {
    type: "range", min: low, max: high, step: column.kind === "whole" ? 1 : span / 200, "aria-label": column.name,
    oninput: () => {
      const value = exact(column, slider.valueAsNumber);
      put(box, trimmed(value, span));
      move(value);
    },
  });
  slider.value = first;
  const gone = h("input", { type: "checkbox", onchange: () => tell(gone.checked, true) });
  gone.checked = missing;
  const tell = (ticked, moved) => {
    box.disabled = slider.disabled = ticked;
    if (moved) move(ticked ? NaN : exact(column, slider.valueAsNumber));
  };
  tell(missing, false);
  const line = h("div", {}, slider, box);
  const tick = mayMiss(column) ? h("label", { class: "gone" }, gone, "missing") : null;
  return h("div", { class: "slider" }, h("span", { class: "name" }, titleOf(column)), line, tick);
}
