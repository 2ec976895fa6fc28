// Numbers as people read them.

import { format } from "d3-format";

const thousands = format(",.0f");
const short = format(",.3~g");
const large = format(",.3~s");

export function number(x) {
  if (!Number.isFinite(x)) return "unknown";
  const size = Math.abs(x);
  if (size >= 1e9) return large(x).replace("G", " billion").replace("T", " trillion");
  if (size >= 1000) return thousands(x);
  if (size !== 0 && size < 1e-4) return x.toExponential(2).replace("-", "−");
  return short(x).replace("-", "−");
}

// A value with as many digits as a step of it deserves.
export function measured(x, span) {
  const digits = Math.max(0, Math.min(8, 3 - Math.floor(Math.log10(span || 1))));
  return format(`,.${digits}~f`)(x).replace("-", "−");
}

export function percent(x) {
  if (!Number.isFinite(x) || x > 9.99) return "over 999 %";
  if (x > 0.994 && x < 1) return "over 99 %";
  return `${format(x < 0.1 ? ".2~r" : ".0f")(100 * x)} %`;
}

// A number of records with its interval; none has fewer than none.
export const recordsText = (...three) => {
  const [value, lower, upper] = three.map((x) => number(Math.max(0, Math.round(x))));
  return `${value} (${lower} to ${upper})`;
};

// A class, and how probable it is.
export const verdictText = ({ name, sure }) => `${name} (${percent(sure)})`;

// A column's name with its unit.
export const titleOf = ({ name, unit }) => (unit ? `${name} (${unit})` : name);

export const tick = (x) => (Math.abs(x) >= 1e6 ? large(x) : format(",~g")(x)).replace("-", "−");
