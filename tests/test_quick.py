"""The quick loops give the counters of double precision, to the integer: compared with the reference, edges and all."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scumble
from scumble.columns.table import Table
from scumble.counting import Hasher, cpu, exact, guard, products, quick, reference, repeats, turns
from scumble.counting.guard import UNIT
from scumble.counting.products import LINES, RECORDS, Product
from scumble.counting.turns import SMALL, take
from scumble.files.compiling import njit
from scumble.kernels import FoldedKernel, Kernel, Records
from scumble.kernels.column import ColumnKernel
from scumble.kernels.design import Design

N = 2 * quick.TILE + 300


def parts_of(kernel: Kernel, X: np.ndarray, names: Any = None) -> list[Records]:
    table = Table.of(X)
    return [factor.read(table, factor.which(X.shape[1], names))[0] for factor in kernel.factors]


def assert_counted(hasher: Hasher, parts: list[Records], threads: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Counted quickly and slowly: the same to the integer."""
    fast, slow = np.zeros((2, hasher.rows, hasher.buckets), np.int64)
    cpu.count(hasher, parts, fast, threads)
    reference.count(hasher, parts, slow)
    np.testing.assert_array_equal(fast, slow)
    return fast, slow


def check(kernel: Kernel, X: np.ndarray, *, rows: int = 21, buckets: int = 64, threads: int = 2) -> guard.Batch:
    """Count and read X quickly and slowly: the same to the integer. Returns the batch, to see that it was quick."""
    hasher = Hasher(kernel, Design("iid", 5, rows), buckets=buckets, width=X.shape[1])
    parts = parts_of(kernel, X)
    batch = guard.prepare(hasher, parts)
    assert batch is not None
    fast, slow = assert_counted(hasher, parts, threads)
    assert np.all(fast.sum(axis=1) == len(X))
    np.testing.assert_array_equal(cpu.sums(hasher, parts, fast, threads=threads), reference.sums(hasher, parts, slow))
    lines = np.arange(rows) // 5
    np.testing.assert_array_equal(
        cpu.sums(hasher, parts, fast, lines, threads), reference.sums(hasher, parts, slow, lines)
    )
    return batch


@pytest.mark.parametrize(("columns", "power"), [(1, 5), (3, 2), (5, 1), (40, 2)])
@pytest.mark.parametrize(
    "kind", [scumble.EuclideanKernel, scumble.ManhattanKernel, scumble.AngularKernel, FoldedKernel]
)
def test_projections_equal_the_reference(kind: type[Kernel], power: int, columns: int) -> None:
    X = np.random.default_rng(columns).normal(size=(N, columns)) * 3.0 + 100.0
    batch = check(kind(power=power), X)
    assert (batch.spans > 0).mean() > 0.9


def test_loops_are_compiled_once_whatever_the_arrays_are_like() -> None:
    """Arrow's columns are not to be written, a factor's hashes are a part of all, one row is in one piece already."""
    X = np.random.default_rng(4).normal(size=(N, 2))
    still = X.copy()
    still.flags.writeable = False
    near = scumble.EuclideanKernel(1.0)
    loops = quick.walk, repeats._find, exact._start, exact._add_floor

    def compiled() -> list[int]:
        check(near, X)
        scumble.Sketch(near, 2, rows=4, buckets=16, design="iid").update(X[:50])
        return [len(loop.signatures) for loop in loops]

    before = compiled()
    check(near, still)
    check(near, X, rows=1)
    both = scumble.EuclideanKernel(1.0, columns=[0]) * scumble.HammingKernel(columns=[1])
    for rows in (1, 4):
        scumble.Sketch(both, 2, rows=rows, buckets=16, design="iid").update(still[:50])
    assert compiled() == before


