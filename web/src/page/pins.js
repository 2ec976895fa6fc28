// Pins in the pictures: the modes by number, the marks by letter; faint where they lie off the cut.

import { onCut } from "./cells.js";

export function pins(exhibit, state) {
  state.on(["charts", "marks"], () => {
    const { drawn, charts } = state;
    if (!charts.length) return;
    const points = drawn.kind === "classCurve" ? [] : pointsOf(exhibit, state);
    charts.forEach((chart) => chart.pin(points));
  });
}

function pointsOf(exhibit, state) {
  const { x, y } = state.drawn;
  const modes = exhibit.modes.filter(({ release }) => release === state.release && state.show === "density");
  return [
    ...modes.map(({ point }, k) => ({ cells: point, text: String(k + 1), kind: "mode" })),
    ...state.marks.map(({ letter, cells }) => ({ cells, text: letter, kind: "mark" })),
  ].map(({ cells, text, kind }) => ({
    text,
    kind,
    x: cells[x.index],
    y: y ? cells[y.index] : height(exhibit, state, cells),
    faint: !onCut(exhibit, state, cells),
  }));
}

// On a curve a pin stands on the curve.
function height(exhibit, state, cells) {
  if (state.show !== "density") return 0;
  const on = [...state.at];
  on[state.x] = cells[state.x];
  return exhibit.answersAt(state.release, on, state.confidence).density[0];
}
