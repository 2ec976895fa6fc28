// Where the pictures stand: puts them on the page, and hands on what pointer and keys do there.

import { pointAt, press } from "./crosshair.js";
import { h } from "./dom.js";
import { axesText, chartsOf } from "./painting.js";
import { between, suits } from "./region.js";

const help = (regions) =>
  `Arrow keys move the cross-hair, with Shift in larger steps. ${regions ? "Space begins and ends a region, " : ""}Escape hides the cross-hair.`;
const STILL = 4; // pixels by which a click may move
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
    "aria-label": `${axesText(exhibit, state)}. ${help(suits(state))}`,
    onkeydown: (event) => press(state, event),
  });
  for (const chart of charts) {
    listen(chart, state);
    group.append(h("figure", {}, chart.node));
  }
  return group;
}

// Dragging chooses a region.
function listen(chart, state) {
  let from = null;
  let dragged = false;
  const far = ({ clientX, clientY }) => Math.hypot(clientX - from.clientX, clientY - from.clientY) > STILL;
  const on = (name, listener) => chart.node.addEventListener(name, listener);
  on("pointerdown", (event) => {
    const place = event.button ? null : chart.under(event);
    from = place && suits(state) && { clientX: event.clientX, clientY: event.clientY, place };
    dragged = false;
  });
  on("pointermove", (event) => {
    const place = chart.under(event);
    if (from && event.buttons && (dragged || far(event))) {
      if (!dragged) chart.node.setPointerCapture?.(event.pointerId);
      dragged = true;
      state.set({ region: between(state, from.place, chart.under(event, true)), corner: null });
    }
    pointAt(state, place);
  });
  on("pointerup", () => (from = null));
  on("pointercancel", () => (from = null));
  on("pointerleave", () => pointAt(state, null));
}
