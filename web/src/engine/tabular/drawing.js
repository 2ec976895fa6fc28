// Synthetic rows, exactly those that meet a product of conditions: the twin of tabular/drawing.py and schema/cuts.py.

const LEAST = 1e-300; // a cell that begins below has no sensible logarithm

// So many records, of all draws alike: the level of each column, and how far into that level its value lies.
export function drawn({ posterior }, columns, product, size, random = Math.random) {
  const { totals, place, numbers } = posterior;
  const parts = posterior.each(product);
  const masses = parts.map(({ factor, draws, own }) =>
    draws.masses(own).map((mass, at) => (factor * mass) / Math.max(totals[Math.floor(at / draws.components)], LEAST)),
  );
  const ends = risen(masses.flatMap((each) => [...each]));
  if (!(ends.at(-1) > 0)) return [];
  const starts = risen([0, ...masses.map(({ length }) => length)]);
  const kept = new Map(); // the risen shares of levels that were asked for, by component and column
  const level = (number, at, j) => {
    const key = at * columns.length + j;
    if (!kept.has(key)) {
      const { draws, own } = parts[number];
      kept.set(key, risen(levels(draws, numbers.get(j), own.get(numbers.get(j)), at - starts[number])));
    }
    return found(kept.get(key), random());
  };
  return Array.from({ length: size }, () => {
    const at = found(ends, random());
    const number = starts.findLastIndex((start) => start <= at);
    return columns.map((_, j) => ({ level: j === place ? number : level(number, at, j), within: random() }));
  });
}

// The shares of a column's levels in one component of one draw.
function levels({ tables, within, groups, weights, components }, j, own, at) {
  const [group, size] = [groups[j], tables[j].length / weights.length];
  const first = Math.floor(at / components) * group.length;
  return Array.from(group, (k, level) => (own ? own[level] : 1) * within[j][first + level] * tables[j][at * size + k]);
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

