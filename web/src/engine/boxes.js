// Boxes of numbers over one to four axes, {shape, data}, the last axis first to change: what the tables of a grid are
// made of.

export const product = (sizes) => sizes.reduce((a, b) => a * b, 1);

export const boxOf = (shape, data) => ({ shape, data: data ?? new Float64Array(product(shape)) });

export const mapped = ({ shape, data }, change) => boxOf(shape, data.map(change));

// A box whose lines along an axis are made from those of another: `make(get, put, n)` reads a line of n and writes one.
export function along({ shape, data }, axis, length, make) {
  const [n, inner] = [shape[axis], product(shape.slice(axis + 1))];
  const out = boxOf(shape.with(axis, length));
  const lines = product(shape.slice(0, axis));
  for (let line = 0; line < lines; line++) {
    for (let i = 0; i < inner; i++) {
      const from = line * n * inner + i;
      const to = line * length * inner + i;
      make((k) => data[from + k * inner], (k, value) => (out.data[to + k * inner] = value), n);
    }
  }
  return out;
}

// From `first` on, so many cells along each axis; what lies outside is 0.
export function cutOut({ shape, data }, first, size) {
  const out = boxOf(size);
  const walk = (axis, from, to) => {
    const [start, end] = [Math.max(0, -first[axis]), Math.min(size[axis], shape[axis] - first[axis])];
    from = from * shape[axis] + first[axis];
    to *= size[axis];
    if (axis < size.length - 1) for (let k = start; k < end; k++) walk(axis + 1, from + k, to + k);
    else if (start < end) out.data.set(data.subarray(from + start, from + end), to + start);
  };
  walk(0, 0, 0);
  return out;
}

export function added(boxes) {
  const out = boxOf(boxes[0].shape, boxes[0].data.slice());
  for (const { data } of boxes.slice(1)) for (let k = 0; k < data.length; k++) out.data[k] += data[k];
  return out;
}

// a − Σ spread Δ²a/24, on the cells that have both neighbors: the twin of `scumble.density.profile.sharpened`.
export function sharpened(box, spread) {
  const d = box.shape.length;
  const size = box.shape.map((n) => n - 2);
  const moved = (axis, by) => cutOut(box, new Array(d).fill(1).with(axis, 1 + by), size);
  const whole = 1 + spread.reduce((a, b) => a + b, 0) / 12;
  const out = mapped(cutOut(box, new Array(d).fill(1), size), (x) => x * whole);
  spread.forEach((share, axis) => {
    for (const by of [-1, 1]) {
      const { data } = moved(axis, by);
      for (let k = 0; k < data.length; k++) out.data[k] -= (share / 24) * data[k];
    }
  });
  return out;
}

// Sums over all windows of the given shape.
export function windowed(box, shape) {
  return shape.reduce(
    (found, wide, axis) =>
      along(found, axis, found.shape[axis] - wide + 1, (get, put, n) => {
        let sum = 0;
        for (let k = 0; k < n; k++) {
          sum += get(k);
          if (k >= wide) sum -= get(k - wide);
          if (k >= wide - 1) put(k - wide + 1, sum);
        }
      }),
    box,
  );
}
