// Convolutions by Fourier transforms, over one to four axes.

import { cutOut, mapped, product } from "./boxes.js";

// The next length that is a power of two, or three or five times one.
function fastLength(n) {
  return Math.min(...[1, 3, 5].map((odd) => odd * 2 ** Math.ceil(Math.log2(Math.max(1, n / odd)))));
}

const RADICES = [4, 5, 3, 2];
const BLOCK = 32; // of a transposition, for the processor's cache
const u = new Float64Array(5);
const v = new Float64Array(5);

// The transform of a box of complex numbers. Stockham's way: no order of digits is ever turned round. Always along the
// first axis, all of its lines at once; then the axes move on by one, until each has been first.
class Transform {
  constructor(shape) {
    this.shape = shape;
    const size = product(shape);
    this.other = { re: new Float64Array(size), im: new Float64Array(size) };
  }

  run(box) {
    this.box = box;
    for (const n of this.shape) {
      const lines = box.re.length / n;
      this.#first(n, lines);
      transpose(this.box.re, this.other.re, n, lines);
      transpose(this.box.im, this.other.im, n, lines);
      this.#swap();
    }
    return this.box;
  }

  #swap() {
    [this.box, this.other] = [this.other, this.box];
  }

  #first(n, lines) {
    const cos = Float64Array.from({ length: n }, (_, k) => Math.cos((2 * Math.PI * k) / n));
    const sin = Float64Array.from({ length: n }, (_, k) => -Math.sin((2 * Math.PI * k) / n));
    for (let rest = n, done = 1; rest > 1;) {
      const p = RADICES.find((radix) => rest % radix === 0);
      rest /= p;
      for (let q = 0; q < rest; q++) {
        if (p === 4) four(this.box, this.other, q, done, done * lines, rest, n, cos, sin);
        else few(p, this.box, this.other, q, done, done * lines, rest, n, cos, sin);
      }
      done *= p;
      this.#swap();
    }
  }
}

// Four at a time, whose roots are 1, −i, −1 and i: the quick way for most of the work.
function four({ re, im }, { re: outRe, im: outIm }, q, done, stride, rest, n, cos, sin) {
  const leap = stride * rest;
  const [c1, s1] = [cos[q * done], sin[q * done]];
  const [c2, s2] = [cos[(2 * q * done) % n], sin[(2 * q * done) % n]];
  const [c3, s3] = [cos[(3 * q * done) % n], sin[(3 * q * done) % n]];
  for (let a = stride * q, to = 4 * a; a < stride * (q + 1); a++, to++) {
    const b = a + leap;
    const c = b + leap;
    const d = c + leap;
    const evenRe = re[a] + re[c];
    const evenIm = im[a] + im[c];
    const gapRe = re[a] - re[c];
    const gapIm = im[a] - im[c];
    const oddRe = re[b] + re[d];
    const oddIm = im[b] + im[d];
    const oddGapRe = re[b] - re[d];
    const oddGapIm = im[b] - im[d];
    outRe[to] = evenRe + oddRe;
    outIm[to] = evenIm + oddIm;
    outRe[to + stride] = (gapRe + oddGapIm) * c1 - (gapIm - oddGapRe) * s1;
    outIm[to + stride] = (gapRe + oddGapIm) * s1 + (gapIm - oddGapRe) * c1;
    outRe[to + 2 * stride] = (evenRe - oddRe) * c2 - (evenIm - oddIm) * s2;
    outIm[to + 2 * stride] = (evenRe - oddRe) * s2 + (evenIm - oddIm) * c2;
    outRe[to + 3 * stride] = (gapRe - oddGapIm) * c3 - (gapIm + oddGapRe) * s3;
    outIm[to + 3 * stride] = (gapRe - oddGapIm) * s3 + (gapIm + oddGapRe) * c3;
  }
}

function few(p, { re, im }, { re: outRe, im: outIm }, q, done, stride, rest, n, cos, sin) {
  const leap = stride * rest;
  for (let j = 0; j < p; j++) {
    // The p-th root of one for each k, turned by the twist of (q, j).
    for (let k = 0; k < p; k++) {
      const turn = (j * q * done + ((j * k) % p) * (n / p)) % n;
      u[k] = cos[turn];
      v[k] = sin[turn];
    }
    const to = stride * (p * q + j);
    for (let t = 0; t < stride; t++) {
      let a = 0;
      let b = 0;
      for (let k = 0, at = stride * q + t; k < p; k++, at += leap) {
        a += re[at] * u[k] - im[at] * v[k];
        b += re[at] * v[k] + im[at] * u[k];
      }
      outRe[to + t] = a;
      outIm[to + t] = b;
    }
  }
}

function transpose(from, to, rows, columns) {
  for (let top = 0; top < rows; top += BLOCK) {
    for (let left = 0; left < columns; left += BLOCK) {
      for (let i = top; i < Math.min(top + BLOCK, rows); i++) {
        for (let j = left; j < Math.min(left + BLOCK, columns); j++) to[j * rows + i] = from[i * columns + j];
      }
    }
  }
}

// The sum of the cyclic convolutions of pairs of boxes {shape, data}, over at least `size` places an axis, cut to it.
// One transform does for a pair of real boxes: one is its real part and one its imaginary part.
export function convolved(pairs, size) {
  const shape = size.map(fastLength);
  const all = product(shape);
  const transform = new Transform(shape);
  const sumRe = new Float64Array(all);
  const sumIm = new Float64Array(all);
  const back = opposites(shape);
  for (const [a, b] of pairs) {
    const [ofA, ofB] = [largest(a.data), largest(b.data)]; // of equal size, neither drowns the other in rounding
    const placed = (box, scale) => cutOut(mapped(box, (x) => x * scale), shape.map(() => 0), shape).data;
    const { re, im } = transform.run({ re: placed(a, 1 / ofA), im: placed(b, 1 / ofB) });
    const scale = (ofA * ofB) / 4;
    for (let k = 0; k < all; k++) {
      const o = back[k];
      // (Z(k)² − conj Z(−k)²) / 4i
      const x = re[k] * re[k] - im[k] * im[k] - (re[o] * re[o] - im[o] * im[o]);
      const y = 2 * (re[k] * im[k] + re[o] * im[o]);
      sumRe[k] += scale * y;
      sumIm[k] -= scale * x;
    }
  }
  for (let k = 0; k < all; k++) sumIm[k] = -sumIm[k]; // the transform of the conjugate is the way back
  const { re } = transform.run({ re: sumRe, im: sumIm });
  return mapped(cutOut({ shape, data: re }, shape.map(() => 0), size), (x) => x / all);
}

const largest = (data) => data.reduce((most, x) => Math.max(most, Math.abs(x)), 0) || 1;

// For each frequency, where its opposite stands.
function opposites(shape) {
  let out = new Int32Array(1);
  for (const n of shape) {
    const next = new Int32Array(out.length * n);
    out.forEach((o, k) => {
      for (let i = 0; i < n; i++) next[k * n + i] = o * n + (i ? n - i : 0);
    });
    out = next;
  }
  return out;
}
