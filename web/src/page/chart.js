// The frame of a picture: axes, labels, a legend, a cross-hair that mouse, touch and keys move, marks and pins.

import { axisBottom, axisLeft } from "d3-axis";
import { create } from "d3-selection";
import { tick } from "./words.js";

export const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif";

export class Chart {
  constructor({ width, height, x, y, title, palette, label, top = 46 }) {
    Object.assign(this, { width, height, x, y, palette });
    this.left = 62;
    this.right = 26;
    this.top = top;
    this.bottom = 50;
    this.svg = create("svg")
      .attr("xmlns", "http://www.w3.org/2000/svg")
      .attr("viewBox", `0 0 ${width} ${height}`)
      .attr("width", width)
      .attr("height", height)
      .attr("font-family", FONT)
      .attr("role", "img")
      .attr("aria-label", label);
    this.svg.append("rect").attr("width", width).attr("height", height).attr("fill", palette.paper);
    this.svg
      .append("text")
      .attr("x", this.left)
      .attr("y", 20)
      .attr("font-size", 14)
      .attr("font-weight", 600)
      .attr("fill", palette.ink)
      .text(title);
    this.scaleX = x.scale([this.left, width - this.right]);
    this.scaleY = y.scale([height - this.bottom, this.top]);
    this.back = this.svg.append("g");
    this.body = this.svg.append("g");
    this.overlay = this.svg.append("g").attr("pointer-events", "none");
    this.cross = this.overlay.append("g").attr("visibility", "hidden");
    this.pins = this.overlay.append("g");
  }

  get node() {
    return this.svg.node();
  }

  axes() {
    const { palette, width, height, left, right, bottom, top } = this;
    const style = (g) => {
      g.selectAll("text").attr("fill", palette.muted).attr("font-size", 11.5).attr("font-family", FONT);
      g.selectAll("line").attr("stroke", palette.rule);
      g.select(".domain").attr("stroke", palette.rule);
    };
    const ticks = (axis, scale, count) => (axis.numeric === false ? scale : scale.ticks(count));
    const below = axisBottom(this.scaleX)
      .tickSizeOuter(0)
      .tickFormat((v) => this.x.tickFormat(v));
    if (this.x.numeric) below.tickValues(ticks(this.x, this.scaleX, Math.max(3, (width - left) / 90)));
    this.svg
      .append("g")
      .attr("transform", `translate(0,${height - bottom})`)
      .call(below)
      .call(style);
    const beside = axisLeft(this.scaleY)
      .tickSizeOuter(0)
      .tickFormat((v) => (this.y.tickFormat ? this.y.tickFormat(v) : tick(v)));
    if (this.y.numeric !== false) beside.tickValues(this.scaleY.ticks(Math.max(3, (height - top - bottom) / 55)));
    this.svg.append("g").attr("transform", `translate(${left},0)`).call(beside).call(style);
    const text = (what, x, y, turn) =>
      this.svg
        .append("text")
        .attr("transform", `translate(${x},${y}) rotate(${turn})`)
        .attr("text-anchor", "middle")
        .attr("font-size", 12.5)
        .attr("fill", palette.ink)
        .text(what);
    text(this.x.label, (left + width - right) / 2, height - 12, 0);
    text(this.y.label, 15, (top + height - bottom) / 2, -90);
    return this;
  }

  // Lines that help the eye from the values to the curve.
  grid() {
    for (const value of this.scaleY.ticks(5)) {
      this.back
        .append("line")
        .attr("x1", this.left)
        .attr("x2", this.width - this.right)
        .attr("y1", this.scaleY(value))
        .attr("y2", this.scaleY(value))
        .attr("stroke", this.palette.rule)
        .attr("stroke-width", 0.7);
    }
    return this;
  }