@pytest.mark.parametrize("projections", [2, 3, 4, 12])
@pytest.mark.parametrize("power, buckets", [(1, 2048), (2, 64), (3, 7)])
def test_folded_sides_equal_the_reference(projections: int, power: int, buckets: int) -> None:
    """Numbered, counted by code and rehashed; a record's mirror image falls where it does."""
    X = np.random.default_rng(10).normal(size=(N, 5)) + 0.5
    X[1::2] = -X[: N - 1 : 2]
    check(FoldedKernel(projections, power), X, rows=9, buckets=buckets)


@pytest.mark.parametrize(
    ("kernel", "most", "buckets"),
    [(scumble.EuclideanKernel(1.0), 20, 32), (scumble.AngularKernel(power=3), 2, 8), (FoldedKernel(4), 2, 8)],
    ids=repr,
)
def test_whole_numbers_on_edges_and_hyperplanes_equal_the_reference(kernel: Kernel, most: int, buckets: int) -> None:
    """Directions ±1 and 0, no offset: every projection is an edge, and its rounding decides nothing."""
    rng = np.random.default_rng(2)
    X = rng.integers(-most, most + 1, (N, 4)).astype(float)
    X[::7] = 0.0
    hasher = Hasher(kernel, Design("iid", 5, 12), buckets=buckets, width=4)
    hasher.parameters[0][:] = rng.integers(-1, 2, hasher.parameters[0].shape)
    assert_counted(hasher, [Records(X)])


