// Filters: for each column at most one, a range of its values or some of its levels. What they mean, in words and in the
// language of scumble's conditions.

const TINY = 1e-300;

// The values from `low` to before `high`; null if that is all of them. Of a cell that they cut, a part is meant, between the
// `least` and the `most`: values lie evenly in it, but for a heap at a bound, which is meant if the bound is.
export function range(column, low, high, missing = false) {
  const [first, end] = [column.place(low), column.place(high)];
  if (first <= 0 && end >= column.line && (missing || !column.missing)) return null;
  const even = Float64Array.from({ length: column.size }, (_, level) => Math.max(Math.min(end, level + 1) - Math.max(first, level), 0));
  if (column.missing) even[column.size - 1] = missing ? 1 : 0;
  const weights = even.slice();
  const heaped = (cell, heap, meant) => (weights[cell] += heap * (meant - weights[cell]));
  heaped(0, column.heaps[0], first <= 0);
  heaped(column.line - 1, column.heaps[1], end >= column.line);
  return { first, end, low, high, missing, weights, least: even.map(Math.floor), most: even.map(Math.ceil) };
}

// The levels that are ticked; null if none is, or all are.
export function ticks(column, ticked) {
  if (ticked.size === 0 || ticked.size === column.size) return null;
  const weights = Float64Array.from({ length: column.size }, (_, level) => (ticked.has(level) ? 1 : 0));
  return { ticked, weights, least: weights, most: weights };
}

export function withFilter(filters, j, filter) {
  const found = new Map(filters);
  if (filter) found.set(j, filter);
  else found.delete(j);
  return found;
}

// The question that all filters ask, or all but one.
export function questionOf(filters, except = null) {
  const asked = [...filters].filter(([j]) => j !== except);
  const product = (side) => new Map(asked.map(([j, filter]) => [j, filter[side]]));
  const even = product("weights");
  const cut = asked.some(([, { least, most }]) => least.some((weight, level) => weight !== most[level]));
  return cut ? { even, sure: product("least"), maybe: product("most") } : { even, sure: even, maybe: even };
}

export function words(column, { first, end, low, high, missing, ticked }) {
  if (ticked) return listed([...ticked].sort((a, b) => a - b).map((level) => column.text(level, level + 1)));
  const cut = (place, value) => (Number.isInteger(place) ? null : value);
  const texts = first < end ? [column.text(Math.floor(first), Math.ceil(end), cut(first, low), cut(end, high))] : [];
  return listed(missing ? [...texts, "missing"] : texts);
}

function listed(texts) {
  const shown = texts.length > 4 ? [...texts.slice(0, 3), `${texts.length - 3} more`] : texts;
  return shown.length > 1 ? `${shown.slice(0, -1).join(", ")} or ${shown.at(-1)}` : shown[0];
}

// The condition, as release.count takes it.
export function condition(columns, filters) {
  return [...filters].map(([j, filter]) => atom(columns[j], filter)).join(" and ");
}

function atom(column, { low, high, missing, ticked }) {
  const name = /^[\p{L}_][\p{L}\p{N}_]*$/u.test(column.name) ? column.name : `\`${column.name}\``;
  const parts = ticked ? [named(column, name, ticked)].flat() : [bounds(column, name, low, high)];
  if (missing) parts.push(`${name} is missing`);
  const some = parts.filter(Boolean);
  return some.length > 1 ? `(${some.join(" or ")})` : some[0];
}

function named(column, name, ticked) {
  const levels = [...ticked].sort((a, b) => a - b).map((level) => column.levels[level]);
  const known = levels.filter((text) => !(text === "(missing)" && column.missing));
  const texts = known.map((text) => (column.kind === "boolean" ? text : quoted(text)));
  const is = texts.length > 1 ? `${name} in [${texts.join(", ")}]` : texts.length ? `${name} == ${texts[0]}` : null;
  return known.length < levels.length ? [is, `${name} is missing`] : [is];
}

function bounds(column, name, low, high) {
  const { edges, whole, kind } = column;
  const literal = (value) => (kind === "date" ? quoted(column.moment(value)) : String(value));
  const justAboveZero = (edge) => edge > 0 && edge < TINY;
  const both = [];
  if (low > edges[0]) both.push(justAboveZero(low) ? `${name} > 0` : `${name} >= ${literal(low)}`);
  if (high < edges[column.line]) {
    if (whole) both.push(`${name} <= ${literal(high - 1)}`);
    else both.push(justAboveZero(high) ? `${name} <= 0` : `${name} < ${literal(high)}`);
  }
  return both.length ? both.join(" and ") : `${name} is not missing`;
}

const quoted = (text) => `'${text.replaceAll("'", "''")}'`;

// ---- estimates as people read them ----

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
