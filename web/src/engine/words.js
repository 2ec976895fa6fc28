// Whole numbers of 64 bits as two halves of 32, modulo 2^64: what JavaScript's numbers cannot hold.
// Results of `multiply` and `mix` lie in `high` and `low` until the next call: no object is made for each hash.

export let high = 0;
export let low = 0;

const bits = new DataView(new ArrayBuffer(8));

// The high half of the product of two unsigned 32-bit numbers.
function highOfProduct(a, b) {
  const upper = a * (b >>> 16);
  const lower = a * (b & 0xffff);
  return Math.floor((upper + Math.floor(lower / 65536)) / 65536) | 0;
}

// (aHigh, aLow) · (bHigh, bLow); the halves are any 32-bit numbers, signed or not.
export function multiply(aHigh, aLow, bHigh, bLow) {
  high = (highOfProduct(aLow >>> 0, bLow >>> 0) + Math.imul(aHigh, bLow) + Math.imul(aLow, bHigh)) | 0;
  low = Math.imul(aLow, bLow);
}

// x ^ (x >> shift), for 0 < shift < 32, then times a constant: a step of the SplitMix64 finaliser.
function mixStep(xHigh, xLow, shift, byHigh, byLow) {
  const h = xHigh ^ (xHigh >>> shift);
  const l = xLow ^ ((xLow >>> shift) | (xHigh << (32 - shift)));
  multiply(h, l, byHigh, byLow);
}

function mix(xHigh, xLow) {
  mixStep(xHigh, xLow, 30, 0xbf58476d, 0x1ce4e5b9);
  mixStep(high, low, 27, 0x94d049bb, 0x133111eb);
}

// A code as a signed 32-bit word, the twin of `scumble.counting.hasher.to_words`: small codes as they are, others mixed.
export function toWord(code) {
  if (Math.abs(code) < 2147483648) return code | 0;
  bits.setFloat64(0, Number.isFinite(code) ? code : Infinity);
  mix(bits.getInt32(0), bits.getInt32(4));
  return (high >>> 0) - 2147483648;
}

// A token's place in the random order of a key, the twin of `scumble.kernels.jaccard.rank`: a number of 53 bits.
export function rank(token, key) {
  multiply(token / 4294967296, token % 4294967296, 0x9e3779b9, 0x7f4a7c15);
  let h = high ^ (key / 4294967296);
  let l = low ^ (key % 4294967296);
  for (let round = 0; round < 2; round++) {
    mix(h, l);
    h = high ^ (high >>> 31);
    l = low ^ ((low >>> 31) | (high << 1));
  }
  return (h >>> 0) * 2097152 + (l >>> 11);
}
