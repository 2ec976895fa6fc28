// Words that have most of their records in one place, and how far above its answer a count may be for their sake: the twin of views/ties.py,
// which tells how far words differ.

import { reach } from "./allowed.js";

const MOST = 500;
const FLATTEST = { laplace: Math.SQRT2, gaussian: Math.sqrt(2 * Math.PI) };

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
