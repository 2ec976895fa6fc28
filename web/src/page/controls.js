// The form beside the pictures: what to draw.

import { choice, h, labelled, segments } from "./dom.js";
import { rangeField, stillField, valuesField } from "./fields.js";
import { CHOICES, SHOWS, SIDES } from "./state.js";

const CONFIDENCES = [
  [0.9, "90 %"],
  [0.95, "95 %"],
  [0.99, "99 %"],
];

const COLOURS = [
  ["even", "Even"],
  ["log", "Log"],
];

export function controls(exhibit, state) {
  const form = h("form", {
    class: "controls",
    "aria-label": "What to draw",
    onsubmit: (event) => event.preventDefault(),
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
    ...(state.show === "classes" || state.y === null ? [] : [colours(state, change)]),
  ];
}

function whatToShow({ classes, classifier, compared }, state, change) {
  const one = compared ? ["density", "One alone"] : SHOWS[1];
  const shows = [...(classifier ? [SHOWS[0]] : []), one, ...(classes.length > 1 ? [SIDES] : [])];
  const parts = shows.length > 1 ? [segments("show", "Show", shows, state.show, (show) => change({ show }))] : [];
  const whose = (name, chosen, tell) =>
    labelled(
      name,
      choice(
        classes.map((one, k) => [k, one]),
        chosen,
        (k) => tell(Number(k)),
      ),
    );
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
  const parts = [
    labelled(
      "Across",
      choice(names(usable), state.x, (j) => across(Number(j))),
    ),
  ];
  if (usable.length > 1) {
    const options = [["", "nothing: a curve"], ...names(usable.filter((j) => j !== state.x))];
    const up = (j) => change({ y: j === "" ? null : Number(j) });
    parts.push(labelled("Up", choice(options, state.y ?? "", up)));
  }
  return parts;
}

function stillFields(exhibit, state, still) {
  return h(
    "fieldset",
    { class: "still" },
    h("legend", {}, still.length > 1 ? "The other columns stay at" : "The other column stays at"),
    still.map((j) => stillField(exhibit, state, j)),
  );
}

function intervals(state, change) {
  return segments("confidence", "Intervals", CONFIDENCES, state.confidence, (value) =>
    change({ confidence: Number(value) }),
  );
}

function colours(state, change) {
  return segments("colours", "Colours", COLOURS, state.colours, (value) => change({ colours: value }));
}
