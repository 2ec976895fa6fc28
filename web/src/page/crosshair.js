// The cross-hair, which pointer and keys move.

import { between, suits } from "./region.js";

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
  const by = event.shiftKey ? 10 : 1;
  const moves = { ArrowLeft: [-by, 0], ArrowRight: [by, 0], ArrowUp: [0, by], ArrowDown: [0, -by] };
  if (event.key === "Escape") state.set({ here: null, byKey: false, corner: null });
  else if (event.key === " " && state.here && suits(state)) corner(state);
  else if (moves[event.key]) {
    state.set({ here: moved(state, moves[event.key]), byKey: true });
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
