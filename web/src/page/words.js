// Numbers as people read them.

import { format } from "d3-format";

const thousands = format(",.0f");
const short = format(",.3~g");
const large = format(",.3~s");
const small = format(".3~e");
const grouped = format(",");
const plain = format("");
const minus = (text) => text.replaceAll("-", "−");

export function number(x) {
  if (!Number.isFinite(x)) return "unknown";
  const size = Math.abs(x);
  if (size >= 1e9) return large(x).replace("G", " billion").replace("T", " trillion");
  if (size >= 1000) return thousands(x);
  if (size !== 0 && size < 1e-4) return minus(x.toExponential(2));
  return minus(short(x));
}

// A number of records, which has no parts.
export const counted = (x) => number(Math.round(Math.max(0, x)));

// A value with as many digits as a step of it deserves.
export function measured(x, span) {
  const digits = 3 - Math.floor(Math.log10(span || 1));
  if (digits > 8) return x === 0 ? "0" : minus(format(`.${Math.max(0, Math.floor(Math.log10(Math.abs(x))) + digits)}~e`)(x));
  const rounded = digits < -3 ? Math.round(x * 10 ** digits) / 10 ** digits : x;
  const comma = Math.abs(x) < 10000 ? "" : ","; // a year has none
  return minus(format(`${comma}.${Math.max(0, digits)}~f`)(rounded));
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

// A class, and how probable it is; or what is said where none rises above the noise.
export const NOT_KNOWN = "not known";
export const verdictText = ({ name, sure, least }) => (least ? `${name} (${percent(sure)})` : NOT_KNOWN);

// What a comparison is about, of two tables or of two periods of a stream.
export const CLAIMS = {
  populations: "A claim about the populations that the records are random samples of: errors are noise and sampling.",
  tables: "A claim about these tables themselves: noise is the only error.",
};
export const RARE = 0.001; // what is said of a chance below

// A number as a field shows it, with the digits that a range so wide deserves.
export const trimmed = (x, span) => Number(x.toFixed(Math.max(0, Math.min(12, 3 - Math.floor(Math.log10(span))))));

// A column's name with its unit.
export const titleOf = ({ name, unit }) => (unit ? `${name} (${unit})` : name);

// A number at an axis whose numbers are up to `most`, with so many decimals: all of them in one form. Years have no commas.
export function tick(x, most = Math.abs(x), decimals = null) {
  if (x === 0) return "0";
  if (most >= 1e6 || most < 1e-3) return minus((most < 1 ? small : large)(x));
  if (decimals !== null) return minus(format(`${most >= 1e4 ? "," : ""}.${decimals}f`)(x));
  return minus((most >= 1e4 ? grouped : plain)(x));
}

// How many decimals the numbers at an axis need.
export const decimalsOf = (numbers) => Math.max(0, ...numbers.map((x) => (plain(x).split(".")[1] ?? "").length));

// Cells that may be missing among numbers, where a model's schema allows for them: NaN on the page.
export const MISSING = "(missing)";

export const mayMiss = ({ code }) => typeof code?.gone === "number";

// The value that a number stands for: between two whole ones a model has none.
export function exact({ kind, code }, value) {
  return code && (kind === "whole" || kind === "date") ? Math.round(value) : value;
}
