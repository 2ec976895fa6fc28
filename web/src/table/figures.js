// Estimates as people read them.

import { measured } from "../page/words.js";

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

export const records = (x) => whole.format(Math.round(x) || 0);

export const interval = ({ low, high }, text = records) => `${text(low)} to ${text(high)}`;

// A share, with the digits that its interval deserves.
export function share({ value, low, high }) {
  const digits = value === 1 ? 0 : high - low < 0.002 ? 2 : high - low < 0.2 ? 1 : 0;
  const text = (x) => (100 * x).toFixed(digits);
  return { value: `${text(value)} %`, interval: `${text(low)} to ${text(high)} %` };
}

// A mean, likewise.
export function mean({ value, low, high }) {
  if (!Number.isFinite(value)) return { value: "not known", interval: "" };
  const text = (x) => measured(x, Math.max(high - low, 1e-9) * 300);
  return { value: text(value), interval: `${text(low)} to ${text(high)}` };
}

// How far a count is known: 0 well, 1 roughly, 2 hardly, 3 it may be none at all.
export function doubt({ value, low, high }) {
  const half = (high - low) / 2;
  if (!(value > 0) || low <= 0) return 3;
  return half > 0.5 * value ? 2 : half > 0.2 * value ? 1 : 0;
}

