// From densities to places on a scale of colours, for one map or for several that share it: even steps, or by logarithm
// for data of which a small part holds nearly all.

import { max, median } from "d3-array";
import { tick } from "./words.js";

const DEEPEST = 1e-4; // of the greatest density

export function colourScale(maps, log) {
  const most = max(maps, ({ density }) => max(density)) || 1;
  const noise = max(maps, ({ error }) => median(error)) ?? 0; // a typical one
  const least = Math.min(Math.max(2 * noise, DEEPEST * most), most / 3);
  return log ? logarithmic(most, least) : even(most, 3 * noise);
}

function even(most, clear) {
  const levels = [1, 2, 3, 4, 5, 6].map((k) => (k * most) / 7).filter((level) => level > clear);
  return { place: (v) => v / most, stops: [0, most / 2, most].map((v) => [v / most, v]), levels, most };
}

function logarithmic(most, least) {
  const place = (v) => (v > least ? Math.log(v / least) / Math.log(most / least) : 0);
  const decades = [];
  for (let k = Math.ceil(Math.log10(least)); 10 ** k < most; k++) decades.push(10 ** k);
  const between = decades.filter((v) => place(v) > 0.2 && place(v) < 0.8);
  const stops = [least, ...between.slice(-2), most].map((v) => [place(v), v]);
  const levels = [1, 2, 3, 4, 5, 6].map((k) => least * (most / least) ** (k / 7));
  return { place, stops, levels, most };
}

// The stops with their words: the density, and below it what that is in records.
export const told = ({ stops, most }, count) =>
  stops.map(([t, v], k) => [t, tick(rounded(v)), k === 0 ? "" : tick(rounded(v * count), most * count)]);

const rounded = (v) => Number(v.toPrecision(2));
