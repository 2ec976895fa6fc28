// Cells that may be missing among numbers, where a model's schema allows for them: NaN on the page.

export const MISSING = "(missing)";

export const mayMiss = ({ code }) => typeof code?.gone === "number";

// The value that a number stands for: between two whole ones a model has none.
export function exact({ kind, code }, value) {
  return code && (kind === "whole" || kind === "date") ? Math.round(value) : value;
}
