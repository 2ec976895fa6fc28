// A release does not list its categories: one that it has never met looks like one that is empty. The page says so.

import { h } from "./dom.js";
import { DROWNED } from "./shading.js";

const CERTAIN = DROWNED + 1; // of many places some look certain by chance

export function warning(exhibit, state) {
  const line = h("p", { class: "warning", role: "status" });
  line.hidden = true;
  state.on(["drawn"], () => {
    if (!state.drawn.done) return;
    line.textContent = drowned(exhibit, state);
    line.hidden = !line.textContent;
  });
  return line;
}

// Categories where nothing rises above the noise.
function drowned(exhibit, { drawn }) {
  const found = drawn.maps ?? drawn.curves?.map(({ release, found: one }) => ({ ...one, release })) ?? [];
  if (!found.length) return "";
  const clear = (i) =>
    found.some(({ density, error, release }) => {
      const share = drawn.maps ? error[i] : error[i] / exhibit.countOf(release);
      return density[i] > CERTAIN * share;
    });
  const empty = [drawn.x, drawn.y].flatMap((axis, k) => {
    if (!axis || axis.numeric) return [];
    return axis.categories.filter((_, c) => !placesOf(drawn, k, c).some(clear));
  });
  if (empty.length) return `${quoted(empty)}: nothing there rises above the noise. Is it written as in the table?`;
  return Array.from(found[0].density.keys()).some(clear) ? "" : "Nothing here rises above the noise.";
}

// The places of the c-th category along x (k = 0) or y.
function placesOf({ x, y }, k, c) {
  const nx = x.values.length;
  const ny = y ? y.values.length : 1;
  if (k === 0) return Array.from({ length: ny }, (_, j) => j * nx + c);
  return Array.from({ length: nx }, (_, i) => c * nx + i);
}

const quoted = (values) => values.map((value) => `“${value}”`).join(", ");
