"""Projections in the processor's registers: a block of directions times blocks of records.

A library's product is called by the interpreter, which threads enter one by one, and a compiler's loops take two to
three times as long. So the vectors are spelled out as LLVM's, for compiled loops to use. Each sum starts at zero and
takes the columns in their order, fused or not: `guard` shows that this does not matter.
"""

from __future__ import annotations

import numpy as np

from scumble.files.compiling import LLVM, Spelled

LINES, RECORDS = 8, 32
"""Directions and records of a block."""
VECTOR = 16
"""Numbers of a vector: one register of AVX-512, two of AVX, four of NEON."""
SIZE = 4
"""Bytes of a number."""


class Product(Spelled):
    """``multiply(directions, blocks, out)``: (LINES, k) times (n, k, RECORDS) to (LINES, n · RECORDS).

    In compiled loops it is machine code, for arrays whose last axis is contiguous; elsewhere it is NumPy's product.
    """

    def __call__(self, directions: np.ndarray, blocks: np.ndarray, out: np.ndarray) -> None:
        for b, block in enumerate(blocks):
            np.matmul(directions, block, out=out[:, b * RECORDS : (b + 1) * RECORDS])

    @staticmethod
    def typed(context: LLVM, directions: LLVM, blocks: LLVM, out: LLVM) -> LLVM:
        """Its type, and LLVM's code for it."""
        from numba.core import types

        return types.void(directions, blocks, out), _code


multiply = Product()


def _tile(features: str) -> tuple[int, int]:
    """Lines and vectors whose sums are held at a time: as many as there are registers for, and enough to keep busy."""
    return (8, 2) if "+avx512f" in features else (4, 1)


def _code(context: LLVM, builder: LLVM, signature: LLVM, arguments: LLVM) -> LLVM:
    """LLVM's code: block by block, the sums of a few lines and vectors at a time."""
    from llvmlite import ir
    from numba.core import cgutils

    directions, blocks, out = (
        context.make_array(kind)(context, builder, given) for kind, given in zip(signature.args, arguments, strict=True)
    )
    lines, vectors = _tile(context.codegen().magic_tuple()[2])
    whole, number = ir.IntType(64), ir.FloatType()
    vector, places = ir.VectorType(number, VECTOR), ir.VectorType(ir.IntType(32), VECTOR)
    nothing, zeros = ir.Constant(vector, ir.Undefined), ir.Constant(vector, [0.0] * VECTOR)

    def move(start: LLVM, times: LLVM, bytes_: LLVM) -> LLVM:
        return builder.add(start, builder.mul(times, bytes_))

    def constant(value: int) -> LLVM:
        return ir.Constant(whole, value)

    def at(place: LLVM, kind: LLVM) -> LLVM:
        return builder.inttoptr(place, kind.as_pointer())

    def begin(array: LLVM) -> tuple[LLVM, list[LLVM]]:
        return builder.ptrtoint(array.data, whole), cgutils.unpack_tuple(builder, array.strides)  # type: ignore[no-untyped-call]

    (a0, (a_line, _)), (x0, (x_block, x_column, _)), (t0, (t_line, _)) = map(begin, (directions, blocks, out))
    n, k, _ = cgutils.unpack_tuple(builder, blocks.shape)  # type: ignore[no-untyped-call]

    def sums(x: LLVM, t: LLVM, first: int) -> None:
        """Those of some lines, from the first on, with vectors from x on, to t."""
        starts = [move(a0, constant(first + m), a_line) for m in range(lines)]
        before = builder.block
        loop, after = (builder.append_basic_block(name) for name in ("columns", "done"))
        builder.branch(loop)
        builder.position_at_end(loop)
        column = builder.phi(whole)
        column.add_incoming(constant(0), before)
        totals = [builder.phi(vector) for _ in range(lines * vectors)]
        here = move(x, column, x_column)
        values = [
            builder.load(at(builder.add(here, constant(v * VECTOR * SIZE)), vector), align=SIZE) for v in range(vectors)
        ]
        new = []
        for m, start in enumerate(starts):
            a = builder.load(at(move(start, column, constant(SIZE)), number), align=SIZE)
            a = builder.insert_element(nothing, a, ir.Constant(ir.IntType(32), 0))
            a = builder.shuffle_vector(a, nothing, ir.Constant(places, [0] * VECTOR))
            for v in range(vectors):
                product = builder.fmul(a, values[v], flags=("contract",))
                new.append(builder.fadd(totals[m * vectors + v], product, flags=("contract",)))
        following = builder.add(column, constant(1))
        column.add_incoming(following, loop)
        for total, sum_ in zip(totals, new, strict=True):
            total.add_incoming(zeros, before)
            total.add_incoming(sum_, loop)
        builder.cbranch(builder.icmp_signed("<", following, k), loop, after)
        builder.position_at_end(after)
        for m in range(lines):
            for v in range(vectors):
                place = move(builder.add(t, constant(v * VECTOR * SIZE)), constant(first + m), t_line)
                builder.store(new[m * vectors + v], at(place, vector), align=SIZE)

    with cgutils.for_range(builder, n, intp=whole) as block:
        for byte in range(0, RECORDS * SIZE, vectors * VECTOR * SIZE):
            for first in range(0, LINES, lines):
                x = move(builder.add(x0, constant(byte)), block.index, x_block)
                t = move(builder.add(t0, constant(byte)), block.index, constant(RECORDS * SIZE))
                sums(x, t, first)
    return context.get_dummy_value()
