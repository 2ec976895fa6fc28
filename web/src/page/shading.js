// Colours that say how much, faded where there may be nothing: one rule for all pages.

import { interpolateRgb } from "d3-interpolate";
import { ramp } from "./raster.js";

export const DROWNED = 2; // standard errors up to which a value may be nothing but noise
const CLEAR = 4; // and from which on it has its full colour
export const ERRORS = 1.96; // standard errors in half a 95 % interval
const PALE = 0.1;
const STEPS = 16;

// How much of its colour a value has that is so many standard errors from nothing: from 0 to 1.
const share = (errors) => Math.min(1, Math.max(0, (errors - DROWNED) / (CLEAR - DROWNED)));

// Whether a picture has faded parts.
export const anyFaded = (density, error) => density.some((v, i) => share(v / error[i]) < 1);

const made = new WeakMap(); // thousands of colours for each palette: once is enough

// From a place on the scale of colours, and standard errors, to 24 bits.
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
