// The pictures once more, as a table of numbers.

import { h, tableOf } from "./dom.js";
import { axesText } from "./painting.js";
import { number, percent, verdictText } from "./words.js";

export function numbers(exhibit, state) {
  const summary = h("summary", {}, "The same in numbers");
  const details = h("details", { class: "numbers", ontoggle: () => fill() }, summary);
  const fill = () => {
    if (details.open) details.replaceChildren(summary, ...tables(exhibit, state));
  };
  state.on(["charts"], fill);
  return details;
}

function tables(exhibit, state) {
  const { drawn } = state;
  if (!state.charts.length || drawn.awaited) return [];
  const caption = axesText(exhibit, state);
  if (drawn.probabilities) return [(drawn.y ? mapTable : curveTable)(exhibit, drawn, caption)];
  return (drawn.maps ?? drawn.curves).map((found) => {
    const name = exhibit.nameOf(found.release);
    const whose = name === null ? caption : `${caption}: ${name}`;
    return (drawn.y ? mapTable : curveTable)(exhibit, { ...drawn, ...found }, whose);
  });
}

function curveTable(exhibit, { kind, x, probabilities, least, found, release }, caption) {
  const rows = (headings, answer) =>
    tableOf(caption, [x.label, ...headings], spread(x, 21).map((i) => [x.text(x.values[i]), ...answer(i)]));
  if (kind === "classCurve") return rows(["Class"], (i) => [verdictText(exhibit.verdict({ probabilities, least }, i))]);
  const count = exhibit.countOf(release);
  return rows(["Density", "From", "To", "Records near"], (i) => [
    ...["density", "from", "to"].map((name) => number(found[name][i])),
    number(found.density[i] * count),
  ]);
}

function mapTable(exhibit, { kind, x, y, probabilities, least, density, error }, caption) {
  const answer = {
    classMap: (i) => verdictText(exhibit.verdict({ probabilities, least }, i)),
    map: (i) => `${number(density[i])} ± ${percent(error[i] / density[i])}`,
  }[kind];
  const across = spread(x, 7);
  const down = spread(y, 7);
  const rows = (y.numeric ? down.reverse() : down).map((j) => [
    y.text(y.values[j]),
    ...across.map((i) => answer(j * x.values.length + i)),
  ]);
  return tableOf(
    `${caption}; ${x.label} across, ${y.label} down`,
    [`${y.label} \\ ${x.label}`, ...across.map((i) => x.text(x.values[i]))],
    rows,
  );
}

// So many of an axis' places, evenly spread; of categories all.
function spread({ numeric, values }, n) {
  if (!numeric) return values.map((_, k) => k);
  return Array.from({ length: n }, (_, k) => Math.round(((k + 0.5) * values.length) / n - 0.5));
}