def test_without_its_guard_single_precision_errs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison can fail: whole numbers on edges, guard taken away."""
    rng = np.random.default_rng(3)
    X = rng.integers(-20, 20, (N, 3)).astype(float)
    hasher = Hasher(scumble.EuclideanKernel(1.0), Design("iid", 5, 64), buckets=32, width=3)
    hasher.parameters[0][:, :, 0] = 0.0
    hasher.parameters[0][:, :, 1:] = rng.integers(-30, 30, (64, 1, 3)) / 10.0  # multiples of 0.1: edges all over
    careless = guard.prepare
    monkeypatch.setattr(cpu, "prepare", lambda *given: careless(*given)._replace(guards=np.zeros((64, 1), np.float32)))
    with pytest.raises(AssertionError, match="not equal"):
        assert_counted(hasher, [Records(X)])
    monkeypatch.undo()
    assert_counted(hasher, [Records(X)])


PRODUCTS = {
    "numbers and categories": scumble.EuclideanKernel(2.0, power=2, columns=[0, 1])
    * scumble.HammingKernel(columns=[2]),
    "angles and numbers": scumble.AngularKernel(power=3, columns=[0, 1, 2]) * scumble.ManhattanKernel(3.0, columns=[3]),
    "two groups": scumble.EuclideanKernel(2.0, columns=[0]) * scumble.EuclideanKernel(4.0, columns=[1, 2, 3, 4, 5]),
    "ferns": ColumnKernel(0.5, power=3),
    "bounded ferns": ColumnKernel(0.25, power=2, scale=20.0, origin=-10.0),
    "ferns and angles": ColumnKernel(0.5, power=1) * scumble.AngularKernel(power=2),
    "folded and numbers": FoldedKernel(3, power=2, columns=[0, 1, 2]) * scumble.EuclideanKernel(2.0),
    "angles and folded": scumble.AngularKernel(columns=[3, 4]) * FoldedKernel(4, columns=[0, 1, 2, 3]),
}


@pytest.mark.parametrize("buckets", [7, 64, 4096])
@pytest.mark.parametrize("kernel", PRODUCTS.values(), ids=PRODUCTS)
def test_products_equal_the_reference(kernel: Kernel, buckets: int) -> None:
    X = np.random.default_rng(4).normal(size=(N, 6)) * 4.0
    X[:, 2] = np.round(X[:, 2])
    check(kernel, X, buckets=buckets)


@pytest.mark.parametrize("scale", [1e-12, 1e4, 1e9, 1e200])
@pytest.mark.parametrize(
    "kernel",
    [scumble.EuclideanKernel(1.0, power=2), scumble.AngularKernel(power=4), FoldedKernel(3, power=2)],
    ids=repr,
)
def test_any_size_of_values_equals_the_reference(kernel: Kernel, scale: float) -> None:
    """Small steps go through fixed point, huge ones through words, some batches through both."""
    X = np.random.default_rng(6).normal(size=(N, 3)) * scale
    check(kernel, X)
    X[5] *= 1e3
    check(kernel, X)


def test_many_wide_codes_equal_the_reference() -> None:
    """Codes that add up to more than the digits of a sum have room for: they are settled on the way."""
    X = np.random.default_rng(13).uniform(-2000.0, 2000.0, (N, 2))
    batch = check(scumble.EuclideanKernel(power=80), X, rows=6)
    middle = batch.spans.astype(np.uint64) // 3 * (batch.multipliers & np.uint64(0xFFFF))
    assert (batch.spans > 0).mean() > 0.9 and middle.sum(axis=1).max() > 2**32  # of a record in the middle


def test_far_from_zero_and_close_together_equals_the_reference() -> None:
    """Times in seconds with steps of a minute: what is common to all records does not cost precision."""
    X = 1.7e9 + np.random.default_rng(7).uniform(0.0, 5000.0, (N, 2))
    batch = check(scumble.EuclideanKernel(60.0), X)
    assert (batch.spans > 0).all() and batch.guards.max() < 100


def test_repeated_records_are_counted_as_often_as_they_occur() -> None:
    rng = np.random.default_rng(9)
    X = rng.integers(0, 4, (5_000, 3)).astype(float)
    wanted, how_often = np.unique(X, axis=0, return_counts=True)
    for threads in (1, 2, 3, 7):
        found = [repeats.distinct(X, share, threads) for share in range(threads)]
        values, times = (np.concatenate(parts) for parts in zip(*found, strict=True))
        order = np.lexsort(values.T[::-1])
        np.testing.assert_array_equal(values[order], wanted)
        np.testing.assert_array_equal(times[order], how_often)
    assert repeats.worth_a_search(X, repeats.WORTH)
    assert not repeats.worth_a_search(rng.normal(size=(5_000, 3)), repeats.WORTH)
    assert not repeats.worth_a_search(X, repeats.WORTH - 1)
    check(scumble.EuclideanKernel(0.7), X[:1200], rows=260)


def shifted(X: np.ndarray, center: float, width: float) -> np.ndarray:
    return X / np.abs(X).max() * width + center


@pytest.mark.parametrize("kind", [scumble.EuclideanKernel, scumble.ManhattanKernel])
def test_batches_of_a_pass_share_what_was_made_for_wider_ends(
    kind: type[Kernel], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a batch is narrower, lies elsewhere, or has an outlier or a column that never changes."""
    made: list[int] = []
    real = guard._within_ends
    monkeypatch.setattr(guard, "_within_ends", lambda *given: made.append(1) or real(*given))
    X = np.random.default_rng(7).normal(size=(N, 3))
    batches = [shifted(X, 5.0, 2.0), shifted(X, 5.0, 2.2), shifted(X, 5.0, 1.4)]  # one for all three
    batches += [shifted(X, 5.0, 0.4), shifted(X, 900.0, 0.4), np.vstack([X, np.full((1, 3), 1e9)]), X * [1.0, 0.0, 1.0]]
    kernel, known = kind(power=2), guard.Known()
    hasher = Hasher(kernel, Design("iid", 5, 21), buckets=64, width=3)
    fast, slow = np.zeros((2, 21, 64), np.int64)
    for wanted, batch in zip([1, 1, 1, 2, 3, 4, 5], batches, strict=True):
        cpu.count(hasher, parts_of(kernel, batch), fast, 1, known)
        reference.count(hasher, parts_of(kernel, batch), slow)
        np.testing.assert_array_equal(fast, slow)
        assert len(made) == wanted
    kept = known._made[2]  # type: ignore[index]
    assert kept.values.shape == (0, 3) and kept.values.base is None  # no record outlives its batch
    assert len(known.rooms) == 1 and not any(room.own.tables.any() or room.own.others.size for room in known.rooms)
    assert "secret" in repr(known) and "secret" in repr(known.rooms)


