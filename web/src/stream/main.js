// The page of a stream: what it has published, over time. Python has computed the numbers; here they are only drawn.

import { unpack } from "../engine/unpack.js";
import { button, h, segments } from "../page/dom.js";
import { State } from "../page/state.js";
import { rememberedTheme, toggleTheme, wearTheme } from "../page/theme.js";
import { number } from "../page/words.js";
import { large, line, multiples, table, words } from "./stage.js";
import { Story } from "./story.js";
import { nameOf, spanText } from "./telling.js";

const app = document.getElementById("app");
const textOf = (id) => document.getElementById(id).textContent;

start().catch((problem) => {
  app.append(h("p", { class: "problem" }, "This page needs a browser of 2023 or later."));
  throw problem;
});

async function start() {
  const story = new Story(await unpack(textOf("release"), textOf("arrays")));
  const state = new State({
    theme: rememberedTheme(),
    choice: story.choices.length > 2 ? 1 : 0, // the running total, windows, or single periods
    at: story.ends.length - 1, // which of the periods
    here: story.busiest(), // the number of the chosen point
  });
  wearTheme(state);
  const parts = {
    slider: slider(story, state),
    large: large(story, state),
    words: words(story, state),
    line: line(story, state),
    table: table(story, state),
    multiples: multiples(story, state),
  };
  app.append(header(story, state), main(story, state, parts), footer());
  state.on(["choice", "at", "here", "theme"], () => {
    for (const name of ["slider", "large", "words", "line", "table"]) parts[name].draw();
  });
  state.on(["choice", "theme"], parts.multiples.draw);
  state.on(["at"], parts.multiples.mark);
  for (const part of Object.values(parts)) part.draw();
  app.dataset.state = "done";
  window.scumble = { story, state };
}

function header({ title, info }, state) {
  const { epsilon, delta, periods, horizon } = info;
  const budget = `ε\u00a0=\u00a0${number(epsilon)}${delta ? `, δ\u00a0=\u00a0${delta.toExponential(0)}` : ""}`;
  const promise = `${number(periods)} of ${number(horizon)} periods are published. All releases together, those to come included, cost each record’s owner ${budget}. Looking costs nothing.`;
  return h(
    "header",
    {},
    h(
      "div",
      { class: "headline" },
      h("div", {}, h("p", { class: "eyebrow" }, "scumble · a private stream"), h("h1", {}, title)),
      button("Light or dark", () => toggleTheme(state), {
        class: "quiet",
        "aria-label": "Switch between light and dark",
      }),
    ),
    h("p", { class: "promise-line" }, promise),
  );
}

function slider(story, state) {
  const input = h("input", {
    type: "range",
    id: "period",
    min: 0,
    max: story.ends.length - 1,
    step: 1,
    oninput: () => state.set({ at: Number(input.value) }),
  });
  const told = h("output", { for: "period" });
  const node = h("div", { class: "period" }, h("label", { for: "period", class: "name" }, "Time"), told, input);
  const draw = () => {
    const text = spanText(story.span(state));
    input.value = state.at;
    input.setAttribute("aria-valuetext", text);
    told.textContent = text;
  };
  return { node, draw };
}

function main(story, state, parts) {
  const options = story.choices.map((choice, k) => [k, nameOf(choice)]);
  const chosen = (value) => state.set({ choice: Number(value) });
  const near = "Records count fully here and ever less farther away, as the kernel on the privacy card says.";
  const pale = story.y ? "Pale places" : "Faint lines";
  return h(
    "main",
    {},
    h(
      "section",
      { class: "scene", "aria-label": "One moment" },
      h(
        "div",
        { class: "choose" },
        segments("choice", "What to show", options, state.choice, chosen),
        parts.slider.node,
      ),
      parts.words.node,
      h("div", { class: "pair" }, parts.large.node, parts.line.node),
      h("p", { class: "hint" }, `${pale}: the noise hides whether anybody is there. ${near}`),
      parts.table.node,
    ),
    h(
      "section",
      { "aria-labelledby": "multiples" },
      h("h2", { id: "multiples" }, "Over time"),
      h("p", { class: "hint" }, "All on one scale. Choose one to see it large."),
      parts.multiples.node,
    ),
    about(story),
  );
}

function about({ card, info, ends }) {
  const thinned = ends.length < info.periods;
  const told = `The page shows ${ends.length} of ${info.periods} periods, evenly spread. The releases hold all of them.`;
  return h(
    "section",
    { "aria-labelledby": "about" },
    h("h2", { id: "about" }, "What it promises"),
    h("p", {}, info.meaning),
    thinned ? h("p", { class: "hint" }, told) : null,
    h(
      "details",
      {},
      h("summary", {}, "The whole privacy card"),
      h("dl", { class: "lines" }, card.map(([name, text]) => h("div", {}, h("dt", {}, name), h("dd", {}, text)))),
    ),
  );
}

function footer() {
  const promise = "This page holds all that it shows. It sends nothing anywhere. Made with scumble.";
  return h("footer", {}, h("p", {}, promise));
}
