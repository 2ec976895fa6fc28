// What all pages share: how they begin, the headline, the privacy card and the footer.

import { button, h } from "./dom.js";
import { toggleTheme } from "./theme.js";
import { number } from "./words.js";

export const app = document.getElementById("app");

const textOf = (id) => document.getElementById(id).textContent;

// Unpacks what lies in the page and hands it to `show`.
export async function start(unpack, show) {
  try {
    show(await unpack(textOf("release"), textOf("arrays")));
  } catch (problem) {
    app.append(h("p", { class: "problem" }, "This page needs a browser of 2024 or later."));
    throw problem;
  }
}

export function headline(what, title, state) {
  const switches = { class: "quiet", "aria-label": "Switch between light and dark" };
  return h("div", { class: "headline" },
    h("div", {}, h("p", { class: "eyebrow" }, `scumble · ${what}`), h("h1", {}, title)),
    button("Light or dark", () => toggleTheme(state), switches),
  );
}

// The headline, and what is promised in a line.
export const promised = (what, title, state, promise) =>
  h("header", {}, headline(what, title, state), h("p", { class: "promise-line" }, promise));

export const budgetText = ({ epsilon, delta }) =>
  `ε\u00a0=\u00a0${number(epsilon)}${delta ? `, δ\u00a0=\u00a0${delta.toExponential(0)}` : ""}`;

export function wholeCard(lines) {
  const list = lines.map(([name, text]) => h("div", {}, h("dt", {}, name), h("dd", {}, text)));
  return h("details", {}, h("summary", {}, "The whole privacy card"), h("dl", { class: "lines" }, list));
}

const COMPUTES = "This page holds the whole release and computes every answer by itself.";

export const footer = (holds = COMPUTES) =>
  h("footer", {}, h("p", {}, `${holds} It sends nothing anywhere. Made with scumble.`));
