"""All short records that have no faster program: products, categories, wide tables.

The text of the hashes is written out for the kernel's factors, so the compiler sees every size. See ``fused.cu``;
``lookup.cu`` reads counters for queries in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from scumble.counting.cuda import shape as shapes
from scumble.counting.cuda.shape import Division, Factor, Shape
from scumble.counting.hasher import Hasher

MOST_ROWS = 8
"""Rows a block counts at once, if their tables fit."""


def fits(shape: Shape, room: int) -> bool:
    """Whether the kernel's parameters and one row's counters fit into this many bytes of shared memory."""
    return shape.columns <= shapes.LARGEST_RECORD and divide(shape, 1, room).shared <= room


def divide(shape: Shape, rows: int, room: int) -> Division:
    """The longer the record, the fewer fit into registers."""
    records, threads, resident = (
        (2, 512, 2) if shape.columns <= 4 else (4, 512, 1) if shape.columns <= 8 else (3, 128, 2)
    )
    row = 4 * shape.buckets + 8 * (_numbers(shape) + 1 + shape.hashes)
    group = max(1, min(MOST_ROWS, rows, room // (2 * row)))
    return Division(
        group=group,
        threads=threads,
        records=records,
        step=threads * records,
        resident=resident,
        shared=group * row,
        table=shape.buckets,
    )


def source(shape: Shape, division: Division) -> str:
    """The CUDA source for this shape."""
    program = shapes.source(
        "fused.cu",
        shape,
        GROUP=division.group,
        THREADS=division.threads,
        RECORDS=division.records,
        RESIDENT=division.resident,
        UNROLL=2 if shape.columns <= 4 else 1,
        NUMBERS=max(1, _numbers(shape)),
    )
    return _fill(program, shape, division.records, "m[0]", "if (inside{q}) atomicAdd(row + bucket_of(total{q}), 1u);")


def lookup(shape: Shape) -> str:
    """The program that answers queries, one per thread."""
    program = shapes.source("lookup.cu", shape, NUMBERS=max(1, _numbers(shape)), THREADS=0)
    return _fill(program, shape, 1, "first", "sum += row[bucket_of(total{q})];")


def pack(hasher: Hasher, division: Division | None = None) -> list[np.ndarray]:
    """All numbers of all hashes, row by row, each hash's padded to pairs; starts; multipliers."""
    padded = [np.pad(part, ((0, 0), (0, 0), (0, part.shape[2] % 2))) for part in hasher.parameters]
    numbers = np.hstack([part.reshape(hasher.rows, -1) for part in padded])
    return [numbers, start_of(hasher), hasher.multipliers]


def start_of(hasher: Hasher) -> np.ndarray:
    """m₀, less the 2³¹ that the program adds to the codes of projections."""
    out = hasher.start.copy()
    for family, hashes in zip(hasher.families, hasher.slices, strict=True):
        if family == "floor":
            out -= hasher.multipliers[:, hashes].sum(axis=1, dtype=np.uint64) << np.uint64(31)
    return out


def _numbers(shape: Shape) -> int:
    """Numbers that describe one row's hashes, each hash's rounded up to pairs."""
    return sum(factor.hashes * factor.pairs for factor in shape.factors)


def _fill(program: str, shape: Shape, records: int, start: str, finish: str) -> str:
    """A program with the reading and the hashing of its records put in, and what they need in front of its kernel."""
    head, kernel = program.split('extern "C"')
    kernel = kernel.replace("LOAD\n", _load(shape, records)).replace("HASH\n", _hash(shape, records, start, finish))
    return head + _STEP + _careful(shape) + 'extern "C"' + kernel


_STEP = """
// Adding 1.5 * 2^52 + 2^31, rounded down, leaves floor(t) + 2^31 in the low word, for |t| < 2^31; the high word is then
// always the same, and `odd` stays 0. The 2^31 are compensated in `start`.
__device__ __forceinline__ u64 step_of(double t, u32& odd) {
    double shifted = __dadd_rd(t, 6755401588539392.0);
    odd |= (u32)__double2hiint(shifted) ^ 0x43380000u;
    return (u64)(u32)__double2loint(shifted);
}
"""


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
            lines.append(f"total{q} += {_share(factor, names, 'p{}')};")
        lines.append("}")
    lines.append("if (odd) {")
    lines += [f"total{q} = careful(x{q}, p, m, {start});" for q in range(records)]
    lines.append("}")
    lines += [finish.format(q=q) for q in range(records)]
    return "".join(f"            {line}\n" for line in lines)


def _careful(shape: Shape) -> str:
    """The same total for codes of any size."""
    lines = []
    for factor, column, number, place in _hashes(shape):
        names = [f"x[{column + j}]" for j in range(factor.columns)]
        lines.append(f"{{ const u64 k = m[{place}]; const double* p = all + {number};")
        lines.append(f"total += {_share(factor, names, 'p[{}]')}; }}")
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


def _share(factor: Factor, x: list[str], number: str) -> str:
    """What one hash adds to the total, as an expression of the record's columns and the hash's numbers."""
    if factor.family == "pick":
        value = x[0]
        for j, name in enumerate(x[1:], start=1):
            value = f"((int){number.format(0)} == {j} ? {name} : {value})"
        return f"k * word_of({value})"
    first = 1 if factor.family == "floor" else 0
    t = number.format(0) if first else "0.0"
    for j, name in enumerate(x, start=first):
        t = f"__dadd_rn({t}, __dmul_rn({name}, {number.format(j)}))"
    if factor.family == "sign":
        return f"({t} >= 0.0 ? k : 0ULL)"
    # `start` has 2³¹ k taken off for every projection.
    return f"k * step_of({t}, odd)" if "[" not in number else f"k * (word_of(floor({t})) + 2147483648ULL)"
