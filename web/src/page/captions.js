// Sentences for those who do not see the pictures.

import { number } from "./words.js";

export function axesText({ columns }, { x, y }) {
  const name = (j) => columns[j].name;
  return y === null ? `Picture over ${name(x)}` : `Pictures over ${name(x)} and ${name(y)}`;
}

export const classesText = (exhibit, state) =>
  `${axesText(exhibit, state)}: the classes ${exhibit.classifier.classes.join(", ")}.`;

// Where a density is highest.
export function peakText(name, { x, y }, values) {
  let best = 0;
  values.forEach((v, i) => (best = v > values[best] ? i : best));
  const n = x.values.length;
  const where = [`${x.column.name} ${x.text(x.values[best % n])}`];
  if (y) where.push(`${y.column.name} ${y.text(y.values[Math.floor(best / n)])}`);
  return `${name} over ${x.column.name}${y ? ` and ${y.column.name}` : ""}: the highest is ${number(values[best])}, near ${where.join(", ")}.`;
}
