// A table of points with the release's answers as further columns.

import { columnsOf } from "./csv.js";
import { NOT_KNOWN } from "./words.js";

// How the answers are called here and in files, as in Python's.
const DENSITY = [
  ["kernelSum", "kernel_sum"],
  ["density", "density"],
  ["lower", "lower"],
  ["upper", "upper"],
];

// `rows`: cells as texts, the first line the columns' names. Throws words for people.
export function answered(exhibit, rows, kind, confidence) {
  const [names, ...points] = rows;
  const { engine, columns } = exhibit;
  const table = engine.table(
    points.length,
    columnsOf(rows, columns, (j, cell) => engine.coding.reads(j, cell)),
  );
  const added = kind === "classes" ? classColumns(exhibit, table) : densityColumns(exhibit, table, confidence);
  const taken = names.map((name) => name.trim());
  const free = added.map(({ name }) => (taken.includes(name) ? `scumble_${name}` : name));
  return [[...names, ...free], ...points.map((row, i) => [...row, ...added.map(({ values }) => values[i])])];
}

function densityColumns({ engine, classes }, table, confidence) {
  return (classes.length ? classes : [null]).flatMap((label, release) => {
    const found = engine.answers(release, table, confidence);
    return DENSITY.map(([key, word]) => ({ name: label === null ? word : `${word}_${label}`, values: found[key] }));
  });
}

function classColumns(exhibit, table) {
  const { classes } = exhibit.classifier;
  const found = exhibit.engine.classes(table);
  const chances = found.probabilities;
  const column = (name, value) => ({ name, values: Array.from({ length: table.n }, (_, i) => value(i)) });
  return [
    column("prediction", (i) => {
      const { name, least } = exhibit.verdict(found, i);
      return least ? name : NOT_KNOWN;
    }),
    ...classes.map((label, c) => column(`probability_${label}`, (i) => chances[i * classes.length + c])),
  ];
}
