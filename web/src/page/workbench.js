// The section in which one looks: controls on one side, on the other the pictures and what belongs to them.

import { controls } from "./controls.js";
import { crosshair } from "./crosshair.js";
import { h } from "./dom.js";
import { Drawing } from "./drawing.js";
import { numbers } from "./numbers.js";
import { pins } from "./pins.js";
import { readout } from "./readout.js";
import { region } from "./region.js";
import { stage } from "./stage.js";
import { takeaway } from "./takeaway.js";
import { warning } from "./warning.js";

export function workbench(exhibit, state, pool) {
  const form = controls(exhibit, state); // listens first: the controls change before the picture does
  const drawing = new Drawing(exhibit, state, pool);
  pins(exhibit, state);
  crosshair(state);
  return h(
    "section",
    { class: "explore", "aria-labelledby": "look" },
    h("h2", { id: "look", tabindex: "-1" }, headingOf(exhibit)),
    h("p", { class: "hint" }, whatDensityIs(exhibit)),
    exhibit.columns.some(({ lost }) => lost) ? h("p", { class: "warning" }, LOST) : null,
    h(
      "div",
      { class: "workbench" },
      form,
      h(
        "div",
        { class: "stage" },
        stage(exhibit, state, () => drawing.draw()),
        warning(exhibit, state),
        readout(exhibit, state),
        region(exhibit, state),
        h("div", {}, takeaway(exhibit, state), numbers(exhibit, state)),
      ),
    ),
  );
}

const LOST =
  "Where the records are is not known: a search has found no place that stands out of the noise. What is drawn lies around zero; write ranges in which records may be.";

function whatDensityIs({ card }) {
  const kernels = [...new Set(card.filter(([name]) => /^Kernel/.test(name)).map(([, text]) => text))];
  const kernel = kernels.join("; ");
  return `The density at a place is the share of all records near it, between 0 and 1. Near is what the kernel says: ${kernel}.`;
}

function headingOf({ compared, classes }) {
  return compared ? "Look at both" : classes.length ? "Look at the classes" : "Look at the density";
}
