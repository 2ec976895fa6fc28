// The colors of pictures, light or dark: pictures carry them as attributes, so a downloaded one looks the same anywhere.

import { interpolateRgbBasis } from "d3-interpolate";
import { interpolateOrRd, interpolateYlGnBu } from "d3-scale-chromatic";
import { current } from "./theme.js";

const deep = interpolateRgbBasis(["#101722", "#123a5c", "#126782", "#1fa187", "#a0da39", "#fdf6c9"]);
const ember = interpolateRgbBasis(["#16140f", "#4d2a12", "#a04a16", "#e58a2b", "#fde8b5"]);

// Okabe & Ito's colors, which people with any color vision can tell apart.
const CLASSES = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8c7a00", "#7a7a7a"];

const PALETTES = {
  light: {
    paper: "#ffffff", ink: "#1b2b34", muted: "#51636d", rule: "#d9e0e4", line: "#c03a4b", contour: "#1b3a4b",
    mark: "#c03a4b", mode: "#1b3a4b", density: (t) => interpolateYlGnBu(0.02 + 0.93 * t),
    error: (t) => interpolateOrRd(0.05 + 0.9 * t), unknown: "#e7eaec", classes: CLASSES,
  },
  dark: {
    paper: "#151c21", ink: "#e8eef1", muted: "#a3b3bc", rule: "#33414a", line: "#ff8a8f", contour: "#ffffff",
    mark: "#ff8a8f", mode: "#e8eef1", density: deep, error: ember, unknown: "#2a343b", classes: CLASSES,
  },
};

export const paletteOf = (state) => PALETTES[current(state)];
