// A release does not list its categories: one that it has never met looks like one that is empty. The page says so.

import { h } from "./dom.js";
import { DROWNED } from "./shading.js";

const CERTAIN = DROWNED + 1; // of many places some look certain by chance

export function warning(exhibit, state) {
  const line = h("p", { class: "warning", role: "status" });
  line.hidden = true;
  state.on(["drawn"], () => {
    if (!state.drawn.done) return;
    const told = [...strangers(exhibit, state), ...drowned(exhibit, state)];
    line.textContent = told.join(" ");
    line.hidden = !told.length;
  });
  return line;
}

// Values that were written, while the page came with a list of others.
function strangers(exhibit, state) {
  return exhibit.usable.flatMap((j) => {
    const { name, role, values } = exhibit.columns[j];
    if (role !== "category" || !values.length) return [];
    const written = j === state.x || j === state.y ? state.categories[j] : [state.at[j]];
    const unknown = written.filter((value) => value && !values.includes(value));
    return unknown.length ? [`${quoted(unknown)}: not among the values of “${name}” that came with this page.`] : [];
  });
}

// Categories where nothing rises above the noise.
function drowned(exhibit, state) {
  const { drawn } = state;
  const found = drawn.maps ?? drawn.curves?.map(({ release, found: one }) => ({ ...one, release })) ?? [];
  if (!found.length) return [];
  const clear = (i) =>
    found.some(({ density, error, release }) => {
      const share = drawn.maps ? error[i] : error[i] / exhibit.countOf(release);
      return density[i] > CERTAIN * share;
    });
  const empty = [drawn.x, drawn.y].flatMap((axis, k) => {
    if (!axis || axis.numeric) return [];
    return axis.categories.filter((_, c) => !placesOf(drawn, k, c).some(clear));
  });
  const hint = exhibit.columns.some(({ code }) => code) ? unheard : unknown;
  if (empty.length) return [hint(quoted(empty))];
  const nothing = !Array.from(found[0].density.keys()).some(clear);
  const still = exhibit.usable.filter((j) => !exhibit.isNumber(j) && j !== state.x && j !== state.y);
  if (!nothing) return [];
  return [still.length ? hint(quoted(still.map((j) => state.at[j]))) : "Nothing here rises above the noise."];
}

const unheard = (what) => `${what}: nothing there rises above the noise.`;
const unknown = (what) => `${unheard(what)} Is it written as in the table?`;

// The places of the c-th category along x (k = 0) or y.
function placesOf({ x, y }, k, c) {
  const nx = x.values.length;
  const ny = y ? y.values.length : 1;
  if (k === 0) return Array.from({ length: ny }, (_, j) => j * nx + c);
  return Array.from({ length: nx }, (_, i) => c * nx + i);
}

const quoted = (values) => values.map((value) => `“${value}”`).join(", ");
