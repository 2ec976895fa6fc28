// The frame of a picture: a title, axes, a cross-hair that mouse, touch and keys move, and what is under a pointer.

import { axisBottom, axisLeft } from "d3-axis";
import { scaleLinear } from "d3-scale";
import { create } from "d3-selection";
import { area, line } from "d3-shape";
import { add } from "./dom.js";
import { mixed } from "./shading.js";
import { tick } from "./words.js";

const SIZE = 11.5; // of the letters at the axes
const MOST = 640; // pixels that a map may be tall
const UPRIGHT = 19; // names closer than this stand upright: slanted ones would touch
const LINE = 13; // pixels that a name needs beside the next

// As many names as have room, evenly spread.
const some = (names, room) => names.filter((_, k) => k % Math.ceil((LINE * names.length) / Math.max(room, 1)) === 0);

export class Chart {
  // `head`: what title and legend take.
  constructor({ width, height, x, y, title, palette, label, head = 64, aspect = null }) {
    Object.assign(this, { width, height, x, y, palette });
    this.left = 62;
    this.right = 26;
    this.top = head;
    this.bottom = 50;
    this.#sides();
    if (aspect) this.#shape(aspect);
    this.svg = create("svg")
      .attr("xmlns", "http://www.w3.org/2000/svg")
      .attr("viewBox", `0 0 ${width} ${this.height}`)
      .attr("width", width)
      .attr("height", this.height)
      .attr("font-family", FONT)
      .attr("role", "img")
      .attr("aria-label", label);
    add(this.svg, "rect", { width, height: this.height, fill: palette.paper });
    add(this.svg, "text", {
      x: this.left, y: 18, "font-size": 14, "font-weight": 600, fill: palette.ink,
    }).text(fitting(title, width - this.left - 8, 14, 600));
    this.scaleX = x.scale([this.left, width - this.right]);
    this.scaleY = y.scale([this.height - this.bottom, this.top]);
    this.back = this.svg.append("g");
    this.body = this.svg.append("g");
    this.overlay = this.svg.append("g").attr("pointer-events", "none");
    this.brush = this.overlay.append("g");
    this.cross = this.overlay.append("g").attr("visibility", "hidden");
    this.pins = this.overlay.append("g");
  }

