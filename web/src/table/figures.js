// Estimates as people read them.

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

export const records = (x) => whole.format(Math.round(x) || 0);

export const interval = ({ low, high }, text = records) => `${text(low)} to ${text(high)}`;

// A share, with the digits that its interval deserves.
export function share({ value, low, high }) {
  const width = high - low;
  const certain = width < 1e-6; // but for rounding
  const digits = certain || width >= 0.2 ? 0 : Math.min(Math.max(1, -1 - Math.floor(Math.log10(width))), 6);
  const text = (x) => (100 * x).toFixed(digits);
  return { value: `${text(value)} %`, interval: `${text(low)} to ${text(high)} %` };
}

// A mean, likewise.
export function mean({ value, low, high }) {
  if (!Number.isFinite(value)) return { value: "not known", interval: "" };
  const digits = 1 - Math.floor(Math.log10(Math.max(high - low, 1e-300)));
  const after = Math.max(0, digits);
  const options =
    after > 6
      ? { notation: "scientific", maximumSignificantDigits: 3 }
      : { minimumFractionDigits: after, maximumFractionDigits: after, useGrouping: high >= 1e4 || low <= -1e4 };
  const exact = new Intl.NumberFormat("en", options);
  const round = (x) => (digits < 0 ? Math.round(x * 10 ** digits) / 10 ** digits : x);
  const text = (x) => exact.format(round(x) || 0).replace("E", "e").replaceAll("-", "−");
  return { value: text(value), interval: `${text(low)} to ${text(high)}` };
}

// How far a count is known: 0 well, 1 roughly, 2 hardly, 3 it may be none at all.
export function doubt({ value, low, high }) {
  const half = (high - low) / 2;
  if (!(value > 0) || low <= 0) return 3;
  return half > 0.5 * value ? 2 : half > 0.2 * value ? 1 : 0;
}

// Columns that were not counted together: what to say of them.

const NAMED = 2; // pairs

// A line on such pairs among these columns, or of one of them alone; empty if there are none.
export function apart(table, places, one = null) {
  const pairs = table.unmeasured(places).filter((pair) => one === null || pair.includes(one));
  if (!pairs.length) return "";
  const named = pairs.slice(0, NAMED).map(([i, j]) => `${table.columns[i].name} and ${table.columns[j].name}`);
  const left = pairs.length - NAMED;
  const more = left > 0 ? ` and ${left} more ${left > 1 ? "pairs" : "pair"}` : "";
  return `Not counted together: ${named.join(", ")}${more}. ${INFERRED}`;
}

const INFERRED =
  "Their relationship is inferred; the interval is too narrow if they are more strongly related than is typical.";
