// From the numbers to the pictures of them: one for a curve, two side by side for a map.

import { classesText, peakText } from "./captions.js";
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
  return KINDS[drawn.kind](exhibit, state, { ...common, width: whole }, { ...common, width: half });
}

const KINDS = {
  nothing: () => [],

  curve(exhibit, state, whole) {
    const title = densityTitle(exhibit, state);
    return [pictures.curve({ ...whole, title, label: peakText(title, whole, whole.found.density) })];
  },

  classCurve(exhibit, state, whole) {
    const label = classesText(exhibit, state);
    return [pictures.classCurve({ ...whole, title: "Probability of each class", label })];
  },

  map(exhibit, state, _, half) {
    const title = densityTitle(exhibit, state);
    return [
      pictures.densityMap({ ...half, title, label: peakText(title, half, half.density) }),
      pictures.errorMap({
        ...half,
        title: "Relative error",
        label: "A map of the relative standard error of the density beside.",
      }),
    ];
  },

  classMap(exhibit, state, _, half) {
    return [
      pictures.classMap({ ...half, title: "Most probable class", label: classesText(exhibit, state) }),
      pictures.confidenceMap({
        ...half,
        title: "How sure",
        label: "A map of the probability of the most probable class.",
      }),
    ];
  },
};

const densityTitle = ({ classes }, { show, release }) =>
  classes.length && show === "density" ? `Density of ${classes[release]}` : "Density";
