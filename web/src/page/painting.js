// From the numbers to the pictures of them: one for a curve, two side by side for a map.

import * as pictures from "./pictures.js";
import { colorScale } from "./pictures.js";
import { paletteOf } from "./palette.js";
import { number } from "./words.js";

export function chartsOf(exhibit, state, width) {
  const whole = Math.max(280, width);
  const half = whole >= 720 ? Math.floor((whole - 20) / 2) : whole;
  const { drawn } = state;
  const common = {
    palette: paletteOf(state),
    ...drawn,
    confidence: state.confidence, classes: exhibit.classifier?.classes.map(String),
  };
  return KINDS[drawn.kind](exhibit, state, { ...common, width: whole }, { ...common, width: half });
}

const KINDS = {
  nothing: () => [],

  curve(exhibit, state, whole) {
    const { palette, curves } = whole;
    const lines = curves.map(({ release, found }, k) => ({
      found, name: exhibit.nameOf(release) ?? "density", color: k ? palette.classes[0] : palette.line,
    }));
    const title = curves.length > 1 ? "Densities" : densityTitle(exhibit, curves[0].release);
    const label = curves
      .map(({ release, found }) => peakText(densityTitle(exhibit, release), whole, found.density))
      .join(" ");
    return [pictures.curve({ ...whole, lines, title, label })];
  },

  classCurve(exhibit, state, whole) {
    const label = classesText(exhibit, state);
    return [pictures.classCurve({ ...whole, title: "Probability of each class", label })];
  },

  map(exhibit, state, _, half) {
    const { maps } = half;
    const scale = colorScale(maps, state.colors === "log");
    const densities = maps.map(({ release, density, error }) => {
      const title = densityTitle(exhibit, release);
      const label = peakText(title, half, density);
      return pictures.densityMap({ ...half, density, error, scale, count: exhibit.countOf(release), title, label });
    });
    if (maps.length > 1) return densities;
    const label = "A map of the relative standard error of the density beside.";
    return [...densities, pictures.errorMap({ ...half, ...maps[0], title: "Relative error", label })];
  },

  classMap(exhibit, state, whole) {
    const label = classesText(exhibit, state);
    return [pictures.classMap({ ...whole, title: "Most probable class", label })];
  },
};

function densityTitle(exhibit, release) {
  const name = exhibit.nameOf(release);
  return name === null ? "Density" : `Density of ${name}`;
}

// Sentences for those who do not see the pictures.

export function axesText({ columns }, { x, y }) {
  const name = (j) => columns[j].name;
  return y === null ? `Picture over ${name(x)}` : `Pictures over ${name(x)} and ${name(y)}`;
}

const classesText = (exhibit, state) =>
  `${axesText(exhibit, state)}: the classes ${exhibit.classifier.classes.join(", ")}.`;

// Where a density is highest.
function peakText(name, { x, y }, values) {
  let best = 0;
  values.forEach((v, i) => (best = v > values[best] ? i : best));
  const n = x.values.length;
  const where = [`${x.column.name} ${x.text(x.values[best % n])}`];
  if (y) where.push(`${y.column.name} ${y.text(y.values[Math.floor(best / n)])}`);
  return `${name} over ${x.column.name}${y ? ` and ${y.column.name}` : ""}: the highest is ${number(values[best])}, near ${where.join(", ")}.`;
}
