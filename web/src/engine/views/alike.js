// Columns, and words, whose counts are alike within their noise: the twin of views/alike.py.

import { sum } from "./mixture.js";

const [SURE, ALIKE] = [3, 2];

// Whether counts differ by no more than noise.
export function equal({ counts, variance }, others, noise) {
  const square = sum(Float64Array.from(counts, (count, at) => (count - others[at]) ** 2)) / Math.max(variance + noise, 1e-12);
  return square <= counts.length + SURE * Math.sqrt(5 * counts.length);
}

// Whether weights are those of one level, or of all but one.
export function isWord(weights) {
  const [there, gone] = [1, 0].map((value) => weights.filter((weight) => weight === value).length);
  return there + gone === weights.length && (there === 1 || gone === 1);
}

// Whether two words, of so many records, may be the same, or one and all but it.
export function oneWord(one, two, records) {
  const noise = Math.sqrt(one.variance + two.variance);
  const rarest = Math.min(...[one, two].flatMap(({ value }) => [value, records - value]));
  const offs = [one.value - two.value, one.value + two.value - records].map(Math.abs);
  return rarest >= noise && Math.min(...offs) <= ALIKE * noise;
}
