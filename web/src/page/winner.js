// The most probable of k classes at the i-th point.

export function winner(probabilities, i, k) {
  let best = 0;
  for (let c = 1; c < k; c++) if (probabilities[i * k + c] > probabilities[i * k + best]) best = c;
  return { best, sure: probabilities[i * k + best] };
}