  // What the labels of both axes need: numbers of any width at the left, slanted words below.
  #sides() {
    const { x, y } = this;
    const scale = y.scale([this.height - this.bottom, this.top]);
    this.ticksY =
      y.numeric === false ? some(y.categories, this.inner.tall) : scale.ticks(Math.max(3, this.inner.tall / 55));
    if (y.numeric) y.align?.(this.ticksY);
    this.textY = (v) => (y.tickFormat ? y.tickFormat(v) : tick(v));
    this.left = Math.ceil(36 + Math.max(14, ...this.ticksY.map((v) => widthOf(this.textY(v), SIZE))));
    if (x.numeric !== false) return;
    const widest = Math.max(0, ...x.categories.map((v) => widthOf(x.tickFormat(v), SIZE)));
    const each = this.inner.wide / x.categories.length;
    this.turn = widest + 8 <= each ? 0 : each < UPRIGHT ? 90 : 38;
    if (!this.turn) return;
    const more = Math.ceil(this.turn === 90 ? widest : 0.6 * widest);
    this.bottom += more;
    this.height += more;
  }

  // As tall as a map must be for its width; narrower where that would be too much.
  #shape(aspect) {
    const tall = Math.min(MOST, this.inner.wide * aspect);
    this.right += this.inner.wide - tall / aspect;
    this.height = Math.round(this.top + this.bottom + tall);
    this.ticksY = this.y.scale([tall, 0]).ticks(Math.max(2, tall / 55));
    this.y.align?.(this.ticksY);
  }

  get inner() {
    return { wide: this.width - this.left - this.right, tall: this.height - this.top - this.bottom };
  }

  get node() {
    return this.svg.node();
  }

  axes() {
    const { palette, width, height, left, right, bottom, top } = this;
    const style = (g) => {
      g.selectAll("text").attr("fill", palette.muted).attr("font-size", SIZE).attr("font-family", FONT);
      g.selectAll("line").attr("stroke", palette.rule);
      g.select(".domain").attr("stroke", palette.rule);
    };
    const textX = (v) => this.x.tickFormat(v);
    const below = axisBottom(this.scaleX).tickSizeOuter(0).tickFormat(textX);
    if (this.x.numeric) below.tickValues(ticksFor(this.scaleX, this.x, this.inner.wide));
    else below.tickValues(some(this.x.categories, this.inner.wide));
    const drawn = this.svg
      .append("g")
      .attr("transform", `translate(0,${height - bottom})`)
      .call(below)
      .call(style);
    if (this.turn) {
      const aside = this.turn === 90 ? "translate(-12,8)" : "translate(-4,2)";
      drawn.selectAll("text").attr("transform", `${aside} rotate(${-this.turn})`).attr("text-anchor", "end");
    }
    const beside = axisLeft(this.scaleY).tickSizeOuter(0).tickFormat(this.textY);
    beside.tickValues(this.ticksY);
    this.svg.append("g").attr("transform", `translate(${left},0)`).call(beside).call(style);
    const text = (what, room, x, y, turn) =>
      add(this.svg, "text", {
        transform: `translate(${x},${y}) rotate(${turn})`, "text-anchor": "middle", "font-size": 12.5,
        fill: palette.ink,
      }).text(fitting(what, room, 12.5));
    text(this.x.label, this.inner.wide + right, (left + width - right) / 2, height - 12, 0);
    text(this.y.label, this.inner.tall + 40, 15, (top + height - bottom) / 2, -90);
    this.overlay.raise(); // a pin at the edge stands before the axis
    return this;
  }

  // Lines that help the eye from the values to the curve.
  grid() {
    for (const value of this.ticksY) {
      add(this.back, "line", {
        x1: this.left, x2: this.width - this.right, y1: this.scaleY(value), y2: this.scaleY(value),
        stroke: this.palette.rule, "stroke-width": 0.7,
      });
    }
    return this;
  }

  placeX(value) {
    return this.x.place(this.scaleX, value);
  }

  placeY(value) {
    return this.y.place ? this.y.place(this.scaleY, value) : this.scaleY(value);
  }

  holds(px, py) {
    const { left, right, top, bottom, width, height } = this;
    return px >= left - 1 && px <= width - right + 1 && py >= top - 1 && py <= height - bottom + 1;
  }

  // The cross-hair at values of x and (on maps) y.
  point(x, y) {
    const px = this.placeX(x);
    const py = y === null ? null : this.placeY(y);
    this.cross.attr("visibility", "visible").selectAll("*").remove();
    const line = (x1, y1, x2, y2) => {
      const draw = (color, dashes) =>
        add(this.cross, "path", { d: `M${x1},${y1}L${x2},${y2}`, stroke: color, "stroke-dasharray": dashes });
      draw(this.palette.paper, null).attr("opacity", 0.7); // seen on any color
      draw(this.palette.ink, "4 4");
    };
    line(px, this.top, px, this.height - this.bottom);
    if (py !== null) line(this.left, py, this.width - this.right, py);
  }

  // Where in the picture a pointer is, as values; null outside of the frame, unless the nearest place will do.
  under(event, nearest = false) {
    const box = this.node.getBoundingClientRect();
    const px = ((event.clientX - box.left) / box.width) * this.width;
    const py = ((event.clientY - box.top) / box.height) * this.height;
    if (!nearest && !this.holds(px, py)) return null;
    return { x: this.x.invert(this.scaleX, px), y: this.y.invert ? this.y.invert(this.scaleY, py) : null };
  }
}

// How tall a picture is for its width.
export const heightOf = (width, share) => Math.round(Math.max(300, Math.min(640, 60 + width * share)));

// An axis of values that are answers, not questions.
export const answers = (label, low, high, tickFormat = (v) => tick(v, Math.max(-low, high))) => ({
  label, tickFormat, scale: (pixels) => scaleLinear([low, high], pixels).nice(5),
});

// A band from `low` to `high` and a line, over places; where a value is not `clear`, the line is faint.
export function strokes({ body, scaleY }, color, place, values, low, high, clear = null) {
  const [bottom, top] = scaleY.domain();
  const y = (value) => scaleY(Math.min(Math.max(value, bottom), top));
  const x = (_, i) => place(i);
  const band = area().x(x).y0((_, i) => y(low[i])).y1((_, i) => y(high[i]));
  const path = line().x(x).y(y);
  add(body, "path", { class: "band", fill: color, opacity: 0.2, d: band(values) });
  const stroke = (drawn, opacity) =>
    add(body, "path", {
      fill: "none", stroke: color, "stroke-width": 2, "stroke-linecap": "round", opacity, d: drawn(values),
    });
  if (clear) stroke(path, 0.35);
  stroke(clear ? path.defined((_, i) => clear(i)) : path, 1);
}

// Texts that fit: how wide they are, and which of them there is room for.

const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif";

let pen = null;

