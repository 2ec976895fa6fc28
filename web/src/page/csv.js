// Tables as text: reading what people paste or drop, writing answers.

import { daysIn, isDated } from "./axes.js";
import { mayMiss } from "./words.js";

// Rows of cells. The separator is the one of comma, semicolon and tab that the first line has most of.
export function parse(text) {
  const head = text.replace(/^\uFEFF/, "");
  const firstLine = head.slice(0, head.search(/\r?\n|$/));
  const mark = [",", ";", "\t"].reduce(
    (best, one) => (count(firstLine, one) > count(firstLine, best) ? one : best),
    ",",
  );
  const rows = [];
  let row = [];
  let cell = "";
  let quoted = false;
  for (let i = 0; i < head.length; i++) {
    const c = head[i];
    if (quoted) {
      if (c !== '"') cell += c;
      else if (head[i + 1] === '"') cell += head[++i];
      else quoted = false;
    } else if (c === '"' && cell === "") quoted = true;
    else if (c === mark) {
      row.push(cell);
      cell = "";
    } else if (c === "\n" || c === "\r") {
      if (c === "\r" && head[i + 1] === "\n") i++;
      rows.push([...row, cell]);
      row = [];
      cell = "";
    } else cell += c;
  }
  if (cell !== "" || row.length) rows.push([...row, cell]);
  return rows.filter((cells) => cells.length > 1 || cells[0].trim() !== "");
}

const count = (text, mark) => text.split(mark).length;

export function write(rows) {
  return rows.map((cells) => cells.map(quote).join(",") + "\r\n").join("");
}

function quote(cell) {
  const text = String(cell);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function wanted(column) {
  if (isDated(column)) return "a date, such as 2024-02-29";
  if (column.role === "number") return "a number";
  return column.code ? `one of ${column.values.join(", ")}` : "filled in";
}

// What a cell says; a number or a date that it does not say is missing, where cells may be.
function said(column, text) {
  if (mayMiss(column) && text.trim() === "") return NaN;
  return isDated(column) ? daysIn(text, column) : text;
}

// The cells of the release's columns, one array a column, out of a table with a line of names; `reads(j, cell)` says which
// of them will do. Throws words for people.
export function columnsOf(rows, columns, reads) {
  if (rows.length < 2) throw new Error("Give a line with the columns' names, then one point per line.");
  const names = rows[0].map((name) => name.trim());
  return columns.map((column, place) => {
    const j = names.indexOf(column.name);
    if (column.role === "any" && j < 0) return rows.slice(1).map(() => "0");
    if (j < 0) throw new Error(`There is no column “${column.name}” in the first line. It has: ${names.join(", ")}.`);
    return rows.slice(1).map((cells, i) => {
      const cell = said(column, cells[j] ?? "");
      if (cell === undefined || !reads(place, cell)) {
        throw new Error(
          `Line ${i + 2}: “${column.name}” must be ${wanted(column)}, but it is “${(cells[j] ?? "").slice(0, 40)}”.`,
        );
      }
      return cell;
    });
  });
}
