// Pins in the pictures: the modes by number, the marks by letter; faint where they lie off the cut.

import { onCut } from "./cells.js";
import { pin } from "./pinning.js";
import { shownReleases } from "./state.js";

export function pins(exhibit, state) {
  state.on(["charts", "marks"], () => {
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
  return [
    ...modes.map(({ point }, k) => ({ cells: point, text: String(k + 1), kind: "mode" })),
    ...state.marks.map(({ letter, cells }) => ({ cells, text: letter, kind: "mark" })),
  ].map(({ cells, text, kind }) => ({
    text,
    kind,
    x: cells[x.index],
    y: y ? cells[y.index] : height(exhibit, state, shown, cells),
    faint: !onCut(exhibit, state, cells),
  }));
}

// On a curve a pin stands on the curve.
function height(exhibit, state, shown, cells) {
  if (state.show === "classes") return 0;
  const on = [...state.at];
  on[state.x] = cells[state.x];
  return exhibit.answersAt(shown, on, state.confidence).density[0];
}
