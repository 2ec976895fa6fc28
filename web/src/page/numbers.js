// The pictures once more, as a table of numbers.

import { axesText } from "./captions.js";
import { h, tableOf } from "./dom.js";
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
  if (!state.charts.length) return [];
  const caption = axesText(exhibit, state);
  return [drawn.y ? mapTable(exhibit, drawn, caption) : curveTable(exhibit, drawn, caption)];
}

function curveTable(exhibit, drawn, caption) {
  const { x } = drawn;
  const answer = {
    classCurve: (i) => [verdictText(exhibit.verdict(drawn.probabilities, i))],
    curve: (i) => ["density", "from", "to"].map((name) => number(drawn.found[name][i])),
  }[drawn.kind];
  const headings = drawn.kind === "classCurve" ? ["Class"] : ["Density", "From", "To"];
  const rows = spread(x, 21).map((i) => [x.text(x.values[i]), ...answer(i)]);
  return tableOf(caption, [x.label, ...headings], rows);
}

function mapTable(exhibit, drawn, caption) {
  const { x, y } = drawn;
  const answer = {
    classMap: (i) => verdictText(exhibit.verdict(drawn.probabilities, i)),
    map: (i) => `${number(drawn.density[i])} ± ${percent(drawn.relative[i])}`,
  }[drawn.kind];
  const across = spread(x, 7);
  const rows = spread(y, 7)
    .reverse()
    .map((j) => [y.text(y.values[j]), ...across.map((i) => answer(j * x.values.length + i))]);
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
