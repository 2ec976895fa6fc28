// The section in which one looks: controls on one side, on the other the pictures and what belongs to them.

import { create } from "d3-selection";
import { controls } from "./controls.js";
import { button, download, fileNameOf, h, rasterised, tableOf, unfolded } from "./dom.js";
import { Drawing } from "./drawing.js";
import { cellsAt } from "./exhibit.js";
import { axesText } from "./painting.js";
import { region } from "./region.js";
import { crosshair, pins, stage, warning } from "./stage.js";
import { shownReleases } from "./state.js";
import { NOT_KNOWN, number, percent, verdictText } from "./words.js";

export function workbench(exhibit, state, pool) {
  const form = controls(exhibit, state); // listens first: the controls change before the picture does
  const drawing = new Drawing(exhibit, state, pool);
  pins(exhibit, state);
  crosshair(state);
  return h("section", { class: "explore", "aria-labelledby": "look" },
    h("h2", { id: "look", tabindex: "-1" }, headingOf(exhibit)),
    h("p", { class: "hint" }, whatDensityIs(exhibit)),
    exhibit.columns.some(({ lost }) => lost) ? h("p", { class: "warning" }, LOST) : null,
    h("div", { class: "workbench" },
      form,
      h("div", { class: "stage" },
        stage(exhibit, state, () => drawing.draw()),
        warning(exhibit, state),
        readout(exhibit, state),
        region(exhibit, state),
        h("div", {}, takeaway(exhibit, state), numbers(exhibit, state)),
      ),
    ),
  );
}

const LOST =
  "Where the records are is not known: a search has found no place that stands out of the noise. What is drawn lies around zero; write ranges in which records may be.";

function whatDensityIs({ card }) {
  const kernels = [...new Set(card.filter(([name]) => /^Kernel/.test(name)).map(([, text]) => text))];
  const kernel = kernels.join("; ");
  return `The density at a place is the share of all records near it, between 0 and 1. Near is what the kernel says: ${kernel}.`;
}

function headingOf({ compared, classes }) {
  return compared ? "Look at both" : classes.length ? "Look at the classes" : "Look at the density";
}

// The pictures as files.

function takeaway(exhibit, state) {
  return h("div", { class: "buttons" },
    button("Download picture (PNG)", () => save(exhibit, state, "png")),
    button("Download picture (SVG)", () => save(exhibit, state, "svg")),
  );
}

// All pictures of one question, side by side, in one file.
async function save({ title }, { show, charts }, kind) {
  if (!charts.length) return;
  const [text, width, height] = sheet(charts);
  const file = `${fileNameOf(title)}-${show}.${kind}`;
  if (kind === "svg") download(file, text, "image/svg+xml");
  else download(file, await rasterised(text, width, height));
}

const GAP = 20;

function sheet(charts) {
  const width = charts.reduce((sum, chart) => sum + chart.width, GAP * (charts.length - 1));
  const height = Math.max(...charts.map((chart) => chart.height));
  const { paper } = charts[0].palette;
  const whole = create("svg").attr("xmlns", "http://www.w3.org/2000/svg").attr("viewBox", `0 0 ${width} ${height}`);
  whole.attr("width", width).attr("height", height).append("rect").attr("width", width).attr("height", height);
  whole.select("rect").attr("fill", paper);
  let x = 0;
  for (const chart of charts) {
    const part = chart.node.cloneNode(true);
    part.setAttribute("x", x);
    whole.node().append(part);
    x += chart.width + GAP;
  }
  return [new XMLSerializer().serializeToString(whole.node()), width, height];
}

// The line under the pictures: what the release says at the cross-hair.

function readout(exhibit, state) {
  const line = h("p", { class: "readout", role: "status", "aria-live": "polite" });
  state.on(["charts", "here"], () => {
    if (!state.charts.length) line.textContent = "";
    else if (!state.here) line.textContent = "Point at a picture to read it.";
    else line.replaceChildren(...reading(exhibit, state, cellsAt(state, state.here)));
  });
  return line;
}

function reading(exhibit, state, cells) {
  const { x, y } = state.drawn;
  const place = [x, y]
    .filter(Boolean)
    .map((axis) => coordinate(axis, cells))
    .join(", ");
  const strong = (text) => h("strong", {}, text);
  if (state.show === "classes") {
    const { name, sure, least } = exhibit.verdictAt(cells);
    if (!least) return [`${place}: `, strong(NOT_KNOWN), ", for no class rises above the noise there"];
    // Ferns have no errors.
    const allowed = exhibit.classifier.rule === "ferns" ? "" : ` (at least ${percent(least).replace("over ", "")})`
    return [`${place}: `, strong(name), `, with a probability of ${percent(sure)}${allowed}`];
  }
  return [`${place}: `, ...shownReleases(state).flatMap((release, k) => answer(exhibit, state, release, cells, k))];
}

// The density, and how many records that is, each with its interval.
function answer(exhibit, state, release, cells, k) {
  const found = exhibit.answersAt(release, cells, state.confidence);
  const near = (name) => number(Math.max(0, found[name][0]));
  const name = state.show === "sides" ? `${exhibit.nameOf(release)} ` : "";
  return [
    `${k ? "; " : ""}${name}density `,
    h("strong", {}, number(found.density[0])),
    ` (${number(found.from[0])} to ${number(found.to[0])}), about ${near("kernelSum")} records near (${near("lower")} to ${near("upper")})`,
  ];
}

function coordinate(axis, cells) {
  const { name, unit } = axis.column;
  return `${name} ${axis.text(cells[axis.index])}${unit ? ` ${unit}` : ""}`;
}

// ---- the pictures as tables of numbers ----

export function numbers(exhibit, state) {
  const { node, draw } = unfolded("The same in numbers", () => tables(exhibit, state));
  state.on(["charts"], draw);
  return node;
}

function tables(exhibit, state) {
  const { drawn } = state;
  if (!state.charts.length) return [];
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
