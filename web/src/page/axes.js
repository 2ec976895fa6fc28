// What is drawn along x and y: numbers in a range, with a strip before them for missing ones, or categories side by side.

import { scaleBand, scaleLinear, scaleUtc } from "d3-scale";
import { h } from "./dom.js";
import { decimalsOf, exact, mayMiss, measured, MISSING, tick, titleOf } from "./words.js";

const LONGEST = 22; // letters of a name at an axis
const STRIP = 0.15; // of the range

export class Axis {
  // `spots`: places evenly spread over the axis; `values`: what the release is asked there, or the categories.
  constructor(column, index, range, categories, n, centered) {
    Object.assign(this, { column, index, range });
    this.numeric = column.role === "number";
    this.side = sideOf(column, range);
    this.dated = this.numeric && isDated(column);
    this.categories = categories;
    this.strip = this.numeric && mayMiss(column) ? STRIP * (range[1] - range[0]) : 0;
    this.domain = [range[0] - this.strip, range[1]];
    this.spots = this.numeric ? spaced(this.domain, n, centered) : null;
    this.values = this.numeric ? this.spots.map((spot) => this.nearest(spot)) : categories;
  }

  get label() {
    return titleOf(this.column);
  }

  scale(pixels) {
    if (this.numeric) return this.#ticked(scaleLinear(this.domain, pixels));
    const [a, b] = pixels;
    return scaleBand(this.categories, a < b ? [a, b] : [b, a]).paddingInner(0);
  }

  // Ticks stand at dates, at whole numbers, or anywhere; one in the middle of the strip.
  #ticked(scale) {
    const { ticks } = this.dated ? withDates(scale) : scale;
    const good = (value) => value >= this.range[0] && (this.column.kind !== "whole" || Number.isInteger(value));
    const strip = this.strip ? [this.#gone] : [];
    return Object.assign(scale, { ticks: (count) => [...strip, ...ticks(count).filter(good)] });
  }

  get #gone() {
    return this.range[0] - this.strip / 2;
  }

  // The position of a value on such a scale, and of the i-th of `values`.
  place(scale, value) {
    if (!this.numeric) return scale(value) + scale.bandwidth() / 2;
    return scale(Number.isNaN(value) ? this.#gone : value);
  }

  spot(scale, i) {
    return this.numeric ? scale(this.spots[i]) : this.place(scale, this.values[i]);
  }

  // The value of a spot; in the strip it is missing.
  nearest(spot) {
    if (spot < this.range[0]) return this.strip ? NaN : this.range[0];
    return exact(this.column, Math.min(spot, this.range[1]));
  }

  // The value under a position.
  invert(scale, pixel) {
    if (this.numeric) return this.nearest(scale.invert(pixel));
    const [a, b] = scale.range();
    const k = Math.floor(((pixel - a) / (b - a)) * this.categories.length);
    return this.categories[Math.min(Math.max(k, 0), this.categories.length - 1)];
  }

  // A keyboard's step from a value.
  step(value, by) {
    if (!this.numeric) {
      const k = this.categories.indexOf(value) + Math.sign(by);
      return this.categories[Math.min(Math.max(k, 0), this.categories.length - 1)];
    }
    const [low, high] = this.range;
    if (Number.isNaN(value)) return by > 0 ? low : value;
    const step = (high - low) / 100;
    const next = value + by * (exact(this.column, 0.4) === 0 ? Math.max(1, Math.round(step)) : step);
    return next < low && value > low ? low : this.nearest(next);
  }

  text(value) {
    if (!this.numeric) return value === "" ? "(empty)" : value;
    if (Number.isNaN(value)) return MISSING;
    if (this.dated) return dateText(this.column, value);
    if (this.column.kind === "whole") return measured(Math.round(value), 1);
    return measured(value, this.range[1] - this.range[0]);
  }

  // The numbers at the axis all have as many decimals.
  align(ticks) {
    if (this.numeric) this.decimals = decimalsOf(ticks.filter((value) => value >= this.range[0]));
  }

  tickFormat(value) {
    if (this.numeric && value < this.range[0]) return "missing";
    if (this.dated) return dateTick(value);
    if (this.numeric) return tick(value, Math.max(...this.range.map(Math.abs)), this.decimals);
    return value.length > LONGEST ? `${value.slice(0, LONGEST - 1)}…` : value;
  }
}

function spaced([low, high], n, centered) {
  const step = centered ? (high - low) / n : (high - low) / (n - 1);
  return Float64Array.from({ length: n }, (_, i) => low + (i + (centered ? 0.5 : 0)) * step);
}

// ---- maps of the Earth ----

const ALIKE = 20; // so many times as long as the other, a side is in another unit
const MOST = { longitude: 360, latitude: 90 };

// Which side of a map a column is by its name, as Python says, and by a range that fits; or null.
export const sideOf = ({ side }, [low, high]) => (low >= -(MOST[side] ?? Infinity) && high <= (MOST[side] ?? Infinity) ? side : null);

// How tall a map is for its width, so that a kilometre is as long across as up; null if it is no map.
export function aspectOf(x, y) {
  const [wide, tall] = [x, y].map(({ range: [low, high] }) => high - low);
  const metres = x.side === "easting" && y.side === "northing";
  if (metres && Math.max(wide, tall) <= ALIKE * Math.min(wide, tall)) return tall / wide;
  if (x.side !== "longitude" || y.side !== "latitude") return null;
  const [south, north] = y.range;
  const shrink = Math.max(0.05, Math.cos(((south + north) / 360) * Math.PI));
  return tall / (wide * shrink);
}

// ---- dates ----

const DAY = 86_400_000; // milliseconds
const MOST_DAYS = 100_000_000; // days from 1970 that a calendar knows
const months = new Intl.DateTimeFormat("en-GB", { month: "short", timeZone: "UTC" });

export const isDated = ({ kind }) => kind === "date" || kind === "time";

const known = (days) => Math.abs(days) <= MOST_DAYS;

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

// A field for one of the two `ends` of a range, which tells the range that it makes if its low end is below the high one.
export function endField(column, k, attributes, ends, tell) {
  const { type, take } = entryOf(column);
  const onchange = () => {
    const range = ends().with(k, take(input));
    const good = range.every(Number.isFinite) && range[0] < range[1];
    input.setCustomValidity(good ? "" : "The low end must be below the high end.");
    if (input.reportValidity()) tell(range);
  };
  const input = h("input", { type, step: "any", ...attributes, onchange });
  return input;
}
