// Where the pictures stand: puts them on the page, and hands on what pointer and keys do there.

import { add, arrow, h, onWidth } from "./dom.js";
import { onCut } from "./exhibit.js";
import { axesText, chartsOf } from "./painting.js";
import { between, suits } from "./region.js";
import { DROWNED } from "./shading.js";
import { shownReleases } from "./state.js";

const help = (regions) =>
  `Arrow keys move the cross-hair, with Shift in larger steps. ${regions ? "Space begins and ends a region, " : ""}Escape hides the cross-hair.`;
const STILL = 4; // pixels by which a click may move

// `draw` asks for the first picture, once the width is known.
export function stage(exhibit, state, draw) {
  const figures = h("div", { class: "figures" }, h("p", { class: "empty" }, "Drawing…")); // the first map takes a while
  const paint = () => state.drawn && show(exhibit, state, figures);
  state.on(["started"], () => (figures.dataset.state = "computing"));
  state.on(["drawn", "theme"], paint);
  return onWidth(figures, () => (state.drawn ? paint() : draw()));
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
    class: "pictures", tabindex: "0", role: "application", "aria-roledescription": "picture",
    "aria-label": `${axesText(exhibit, state)}. ${help(suits(state))}`, onkeydown: (event) => press(state, event),
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

// ---- categories that the release has never met look like empty ones: the page says so ----

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

// ---- pins at the modes, by number; faint where they lie off the cut ----

export function pins(exhibit, state) {
  state.on(["charts"], () => {
    const { drawn, charts } = state;
    if (!charts.length) return;
    const releases = shownReleases(state);
    charts.forEach((chart, k) => {
      const release = releases[k] ?? releases[0];
      pin(chart, drawn.kind === "classCurve" ? [] : pointsOf(exhibit, state, release));
    });
  });
}

function pointsOf(exhibit, state, shown) {
  const { x, y } = state.drawn;
  const modes = exhibit.modes.filter(({ release }) => release === shown && state.show !== "classes");
  return modes.map(({ point }, k) => ({
    text: String(k + 1), x: point[x.index], y: y ? point[y.index] : height(exhibit, state, shown, point),
    faint: !onCut(exhibit, state, point),
  }));
}

// On a curve a pin stands on the curve.
function height(exhibit, state, shown, cells) {
  if (state.show === "classes") return 0;
  const on = [...state.at];
  on[state.x] = cells[state.x];
  return exhibit.answersAt(shown, on, state.confidence).density[0];
}

// Each pin stands beside its place, on a line of its own: what is there stays in sight.

const SIZE = 16;
const ASIDE = 14;

// `points`: {x, y, text, faint}; values, not positions.
function pin(chart, points) {
  const { palette } = chart;
  chart.pins.selectAll("*").remove();
  for (const { x, y, text, faint } of points) {
    const [px, py] = [chart.placeX(x), chart.placeY(y)];
    if (!chart.holds(px, py)) continue;
    const [dx, dy] = [px + 2 * ASIDE < chart.width - chart.right ? ASIDE : -ASIDE, py - 2 * ASIDE > chart.top ? -ASIDE : ASIDE];
    const g = add(chart.pins, "g", { class: "pin", opacity: faint ? 0.45 : 1, transform: `translate(${px},${py})` });
    add(g, "path", { d: `M0,0l${dx},${dy}`, stroke: palette.mode, "stroke-width": 1.5 });
    add(g, "circle", { r: 2.5, fill: palette.mode, stroke: palette.paper, "stroke-width": 0.8 });
    add(g, "rect", {
      x: dx - SIZE / 2, y: dy - SIZE / 2, width: SIZE, height: SIZE, rx: 3, fill: palette.mode, stroke: palette.paper,
      "stroke-width": 1.5,
    });
    add(g, "text", {
      x: dx, y: dy, "text-anchor": "middle", dy: "0.36em", "font-size": 10.5, "font-weight": 700, fill: palette.paper,
    }).text(text);
  }
}

// ---- the cross-hair ----

export function crosshair(state) {
  state.on(["charts", "here"], () => {
    for (const chart of state.charts) {
      if (state.here) chart.point(state.here.x, state.y === null ? null : state.here.y);
      else chart.cross.attr("visibility", "hidden");
    }
  });
}

// The pointer is at a place, or at none; then a cross-hair that a key has put stays.
export function pointAt(state, place) {
  if (place || !state.byKey) state.set({ here: place, byKey: false });
}

export function press(state, event) {
  const move = arrow(event, 10);
  if (event.key === "Escape") state.set({ here: null, byKey: false, corner: null });
  else if (event.key === " " && state.here && suits(state)) corner(state);
  else if (move) {
    state.set({ here: moved(state, move), byKey: true });
    if (state.corner) state.set({ region: between(state, state.corner, state.here) });
  } else return;
  event.preventDefault();
}

// A region begins at the cross-hair, and ends there.
function corner(state) {
  state.set(state.corner ? { corner: null } : { corner: state.here });
}

// The first key puts it into the middle.
function moved({ drawn, here }, [dx, dy]) {
  const { x, y } = drawn;
  if (!here) return { x: middle(x), y: y ? middle(y) : null };
  return { x: dx ? x.step(here.x, dx) : here.x, y: y && dy ? y.step(here.y, y.numeric ? dy : -dy) : here.y };
}

const middle = (axis) => (axis.numeric ? axis.nearest((axis.range[0] + axis.range[1]) / 2) : axis.categories[0]);
