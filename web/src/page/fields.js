// The fields of one column: its range or its values if it is drawn, and where it stays if it is not.

import { entryOf } from "./calendar.js";
import { choice, h, labelled } from "./dom.js";
import { exact, mayMiss } from "./missing.js";
import { replaced } from "./state.js";
import { titleOf } from "./words.js";

export function rangeField({ columns }, state, j) {
  const { name } = columns[j];
  const { type, put, take } = entryOf(columns[j]);
  const end = (k) => {
    const input = h("input", {
      type,
      step: "any",
      "aria-label": `${name} ${k ? "to" : "from"}`,
      onchange: () => {
        const range = replaced(state.ranges[j], k, take(input));
        const good = range.every(Number.isFinite) && range[0] < range[1];
        input.setCustomValidity(good ? "" : "The low end must be below the high end.");
        if (input.reportValidity()) state.set({ ranges: replaced(state.ranges, j, range) });
      },
    });
    put(input, state.ranges[j][k]);
    return input;
  };
  return h("fieldset", { class: "range" }, h("legend", {}, `Range of ${name}`), h("div", {}, end(0), end(1)));
}

export function valuesField({ columns }, state, j) {
  const { name, code, values } = columns[j];
  const input = h("textarea", {
    rows: 3,
    "aria-label": `Values of ${name} to compare, one per line`,
    onchange: () => {
      const lines = differentLines(input.value);
      state.set({ categories: replaced(state.categories, j, code ? lines.filter((line) => values.includes(line)) : lines) });
    },
  });
  input.value = state.categories[j].join("\n");
  const hint = code
    ? `One per line: some or all of the ${values.length}.`
    : "One per line. A release does not list them: write those you want to compare.";
  return labelled(`Values of ${name}`, input, hint);
}

function differentLines(text) {
  const lines = text.split("\n").map((line) => line.trim());
  return [...new Set(lines.filter(Boolean))];
}

export function stillField(exhibit, state, j) {
  const column = exhibit.columns[j];
  const move = (value) => state.set({ at: replaced(state.at, j, value) });
  if (exhibit.isNumber(j)) return stillNumber(column, state.ranges[j], state.at[j], move);
  if (column.code) return labelled(titleOf(column), choice(column.values.map((word) => [word, word]), state.at[j], move));
  return stillText(column, `values-${j}`, state.categories[j], state.at[j], move);
}

function stillText(column, id, categories, value, move) {
  const list = h(
    "datalist",
    { id },
    categories.map((value) => h("option", { value })),
  );
  const input = h("input", {
    type: "text",
    list: id,
    value,
    placeholder: "a value",
    oninput: () => move(input.value),
  });
  return h("div", {}, labelled(titleOf(column), input), list);
}

// A slider, a box for who wants it exactly, and one to tick where cells may be missing.
function stillNumber(column, [low, high], value, move) {
  const span = high - low;
  const { type, put, take } = entryOf(column);
  const box = h("input", {
    type,
    step: "any",
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
    type: "range",
    min: low,
    max: high,
    step: column.kind === "whole" ? 1 : span / 200,
    "aria-label": column.name,
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

const trimmed = (x, span) => Number(x.toFixed(Math.max(0, Math.min(12, 3 - Math.floor(Math.log10(span))))));
