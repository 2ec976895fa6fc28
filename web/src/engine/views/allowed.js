// What a count can be at all, whatever the dependence of columns: the twin of views/allowed.py, for one product of weights
// between 0 and 1.

import { normalQuantile } from "../special.js";
import { sum } from "./mixture.js";

export const ANYTHING = [0, Infinity];
const RARE = 1e-5; // the chance that a lower bound fails, at most

// Between what a count lies, but for a chance.
export function allowed(views, [count, ofCount], law, product, chance) {
  const columns = [...product.keys()].sort((i, j) => i - j);
  if (columns.length < 2 || columns.some((j) => !product.get(j).every((weight) => weight >= 0 && weight <= 1))) return ANYTHING;
  const each = columns.map((j) => views.sums.sum(j, product.get(j)));
  const pairs = columns.flatMap((i, at) => columns.slice(at + 1).map((j) => [i, j]));
  const measured = pairs.filter(([i, j]) => views.has(i, j));
  const touched = measured.map((pair) => views.cells(pair, product, Math.max));
  const whole = columns.length === 2 ? measured.map((pair) => views.cells(pair, product, Math.min)) : [];
  const beyond = reach(law, chance / (each.length + touched.length + whole.length + 1));
  const sure = Math.max(beyond, reach(law, RARE));
  const [others, total] = [each.length - 1, (name) => sum(each.map((one) => one[name]))];
  const left = { value: total("value") - others * count, variance: total("variance") + others ** 2 * ofCount };
  const least = Math.max(...[left, ...whole].map(({ value, variance }) => value - sure * Math.sqrt(variance)), 0);
  const most = Math.min(...[...each, ...touched].map(({ value, variance }) => Math.max(value, 0) + beyond * Math.sqrt(variance)));
  return least <= most ? [least, most] : ANYTHING; // noise went beyond what is reckoned with
}

// How many standard deviations noise exceeds to one side with so small a chance, at most.
export function reach(law, chance) {
  const normal = chance > 0.5 ? -normalQuantile(chance) : normalQuantile(1 - chance);
  return law === "gaussian" ? normal : Math.max(normal, -Math.log(2 * chance) / Math.SQRT2);
}
