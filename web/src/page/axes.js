// What is drawn along x and y: numbers in a range, with a strip before them for missing ones, or categories side by side.

import { scaleBand, scaleLinear } from "d3-scale";
import { dateText, dateTick, isDated, withDates } from "./calendar.js";
import { angleOf } from "./geography.js";
import { decimalsOf, exact, mayMiss, measured, MISSING, tick, titleOf } from "./words.js";

const LONGEST = 22; // letters of a name at an axis
const STRIP = 0.15; // of the range

export class Axis {
  // `spots`: places evenly spread over the axis; `values`: what the release is asked there, or the categories.
  constructor(column, index, range, categories, n, centred) {
    Object.assign(this, { column, index, range });
    this.numeric = column.role === "number";
    this.angle = this.numeric ? angleOf(column, range) : null;
    this.dated = this.numeric && isDated(column);
    this.categories = categories;
    this.strip = this.numeric && mayMiss(column) ? STRIP * (range[1] - range[0]) : 0;
    this.domain = [range[0] - this.strip, range[1]];
    this.spots = this.numeric ? spaced(this.domain, n, centred) : null;
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

function spaced([low, high], n, centred) {
  const step = centred ? (high - low) / n : (high - low) / (n - 1);
  return Float64Array.from({ length: n }, (_, i) => low + (i + (centred ? 0.5 : 0)) * step);
}
