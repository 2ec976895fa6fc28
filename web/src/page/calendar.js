// Columns that were declared as dates or times: the release counts days since 1970, people read and write a calendar.

import { scaleUtc } from "d3-scale";

const DAY = 86_400_000; // milliseconds
const MOST = 100_000_000; // days from 1970 that a calendar knows
const months = new Intl.DateTimeFormat("en-GB", { month: "short", timeZone: "UTC" });

export const isDated = ({ kind }) => kind === "date" || kind === "time";

const known = (days) => Math.abs(days) <= MOST;

// 19782 → "2024-02-29"; of a time also its hour and minute.
export function dateText({ kind }, days) {
  if (!known(days)) return String(days);
  const [day, time] = written(days, kind).split("T");
  return time ? `${day} ${time}` : day;
}

// As fields of forms and tables have it.
function written(days, kind) {
  const text = new Date((kind === "date" ? Math.round(days) : days) * DAY).toISOString();
  return text.slice(0, text.indexOf("T") + (kind === "date" ? 0 : 6));
}

// "2024", "Mar 2024", "8 Mar" or "14:30": as exact as the tick is.
export function dateTick(days) {
  if (!known(days)) return String(days);
  const date = new Date(days * DAY);
  if (date % DAY) return date.toISOString().slice(11, 16);
  const [day, month, year] = [date.getUTCDate(), date.getUTCMonth(), date.getUTCFullYear()];
  if (day > 1) return `${day} ${months.format(date)}`;
  return month ? `${months.format(date)} ${year}` : String(year);
}

// The scale with ticks at the beginnings of years, months, days or hours.
export function withDates(scale) {
  const [low, high] = scale.domain();
  if (!known(low) || !known(high)) return scale;
  const calendar = scaleUtc([low * DAY, high * DAY], [0, 1]);
  return Object.assign(scale, { ticks: (count) => calendar.ticks(count).map((date) => date / DAY) });
}

// The days that a text says: "2024-02-29", "2024-02-29T12:00" or a number; undefined if it says none.
export function daysIn(text, { kind }) {
  const trimmed = String(text).trim();
  if (trimmed !== "" && Number.isFinite(Number(trimmed))) return Number(trimmed);
  const found = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2})?))?$/.exec(trimmed);
  const milliseconds = found ? Date.parse(`${found[1]}T${found[2] ?? "00:00"}Z`) : Number.NaN;
  if (!Number.isFinite(milliseconds)) return undefined;
  if (new Date(milliseconds).toISOString().slice(0, 10) !== found[1]) return undefined; // there is no 31 February
  return kind === "date" ? Math.floor(milliseconds / DAY) : milliseconds / DAY;
}

// What a field for such a column is, and how its number goes in and comes out.
export function entryOf(column) {
  if (!isDated(column)) {
    return { type: "number", put: (input, value) => (input.value = value), take: (input) => input.valueAsNumber };
  }
  return {
    type: column.kind === "date" ? "date" : "datetime-local",
    put: (input, value) => (input.value = value === "" || !known(value) ? "" : written(value, column.kind)),
    take: (input) => input.valueAsNumber / DAY,
  };
}
