// The page of a stream: what it has published, over time. Python has computed the numbers; here they are only drawn.

import { unpack } from "../engine/unpack.js";
import { h, segments } from "../page/dom.js";
import { app, budgetText, footer, promised, start, wholeCard } from "../page/frame.js";
import { State } from "../page/state.js";
import { rememberedTheme, wearTheme } from "../page/theme.js";
import { number } from "../page/words.js";
import { compared, large, line, multiples, table, words } from "./stage.js";
import { nameOf, spanText, Story } from "./story.js";

start(unpack, (content) => {
  const story = new Story(content);
  const state = new State({
    theme: rememberedTheme(),
    choice: story.choices.length > 2 ? 1 : 0, // the running total, windows, or single periods
    at: story.ends.length - 1, // which of the periods
    here: story.busiest(), // the number of the chosen point
    from: 0, // which two periods are compared
    to: story.ends.length - 1,
    of: "populations", // what the comparison is about
  });
  wearTheme(state);
  const parts = {
    slider: slider(story, state), large: large(story, state), words: words(story, state),
    line: line(story, state), table: table(story, state), multiples: multiples(story, state),
    ...(story.ends.length > 1 ? { compared: compared(story, state) } : {}),
  };
  app.append(header(story, state), main(story, state, parts), footer("This page holds all that it shows."));
  state.on(["choice", "at", "here", "theme"], () => {
    for (const name of ["slider", "large", "words", "line", "table"]) parts[name].draw();
  });
  state.on(["choice", "theme"], parts.multiples.draw);
  if (parts.compared) state.on(["from", "to", "of", "theme"], parts.compared.draw);
  state.on(["at"], parts.multiples.mark);
  for (const part of Object.values(parts)) part.draw();
  app.dataset.state = "done";
  window.scumble = { story, state };
});

function header({ title, info }, state) {
  const { periods, horizon } = info;
  const promise = `${number(periods)} of ${number(horizon)} periods are published. All releases together, including future ones, cost ${budgetText(info)}. Looking costs no further privacy.`;
  return promised("a private stream", title, state, promise);
}

function slider(story, state) {
  const input = h("input", {
    type: "range", id: "period", min: 0, max: story.ends.length - 1, step: 1,
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
  const near = "Records count fully at the point and less farther away, as the kernel on the privacy card says.";
  const pale = story.y ? "Pale places" : "Faint lines";
  return h("main", {},
    h("section", { class: "scene", "aria-label": "One moment" },
      h("div", { class: "choose" },
        segments("choice", "What to show", options, state.choice, chosen),
        parts.slider.node,
      ),
      parts.words.node,
      h("div", { class: "pair" }, parts.large.node, parts.line.node),
      h("p", { class: "hint" }, `${pale}: too noisy to tell from zero. ${near}`),
      parts.table.node,
    ),
    h("section", { "aria-labelledby": "multiples" },
      h("h2", { id: "multiples" }, "Over time"),
      h("p", { class: "hint" }, "All on one scale. Choose one to see it large."),
      parts.multiples.node,
    ),
    parts.compared?.node,
    about(story),
  );
}

function about({ card, info, ends }) {
  const thinned = ends.length < info.periods;
  const told = `The page shows ${ends.length} of ${info.periods} periods, evenly spread. The releases hold all of them.`;
  return h("section", { "aria-labelledby": "about" },
    h("h2", { id: "about" }, "What it promises"),
    h("p", {}, info.meaning),
    thinned ? h("p", { class: "hint" }, told) : null,
    wholeCard(card),
  );
}

