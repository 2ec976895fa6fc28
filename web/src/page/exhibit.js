// What is shown: the release that lies in the page, what it says of itself, and what it answers.

import { dateText, isDated } from "./axes.js";
import { measured, MISSING } from "./words.js";

const { Engine } = ScumbleEngine;

export class Exhibit {
  constructor({ description, arrays }) {
    const { title, info, card, drawable, columns, classes, classifier, modes, releases, compared } = description;
    Object.assign(this, { title, info, card, drawable, columns, classes, classifier, modes, releases, compared });
    this.engine = drawable ? new Engine(description, arrays) : null;
    // A column of which the kernel takes no notice is neither drawn nor asked for.
    this.usable = columns.flatMap((column, j) => (column.role === "any" ? [] : [j]));
  }

  isNumber(j) {
    return this.columns[j].role === "number";
  }

  // What a release answers, and the interval as shares of all records: `from` and `to`.
  answers(release, table, confidence) {
    const found = this.engine.answers(release, table, confidence);
    const count = this.countOf(release);
    const share = (values) => values.map((v) => Math.min(1, Math.max(0, v / count)));
    return { ...found, from: share(found.lower), to: share(found.upper) };
  }

  answersAt(release, cells, confidence) {
    return this.answers(release, this.engine.table(1, cells), confidence);
  }

  verdictAt(cells) {
    return this.verdict(this.engine.classes(this.engine.table(1, cells)));
  }

  // What one of several releases is called; without a name there is one only.
  nameOf(release) {
    return this.classes[release] ?? null;
  }

  countOf(release) {
    return this.releases[release].divisor;
  }

  // The most probable class of the i-th point, by name, how probable it is, and how probable at least: 0 if not known.
  verdict({ probabilities, least }, i = 0) {
    const { classes } = this.classifier;
    const { best, sure } = winner(probabilities, i, classes.length);
    return { name: String(classes[best]), sure, least: least[i] };
  }
}

// The most probable of k classes at the i-th point.

export function winner(probabilities, i, k) {
  let best = 0;
  for (let c = 1; c < k; c++) if (probabilities[i * k + c] > probabilities[i * k + best]) best = c;
  return { best, sure: probabilities[i * k + best] };
}

// ---- cells of a point, one per column ----

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