def test_a_room_serves_batches_of_any_size_and_several_threads() -> None:
    """Fewer records than before, more of them, too few to be counted by code, and each many times over."""
    known, kernel = guard.Known(), scumble.EuclideanKernel(2.0)
    hasher = Hasher(kernel, Design("iid", 5, 30), buckets=64, width=3)
    X = np.random.default_rng(7).normal(size=(20_000, 3))
    batches = [X[:9_000], X[:300], X, X[300:700], np.repeat(X[:600], 9, axis=0), X[5_000:]]
    slow, asides = np.zeros((30, 64), np.int64), np.zeros((4, 30, 64), np.int64)
    for batch in (*batches, *batches):
        reference.count(hasher, parts_of(kernel, batch), slow)

    def count(counts: np.ndarray) -> None:
        for batch in (*batches, *batches):
            cpu.count(hasher, parts_of(kernel, batch), counts, 1, known)

    with ThreadPoolExecutor(len(asides)) as pool:
        list(pool.map(count, asides))
    for counts in asides:
        np.testing.assert_array_equal(counts, slow)
    assert 1 <= len(known.rooms) <= len(asides) and not any(room.own.tables.any() for room in known.rooms)


def test_ends_are_of_the_records_that_they_came_with() -> None:
    X = np.random.default_rng(8).normal(size=(1000, 3))
    records = parts_of(scumble.EuclideanKernel(1.0), X)[0]
    assert records.ends is not None
    np.testing.assert_array_equal(records.ends, [X.min(axis=0), X.max(axis=0)])
    assert records[:] is records and records[:999].ends is None and records.keep(X[:, 0] > 0).ends is None
    X[500, 1] = np.nan
    assert parts_of(scumble.EuclideanKernel(1.0), X)[0].ends is None


