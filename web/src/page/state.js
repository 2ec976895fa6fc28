// What the page shows at the moment. The parts read it, change it with `set` alone, and listen for what they draw.

import { sideOf } from "./axes.js";
import { exact } from "./words.js";

export class State {
  #listeners = [];

  constructor(values) {
    Object.assign(this, values);
  }

  // Call `listener` after each change that names one of these, in the order in which listeners came.
  on(names, listener) {
    this.#listeners.push({ names, listener });
  }

  // A list or object is replaced, never changed in place. Naming a value tells its listeners, even if it stays.
  set(changes) {
    Object.assign(this, changes);
    for (const { names, listener } of this.#listeners) if (names.some((name) => name in changes)) listener();
  }
}

// What a reader chooses: another choice gives another picture and other controls.
export const CHOICES = ["x", "y", "release", "other", "show", "confidence", "colors"];

// What a reader types or drags: another picture, but the controls stay as they are, under the reader's hand.
export const VALUES = ["at", "ranges", "categories"];

// What releases of classes can answer with, and two releases.
export const SHOWS = [["classes", "Classes"], ["density", "Densities"]];
export const SIDES = ["sides", "Pair"];

// The releases in the picture: one, or two side by side.
export const shownReleases = ({ show, release, other }) => (show === "sides" ? [release, other] : [release]);

export function firstState(exhibit, theme) {
  const { columns, classifier, modes, usable, compared, releases } = exhibit;
  const ranges = columns.map((column) => column.range ?? [0, 1]);
  const numeric = eastFirst(
    usable.filter((j) => exhibit.isNumber(j)),
    columns.map((column, j) => sideOf(column, ranges[j])),
  );
  const [first, second] = numeric.length ? numeric : usable;
  return new State({
    x: first ?? 0, // the columns across and up; without one up, a curve is drawn
    y: numeric.length > 1 ? second : null,
    release: 0, // of which class the density is shown
    other: 1, // and which one stands beside it
    show: compared ? "sides" : classifier ? "classes" : "density",
    colors: "even", // or "log"
    confidence: 0.95,
    at: columns.map((column, j) => {
      if (column.role !== "number") return column.values[0] ?? "";
      return exact(column, modes.length ? modes[0].point[j] : (ranges[j][0] + ranges[j][1]) / 2);
    }), // one cell per column: where those stay that are not drawn
    ranges, categories: columns.map((column) => [...column.values]),
    grids: releases.every(({ grid }) => grid), // whether regions can be counted
    here: null, // the cross-hair, as values {x, y}
    corner: null, // where a region began by key
    region: null, // what is chosen, as values {x: [from, to], y: [from, to]}
    byKey: false, // whether a key put it there, so it stays when the pointer leaves
    theme, // "light", "dark" or null: as the system has it
    started: 0, // when the picture was asked for
    drawn: null, // what it shows, in numbers
    charts: [], // the pictures on the page
  });
}

const MAPS = [["longitude", "latitude"], ["easting", "northing"]];

// Longitude or easting across and latitude or northing up, where both are there.
function eastFirst(numeric, kinds) {
  const maps = MAPS.map((map) => map.map((kind) => numeric.find((j) => kinds[j] === kind)));
  const [east, north] = maps.find((map) => !map.includes(undefined)) ?? [];
  if (east === undefined) return numeric;
  return [east, north, ...numeric.filter((j) => j !== east && j !== north)];
}

export const replaced = (list, j, value) => list.map((old, k) => (k === j ? value : old));
