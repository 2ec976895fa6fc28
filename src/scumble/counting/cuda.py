"""The CUDA source of a sketch's hash functions, written for one shape and compiled at run time.

One thread holds a few records in registers and goes through the rows of its block's group; the tables of those rows
lie in shared memory, in several copies where buckets are few, so that threads rarely wait for each other. At the end
each block adds its tables to the global ones. Sizes are constants in the text, so that the compiler unrolls every loop.

Arithmetic is in double precision: edges of buckets stay where they are. The order of the sum is the reference's, but
products are fused, so that about one increment in 10¹² may fall on the other side of an edge. Codes beyond 32 bits,
where rounding would decide the bucket, are computed again without fusing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from scumble.counting.hasher import Hasher

FAMILIES = ("floor", "sign", "pick")
MOST_MATRIX_BUCKETS = 6000
"""Eight tables of so many buckets fit into shared memory."""
LARGEST_RECORD = 32
"""Numbers of a record that fit into registers; longer ones are projected by matrix products."""


@dataclass(frozen=True)
class Factor:
    """What the source must know of one factor of the kernel."""

    family: str
    columns: int
    hashes: int
    size: int
    """Numbers a hash has."""

    @property
    def pairs(self) -> int:
        """The same, rounded up to an even number: two are read at a time."""
        return self.size + self.size % 2


@dataclass(frozen=True)
class Shape:
    """All that the source depends on."""

    factors: tuple[Factor, ...]
    buckets: int
    direct: bool
    projected: bool
    """Whether a record arrives as ready projections, one a hash, instead of as its columns."""

    @staticmethod
    def of(hasher: Hasher, projected: bool) -> Shape:
        factors = tuple(
            Factor(factor.family, len(which), parameters.shape[1], parameters.shape[2])
            for factor, which, parameters in zip(hasher.factors, hasher.which, hasher.parameters, strict=True)
        )
        return Shape(factors, hasher.buckets, hasher.direct, projected)

    @property
    def by_matrix(self) -> bool:
        """Whether the tensor cores project: one factor of projections, few enough to stay in registers, and records
        long enough for it to pay."""
        factor = self.factors[0]
        plain = len(self.factors) == 1 and not self.projected and factor.family != "pick" and self.columns > 4
        return plain and factor.hashes * self.steps <= 32 and self.buckets <= MOST_MATRIX_BUCKETS

    @property
    def steps(self) -> int:
        """Matrix products of depth four to go through a record's columns."""
        return -(-self.columns // 4)

    @property
    def columns(self) -> int:
        return sum(factor.columns for factor in self.factors)

    @property
    def hashes(self) -> int:
        return sum(factor.hashes for factor in self.factors)

    @property
    def numbers(self) -> int:
        """Numbers that describe one row's hashes, each hash's rounded up to pairs."""
        return sum(factor.hashes * factor.pairs for factor in self.factors)


_HEAD = r"""
typedef unsigned long long u64;
typedef unsigned int u32;

// One code to a 32-bit word; the twin of hasher.to_words.
__device__ __forceinline__ long long word_of(double code) {
    if (fabs(code) < 2147483648.0) return __double2ll_rz(code);
    double safe = isfinite(code) ? code : __longlong_as_double(0x7ff0000000000000LL);
    u64 bits = (u64)__double_as_longlong(safe);
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9ULL;
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBULL;
    return (long long)(bits >> 32) - 2147483648LL;
}

// Adding 1.5 * 2^52 + 2^31, rounded down, leaves floor(t) + 2^31 in the low word, for |t| < 2^31; the high word is then
// always the same, and `odd` stays 0. The 2^31 are made up for in `start`.
__device__ __forceinline__ u64 step_of(double t, u32& odd) {
    double shifted = __dadd_rd(t, 6755401588539392.0);
    odd |= (u32)__double2hiint(shifted) ^ 0x43380000u;
    return (u64)(u32)__double2loint(shifted);
}

__device__ __forceinline__ u32 bucket_of(u64 total) {
    return DIRECT ? (u32)min(total, (u64)BUCKETS - 1) : __umulhi((u32)(total >> 32), BUCKETS);
}
"""

_COUNT = r"""
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
count(const double* __restrict__ X, long long n, const double* __restrict__ parameters,
      const u64* __restrict__ start, const u64* __restrict__ multipliers, u64* __restrict__ counts, int rows, int first)
{
    extern __shared__ __align__(16) double space[];
    double* mine = space;                            // GROUP x NUMBERS
    u64* factor = (u64*)(mine + GROUP * NUMBERS);    // GROUP x (1 + HASHES)
    u32* table = (u32*)(factor + GROUP * (1 + HASHES));
    const int top = blockIdx.x * GROUP;
    const int height = min(GROUP, rows - top);
    for (int i = threadIdx.x; i < height * NUMBERS; i += THREADS) mine[i] = parameters[(long long)top * NUMBERS + i];
    for (int i = threadIdx.x; i < height * HASHES; i += THREADS)
        factor[(i / HASHES) * (1 + HASHES) + 1 + i % HASHES] = multipliers[(long long)top * HASHES + i];
    for (int i = threadIdx.x; i < height; i += THREADS) factor[i * (1 + HASHES)] = start[top + i];
    for (int i = threadIdx.x; i < (int)(GROUP * COPIES * BUCKETS); i += THREADS) table[i] = 0;
    __syncthreads();

    const long long stride = (long long)gridDim.y * THREADS * RECORDS;
    u32* copy = table + (threadIdx.x % COPIES) * BUCKETS;
    for (long long base = (long long)blockIdx.y * THREADS * RECORDS + threadIdx.x; base < n; base += stride) {
LOAD
        #pragma unroll UNROLL
        for (int r = 0; r < height; r++) {
            const double* p = mine + r * NUMBERS;
            const u64* m = factor + r * (1 + HASHES);
            u32* row = copy + r * (COPIES * BUCKETS);
HASH
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < (int)(height * BUCKETS); i += THREADS) {
        u64 sum = 0;
        for (int c = 0; c < COPIES; c++) sum += table[((i / BUCKETS) * COPIES + c) * BUCKETS + i % BUCKETS];
        if (sum) atomicAdd(counts + (long long)(first + top) * BUCKETS + i, sum);
    }
}
"""

_LOOKUP = r"""
// Mean over the rows and spread of the blocks' means, for one query a thread; the twin of rows.RowMoments.
extern "C" __global__ void lookup(const double* __restrict__ X, long long n, const double* __restrict__ parameters,
    const u64* __restrict__ start, const u64* __restrict__ multipliers, const double* __restrict__ values,
    const int* __restrict__ starts, int blocks, int rows, double* __restrict__ mean, double* __restrict__ spread)
{
    long long base = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (base >= n) return;
LOAD
    double all = 0.0, squares = 0.0, products = 0.0, weights = 0.0;
    for (int b = 0; b < blocks; b++) {
        int low = starts[b], high = starts[b + 1];
        double sum = 0.0;
        for (int r = low; r < high; r++) {
            const double* p = parameters + (long long)r * NUMBERS;
            const u64* m = multipliers + (long long)r * HASHES - 1;
            const double* row = values + (long long)r * BUCKETS;
            u64 first = start[r];
HASH
        }
        double weight = (double)(high - low) / rows, middle = sum / (high - low);
        all += sum;
        squares += weight * weight * middle * middle;
        products += weight * weight * middle;
        weights += weight * weight;
    }
    double average = all / rows;
    mean[base] = average;
    double apart = squares - 2.0 * average * products + average * average * weights;
    spread[base] = blocks > 1 ? fmax(apart, 0.0) * blocks / (blocks - 1) : average * average;
}
"""


@dataclass(frozen=True)
class Tuning:
    """Records and threads that share what is read of the hash functions, within what the registers hold."""

    records: int
    threads: int
    blocks: int
    unroll: int

    @staticmethod
    def of(shape: Shape) -> Tuning:
        """The best of a few dozen settings on an H200, by the length of the record."""
        if shape.projected:
            return Tuning(1, 512, 1, 1)
        if shape.by_matrix:
            return Tuning(2, 512, 2, 1) if shape.hashes * shape.steps <= 4 else Tuning(4, 512, 1, 1)
        if shape.columns <= 4:
            return Tuning(2, 512, 2, 2)
        return Tuning(4, 512, 1, 1) if shape.columns <= 8 else Tuning(3, 128, 2, 1)


def source(shape: Shape, *, group: int, copies: int) -> str:
    """The whole program for one shape of sketch and one division of the work."""
    tuning = Tuning.of(shape)
    if shape.by_matrix:
        return _matrix_source(shape, tuning, group, copies)
    constants = {
        "GROUP": group,
        "COPIES": copies,
        "THREADS": tuning.threads,
        "RECORDS": tuning.records,
        "BLOCKS": tuning.blocks,
        "UNROLL": tuning.unroll,
        "BUCKETS": f"{shape.buckets}u",
        "HASHES": shape.hashes,
        "NUMBERS": max(1, shape.numbers),
        "DIRECT": int(shape.direct),
    }
    head = "".join(f"#define {name} {value}\n" for name, value in constants.items()) + _HEAD
    if shape.projected:
        return head + _COUNT_PROJECTED.replace("STEP", _STEP[shape.factors[0].family])
    count = _fill(_COUNT, shape, tuning.records, "m[0]", "if (inside{q}) atomicAdd(row + bucket_of(total{q}), 1u);")
    return head + _careful(shape) + count + _fill(_LOOKUP, shape, 1, "first", "sum += row[bucket_of(total{q})];")


def numbers_of(hasher: Hasher) -> np.ndarray:
    """All numbers of all hashes, row by row, each hash's padded to pairs."""
    padded = [np.pad(part, ((0, 0), (0, 0), (0, part.shape[2] % 2))) for part in hasher.parameters]
    return np.hstack([part.reshape(hasher.rows, -1) for part in padded])


def start_of(hasher: Hasher) -> np.ndarray:
    """m₀, less the 2³¹ that the program adds to the codes of projections."""
    out = hasher.start.copy()
    for factor, hashes in zip(hasher.factors, hasher.slices, strict=True):
        if factor.family == "floor":
            out -= hasher.multipliers[:, hashes].sum(axis=1, dtype=np.uint64) << np.uint64(31)
    return out


def _fill(text: str, shape: Shape, records: int, start: str, finish: str) -> str:
    """A kernel's text with the reading and the hashing of its records put in."""
    return text.replace("LOAD\n", _load(shape, records)).replace("HASH\n", _hash(shape, records, start, finish))


def _load(shape: Shape, records: int) -> str:
    """Records into registers; beyond the end the last one again, which is then not counted."""
    lines = []
    for q in range(records):
        lines.append(f"const bool inside{q} = base + {q} * THREADS < n;")
        lines.append(f"const double* x{q} = X + (inside{q} ? base + {q} * THREADS : n - 1) * {shape.columns};")
        reads = ", ".join(f"x{q}_{j} = x{q}[{j}]" for j in range(shape.columns))
        lines.append(f"const double {reads};")
    return "".join(f"        {line}\n" for line in lines)


def _hash(shape: Shape, records: int, start: str, finish: str) -> str:
    """total = m₀ + Σ m v for each record, factor by factor, hash by hash; then what is done with it."""
    lines = [f"u64 total{q} = {start};" for q in range(records)] + ["u32 odd = 0;"]
    for factor, column, number, place in _hashes(shape):
        lines.append(f"{{ const u64 k = m[{place}];")
        for j in range(0, factor.size, 2):  # two numbers at a time
            lines.append(f"const double2 pair{j} = *(const double2*)(p + {number + j});")
            lines.append(f"const double p{j} = pair{j}.x, p{j + 1} = pair{j}.y;")
        for q in range(records):
            names = [f"x{q}_{column + j}" for j in range(factor.columns)]
            lines.append(f"total{q} += {_share(factor, names, exact=False)};")
        lines.append("}")
    lines.append("if (odd) {")
    lines += [f"total{q} = careful(x{q}, p, m, {start});" for q in range(records)]
    lines.append("}")
    lines += [finish.format(q=q) for q in range(records)]
    return "".join(f"            {line}\n" for line in lines)


def _careful(shape: Shape) -> str:
    """The same total without fused products and for codes of any size: the reference's, bit by bit."""
    lines = []
    for factor, column, number, place in _hashes(shape):
        names = [f"x[{column + j}]" for j in range(factor.columns)]
        lines.append(f"{{ const u64 k = m[{place}]; const double* p = all + {number};")
        lines.append(f"total += {_share(factor, names, exact=True)}; }}")
    body = "".join(f"    {line}\n" for line in lines)
    return (
        "\n__device__ __noinline__ u64 careful(const double* x, const double* all, const u64* m, u64 total) {\n"
        f"{body}    return total;\n}}\n"
    )


def _hashes(shape: Shape) -> Iterator[tuple[Factor, int, int, int]]:
    """Every hash: its factor, first column, first number, and place among the multipliers."""
    column, number, place = 0, 0, 1
    for factor in shape.factors:
        for _ in range(factor.hashes):
            yield factor, column, number, place
            number += factor.pairs
            place += 1
        column += factor.columns


def _share(factor: Factor, x: list[str], *, exact: bool) -> str:
    """What one hash adds to the total, as an expression; `exact` ones read their numbers from an array."""
    number = "p[{}]" if exact else "p{}"
    if factor.family == "pick":
        value = x[0]
        for j, name in enumerate(x[1:], start=1):
            value = f"((int){number.format(0)} == {j} ? {name} : {value})"
        return f"k * (u64)word_of({value})"
    first = 1 if factor.family == "floor" else 0
    t = number.format(0) if first else "0.0"
    for j, name in enumerate(x, start=first):
        a = number.format(j)
        t = f"__dadd_rn({t}, __dmul_rn({name}, {a}))" if exact else f"fma({name}, {a}, {t})"
    if factor.family == "sign":
        return f"({t} >= 0.0 ? k : 0ULL)"
    # `start` has 2³¹ k taken off for every projection.
    return f"k * (u64)(word_of(floor({t})) + 2147483648LL)" if exact else f"k * step_of({t}, odd)"


_COUNT_PROJECTED = r"""
// From ready projections T (rows x HASHES numbers a record, row by row): hash and count.
extern "C" __global__ void __launch_bounds__(THREADS)
count(const double* __restrict__ T, long long n, long long width, const double* __restrict__ offsets,
      const u64* __restrict__ start, const u64* __restrict__ multipliers, u64* __restrict__ counts, int rows, int first)
{
    extern __shared__ u32 table[];
    const int r = blockIdx.x;
    for (int i = threadIdx.x; i < (int)(COPIES * BUCKETS); i += THREADS) table[i] = 0;
    __syncthreads();
    const long long stride = (long long)gridDim.y * THREADS;
    for (long long i = (long long)blockIdx.y * THREADS + threadIdx.x; i < n; i += stride) {
        u64 total = start[r];
        for (int h = 0; h < HASHES; h++) {
            double t = T[((long long)r * HASHES + h) * width + i];
            u64 m = multipliers[(long long)r * HASHES + h];
            STEP
        }
        atomicAdd(table + (threadIdx.x % COPIES) * BUCKETS + bucket_of(total), 1u);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < (int)BUCKETS; i += THREADS) {
        u64 sum = 0;
        for (int c = 0; c < COPIES; c++) sum += table[c * BUCKETS + i];
        if (sum) atomicAdd(counts + (long long)(first + r) * BUCKETS + i, sum);
    }
}
"""

_STEP = {
    "floor": "total += m * (u64)(word_of(floor(t + offsets[(long long)r * HASHES + h])) + 2147483648LL);",
    "sign": "total += t >= 0.0 ? m : 0ULL;",
}


_COUNT_BY_MATRIX = r"""
// D (8 records x 8 rows) += A (8 x 4 columns) B (4 x 8 rows), in double precision on the tensor cores.
__device__ __forceinline__ void multiply(double& c0, double& c1, double a, double b) {
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+d"(c0), "+d"(c1) : "d"(a), "d"(b));
}

// A warp projects 8 records on 8 rows at a time; a thread ends up with one record and two rows.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
count(const double* __restrict__ X, long long n, const double* __restrict__ parameters,
      const u64* __restrict__ start, const u64* __restrict__ multipliers, u64* __restrict__ counts, int rows, int first)
{
    extern __shared__ u32 table[];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int top = blockIdx.x * GROUP;
    const int height = min(GROUP, rows - top);
    for (int i = threadIdx.x; i < (int)(GROUP * COPIES * BUCKETS); i += THREADS) table[i] = 0;
    __syncthreads();

    // The warp's rows, in registers for good. Rows beyond the last repeat it, and are not counted.
    const int set = (warp % SETS) * 8;
    double b[HASHES][STEPS], offset[2][HASHES];
    u64 begin[2], m[2][HASHES];
    int row[2];
    #pragma unroll
    for (int e = 0; e < 2; e++) {
        row[e] = top + set + 2 * (lane % 4) + e;
        const int r = min(row[e], rows - 1);
        begin[e] = start[r];
        #pragma unroll
        for (int h = 0; h < HASHES; h++) {
            m[e][h] = multipliers[(long long)r * HASHES + h];
            offset[e][h] = FLOOR ? parameters[(long long)r * NUMBERS + h * SIZE] : 0.0;
        }
    }
    #pragma unroll
    for (int h = 0; h < HASHES; h++)
        #pragma unroll
        for (int k = 0; k < STEPS; k++) {
            const int column = 4 * k + lane % 4, r = min(top + set + lane / 4, rows - 1);
            b[h][k] = column < COLUMNS ? parameters[(long long)r * NUMBERS + h * SIZE + FLOOR + column] : 0.0;
        }
    u32* place[2];
    #pragma unroll
    for (int e = 0; e < 2; e++)
        place[e] = table + ((set + 2 * (lane % 4) + e) * COPIES + (lane / 4 + warp) % COPIES) * BUCKETS;
    const bool counted0 = row[0] < rows, counted1 = row[1] < rows;

    const long long stride = (long long)gridDim.y * (THREADS / 32 / SETS) * 8 * RECORDS;
    long long base = ((long long)blockIdx.y * (THREADS / 32 / SETS) + warp / SETS) * 8 * RECORDS;
    for (; base < n; base += stride) {
        double a[RECORDS][STEPS];
        #pragma unroll
        for (int q = 0; q < RECORDS; q++) {
            const long long i = min(base + 8 * q + lane / 4, n - 1);
            #pragma unroll
            for (int k = 0; k < STEPS; k++) {
                const int column = 4 * k + lane % 4;
                a[q][k] = column < COLUMNS ? X[i * COLUMNS + column] : 0.0;
            }
        }
        #pragma unroll
        for (int q = 0; q < RECORDS; q++) {
            u64 total0 = begin[0], total1 = begin[1];
            u32 odd = 0;
            #pragma unroll
            for (int h = 0; h < HASHES; h++) {
                double c0 = offset[0][h], c1 = offset[1][h];
                #pragma unroll
                for (int k = 0; k < STEPS; k++) multiply(c0, c1, a[q][k], b[h][k]);
#if FLOOR
                total0 += m[0][h] * step_of(c0, odd);
                total1 += m[1][h] * step_of(c1, odd);
#else
                total0 += c0 >= 0.0 ? m[0][h] : 0ULL;
                total1 += c1 >= 0.0 ? m[1][h] : 0ULL;
#endif
            }
            const long long i = base + 8 * q + lane / 4;
            if (odd) {
                const double* x = X + min(i, n - 1) * COLUMNS;
                const long long r0 = min(row[0], rows - 1), r1 = min(row[1], rows - 1);
                total0 = careful(x, parameters + r0 * NUMBERS, multipliers + r0 * HASHES - 1, begin[0]);
                total1 = careful(x, parameters + r1 * NUMBERS, multipliers + r1 * HASHES - 1, begin[1]);
            }
            if (i < n) {
                if (counted0) atomicAdd(place[0] + bucket_of(total0), 1u);
                if (counted1) atomicAdd(place[1] + bucket_of(total1), 1u);
            }
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < (int)(height * BUCKETS); i += THREADS) {
        u64 sum = 0;
        for (int c = 0; c < COPIES; c++) sum += table[((i / BUCKETS) * COPIES + c) * BUCKETS + i % BUCKETS];
        if (sum) atomicAdd(counts + (long long)(first + top) * BUCKETS + i, sum);
    }
}
"""


def _matrix_source(shape: Shape, tuning: Tuning, group: int, copies: int) -> str:
    """The program that projects on the tensor cores; queries still go one a thread."""
    factor = shape.factors[0]
    constants = {
        "GROUP": group,
        "SETS": group // 8,
        "COPIES": copies,
        "THREADS": tuning.threads,
        "RECORDS": tuning.records,
        "BLOCKS": tuning.blocks,
        "BUCKETS": f"{shape.buckets}u",
        "HASHES": shape.hashes,
        "NUMBERS": shape.numbers,
        "SIZE": factor.pairs,
        "STEPS": shape.steps,
        "COLUMNS": shape.columns,
        "FLOOR": int(factor.family == "floor"),
        "DIRECT": int(shape.direct),
    }
    head = "".join(f"#define {name} {value}\n" for name, value in constants.items()) + _HEAD
    lookup = _fill(_LOOKUP, shape, 1, "first", "sum += row[bucket_of(total{q})];")
    return head + _careful(shape) + _COUNT_BY_MATRIX + lookup
