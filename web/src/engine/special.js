// The few special functions that estimates need, to nearly the last digit.

const ROOT_PI = Math.sqrt(Math.PI);

// erf(x) for x ≥ 0: Taylor's series around the nearest of many nodes, whose coefficients are made once.
const NODES = 64; // a unit
const TERMS = 8;
const taylor = new Float64Array((6 * NODES + 1) * TERMS);
for (let node = 0; node * TERMS < taylor.length; node++) {
  const x = node / NODES;
  const slope = (2 / ROOT_PI) * Math.exp(-x * x);
  taylor[node * TERMS] = series(x);
  // The derivatives of exp(−x²) are Hermite polynomials: H₀ = 1, H₁ = −2x, Hₖ₊₁ = −2x Hₖ − 2k Hₖ₋₁.
  let [before, here, factorial] = [0, 1, 1];
  for (let k = 1; k < TERMS; k++) {
    factorial *= k;
    taylor[node * TERMS + k] = (slope * here) / factorial;
    [before, here] = [here, -2 * x * here - 2 * (k - 1) * before];
  }
}

export function erf(x) {
  if (x >= 6) return 1;
  const node = Math.round(x * NODES);
  const h = x - node / NODES;
  const at = node * TERMS;
  let sum = taylor[at + TERMS - 1];
  for (let k = TERMS - 2; k >= 0; k--) sum = sum * h + taylor[at + k];
  return sum;
}

function series(x) {
  let term = x;
  let sum = x;
  for (let n = 3; term > 1e-17 * sum; n += 2) {
    term *= (2 * x * x) / n;
    sum += term;
  }
  return (2 / ROOT_PI) * Math.exp(-x * x) * sum;
}

// The normal law's quantile for p ≥ 1/2, by Newton's method.
function normalQuantile(p) {
  const wanted = 2 * p - 1;
  let x = 0;
  for (let k = 0; k < 60; k++) {
    const step = (erf(x / Math.SQRT2) - wanted) / ((2 * Math.exp((-x * x) / 2)) / Math.sqrt(2 * Math.PI));
    x -= Math.max(-1, Math.min(1, step));
    if (Math.abs(step) < 1e-15 * x) break;
  }
  return x;
}

// Student's quantile with `degrees` of freedom (any positive number), for p ≥ 1/2.
export function studentQuantile(degrees, p) {
  return degrees > 400 ? expanded(degrees, normalQuantile(p)) : solved(degrees, p);
}

// Abramowitz & Stegun 26.7.5, with one term more.
function expanded(v, x) {
  const s = x * x;
  const g1 = (x * (s + 1)) / 4;
  const g2 = (x * ((5 * s + 16) * s + 3)) / 96;
  const g3 = (x * (((3 * s + 19) * s + 17) * s - 15)) / 384;
  const g4 = (x * ((((79 * s + 776) * s + 1482) * s - 1920) * s - 945)) / 92160;
  return x + (g1 + (g2 + (g3 + g4 / v) / v) / v) / v;
}

function solved(v, p) {
  const scale = Math.exp(logRatio(v / 2)) / Math.sqrt(v * Math.PI);
  const density = (t) => scale * Math.exp((-(v + 1) / 2) * Math.log1p((t * t) / v));
  const tail = (t) => {
    const x = v / (v + t * t);
    const front = (Math.exp(logRatio(v / 2)) / ROOT_PI) * Math.exp((v / 2) * Math.log(x)) * Math.sqrt(1 - x);
    return x < (v / 2 + 1) / (v / 2 + 2.5)
      ? (front * betaFraction(x, v / 2, 0.5)) / v
      : 0.5 - front * betaFraction(1 - x, 0.5, v / 2);
  };
  let low = 0;
  let high = 2;
  while (tail(high) > 1 - p) [low, high] = [high, 2 * high];
  let t = (low + high) / 2;
  for (let k = 0; k < 200; k++) {
    const gap = tail(t) - (1 - p);
    if (gap > 0) low = t;
    else high = t;
    let next = t + gap / density(t);
    if (!(next > low && next < high)) next = (low + high) / 2;
    if (Math.abs(next - t) < 1e-15 * t) return next;
    t = next;
  }
  return t;
}

// The continued fraction of the incomplete beta function, by Lentz's method.
function betaFraction(x, a, b) {
  const tiny = 1e-300;
  let c = 1;
  let d = 1 - ((a + b) * x) / (a + 1);
  d = 1 / (Math.abs(d) < tiny ? tiny : d);
  let f = d;
  for (let m = 1; m < 2000; m++) {
    for (const numerator of [
      (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m)),
      (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1)),
    ]) {
      d = 1 + numerator * d;
      d = 1 / (Math.abs(d) < tiny ? tiny : d);
      c = 1 + numerator / c;
      c = Math.abs(c) < tiny ? tiny : c;
      f *= c * d;
    }
    if (Math.abs(c * d - 1) < 1e-16) break;
  }
  return f;
}

// ln Γ(a + 1/2) − ln Γ(a): the asymptotic series for large a, which smaller ones are stepped up to.
function logRatio(a) {
  let steps = 0;
  for (; a < 30; a++) steps += Math.log1p(0.5 / a);
  const u = 1 / (a * a);
  return Math.log(a) / 2 - (1 / 8 - (1 / 192 - (1 / 640 - (17 / 14336) * u) * u) * u) / a - steps;
}
