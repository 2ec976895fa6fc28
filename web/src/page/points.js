// Many points at once: a table that the reader pastes or drops comes back with the answers beside it.

import { columnsOf, parse, write } from "./csv.js";
import { button, download, h, labeled, segments, tableOf } from "./dom.js";
import { SHOWS } from "./state.js";
import { NOT_KNOWN, number } from "./words.js";

const SHOWN = 8;

export function points(exhibit, state) {
  const { classifier, usableNames } = exhibit;
  const text = h("textarea", {
    rows: 6, spellcheck: "false", placeholder: `${usableNames.join(",")}\n…`, "aria-describedby": "csv-hint",
  });
  const result = h("div", { role: "status", "aria-live": "polite" });
  let kind = classifier ? "classes" : "density";
  const ask = () => {
    try {
      result.replaceChildren(...answers(exhibit, answered(exhibit, parse(text.value), kind, state.confidence)));
    } catch (problem) {
      result.replaceChildren(h("p", { class: "problem" }, problem.message));
    }
  };
  const load = async (file) => {
    if (!file) return;
    text.value = await file.text();
    ask();
  };
  const file = h("input", { type: "file", accept: ".csv,.tsv,.txt,text/csv", onchange: () => load(file.files[0]) });
  const zone = dropZone(
    load,
    labeled("Points as CSV", text),
    h("p", { class: "hint", id: "csv-hint" },
      `Paste here or drop a file: a first line with the columns ${usableNames.join(", ")}, then one point per line. It stays on this page.`,
    ),
    classifier ? segments("csv-kind", "Answer with", SHOWS, kind, (value) => (kind = value)) : null,
    h("div", { class: "buttons" }, button("Answer", ask, { class: "main" }), labeled("or a file", file)),
  );
  return h("section", { "aria-labelledby": "many" }, h("h2", { id: "many" }, "Ask for many points"), zone, result);
}

function dropZone(load, ...children) {
  const zone = h(
    "div",
    {
      class: "drop",
      ondragover: (event) => {
        event.preventDefault();
        zone.classList.add("over");
      },
      ondragleave: () => zone.classList.remove("over"),
      ondrop: (event) => {
        event.preventDefault();
        zone.classList.remove("over");
        load(event.dataTransfer.files[0]);
      },
    },
    ...children,
  );
  return zone;
}

// The first few to look at, and all to take away.
function answers({ fileName }, table) {
  const [headings, ...rows] = table;
  const n = rows.length;
  const read = (cell) => (typeof cell === "number" ? number(cell) : cell);
  return [
    h("p", {}, `${n === 1 ? "1 point" : `${number(n)} points`} answered${n > SHOWN ? "; the first eight:" : "."}`),
    tableOf("The answers as a table", headings, rows.slice(0, SHOWN).map((row) => row.map(read))),
    h("div", { class: "buttons" },
      button("Download CSV", () => download(`${fileName}-answers.csv`, write(table), "text/csv"), { class: "main" }),
    ),
  ];
}

// A table of points with the release's answers as further columns.

// How the answers are called here and in files, as in Python's.
const DENSITY = [["kernelSum", "kernel_sum"], ["density", "density"], ["lower", "lower"], ["upper", "upper"]];

// `rows`: cells as texts, the first line the columns' names. Throws words for people.
function answered(exhibit, rows, kind, confidence) {
  const [names, ...points] = rows;
  const { engine, columns } = exhibit;
  const table = engine.table(points.length, columnsOf(rows, columns, (j, cell) => engine.coding.reads(j, cell)));
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
