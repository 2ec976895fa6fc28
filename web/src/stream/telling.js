// The numbers in words.

import { counted, number } from "../page/words.js";

export const nameOf = ({ width }) =>
  width === null ? "Running total" : width === 1 ? "Single periods" : `Last ${width} periods`;

export const spanText = ({ first, last }) => (first === last ? `period ${last}` : `periods ${first} to ${last}`);

// Nobody can be there less than not at all.
export const records = (x) => number(Math.max(0, Math.abs(x) < 1000 ? Math.round(10 * x) / 10 : Math.round(x)));

export function placeText(story, here) {
  const { x, y } = story.values(here);
  const told = (axis, value) =>
    `${axis.column.name} ${axis.text(value)}${axis.column.unit ? ` ${axis.column.unit}` : ""}`;
  return [told(story.x, x), ...(story.y ? [told(story.y, y)] : [])].join(", ");
}

const drowned = ({ low }) => !(low > 0);

// "Period 17: 1,240 near here, 1,180 to 1,300."
export function answerText(story, state) {
  const found = story.answer(state.choice, state.at, state.here);
  const span = spanText(story.span(state));
  return {
    span: span[0].toUpperCase() + span.slice(1),
    value: `${records(found.value)} near here`,
    interval: `${records(found.low)} to ${records(found.high)}`,
    doubt: drowned(found) ? "The noise hides it: there may be none at all." : "",
  };
}

export function countText(story, state) {
  const [count, half] = story.choices[state.choice].counts[state.at];
  return `About ${counted(count)} records in all${half ? ` (±\u00a0${counted(half)})` : ""}.`;
}