export function widthOf(text, size = 11.5, weight = 400) {
  pen ??= document.createElement("canvas").getContext("2d");
  pen.font = `${weight} ${size}px ${FONT}`;
  return pen.measureText(text).width;
}

// The text, or as much of it as there is room for.
export function fitting(text, room, size, weight) {
  if (widthOf(text, size, weight) <= room) return text;
  let shown = text;
  while (shown.length > 1 && widthOf(`${shown}…`, size, weight) > room) shown = shown.slice(0, -1);
  return `${shown.trimEnd()}…`;
}

// The ticks of a scale, so many that their labels do not touch.
function ticksFor(scale, axis, room, size = 11.5) {
  const text = (value) => axis.tickFormat(value);
  for (let count = Math.max(2, Math.floor(room / 60)); count > 1; count--) {
    const found = clear(scale.ticks(count), scale, axis, size);
    axis.align?.(found);
    const wide = Math.max(...found.map((value) => widthOf(text(value), size)), 0) + 14;
    if (found.length * wide <= room + wide) return found;
  }
  return scale.ticks(1);
}

// The word below a strip of missing cells is longer than a number: what it would touch gives way.
function clear(ticks, scale, axis, size) {
  if (!axis.strip) return ticks;
  const half = (value) => widthOf(axis.tickFormat(value), size) / 2;
  const [word] = ticks;
  return ticks.filter((value) => value === word || scale(value) - scale(word) > half(word) + half(value) + 6);
}

// ---- what colors mean, between a title and its picture ----

const FIRST = 28; // below the title

// A bar of colors; `stops`: [position from 0 to 1, text, a second text below].
export function bar(chart, color, stops) {
  const { left, width, palette } = chart;
  const size = Math.min(210, width - left - 30);
  const g = add(chart.svg, "g", { class: "bar", transform: `translate(${left},${FIRST})` });
  for (let k = 0; k < 48; k++) {
    add(g, "rect", { x: (k * size) / 48, width: size / 48 + 0.5, height: 9, fill: color((k + 0.5) / 48) });
  }
  const word = (t, y, text) =>
    add(g, "text", {
      x: t * size, y, "text-anchor": t === 0 ? "start" : t === 1 ? "end" : "middle", "font-size": 10.5,
      fill: palette.muted,
    }).text(text);
  for (const [t, text, second] of stops) {
    add(g, "line", { x1: t * size, x2: t * size, y1: 9, y2: 13, stroke: palette.muted });
    word(t, 23, text);
    if (second) word(t, 35, second);
  }
  const twice = stops.some(([, , second]) => second);
  if (twice) word(0, 35, "records near");
  chart.legend = FIRST + (twice ? 44 : 32); // where the next line of it begins
  return chart;
}

// What fades, in words.
export const fadeKey = (chart, text) =>
  patch(chart, text, Array.from({ length: 8 }, (_, k) => mixed(chart.palette, 0.55, k / 7)));

// What is not known, in words.
export const greyKey = (chart, text) => patch(chart, text, new Array(8).fill(chart.palette.unknown));

// A few colors with a word: beside the bar where there is room, else below it.
function patch(chart, text, colors) {
  const { left, width, right, palette } = chart;
  const beside = left + Math.min(210, width - left - 30) + 22;
  const room = width - beside - 34;
  const fits = widthOf(text, 10.5) <= room;
  const [x, y] = fits ? [beside, FIRST] : [left, chart.legend];
  const g = add(chart.svg, "g", { class: "fade", transform: `translate(${x},${y})` });
  colors.forEach((color, k) => {
    add(g, "rect", { x: 3.5 * k, width: 4, height: 9, fill: color });
  });
  add(g, "rect", { width: 28.5, height: 9, fill: "none", stroke: palette.rule });
  add(g, "text", {
    x: 34, y: 8.5, "font-size": 10.5, fill: palette.muted,
  }).text(fits ? text : fitting(text, width - left - right - 8, 10.5));
  return chart;
}

// Names of colors.
export function key(chart, entries) {
  const g = chart.svg.append("g");
  let x = chart.left;
  let y = 36;
  for (const [color, text] of entries) {
    const shown = fitting(text, 120, 11.5);
    const space = 30 + widthOf(shown, 11.5);
    if (x > chart.left && x + space - 14 > chart.width - 8) {
      x = chart.left;
      y += 16;
    }
    add(g, "rect", { x, y: y - 9, width: 11, height: 11, rx: 2, fill: color });
    add(g, "text", { x: x + 16, y, "font-size": 11.5, fill: chart.palette.ink }).text(shown);
    x += space;
  }
  return chart;
}
