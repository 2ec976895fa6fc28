// Colors that say how much, faded where there may be nothing: one rule for all pages.

import { color } from "d3-color";
import { interpolateRgb } from "d3-interpolate";
import { add } from "./dom.js";

export const DROWNED = 2; // standard errors up to which a value may be nothing but noise
const CLEAR = 4; // and from which on it has its full color
export const ERRORS = 1.959964; // standard errors in half a 95 % interval
const PALE = 0.1;
const STEPS = 16;

// How much of its color a value has that is so many standard errors from nothing: from 0 to 1.
const share = (errors) => Math.min(1, Math.max(0, (errors - DROWNED) / (CLEAR - DROWNED)));

// Whether a picture has faded parts.
export const anyFaded = (density, error) => density.some((v, i) => share(v / error[i]) < 1);

const made = new WeakMap(); // thousands of colors for each palette: once is enough

// From a place on the scale of colors, and standard errors, to 24 bits.
export function faded(palette) {
  if (!made.has(palette)) {
    const ramps = Array.from({ length: STEPS + 1 }, (_, k) => ramp((t) => mixed(palette, t, k / STEPS)));
    made.set(palette, ramps);
  }
  const ramps = made.get(palette);
  return (t, errors) => ramps[Math.round(STEPS * share(errors))](t);
}

// The same as text, for a legend; `clear` from 0 to 1.
export const mixed = (palette, t, clear) =>
  interpolateRgb(palette.paper, palette.density(t))(PALE + (1 - PALE) * clear);

// Maps as images: from numbers to colors, a pixel a point.

// One small square a point: y grows upwards. `color` gives the 24 bits of the point with a number.
export function raster(x, y, color) {
  const [nx, ny] = [x.values.length, y.values.length];
  const canvas = document.createElement("canvas");
  canvas.width = nx;
  canvas.height = ny;
  const context = canvas.getContext("2d");
  const image = context.createImageData(nx, ny);
  for (let j = 0; j < ny; j++) {
    for (let i = 0; i < nx; i++) {
      const shade = color(j * nx + i);
      const at = 4 * ((y.numeric ? ny - 1 - j : j) * nx + i);
      image.data[at] = shade >> 16;
      image.data[at + 1] = (shade >> 8) & 255;
      image.data[at + 2] = shade & 255;
      image.data[at + 3] = 255;
    }
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

// The same as the ground of a chart.
export function picture(chart, x, y, color) {
  const apart = !x.numeric || !y.numeric; // one name is not halfway to the next
  const few = x.values.length * y.values.length < 900;
  add(chart.back, "image", {
    x: chart.left, y: chart.top, width: chart.width - chart.left - chart.right,
    height: chart.height - chart.top - chart.bottom, preserveAspectRatio: "none",
    "image-rendering": few || apart ? "pixelated" : "auto", href: raster(x, y, color).toDataURL(),
  });
}

// A scale of colors as a quick look-up: from 0 to 1, to 24 bits.
export function ramp(color) {
  const table = Int32Array.from({ length: 257 }, (_, k) => packed(color(k / 256)));
  return (t) => table[t >= 1 ? 256 : t > 0 ? Math.round(256 * t) : 0];
}

export function packed(text) {
  const { r, g, b } = color(text).rgb();
  return (Math.round(r) << 16) | (Math.round(g) << 8) | Math.round(b);
}
