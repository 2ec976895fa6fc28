// Convolutions by Fourier transforms, over one to four axes.

// The next length whose only factors are 2, 3 and 5.
export function fastLength(n) {
  for (let size = n; ; size++) {
    let rest = size;
    for (const p of [2, 3, 5]) while (rest % p === 0) rest /= p;
    if (rest === 1) return size;
  }
}

const RADICES = [4, 5, 3, 2];

// Stockham's transform of lines of one length: no order of digits is ever turned round.
class Transform {
  constructor(n) {
    this.n = n;
    this.re = new Float64Array(n);
    this.im = new Float64Array(n);
    this.otherRe = new Float64Array(n);
    this.otherIm = new Float64Array(n);
    this.cos = Float64Array.from({ length: n }, (_, k) => Math.cos((2 * Math.PI * k) / n));
    this.sin = Float64Array.from({ length: n }, (_, k) => -Math.sin((2 * Math.PI * k) / n));
  }

  // Of what lies in `re` and `im`, in place.
  run() {
    let [n, stride] = [this.n, 1];
    while (n > 1) {
      const p = RADICES.find((radix) => n % radix === 0);
      this.#pass(p, n / p, stride);
      [this.re, this.otherRe] = [this.otherRe, this.re];
      [this.im, this.otherIm] = [this.otherIm, this.im];
      n /= p;
      stride *= p;
    }
  }

  #pass(p, m, stride) {
    const { re, im, otherRe, otherIm, cos, sin, n } = this;
    const turn = n / p; // of the p-th roots of one, in the table of the n-th
    for (let q = 0; q < m; q++) {
      for (let j = 0; j < p; j++) {
        const twist = (j * q * stride) % n;
        const [c, s] = [cos[twist], sin[twist]];
        for (let t = 0; t < stride; t++) {
          let [a, b] = [0, 0];
          for (let k = 0, at = t + stride * q, root = 0; k < p; k++, at += stride * m, root += j) {
            if (root >= p) root -= p;
            const [u, v] = [cos[root * turn], sin[root * turn]];
            a += re[at] * u - im[at] * v;
            b += re[at] * v + im[at] * u;
          }
          const to = t + stride * (p * q + j);
          otherRe[to] = a * c - b * s;
          otherIm[to] = a * s + b * c;
        }
      }
    }
  }
}

// Along every axis, in place.
function transformed(re, im, shape) {
  shape.forEach((n, axis) => {
    const inner = shape.slice(axis + 1).reduce((a, b) => a * b, 1);
    const line = new Transform(n);
    for (let first = 0; first < re.length; first += n * inner) {
      for (let at = first; at < first + inner; at++) {
        for (let k = 0; k < n; k++) {
          line.re[k] = re[at + k * inner];
          line.im[k] = im[at + k * inner];
        }
        line.run();
        for (let k = 0; k < n; k++) {
          re[at + k * inner] = line.re[k];
          im[at + k * inner] = line.im[k];
        }
      }
    }
  });
}

// The sum of the cyclic convolutions of pairs of boxes {shape, data}, over at least `size` places an axis, cut to it.
// One transform does for a pair of real boxes: one is its real part and one its imaginary part.
export function convolved(pairs, size) {
  const shape = size.map(fastLength);
  const all = shape.reduce((a, b) => a * b, 1);
  const sumRe = new Float64Array(all);
  const sumIm = new Float64Array(all);
  const back = opposites(shape);
  for (const [a, b] of pairs) {
    const [ofA, ofB] = [largest(a.data), largest(b.data)]; // of equal size, neither drowns the other in rounding
    const re = placed(a, shape, 1 / ofA);
    const im = placed(b, shape, 1 / ofB);
    transformed(re, im, shape);
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
  transformed(sumRe, sumIm, shape);
  return cut({ shape, data: sumRe }, size, 1 / all);
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

function placed({ shape, data }, wide, scale) {
  const out = new Float64Array(wide.reduce((a, b) => a * b, 1));
  lines(shape, wide, (from, to, n) => {
    for (let k = 0; k < n; k++) out[to + k] = scale * data[from + k];
  });
  return out;
}

function cut({ shape, data }, size, scale) {
  const out = new Float64Array(size.reduce((a, b) => a * b, 1));
  lines(size, shape, (from, to, n) => {
    for (let k = 0; k < n; k++) out[from + k] = scale * data[to + k];
  });
  return { shape: size, data: out };
}

// Every line of the smaller box, and where it stands in the wider one.
function lines(small, wide, visit) {
  const n = small.at(-1);
  const walk = (axis, from, to) => {
    if (axis === small.length - 1) return visit(from * n, to * wide.at(-1), n);
    for (let i = 0; i < small[axis]; i++) walk(axis + 1, from * small[axis] + i, to * wide[axis] + i);
  };
  walk(0, 0, 0);
}