  // A bar of colours at the top right; `stops`: [position from 0 to 1, text].
  colours(colour, stops) {
    const size = Math.min(190, this.width * 0.4);
    const x = this.width - this.right - size;
    const g = this.svg.append("g").attr("transform", `translate(${x},10)`);
    for (let k = 0; k < 48; k++) {
      g.append("rect")
        .attr("x", (k * size) / 48)
        .attr("width", size / 48 + 0.5)
        .attr("height", 9)
        .attr("fill", colour((k + 0.5) / 48));
    }
    for (const [t, text] of stops) {
      g.append("line")
        .attr("x1", t * size)
        .attr("x2", t * size)
        .attr("y1", 9)
        .attr("y2", 13)
        .attr("stroke", this.palette.muted);
      g.append("text")
        .attr("x", t * size)
        .attr("y", 24)
        .attr("text-anchor", t === 0 ? "start" : t === 1 ? "end" : "middle")
        .attr("font-size", 10.5)
        .attr("fill", this.palette.muted)
        .text(text);
    }
    return this;
  }

  // Names of colours at the top right.
  key(entries) {
    const g = this.svg.append("g");
    let x = this.left;
    let y = 36;
    for (const [colour, text] of entries) {
      const shown = text.length > 18 ? `${text.slice(0, 17)}…` : text;
      const space = 22 + 6.8 * shown.length;
      if (x + space > this.width - this.right) {
        x = this.left;
        y += 16;
      }
      g.append("rect")
        .attr("x", x)
        .attr("y", y - 9)
        .attr("width", 11)
        .attr("height", 11)
        .attr("rx", 2)
        .attr("fill", colour);
      g.append("text")
        .attr("x", x + 16)
        .attr("y", y)
        .attr("font-size", 11.5)
        .attr("fill", this.palette.ink)
        .text(shown);
      x += space;
    }
    return this;
  }

  // Pins: {x, y, text, kind: "mark" | "mode", faint}; values, not positions.
  pin(points) {
    this.pins.selectAll("*").remove();
    for (const { x, y, text, kind, faint } of points) {
      const px = this.x.place(this.scaleX, x);
      const py = this.y.place ? this.y.place(this.scaleY, y) : this.scaleY(y);
      if (!(
        px >= this.left - 1 &&
        px <= this.width - this.right + 1 &&
        py >= this.top - 1 &&
        py <= this.height - this.bottom + 1
      ))
        continue;
      const g = this.pins
        .append("g")
        .attr("transform", `translate(${px},${py})`)
        .attr("opacity", faint ? 0.45 : 1);
      const colour = kind === "mark" ? this.palette.mark : this.palette.mode;
      if (kind === "mark")
        g.append("circle").attr("r", 9).attr("fill", this.palette.paper).attr("stroke", colour).attr("stroke-width", 2);
      else
        g.append("rect")
          .attr("x", -8)
          .attr("y", -8)
          .attr("width", 16)
          .attr("height", 16)
          .attr("rx", 3)
          .attr("fill", colour)
          .attr("stroke", this.palette.paper)
          .attr("stroke-width", 1.5);
      g.append("text")
        .attr("text-anchor", "middle")
        .attr("dy", "0.36em")
        .attr("font-size", 10.5)
        .attr("font-weight", 700)
        .attr("fill", kind === "mark" ? colour : this.palette.paper)
        .text(text);
    }
  }

  // The cross-hair at values of x and (on maps) y.
  point(x, y) {
    const px = this.x.place(this.scaleX, x);
    const py = y === null ? null : this.y.place(this.scaleY, y);
    this.cross.attr("visibility", "visible").selectAll("*").remove();
    const line = (x1, y1, x2, y2) => {
      const draw = (colour, dashes) =>
        this.cross
          .append("path")
          .attr("d", `M${x1},${y1}L${x2},${y2}`)
          .attr("stroke", colour)
          .attr("stroke-dasharray", dashes);
      draw(this.palette.paper, null).attr("opacity", 0.7); // seen on any colour
      draw(this.palette.ink, "4 4");
    };
    line(px, this.top, px, this.height - this.bottom);
    if (py !== null) line(this.left, py, this.width - this.right, py);
  }

  // Where in the picture a pointer is, as values; null outside of the frame.
  under(event) {
    const box = this.node.getBoundingClientRect();
    const px = ((event.clientX - box.left) / box.width) * this.width;
    const py = ((event.clientY - box.top) / box.height) * this.height;
    if (px < this.left || px > this.width - this.right || py < this.top || py > this.height - this.bottom) return null;
    return { x: this.x.invert(this.scaleX, px), y: this.y.invert ? this.y.invert(this.scaleY, py) : null };
  }
}
