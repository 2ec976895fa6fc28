// The top of the page: whose release it is, what it promises, and the whole privacy card.

import { button, h } from "./dom.js";
import { toggleTheme } from "./theme.js";
import { counted, number } from "./words.js";

export function header(exhibit, state) {
  return h(
    "header",
    {},
    h(
      "div",
      { class: "headline" },
      h("div", {}, h("p", { class: "eyebrow" }, "scumble · a private release"), h("h1", {}, exhibit.title)),
      button("Light or dark", () => toggleTheme(state), {
        class: "quiet",
        "aria-label": "Switch between light and dark",
      }),
    ),
    h(
      "section",
      { class: "card", "aria-labelledby": "promise" },
      h("h2", { id: "promise" }, "What it promises"),
      (exhibit.compared ?? [exhibit.info]).map((info, k) => promise(info, exhibit.compared ? exhibit.nameOf(k) : null)),
      h("details", {}, h("summary", {}, "The whole privacy card"), card(exhibit.card)),
    ),
  );
}

function promise(info, name) {
  const whose = name === null ? null : h("h3", {}, name);
  return h("div", { class: "promise" }, whose, facts(info), h("p", { class: "meaning" }, info.meaning));
}

function facts({ epsilon, delta, count, count_standard_error: error }) {
  return h(
    "dl",
    { class: "facts" },
    fact("Privacy budget", `ε = ${number(epsilon)}`, delta ? `δ = ${delta.toExponential(0)}` : "δ = 0: no exceptions"),
    fact(
      "Records",
      `about ${counted(count)}`,
      error ? `± ${number(Math.round(1.96 * error) || 1.96 * error)} (95 %)` : "public",
    ),
    fact("Asking", "free, for ever", "answers cost no further privacy"),
  );
}

function fact(name, value, note) {
  return h(
    "div",
    { class: "figure" },
    h("dt", {}, name),
    h("dd", {}, h("strong", {}, value), note && h("span", {}, note)),
  );
}

function card(lines) {
  return h(
    "dl",
    { class: "lines" },
    lines.map(([name, text]) => h("div", {}, h("dt", {}, name), h("dd", {}, text))),
  );
}
