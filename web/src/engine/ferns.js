// What each bucket of each row says of the classes: the twin of `scumble.learn.ferns`, made from the counters when a page
// opens.

// For each bundle its tables, class by class, (rows × width). `bundles`: the `counts` of the classes (rows × width each),
// their counters' `variances`; `totals`: how many records each class has.
export function fernTables(bundles, totals) {
  const all = totals.reduce((a, b) => a + b, 0);
  const shares = totals.map((n) => n / all);
  const experts = bundles.map((bundle) => expertsOf(bundle, totals, shares));
  const squares = experts.flatMap(({ weights }) => Array.from(weights, (w) => w * w));
  const length = Math.sqrt(squares.reduce((a, b) => a + b, 0)) || 1;
  return experts.map(({ evidence, weights, width }) =>
    evidence.map((table) => table.map((value, at) => value * (weights[Math.floor(at / width)] / length))),
  );
}

function expertsOf({ counts, variances, width }, totals, shares) {
  const seen = counts.map((counters, c) => cleaned(counters, width, totals[c], variances[c]));
  const alpha = 2 + Math.sqrt(Math.max(...variances));
  const evidence = seen.map(({ length }) => new Float64Array(length));
  const weights = new Float64Array(seen[0].length / width);
  for (let row = 0; row < weights.length; row++) {
    let information = 0;
    for (let at = row * width; at < (row + 1) * width; at++) {
      let here = 0;
      for (const table of seen) here += table[at];
      let bits = 0;
      for (let c = 0; c < seen.length; c++) {
        const posterior = (seen[c][at] + alpha * shares[c]) / (here + alpha);
        evidence[c][at] = Math.log(posterior / shares[c]);
        bits += posterior * evidence[c][at];
      }
      information += here * bits;
    }
    weights[row] = Math.max(information, 0) ** 2;
  }
  return { evidence, weights, width };
}

// Counters freed of their row's common noise, and of negative numbers. A class that drowns shows nothing.
function cleaned(counters, width, total, variance) {
  const out = new Float64Array(counters.length);
  if (total < 2 * Math.sqrt(variance)) return out;
  for (let first = 0; first < out.length; first += width) {
    let sum = 0;
    for (let k = 0; k < width; k++) sum += counters[first + k];
    const excess = (sum - total) / width;
    for (let k = 0; k < width; k++) out[first + k] = Math.max(counters[first + k] - excess, 0);
  }
  return out;
}
