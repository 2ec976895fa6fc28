// A point is a list of cells, one per column: numbers, or texts of categories.

import { dateText, isDated } from "./calendar.js";
import { measured, MISSING } from "./words.js";

// The point of a place in the picture; the columns that are not drawn stay where they are.
export function cellsAt(state, { x, y }) {
  const cells = [...state.at];
  cells[state.x] = x;
  if (state.y !== null) cells[state.y] = y;
  return cells;
}

// Whether a point lies on the cut that the picture shows, within a twentieth of every other column's range.
export function onCut(exhibit, state, cells) {
  return exhibit.usable.every((j) => {
    if (j === state.x || j === state.y) return true;
    if (!exhibit.isNumber(j)) return cells[j] === state.at[j];
    return Object.is(cells[j], state.at[j]) || Math.abs(cells[j] - state.at[j]) <= 0.05 * span(state, j);
  });
}

export function cellTexts(exhibit, state, cells) {
  return exhibit.usable.map((j) => {
    if (Number.isNaN(cells[j])) return MISSING;
    if (isDated(exhibit.columns[j])) return dateText(exhibit.columns[j], cells[j]);
    if (!exhibit.isNumber(j)) return cells[j];
    return exhibit.columns[j].kind === "whole" ? measured(Math.round(cells[j]), 1) : measured(cells[j], span(state, j));
  });
}

const span = (state, j) => state.ranges[j][1] - state.ranges[j][0];
