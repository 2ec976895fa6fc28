// Words that have most of their records in one place, and how far above its answer a count may be for their sake: the twin of views/ties.py.

import { reach } from "./allowed.js";
import { sum } from "./mixture.js";

const PLAIN = 4;
const LEAST = 1e-300;
const MOST = 500;
const FLATTEST = { laplace: Math.SQRT2, gaussian: Math.sqrt(2 * Math.PI) };

// t of the words along an axis of a view, whose groups are given and so many: between 0 and 1.
export function tie({ counts, variance }, axis, group, groups) {
  const columns = counts.length / groups;
  const rows = Array.from({ length: groups }, (_, g) =>
    Float64Array.from({ length: columns }, (_, h) => counts[axis === 0 ? g * columns + h : h * groups + g]),
  );
  const sums = Float64Array.from({ length: columns }, (_, h) => Math.max(sum(Float64Array.from(rows, (row) => row[h])), 0));
  const all = Math.max(sum(sums), LEAST);
  const shares = sums.map((held) => held / all);
  const even = sum(shares.map((share) => share ** 2));
  const words = new Uint32Array(groups);
  group.forEach((g) => words[g]++);
  const plain = Math.max(PLAIN * Math.sqrt(variance * columns), LEAST);
  const noise = variance * (columns - 2 + columns * even);
  let [met, most] = [0, 0];
  rows.forEach((row, g) => {
    const records = sum(row);
    if (words[g] !== 1 || !(records > 0)) return;
    const weight = Math.min(records / plain, 1) ** 2;
    const off = sum(row.map((count, h) => (count - records * shares[h]) ** 2)) - noise;
    met += (weight * off) / records ** 2;
    most += (1 - even) * weight;
  });
  return most > 0 ? Math.min(Math.max(met / most, 0), 1) : 0;
}

// How many records more than by the share of its pool a word may have in a place, but for a chance.
export function unseenAbove(share, tied, { value, variance }, law, chance) {
  const most = 1 - (1 - share) * (tied < 1 ? chance ** (tied / (1 - tied)) : 0);
  return (most - share) * Math.max(value, 0) + most * reach(law, chance) * Math.sqrt(variance);
}

// How many records more than was answered a word may have in a place, as far as its own cell lets it.
export function seenAbove(answer, own, tied, records, law, chance) {
  const [deviation, off] = [Math.sqrt(own.variance), own.value - answer];
  if (!(off > 0 && tied > 0 && deviation > 0)) return 0;
  const [z, width] = [off / deviation, FLATTEST[law] * deviation];
  const rarer = Math.exp(Math.min(law === "laplace" ? Math.SQRT2 * z : z ** 2 / 2, MOST));
  const odds = ((tied ** 2 * width) / (Math.max(records, 0) + width)) * rarer;
  const left = (chance * (1 + odds)) / odds;
  return left < 1 ? Math.max(Math.min(off + deviation * reach(law, left), records - answer), 0) : 0;
}
