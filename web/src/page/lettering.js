// Texts that fit: how wide they are, and which of them there is room for.

export const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif";

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
export function ticksFor(scale, axis, room, size = 11.5) {
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
