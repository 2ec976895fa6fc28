// How far the model is off in the cells of a measured pair: the twin of views/misfit.py and of views/smoothing.py.

import { sum } from "./mixture.js";

const NEAR_NONE = 0.3;
const LEAST = 1e-12;

export class Misfit {
  // `errors` has the model's counts less the true ones, in steps, for each rehearsal and cell; `law` is the view's own; `shared`
  // is the correlation of the noise of cells with those errors.
  constructor({ errors, step, variance, law, shared }, cells) {
    Object.assign(this, { errors, step, law, shared, cells, times: errors.length / cells });
    this.noise = Math.max(variance, LEAST);
  }

  // By how many records a count is off in each rehearsal, where rows and columns of cells have these weights.
  off(rows, across, coefficient) {
    const found = new Float64Array(this.times);
    for (let g = 0; g < rows.length; g++) {
      if (rows[g] === 0) continue;
      for (let h = 0; h < across.length; h++) {
        const weight = coefficient * rows[g] * across[h] * this.step;
        if (weight === 0) continue;
        for (let r = 0; r < this.times; r++) found[r] += weight * this.errors[r * this.cells + g * across.length + h];
      }
    }
    return found;
  }

  // The law's squared error of such a count, which may miss so many records.
  smoothed(rows, across, coefficient, missed) {
    const total = (weights, of) => sum(Float64Array.from(weights, of));
    const [squares, sizes] = [(x) => x * x, Math.abs].map((of) => total(rows, of) * total(across, of));
    if (!(squares > 0)) return 0;
    const noise = this.noise * squares * coefficient ** 2;
    const size = Math.log(Math.max(missed, 0) / Math.sqrt(noise) + NEAR_NONE);
    const inputs = [1, size, size ** 2, Math.log(sizes ** 2 / squares)];
    return noise * Math.exp(sum(inputs.map((input, k) => input * this.law[k])));
  }
}

// The squared error of a count out of its errors in rehearsals, of one fit each, as it would be with as many fits as the model has;
// `between` is its variance between those. What is always taken off counts twice.
export function meanSquare(errors, between, fits) {
  const [times, mean] = [errors.length, sum(errors) / errors.length];
  const varied = sum(errors.map((error) => (error - mean) ** 2));
  const bias = times > 1 ? Math.max(mean ** 2 - varied / (times - 1) / times, 0) : 0;
  const square = sum(errors.map((error) => error ** 2)) / times + bias;
  return Math.max(square - (1 - 1 / fits) * between, square / 4);
}
