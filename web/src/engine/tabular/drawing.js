// Synthetic rows, exactly those that meet a product of conditions: the twin of tabular/drawing.py and schema/cuts.py.

const LEAST = 1e-300; // a cell that begins below has no sensible logarithm

// So many records: the level of each column, and how far into that level its value lies.
export function drawn(answers, columns, product, size, random = Math.random) {
  const parts = answers.parts.map(({ reading }, number) => {
    const mine = answers.ofClass(product, number);
    const share = mine.coefficient * answers.shares[number];
    return { ...mine, model: reading.model, masses: reading.model.masses(mine.product).map((mass) => share * mass) };
  });
  const ends = risen(parts.flatMap(({ masses }) => [...masses]));
  if (!(ends.at(-1) > 0)) return [];
  const starts = risen([0, ...parts.map(({ masses }) => masses.length)]);
  const kept = new Map(); // the risen shares of levels that were asked for, by component and column
  const level = (number, at, j) => {
    const { model, product: mine } = parts[number];
    const key = at * columns.length + j;
    if (!kept.has(key)) {
      const k = answers.numbers.get(j);
      kept.set(key, risen(levels(model.columns[k], mine.get(k), at - starts[number])));
    }
    return found(kept.get(key), random());
  };
  return Array.from({ length: size }, () => {
    const at = found(ends, random());
    const number = starts.findLastIndex((start) => start <= at);
    return columns.map((_, j) => ({ level: j === answers.place ? number : level(number, at, j), within: random() }));
  });
}

// The shares of a column's levels in one component.
function levels({ group, shape, stack, components, size }, weights, k) {
  return Array.from({ length: size }, (_, at) => {
    const weight = weights ? weights[at] : 1;
    return weight ? weight * shape[at] * stack[group[at] * components + k] : 0;
  });
}

function risen(values) {
  let total = 0;
  return values.map((value) => (total += value));
}

// The place whose part of the whole holds the share u.
function found(ends, u) {
  const wanted = u * ends.at(-1);
  let [low, high] = [0, ends.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ends[middle] > wanted) high = middle;
    else low = middle + 1;
  }
  return low;
}

// The value so far into a cell of a line.
export function valueAt({ edges, log, whole }, cell, within) {
  const [low, high] = [edges[cell], edges[cell + 1]];
  if (!whole && high < LEAST) return low;
  const value =
    log && low > LEAST ? Math.exp(Math.log(low) + within * Math.log(high / low)) : low + within * (high - low);
  return whole ? Math.min(Math.max(Math.floor(value), low), high - 1) : Math.min(value, high);
}

