// Points that the reader marks, to compare them with each other.

import { cellsAt, cellTexts } from "./cells.js";
import { button, h, tableOf, unseen } from "./dom.js";
import { number, recordsText, verdictText } from "./words.js";

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

export function mark(state, place) {
  const n = state.marks.length;
  const letter = LETTERS[n % 26] + (n >= 26 ? Math.floor(n / 26) : "");
  state.set({ marks: [...state.marks, { letter, cells: cellsAt(state, place) }] });
}

function unmark(state, k) {
  state.set({ marks: state.marks.filter((_, i) => i !== k) });
  document.getElementById("marked").focus();
}

export function marks(exhibit, state) {
  const table = h("div", {});
  const fill = () =>
    table.replaceChildren(state.marks.length ? comparison(exhibit, state) : h("p", { class: "empty" }, "None yet."));
  state.on(["marks"], fill);
  fill();
  return h(
    "section",
    { "aria-labelledby": "marked" },
    h("h2", { id: "marked", tabindex: "-1" }, "Marked points"),
    h(
      "p",
      { class: "hint" },
      "Click in a picture, or move the cross-hair with the arrow keys and press Enter, to mark a point and compare it with others.",
    ),
    table,
  );
}

function comparison(exhibit, state) {
  const { classes, classifier } = exhibit;
  const answers = state.marks.map(({ cells }) => exhibit.answersAt(state.release, cells, state.confidence));
  const rows = state.marks.map(({ letter, cells }, k) => {
    const { density, from, to, kernelSum, lower, upper } = answers[k];
    return [
      letter,
      ...cellTexts(exhibit, state, cells),
      number(density[0]),
      `${number(from[0])} to ${number(to[0])}`,
      recordsText(kernelSum[0], lower[0], upper[0]),
      k ? `${ratio(kernelSum[0], answers[0].kernelSum[0])} ×` : "1 ×",
      ...(classifier ? [verdictText(exhibit.verdictAt(cells))] : []),
      button("Remove", () => unmark(state, k), { class: "quiet", "aria-label": `Remove mark ${letter}` }),
    ];
  });
  const headings = [
    "Mark",
    ...exhibit.usableNames,
    classes.length ? `Density of ${classes[state.release]}` : "Density",
    `${state.confidence * 100} % interval`,
    "Records near",
    `Beside ${state.marks[0].letter}`,
    ...(classifier ? ["Class"] : []),
    unseen("Remove"),
  ];
  return tableOf("The marked points as a table", headings, rows, { stacked: true });
}

function ratio(sum, first) {
  const times = sum / first;
  return sum > 0 && times > 0 ? number(times) : "unknown";
}
