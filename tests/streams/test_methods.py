"""The methods of a stream against dense matrices and exact integers: what goes out, how noisy it is, what it costs."""

from __future__ import annotations

import hashlib
import json
import math
import re
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

import scumble
from scumble.audit.epsilon import p_value
from scumble.errors import CorruptFileError, ParameterError
from scumble.privacy import calibrate
from scumble.privacy.budget import Budget
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.sensitivity import Column
from scumble.streams import toeplitz
from scumble.streams.choosing import METHODS, chosen, compare, method_of
from scumble.streams.method import Bridge, Daily, Method
from scumble.streams.toeplitz import Toeplitz

EVERY = [Daily(9), Bridge(11, 4), Bridge(8, 4), Bridge(3, 7), Toeplitz(1), Toeplitz(9), Toeplitz(60)]
close = partial(np.allclose, rtol=1e-9, atol=0)
"""Variances in units of one node's noise are small: no absolute error is allowed for."""
SEVERAL = Toeplitz(30, (("0.2", "0.4"), ("0.8", "0.2")))
"""Many short epochs."""


def triangle(method: Method) -> np.ndarray:
    """All nodes of a method as rows, in whole numbers, by its definition."""
    periods = method.periods
    if isinstance(method, Bridge):
        blocks = -(-periods // method.block)
        length = blocks * method.block
        return np.vstack([np.eye(length, dtype=object), np.kron(np.eye(blocks), np.ones(method.block))])[:, :periods]
    if isinstance(method, Toeplitz):
        rows: Any = np.zeros((periods, periods), object)
        for j in range(periods):
            for t, entry in enumerate(method.entries(j).tolist(), j):
                rows[t, j] = entry
        return rows
    return np.eye(periods, dtype=object)


class Recorder:
    """Noise that is known, and everything that goes out."""

    def __init__(self, size: int) -> None:
        self.random, self.size = np.random.default_rng(5), size
        self.noise: dict[str, np.ndarray] = {}
        self.out: dict[str, np.ndarray] = {}
        self.pinned: dict[str, np.ndarray] = {}

    def draw(self, node: str) -> np.ndarray:
        assert node not in self.noise, "a node's noise is drawn once"
        self.noise[node] = self.random.integers(-(10**7), 10**7, self.size)
        return self.noise[node].copy()

    def publish(self, node: str, noise: np.ndarray, exact: np.ndarray) -> np.ndarray:
        assert node not in self.out and np.array_equal(noise, self.noise[node])
        self.out[node] = noise + exact
        return self.out[node]

    def pin(self, block: str, nodes: Any, left: np.ndarray) -> np.ndarray:
        assert np.array_equal(left, self.noise[block] - sum(self.noise[node] for node in nodes))
        self.pinned[block] = left
        return left


def play(method: Method, size: int = 3) -> tuple[Recorder, np.ndarray, np.ndarray]:
    """A whole stream: what went in, and the totals that came out. The machine forgets all but its arrays each time."""
    recorder = Recorder(size)
    data = np.random.default_rng(7).integers(0, 1000, (method.periods, size))
    machine, totals = method.machine(size), []
    machine.open(0, recorder.draw, recorder.pin)
    for period, numbers in enumerate(data):
        again = method.machine(size)
        again.restore(machine.arrays)
        machine = again
        machine.close(period, numbers, recorder.publish)
        arrays = machine.arrays
        used = arrays["leaves"][period % method.block] if isinstance(method, Bridge) else arrays["noise"]
        assert not used.any(), "noise that is used is gone"
        if period + 1 < method.periods:
            machine.open(period + 1, recorder.draw, recorder.pin)
        totals.append(machine.total(period))
    return recorder, data, np.array(totals)


@pytest.mark.parametrize("method", [*EVERY, SEVERAL], ids=lambda one: f"{one.name} {one.periods}")
def test_what_is_published_is_the_triangle_and_the_totals_are_least_squares(method: Method) -> None:
    recorder, data, totals = play(method)
    nodes, periods = triangle(method), method.periods
    leaves = np.array([recorder.out[f"period {t}"] for t in range(periods)])
    if isinstance(method, Bridge):
        length = nodes.shape[0] - len(recorder.pinned)
        noise = [recorder.noise[f"period {t}"] for t in range(length)]
        noise += [recorder.noise[f"block {b}"] for b in range(len(recorder.pinned))]
        assert np.array_equal(leaves, data + noise[:periods])
        # In hindsight: of a stream that fills its last block with nothing.
        full = np.vstack([np.eye(length), np.kron(np.eye(len(recorder.pinned)), np.ones(method.block))])
        filled = np.vstack([data, np.zeros((length - periods, data.shape[1]))])
        solved = np.linalg.lstsq(full, full @ filled + np.array(noise), rcond=None)[0]
        expected, cover = np.cumsum(solved, axis=0)[:periods], full
    else:
        noise = [recorder.noise[f"period {t}"] for t in range(periods)]
        assert np.array_equal(leaves, nodes @ data + np.array(noise)), "in whole numbers"
        cover = nodes.astype(float)
        expected = np.cumsum(np.linalg.solve(cover, leaves.astype(float)), axis=0)
    assert np.abs(totals - expected).max() <= 0.5 + 1e-6, "to the nearest whole number"
    # The noise of a total, in units of one node's, by the same matrices.
    weights = np.cumsum(np.linalg.pinv(cover), axis=0)[:periods]
    assert close(method.variances(0), (weights**2).sum(axis=1))
    windows = {(1, 1), (1, periods), (periods, periods), (max(1, periods // 2), periods), (2, min(5, periods))}
    for first, last in windows:
        if first <= last:
            row = weights[last - 1] - (weights[first - 2] if first > 1 else 0)
            assert close(method.variance(first, last), row @ row), (first, last)
    width = min(3, periods)
    each = [method.variance(last - width + 1, last) for last in range(width, periods + 1)]
    assert close(method.variances(width), each)


@pytest.mark.parametrize("method", [*EVERY, SEVERAL], ids=lambda one: f"{one.name} {one.periods}")
def test_the_column_is_the_largest_there_is(method: Method) -> None:
    nodes = triangle(method)
    columns = [[int(entry) for entry in nodes[:, j] if entry] for j in range(method.periods)]
    assert method.column.squared == max(sum(entry**2 for entry in column) for column in columns)
    assert method.column.total == max(map(sum, columns)) and method.column.touched == max(map(len, columns))


def test_long_horizons_need_no_table_and_agree_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    short, long = Toeplitz(60), Toeplitz(60)
    monkeypatch.setitem(long.__dict__, "_totals", None)
    for width in (0, 1, 7):
        assert close(short.variances(width), long.variances(width))
    assert close(short.variance(3, 44), long.variance(3, 44))


def test_a_year_is_as_quiet_as_promised() -> None:
    """The figures of the documentation: relative to one release with the same budget."""
    year = compare(365, 1000, 1.0, 1e-6)[0]
    assert year.method.name == "toeplitz" and year.total / year.single < 1.1 * 2.63  # the dense optimum
    assert year.total / year.single == pytest.approx(2.69, abs=0.01) and len(year.method.machine(1).arrays) == 8
    pure = compare(365, 1000, 1.0)[0]
    assert pure.method.name == "bridge" and pure.total / pure.single == pytest.approx(6.54, abs=0.01)
    assert compare(52, 1000, 1.0)[0].total / compare(52, 1000, 1.0)[0].single < 3.95
    assert compare(10, 1000, 1.0)[0].method.name == "daily", "short streams with ε alone"
    assert compare(365, 1, 1.0, 1e-6)[0].method.name == "bridge", "one row: Laplace is quieter"


@pytest.mark.parametrize("modes", [[(0.7, 0.4)], [(0.6, 0.3), (0.95, 0.12)]])
def test_the_cost_of_memories_is_that_of_their_triangle(modes: list[tuple[float, float]]) -> None:
    """The squared length of a column times the mean variance of the running total, by matrices."""
    periods, x = 12, [math.log(theta / (1 - theta)) for theta, _ in modes] + [math.log(omega) for _, omega in modes]
    column = [1.0, *(sum(omega * theta**k for theta, omega in modes) for k in range(periods - 1))]
    matrix = sum(np.diag([one] * (periods - k), -k) for k, one in enumerate(column))
    totals = np.tri(periods) @ np.linalg.inv(matrix)
    expected = math.log(np.square(column).sum() * np.square(totals).sum(axis=1).mean())
    assert toeplitz._cost(np.array(x), periods) == pytest.approx(expected, rel=1e-9)
    far = np.array([15.0, 15.0])
    assert toeplitz._cost(far + 5, 3) == toeplitz._cost(far, 3) and toeplitz._cost(far, 1000) == 1e9
    assert toeplitz._cost(-far - 5, 3) == toeplitz._cost(-far, 3)


@pytest.mark.parametrize("periods", [1, 20, 52, 53, 365])
def test_memories_are_the_best_there_are(periods: int) -> None:
    """None of some hundred others costs less."""
    memories = 1 if periods <= 52 else 2
    found = toeplitz.fitted(periods)
    assert len(found) == memories and all(len(digits) == 8 for mode in found for digits in mode)
    thetas, omegas = ([float(mode[k]) for mode in found] for k in (0, 1))
    x = np.array([math.log(theta / (1 - theta)) for theta in thetas] + [math.log(omega) for omega in omegas])
    far, where = (
        np.random.default_rng(0).normal(0.0, 1.0, (100, 1)),
        np.random.default_rng(1).normal(size=(100, len(x))),
    )
    others = x + far * where
    assert toeplitz._cost(x, periods) <= min(toeplitz._cost(one, periods) for one in others) + 1e-6
    assert toeplitz._digits(0.0, 0.01) == "0.010000" and toeplitz._digits(7.0, 0.01) == "0.999999"


def test_the_weights_are_the_same_on_every_machine() -> None:
    """Decimal arithmetic, so a stream may go on elsewhere. These digits stay."""
    method = Toeplitz(365, (("0.804730", "0.327867"), ("0.990832", "0.132761")))
    weights = [method.own, *(memory.enter for memory in method.memories), *(memory.now for memory in method.memories)]
    assert [memory.epoch for memory in method.memories] == [20, 365]
    digest = hashlib.sha256(b"".join(one.astype("<i8").tobytes() for one in weights)).hexdigest()
    assert digest == "2070bfb18403b5ca6f6d87b78c604957f36dc8481bf3d6674d57df1ae78b4a8d"


def test_methods_come_back_from_their_words_and_from_no_others() -> None:
    for method in [*EVERY, SEVERAL]:
        words = json.loads(json.dumps(method.to_dict()))
        assert method_of(words) == method and method_of(words).column == method.column
    good = Toeplitz(9).to_dict()
    modes: list[Any] = [[], [["0.5"]], [[0.5, 0.5]], [["0.5", "0.3"]] * 3]
    modes += [[[theta, "0.5"]] for theta in ("1e-400", "0.000001", "0.5000000001", "0.99999999")]
    bad: list[Any] = [None, [], {}, {"method": ["toeplitz"]}, {"method": "other", "periods": 9}, {"method": "daily"}]
    bad += [
        {"method": "daily", **words} for words in ({"periods": 9, "more": 1}, {"periods": True}, {"periods": 10**9})
    ]
    bad += [{"method": "bridge", "periods": 9, **words} for words in ({}, {"block": 10**6}, {"block": 0})]
    bad += [{**good, "modes": one} for one in modes]
    for words in bad:
        with pytest.raises(ParameterError):
            method_of(words)


def test_a_block_is_the_quietest_there_is() -> None:
    for periods in (1, 2, 3, 4, 7, 30, 52):
        sums = {n: float(Bridge(periods, n).variances(0).sum()) for n in range(1, periods + 6)}
        assert sums[Bridge(periods).block] == pytest.approx(min(sums.values()))
        for block in (0, periods + 6, 2.0):
            with pytest.raises(ParameterError, match="block"):
                Bridge(periods, block)  # type: ignore[arg-type]


@pytest.mark.parametrize("method", [Daily(9), Bridge(8, 4), Toeplitz(9)], ids=lambda one: one.name)
def test_a_machine_goes_on_from_its_own_arrays_alone(method: Method) -> None:
    arrays = method.machine(3).arrays
    if isinstance(method, Bridge):  # noise that needs 64 bits
        arrays["leaves"] = np.full((4, 3), 1 << 40)
    machine = method.machine(3)
    machine.restore(arrays)
    for name in arrays:
        assert machine.arrays[name] is not arrays[name] and np.array_equal(machine.arrays[name], arrays[name])
        bad = [arrays[name][..., :2], arrays[name].astype(np.int16)]
        for wrong in [*({**arrays, name: one} for one in bad), {k: v for k, v in arrays.items() if k != name}]:
            with pytest.raises(CorruptFileError):
                method.machine(3).restore(wrong)
    with pytest.raises(CorruptFileError):
        method.machine(3).restore({**arrays, "more": np.zeros(3)})
    assert method != method.to_dict() and method != type(method)(10)


def test_huge_triangles_are_refused() -> None:
    long = (("0.9999", "0.995"), ("0.9998", "0.995"))
    assert Toeplitz(60, long).own[-1] > 15 << 20 and Toeplitz(60, long).column.touched == 60
    for periods in (70, 3000):
        with pytest.raises(ParameterError, match="2\\*\\*24"):
            _ = Toeplitz(periods, long).column
    assert [Toeplitz(1000, ((theta, "0.5"),)).memories[0].epoch for theta in ("0.99", "0.01")] == [436, 1]


def test_what_is_expected_is_told_beside_a_single_release() -> None:
    """Of daily releases it is plain: the total of k periods has the variance of k."""
    daily, short = chosen("daily", 8, 10, Budget.of(1.0)), chosen("daily", 6, 10, Budget.of(1.0))
    assert daily.week is not None and short.week is None
    assert close([daily.total, daily.week, daily.period], np.sqrt([4.5, 7, 1]) * daily.single)
    assert close(daily.single**2, daily.calibration.counter_variance)
    told = [str(one).partition(";") for one in (*compare(31, 100, epsilon=1.0), short)]
    assert ["window" in one[0] for one in told] == [True, True, False] and [bool(one[1]) for one in told] == [1, 0, 0]
    assert re.findall(r"\d\.\d\d", told[0][2]) == ["4.00", "2.65", "1.00"]  # daily: √16, √7, 1
    for money in ({"epsilon": 1.0}, {"epsilon": 1.0, "delta": 1e-6}, {"rho": 0.1}):
        best = chosen("auto", 30, 100, Budget.of(**money))
        assert best == compare(30, 100, **money)[0] and best.calibration.records_per_person == 1
    assert chosen("bridge", 30, 1000, Budget.of(1.0, 1e-6)).calibration.law.pure
    assert chosen("daily", 30, 100_000, Budget.of(1e-7)).calibration.scales.counters < 2**40


@pytest.mark.parametrize("name", METHODS)
def test_the_claim_is_what_the_column_costs(name: str) -> None:
    """ρ and ε from the dense matrix, for a person with three records, all in the worst period."""
    method, rows, people = METHODS[name](12), 5, 3
    budget = Budget.of(1.0, 1e-6 if name == "toeplitz" else 0.0, records_per_person=people)
    calibration = chosen(name, 12, rows, budget).calibration
    claim = calibration
    nodes = triangle(method)
    assert claim.scales.count is not None
    if claim.law.pure:
        worst = max(people * int(sum(nodes[:, j])) for j in range(12))
        spent = rows * worst / claim.scales.counters + worst / claim.scales.count
        assert spent == Fraction(claim.epsilon) == 1
        if name == "bridge":
            assert claim.rho == 0.5, "for adaptive records, no more than what ε implies"
            # One randomized response: δ = (e^ε − e^ε′)/(1 + e^ε), exactly.
            found = claim.equivalent(1e-3)
            assert (np.e - np.exp(found)) / (1 + np.e) == pytest.approx(1e-3, rel=1e-3)
    else:
        worst = max(people**2 * int(sum(entry**2 for entry in nodes[:, j])) for j in range(12))
        spent = rows * worst / (2 * claim.scales.counters**2) + worst / (2 * claim.scales.count**2)
        assert spent <= Fraction(claim.rho or 0.0) <= spent * (1 + Fraction(1, 10**6))
        single = calibrate(rows, epsilon=1.0, delta=1e-6, records_per_person=people, mechanism="discrete-gaussian")
        ratio = claim.scales.counters / single.scales.counters
        assert float(ratio**2) == pytest.approx(method.column.squared, rel=5e-3)
    assert claim.equivalent(1e-6) <= 1.0 + 1e-9


def test_claims_of_streams_are_kept_and_checked() -> None:
    for name in ("toeplitz", "bridge"):
        claim = chosen(name, 30, 10, Budget.of(1.0, 1e-6)).calibration
        words = json.loads(json.dumps(claim.to_dict()))
        assert PrivacyClaim.from_dict(words) == claim
        touched, total, squared = words["column"]
        lies: list[Any] = [
            *([touched, total, 2 * squared] if name == "toeplitz" else [4, 4, 4], [1, 1, 1], [1, 1, 1 << 200], 7),
            *([touched, total, wrong] for wrong in (0, True, str(squared))),
            *([touched, total], [touched, squared, total]),
        ]
        for lie in [lie for lie in lies if lie != words["column"]]:
            with pytest.raises((ParameterError, TypeError)):
                PrivacyClaim.from_dict({**words, "column": lie})
    plain = calibrate(10, epsilon=1.0)
    assert "column" not in plain.to_dict(), "a single release is written as it always was"


def test_methods_that_do_not_go_with_the_budget() -> None:
    for name, rows, money in (
        *(("toeplitz", 10, {"epsilon": 1.0}), ("bridge", 10, {"rho": 0.1}), ("tree", 10, {"epsilon": 1.0})),
        *(("bridge", 10**6, {"epsilon": 1e-7}), ("daily", 150_000, {"epsilon": 1e-7})),  # more than 64 bits
    ):
        with pytest.raises(ParameterError):
            chosen(name, 30, rows, Budget.of(**money))
    with pytest.raises(ParameterError, match="`method`"):
        chosen("tree", 30, 10, Budget.of(1.0))
    for periods in (0, 10_001):
        with pytest.raises(ParameterError, match="periods"):
            Daily(periods)
    assert Daily(10_000).periods == 10_000
    for numbers in ((0, 0, 0), (1, 2, 3), (2, 1, 1), (3, 3, 2)):
        with pytest.raises(ParameterError):
            Column(*numbers)


# ---- ε of streams from below ----


PERIODS, CANARIES = 6, 1000


def guesses_right(method: str, epsilon: float) -> tuple[int, int]:
    """Canaries with a cell of their own, in a period that the guesser knows; in, or out, by the toss of a coin.

    The guess is by all that was published: what the nodes say of the canary's column, by the method's own matrix.
    """
    rng = np.random.default_rng(11)
    size: dict[str, Any] = {"rows": 1, "buckets": CANARIES, "design": "iid", "count_share": 0}
    size |= {"epsilon": epsilon, "delta": 1e-9 if method == "toeplitz" else 0.0}
    stream = scumble.Stream(scumble.EuclideanKernel(1.0), 1, periods=PERIODS, method=method, **size)
    inside, arrives = rng.random(CANARIES) < 0.5, rng.integers(0, PERIODS, CANARIES)
    for period in range(PERIODS):
        stream._sketch.secret.counts[0] += inside & (arrives == period)
        stream.close_period()
    totals = np.array([stream.total(t).counts[0] for t in range(1, PERIODS + 1)])
    nodes = triangle(stream._method).astype(float)
    said = nodes @ np.diff(totals, axis=0, prepend=0)
    middle = 0.5 * nodes  # half of the way from out to in
    score = np.array([nodes[:, j] @ (said[:, c] - middle[:, j]) for c, j in enumerate(arrives)])
    sure = np.argsort(-np.abs(score))[: CANARIES // 3]
    return len(sure), int(((score > 0) == inside)[sure].sum())


@pytest.mark.parametrize("method", ["toeplitz", "bridge", "daily"])
def test_canaries_in_a_stream(method: str) -> None:
    """One stream, a thousand canaries. An honest one is accused with probability 1e-6 at most, a quieter one is."""
    delta = 1e-9 if method == "toeplitz" else 0.0
    guesses, right = guesses_right(method, 1.0)
    assert p_value(CANARIES, guesses, right, 1.0, delta) > 1e-6
    guesses, right = guesses_right(method, 12.0)
    assert p_value(CANARIES, guesses, right, 1.0, delta) < 1e-6