@pytest.mark.parametrize("quickly", [True, False])
@pytest.mark.parametrize("rows, threads", [(1, 3), (4, 16), (5, 7), (20, 16), (100, 16)])
def test_more_threads_than_rows_change_nothing(
    rows: int, threads: int, quickly: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Records are dealt out then, repeated ones and those that double precision counts included."""
    monkeypatch.setattr(cpu, "WORTH_A_THREAD", 16)
    monkeypatch.setattr(cpu, "FEWEST", N - 100)
    monkeypatch.setattr(cpu, "PART", 1)  # a second part, and a small one
    if not quickly:
        monkeypatch.setattr(cpu, "prepare", lambda *given: None)
    X = np.random.default_rng(12).normal(size=(N, 2))
    X[::3] = np.round(X[::3])
    hasher = Hasher(scumble.EuclideanKernel(1.0), Design("iid", 5, rows), buckets=64, width=2)
    found, wanted = np.ones((2, rows, 64), np.int64)
    cpu.count(hasher, [Records(X)], found, threads)
    reference.count(hasher, [Records(X)], wanted)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("most", [0, 1 << 21], ids=["rows", "records"])
@pytest.mark.parametrize("power, quickly", [(1, True), (4, True), (1, False)], ids=["by code", "rehashed", "exactly"])
def test_rows_or_records_dealt_out_are_counted_alike(
    power: int, quickly: bool, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many small pieces and more threads than cores: each record once in every row, and read where it was counted."""
    for name, value in {"WORTH_A_THREAD": 16, "WORTH_A_COUNTER": 1, "MOST_OWN": most}.items():
        monkeypatch.setattr(cpu, name, value)
    monkeypatch.setattr(turns, "SMALL", 32)
    if not quickly:
        monkeypatch.setattr(cpu, "prepare", lambda *given: None)
    dealt: list[str] = []
    for way in ("_by_rows", "_by_records"):
        honest = getattr(cpu, way)
        monkeypatch.setattr(cpu, way, lambda *given, way=way, honest=honest: dealt.append(way) or honest(*given))
    X = np.random.default_rng(14).normal(size=(N, 3)) * 9.0
    hasher = Hasher(scumble.EuclideanKernel(1.0, power=power), Design("iid", 5, 30), buckets=128, width=3)
    if quickly:
        batch = guard.prepare(hasher, [Records(X)])
        assert batch is not None
        assert quick.cells_of(batch, slice(0, 30)).astype(bool).tolist() == [power == 1] * 30
        assert repr(quick.fresh(batch, slice(0, 30), np.zeros((30, 128), np.int64), 2)) == "Own(secret)"
    found, wanted = np.ones((2, 30, 128), np.int64)
    cpu.count(hasher, [Records(X)], found, 6)
    reference.count(hasher, [Records(X)], wanted)
    np.testing.assert_array_equal(found, wanted)
    lines = np.arange(30) // 7
    np.testing.assert_array_equal(
        cpu.sums(hasher, [Records(X)], found, lines, 6), reference.sums(hasher, [Records(X)], wanted, lines)
    )
    assert dealt == ["_by_records" if most else "_by_rows"]


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_batch_equals_the_reference(data: st.DataObject) -> None:
    columns = data.draw(st.integers(1, 7))
    n = data.draw(st.sampled_from([guard.FEW, guard.FEW + 1, quick.TILE - 1, quick.TILE, quick.TILE + 1]))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    step = data.draw(st.sampled_from([0.1, 0.5, 1.0, 7.0]))
    X = np.round(
        rng.normal(size=(n, columns)) * data.draw(st.sampled_from([0.0, 1.0, 30.0])), data.draw(st.integers(0, 3))
    )
    X += data.draw(st.sampled_from([0.0, -1e3, 1e8]))
    kind = data.draw(st.sampled_from([scumble.EuclideanKernel, scumble.ManhattanKernel]))
    kernel: Kernel = kind(step, power=data.draw(st.integers(1, 3)))
    if data.draw(st.booleans()):
        kernel = kernel * scumble.AngularKernel(power=data.draw(st.integers(1, 3)))
    rows, buckets = data.draw(st.integers(1, 9)), data.draw(st.sampled_from([1, 2, 33, 1024]))
    batch = check(kernel, X, rows=rows, buckets=buckets)  # which asserts that quick and slow agree
    assert batch.spans.shape == (rows, sum(factor.power for factor in kernel.factors)), "and that it was the quick way"


# ---- every piece of work is taken once ----


PIECES, THREADS = 3_000_000, 4


@njit(nogil=True)
def compiled(turn: np.ndarray, taken: np.ndarray) -> int:
    """Note every piece that this thread takes; returns how many."""
    many = 0
    piece = take(turn)
    while piece < taken.size:
        taken[piece] += 1
        many += 1
        piece = take(turn)
    return many


def plain(turn: np.ndarray, taken: np.ndarray) -> int:
    mine = list(turns.taken(np.arange(taken.size + 1), turn))
    for piece in mine:
        taken[piece] += 1
    return len(mine)


@pytest.mark.parametrize("take_all, pieces", [(compiled, PIECES), (plain, PIECES // 300)], ids=["compiled", "plain"])
def test_every_piece_is_taken_by_one_thread(take_all: Callable[..., int], pieces: int) -> None:
    """A turn that is read and written in two steps gives some pieces to two threads."""
    compiled(turns.new(), np.zeros(1, np.int64))  # so that all begin at once
    turn, taken = turns.new(), np.zeros(pieces, np.int64)
    with ThreadPoolExecutor(THREADS) as pool:
        each = list(pool.map(lambda _: take_all(turn, taken), range(THREADS)))
    assert np.all(taken == 1) and sum(each) == pieces
    assert turn[0] == pieces + THREADS  # each thread asked once in vain


def test_a_turn_is_taken_in_one_step() -> None:
    """If threads happen not to meet, the test shows nothing."""
    compiled(turns.new(), np.zeros(1, np.int64))
    (code,) = compiled.inspect_llvm().values()
    assert "atomicrmw add" in code


@given(n=st.integers(1, 5_000_000), most=st.integers(2, 64).map(lambda k: k * SMALL), threads=st.integers(1, 40))
def test_pieces_are_all_records_and_grow_smaller(n: int, most: int, threads: int) -> None:
    edges = turns.pieces(n, most, threads)
    sizes = np.diff(edges)
    assert edges[0] == 0 and edges[-1] == n and edges.dtype == np.int64 and np.all(sizes > 0)
    if threads == 1 or threads > turns.worth(n):
        assert len(sizes) == min(n, threads) and np.ptp(sizes) <= 1
    else:
        assert sizes.max() <= most and np.all(np.diff(sizes[:-1]) <= 0)
        assert sizes.min() >= SMALL and sizes[-1] < 2 * SMALL
        left = n - edges[:-2]
        assert np.all(sizes[:-1] <= np.maximum(SMALL, left / (turns.EACH * threads)))


# ---- projections in the processor's registers ----


Multiply = Callable[[np.ndarray, np.ndarray, np.ndarray], None]


@pytest.fixture(scope="module", params=[(8, 2), (4, 1), (8, 1), (2, 2)], ids=repr)
def multiply(request: pytest.FixtureRequest) -> Multiply:
    """As compiled for so many lines and vectors at a time."""
    block = Product()

    def loop(directions, records, out):  # type: ignore[no-untyped-def]
        block(directions, records, out)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(products, "_tile", lambda features: request.param)
        compiled: Multiply = numba.njit("(f4[:, ::1], f4[:, :, ::1], f4[:, ::1])")(loop)
    return compiled


@pytest.mark.parametrize("k", [1, 2, 7, 40])
@pytest.mark.parametrize("n", [0, 1, 3])
def test_whole_numbers_are_multiplied_without_error(multiply: Multiply, n: int, k: int) -> None:
    rng = np.random.default_rng(k)
    directions = rng.integers(-99, 99, (LINES, k)).astype(np.float32)
    blocks = rng.integers(-99, 99, (n, k, RECORDS)).astype(np.float32)
    out, plain = np.full((2, LINES, n * RECORDS + 5), -0.5, np.float32)
    multiply(directions, blocks, out)
    products.multiply(directions, blocks, plain)
    np.testing.assert_array_equal(out, plain)
    assert np.all(out[:, n * RECORDS :] == -0.5)  # nothing behind is touched


def test_sums_err_by_no_more_than_the_guard_allows(multiply: Multiply) -> None:
    rng = np.random.default_rng(1)
    for k in (5, 300):
        directions = rng.normal(size=(LINES, k)).astype(np.float32)
        blocks = (rng.normal(size=(2, k, RECORDS)) * 10.0 ** rng.integers(-9, 9, (2, k, 1))).astype(np.float32)
        out = np.empty((LINES, 2 * RECORDS), np.float32)
        multiply(directions, blocks, out)
        for b in range(2):
            a, x = directions.astype(np.float64), blocks[b].astype(np.float64)
            error = np.abs(out[:, b * RECORDS : (b + 1) * RECORDS] - a @ x)
            assert np.all(error <= (k + 1) * UNIT * (np.abs(a) @ np.abs(x)))


def test_every_processor_has_registers_for_its_sums() -> None:
    """512 bits: 32 registers of one vector; else 16 of half a vector, or 32 of a quarter; some are for other things."""
    for features, registers in (("+avx2,+avx512f", 32.0), ("+avx2", 8.0), ("+neon", 8.0)):
        lines, vectors = products._tile(features)
        assert lines * vectors + vectors < registers
        assert LINES % lines == 0 and RECORDS % (vectors * products.VECTOR) == 0
