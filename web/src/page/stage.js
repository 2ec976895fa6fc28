// Where the pictures stand: puts them on the page, and hands on what pointer and keys do there.

import { axesText } from "./captions.js";
import { pointAt, press } from "./crosshair.js";
import { h } from "./dom.js";
import { mark } from "./marks.js";
import { chartsOf } from "./painting.js";

const HELP =
  "Arrow keys move the cross-hair, with Shift in larger steps. Enter marks the point, Escape hides the cross-hair.";
const JITTER = 8; // pixels by which the width may change before the pictures are made anew

// `draw` asks for the first picture, once the width is known.
export function stage(exhibit, state, draw) {
  const figures = h("div", { class: "figures" });
  let width = 0;
  const paint = () => state.drawn && show(exhibit, state, figures);
  state.on(["started"], () => (figures.dataset.state = "computing"));
  state.on(["drawn", "theme"], paint);
  new ResizeObserver(() => {
    if (Math.abs(figures.clientWidth - width) < JITTER) return;
    width = figures.clientWidth;
    if (state.drawn) paint();
    else draw();
  }).observe(figures);
  return figures;
}

function show(exhibit, state, figures) {
  const { drawn } = state;
  const charts = chartsOf(exhibit, state, figures.clientWidth);
  const focused = figures.contains(document.activeElement);
  figures.replaceChildren(charts.length ? together(exhibit, state, charts) : h("p", { class: "empty" }, drawn.why));
  if (focused) figures.firstChild.focus();
  state.set({ charts });
  figures.dataset.size = drawn.size ?? "";
  if (drawn.done && figures.dataset.state !== "done") {
    figures.dataset.milliseconds = Math.round(performance.now() - state.started);
    figures.dataset.state = "done";
  }
}

// The pictures of one question share one cross-hair.
function together(exhibit, state, charts) {
  const group = h("div", {
    class: "pictures",
    tabindex: "0",
    role: "application",
    "aria-roledescription": "picture",
    "aria-label": `${axesText(exhibit, state)}. ${HELP}`,
    onkeydown: (event) => press(state, event),
  });
  for (const chart of charts) {
    chart.node.addEventListener("pointermove", (event) => pointAt(state, chart.under(event)));
    chart.node.addEventListener("pointerleave", () => pointAt(state, null));
    chart.node.addEventListener("click", (event) => {
      const place = chart.under(event);
      if (place) mark(state, place);
    });
    group.append(h("figure", {}, chart.node));
  }
  return group;
}
