// What is drawn along x and y: numbers in a range, or categories side by side.

import { scaleBand, scaleLinear } from "d3-scale";
import { dateText, dateTick, isDated, withDates } from "./calendar.js";
import { angleOf, degrees } from "./geography.js";
import { decimalsOf, measured, tick, titleOf } from "./words.js";

const LONGEST = 22; // letters of a name at an axis

export class Axis {
  // `values`: the places at which the release is asked, evenly spread over the range, or the categories.
  constructor(column, index, range, categories, n, centred) {
    Object.assign(this, { column, index, range });
    this.numeric = column.role === "number";
    this.angle = this.numeric ? angleOf(column, range) : null;
    this.dated = this.numeric && isDated(column);
    this.categories = categories;
    this.values = this.numeric ? spaced(range, n, centred) : categories;
  }

  get label() {
    return titleOf(this.column);
  }

  scale(pixels) {
    if (this.numeric) return this.dated ? withDates(scaleLinear(this.range, pixels)) : scaleLinear(this.range, pixels);
    const [a, b] = pixels;
    return scaleBand(this.categories, a < b ? [a, b] : [b, a]).paddingInner(0);
  }

  // The position of a value on such a scale.
  place(scale, value) {
    return this.numeric ? scale(value) : scale(value) + scale.bandwidth() / 2;
  }

  // The value under a position.
  invert(scale, pixel) {
    if (this.numeric) return Math.min(Math.max(scale.invert(pixel), this.range[0]), this.range[1]);
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
    return Math.min(Math.max(value + (by * (high - low)) / 100, low), high);
  }

  text(value) {
    if (!this.numeric) return value === "" ? "(empty)" : value;
    if (this.dated) return dateText(this.column, value);
    if (this.column.kind === "whole") return measured(Math.round(value), 1);
    return this.#turned(value, measured(value, this.range[1] - this.range[0]));
  }

  // The numbers at the axis all have as many decimals.
  align(ticks) {
    if (this.numeric) this.decimals = decimalsOf(ticks);
  }

  tickFormat(value) {
    if (this.dated) return dateTick(value);
    if (this.numeric) return this.#turned(value, tick(value, Math.max(...this.range.map(Math.abs)), this.decimals));
    return value.length > LONGEST ? `${value.slice(0, LONGEST - 1)}…` : value;
  }

  // Angles have degrees, and a side of the world for their sign.
  #turned(value, text) {
    return this.angle ? degrees(this.angle, value, text) : text;
  }
}

function spaced([low, high], n, centred) {
  const step = centred ? (high - low) / n : (high - low) / (n - 1);
  return Float64Array.from({ length: n }, (_, i) => low + (i + (centred ? 0.5 : 0)) * step);
}
