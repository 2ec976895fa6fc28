// Pins in the pictures: the modes by number; faint where they lie off the cut.

import { onCut } from "./cells.js";
import { add } from "./dom.js";
import { shownReleases } from "./state.js";

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
    text: String(k + 1),
    x: point[x.index],
    y: y ? point[y.index] : height(exhibit, state, shown, point),
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
