// What the colours of a picture mean, between its title and itself.

import { fitting, widthOf } from "./chart.js";
import { add } from "./dom.js";
import { mixed } from "./shading.js";

const FIRST = 28; // below the title

// A bar of colours; `stops`: [position from 0 to 1, text, a second text below].
export function bar(chart, colour, stops) {
  const { left, width, palette } = chart;
  const size = Math.min(210, width - left - 30);
  const g = add(chart.svg, "g", { class: "bar", transform: `translate(${left},${FIRST})` });
  for (let k = 0; k < 48; k++) {
    add(g, "rect", { x: (k * size) / 48, width: size / 48 + 0.5, height: 9, fill: colour((k + 0.5) / 48) });
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
  patch(
    chart,
    text,
    Array.from({ length: 8 }, (_, k) => mixed(chart.palette, 0.55, k / 7)),
  );

// What is not known, in words.
export const greyKey = (chart, text) => patch(chart, text, new Array(8).fill(chart.palette.unknown));

// A few colours with a word: beside the bar where there is room, else below it.
function patch(chart, text, colours) {
  const { left, width, right, palette } = chart;
  const beside = left + Math.min(210, width - left - 30) + 22;
  const room = width - beside - 34;
  const fits = widthOf(text, 10.5) <= room;
  const [x, y] = fits ? [beside, FIRST] : [left, chart.legend];
  const g = add(chart.svg, "g", { class: "fade", transform: `translate(${x},${y})` });
  colours.forEach((colour, k) => {
    add(g, "rect", { x: 3.5 * k, width: 4, height: 9, fill: colour });
  });
  add(g, "rect", { width: 28.5, height: 9, fill: "none", stroke: palette.rule });
  add(g, "text", {
    x: 34, y: 8.5, "font-size": 10.5, fill: palette.muted,
  }).text(fits ? text : fitting(text, width - left - right - 8, 10.5));
  return chart;
}

// Names of colours.
export function key(chart, entries) {
  const g = chart.svg.append("g");
  let x = chart.left;
  let y = 36;
  for (const [colour, text] of entries) {
    const shown = fitting(text, 120, 11.5);
    const space = 30 + widthOf(shown, 11.5);
    if (x > chart.left && x + space - 14 > chart.width - 8) {
      x = chart.left;
      y += 16;
    }
    add(g, "rect", { x, y: y - 9, width: 11, height: 11, rx: 2, fill: colour });
    add(g, "text", { x: x + 16, y, "font-size": 11.5, fill: chart.palette.ink }).text(shown);
    x += space;
  }
  return chart;
}
