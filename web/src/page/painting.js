// From the numbers to the pictures of them: one for a curve, two side by side for a map.

import { classesText, peakText } from "./captions.js";
import { colourScale } from "./colourscale.js";
import * as pictures from "./pictures.js";
import { paletteOf } from "./palette.js";

export function chartsOf(exhibit, state, width) {
  const whole = Math.max(280, width);
  const half = whole >= 720 ? Math.floor((whole - 20) / 2) : whole;
  const { drawn } = state;
  const common = {
    palette: paletteOf(state),
    ...drawn,
    confidence: state.confidence,
    classes: exhibit.classifier?.classes.map(String),
  };
  if (drawn.awaited) return awaited(exhibit, state, { ...common, width: half }, half < whole);
  return KINDS[drawn.kind](exhibit, state, { ...common, width: whole }, { ...common, width: half });
}

// The frames of the pictures that are to come, at their places.
function awaited(exhibit, state, half, beside) {
  const { width, x, y, kind } = half;
  const density = pictures.densityFrame(width, x, y);
  const error = pictures.errorFrame(width, x, y, beside);
  const classes = pictures.classFrame(width, x, y);
  const sides = state.show === "sides";
  const frames = kind === "classMap" ? [classes, classes] : sides ? [density, density] : [density, error];
  return frames.map((frame) => pictures.blank({ ...half, ...frame, title: "Drawing…", label: "Drawing…" }));
}

const KINDS = {
  nothing: () => [],

  curve(exhibit, state, whole) {
    const { palette, curves } = whole;
    const lines = curves.map(({ release, found }, k) => ({
      found,
      name: exhibit.nameOf(release) ?? "density",
      colour: k ? palette.classes[0] : palette.line,
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

  map(exhibit, state, whole, half) {
    const beside = half.width < whole.width;
    const { maps } = half;
    const scale = colourScale(
      maps.map(({ drawn }) => drawn),
      state.colours === "log",
    );
    const densities = maps.map(({ release, drawn }) => {
      const title = densityTitle(exhibit, release);
      const label = peakText(title, half, drawn.density);
      return pictures.densityMap({ ...half, ...drawn, scale, count: exhibit.countOf(release), title, label });
    });
    if (maps.length > 1) return densities;
    const label = "A map of the relative standard error of the density beside.";
    return [...densities, pictures.errorMap({ ...half, ...maps[0], beside, title: "Relative error", label })];
  },

  classMap(exhibit, state, _, half) {
    return [
      pictures.classMap({ ...half, title: "Most probable class", label: classesText(exhibit, state) }),
      pictures.confidenceMap({
        ...half,
        title: exhibit.allows ? "How sure at least" : "How sure",
        label: `A map of the probability of the most probable class${exhibit.allows ? ", errors allowed for" : ""}.`,
      }),
    ];
  },
};

function densityTitle(exhibit, release) {
  const name = exhibit.nameOf(release);
  return name === null ? "Density" : `Density of ${name}`;
}
