// The line under the pictures: what the release says at the cross-hair.

import { cellsAt } from "./cells.js";
import { h } from "./dom.js";
import { shownReleases } from "./state.js";
import { NOT_KNOWN, number, percent } from "./words.js";

export function readout(exhibit, state) {
  const line = h("p", { class: "readout", role: "status", "aria-live": "polite" });
  state.on(["charts", "here"], () => {
    if (!state.charts.length) line.textContent = "";
    else if (!state.here) line.textContent = "Point at a picture to read it.";
    else line.replaceChildren(...reading(exhibit, state, cellsAt(state, state.here)));
  });
  return line;
}

function reading(exhibit, state, cells) {
  const { x, y } = state.drawn;
  const place = [x, y]
    .filter(Boolean)
    .map((axis) => coordinate(axis, cells))
    .join(", ");
  const strong = (text) => h("strong", {}, text);
  if (state.show === "classes") {
    const { name, sure, least } = exhibit.verdictAt(cells);
    if (!least) return [`${place}: `, strong(NOT_KNOWN), ", for no class rises above the noise there"];
    const allowed = exhibit.allows ? ` (at least ${percent(least).replace("over ", "")})` : "";
    return [`${place}: `, strong(name), `, with a probability of ${percent(sure)}${allowed}`];
  }
  return [`${place}: `, ...shownReleases(state).flatMap((release, k) => answer(exhibit, state, release, cells, k))];
}

// The density, and how many records that is, each with its interval.
function answer(exhibit, state, release, cells, k) {
  const found = exhibit.answersAt(release, cells, state.confidence);
  const near = (name) => number(Math.max(0, found[name][0]));
  const name = state.show === "sides" ? `${exhibit.nameOf(release)} ` : "";
  return [
    `${k ? "; " : ""}${name}density `,
    h("strong", {}, number(found.density[0])),
    ` (${number(found.from[0])} to ${number(found.to[0])}), about ${near("kernelSum")} records near (${near("lower")} to ${near("upper")})`,
  ];
}

function coordinate(axis, cells) {
  const { name, unit } = axis.column;
  return `${name} ${axis.text(cells[axis.index])}${unit ? ` ${unit}` : ""}`;
}
