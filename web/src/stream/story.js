// What Python asked the stream: for each choice and period the kernel sums on a grid, with half their 95 % intervals.

import { erf } from "../engine/special.js";
import { Axis } from "../page/axes.js";
import { ERRORS } from "../page/shading.js";
import { counted, number } from "../page/words.js";

const LEVEL = 0.05;

export class Story {
  constructor({ description, arrays }) {
    const { title, info, card, columns, places, ends, choices, compared } = description;
    Object.assign(this, { title, info, card, ends });
    [this.x, this.y = null] = columns.map((column, j) => axisOf(column, j, places[j]));
    this.size = places.reduce((size, place) => size * place.length, 1);
    this.choices = choices.map((choice) => this.#choice(choice, arrays));
    const { shares, noises, divisors } = compared;
    this.compared = { shares: arrays[shares], noises: arrays[noises], divisors };
  }

  // `most`, the end of its scale of colors, is the greatest number that stands out of the noise in any period.
  #choice({ width, sums, halves, counts }, arrays) {
    const choice = { width, sums: arrays[sums], halves: arrays[halves], counts };
    let [most, high] = [0, 0];
    choice.sums.forEach((sum, i) => {
      if (sum > choice.halves[i]) most = Math.max(most, sum);
      if (Number.isFinite(choice.halves[i])) high = Math.max(high, sum + choice.halves[i]);
    });
    return Object.assign(choice, { most: most || high || 1, high: high || 1 });
  }

  // All points of one picture.
  picture({ choice, at }) {
    const part = (name) => this.choices[choice][name].subarray(at * this.size, (at + 1) * this.size);
    return { sums: part("sums"), halves: part("halves") };
  }

  // One point in one period.
  answer(choice, at, here) {
    const { sums, halves } = this.choices[choice];
    const [value, half] = [sums[at * this.size + here], halves[at * this.size + here]];
    return { value, low: value - half, high: value + half };
  }

  // One point over time.
  line({ choice, here }) {
    return this.ends.map((_, at) => this.answer(choice, at, here));
  }

  // What differs between two single periods at each point, as Release.compare tells it: periods share noise, so their
  // standard errors are added; p-values are normal, and corrected by Holm's method.
  differences({ from, to, of }) {
    const { shares, noises, divisors } = this.compared;
    const found = Array.from({ length: this.size }, (_, here) => {
      const [one, two] = [from, to].map((at) => at * this.size + here);
      const sampling = [[one, from], [two, to]].map(([i, at]) => {
        const share = Math.min(Math.max(shares[i], 0), 1);
        return of === "populations" ? (share * (1 - share)) / divisors[at] : 0;
      });
      const error = Math.sqrt((noises[one] + noises[two]) ** 2 + sampling[0] + sampling[1]);
      const value = shares[two] - shares[one];
      const p = error > 0 ? 1 - erf(Math.abs(value) / error / Math.SQRT2) : Number(value === 0);
      return { here, first: shares[one], second: shares[two], value, low: value - ERRORS * error, high: value + ERRORS * error, p };
    });
    let least = 0;
    const ordered = [...found].sort((a, b) => a.p - b.p);
    ordered.forEach((one, k) => {
      least = Math.min(1, Math.max(least, one.p * (this.size - k)));
      Object.assign(one, { adjusted: least, sure: least < LEVEL });
    });
    return { found, ordered };
  }

  // Which periods a picture is of.
  span({ choice, at }) {
    const { width } = this.choices[choice];
    const last = this.ends[at];
    return { first: width === null ? 1 : Math.max(1, last - width + 1), last };
  }

  // The point where the last running total is greatest: something is there to be seen.
  busiest() {
    const { sums } = this.picture({ choice: 0, at: this.ends.length - 1 });
    return sums.reduce((best, sum, i) => (sum > sums[best] ? i : best), 0);
  }

  // A point's number, of its places along the columns; and back.
  number([i, j]) {
    return j * this.x.values.length + i;
  }

  place(here) {
    const wide = this.x.values.length;
    return [here % wide, Math.floor(here / wide)];
  }

  values(here) {
    const [i, j] = this.place(here);
    return { x: this.x.values[i], y: this.y && this.y.values[j] };
  }

  nearest({ x, y }) {
    return this.number([cell(this.x, x), this.y ? cell(this.y, y) : 0]);
  }

  // A keyboard's step from a point.
  moved(here, [dx, dy]) {
    const [i, j] = this.place(here);
    const kept = (k, axis) => Math.min(Math.max(k, 0), (axis?.values.length ?? 1) - 1);
    return this.number([kept(i + dx, this.x), kept(j + dy, this.y)]);
  }
}

function axisOf(column, index, values) {
  const axis = new Axis(column, index, column.range, [], 1, true);
  return Object.assign(axis, { values: Float64Array.from(values) });
}

function cell({ range: [low, high], values }, value) {
  const k = Math.floor(((value - low) / (high - low)) * values.length);
  return Math.min(Math.max(k, 0), values.length - 1);
}

// The numbers in words.

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
    span: span[0].toUpperCase() + span.slice(1), value: `${records(found.value)} near here`,
    interval: `${records(found.low)} to ${records(found.high)}`,
    doubt: drowned(found) ? "This could be zero." : "",
  };
}

export function countText(story, state) {
  const [count, half] = story.choices[state.choice].counts[state.at];
  return `About ${counted(count)} records in all${half ? ` (±\u00a0${counted(half)})` : ""}.`;
}
