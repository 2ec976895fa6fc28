// The error function, to nearly the last digit.

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
