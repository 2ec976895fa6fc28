"""The gate between counters and claims: what is drawn, at which scale, and what is published, at several budgets.

The sampler is replaced by one that notes what it is asked for and answers with numbers that can be recognized.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

import scumble
from scumble.density.sketch import release_disjoint
from scumble.gate import gate, secret
from scumble.privacy import calibrate, noise
from scumble.privacy.budget import Budget
from scumble.privacy.sensitivity import Reach

ROWS, BUCKETS, RECORDS = 24, 16, 37  # enough rows that δ > 0 means Gaussian noise
BUDGETS = list(product([Fraction(1, 10), 0.5, 1, 3], [0, 1e-6]))
PEOPLE = [1, 3]
X = np.random.default_rng(8).normal(size=(RECORDS, 1))


def sketch() -> scumble.Sketch:
    return scumble.Sketch(scumble.EuclideanKernel(1.0), 1, rows=ROWS, buckets=BUCKETS, design="iid", seed=2)


def expected(epsilon: object, delta: float, neighbors: str, people: int, share: object) -> list[tuple]:
    """From the mathematics: L1 = R or 2R, m times as much; the share c of the budget for the count (calibration.py)."""
    law = "discrete_gaussian" if delta else "discrete_laplace"
    part = Fraction(str(share)) if neighbors == "add-remove" else Fraction(0)
    sides = 2 if neighbors == "replace" else 1
    if delta:
        found = calibrate(
            ROWS, epsilon=epsilon, delta=delta, neighbors=neighbors, records_per_person=people, count_share=share
        )  # type: ignore[arg-type]
        scales = [found.scales.counters, found.scales.count]
    else:
        scales = [
            sides * ROWS * people / ((1 - part) * Fraction(epsilon)),
            part and people / (part * Fraction(epsilon)),
        ]  # type: ignore[arg-type]
    wanted = [(law, scales[0], (ROWS, BUCKETS))]
    return wanted + ([(law, scales[1], (1,))] if part else [])


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
@pytest.mark.parametrize("neighbors", ["add-remove", "replace"])
@pytest.mark.parametrize("people", PEOPLE)
@pytest.mark.parametrize("share", [0, "1/25"])
@pytest.mark.parametrize("first", [False, True])
def test_one_draw_for_every_counter_and_one_for_the_count(
    drawn: list, epsilon: object, delta: float, neighbors: str, people: int, share: object, first: bool
) -> None:
    budget = {"neighbors": neighbors, "records_per_person": people, "count_share": share}
    exact = sketch().update(X)._counts.copy()
    assert exact.sum() == ROWS * RECORDS
    if first:
        release = sketch().start_with_noise(epsilon, delta, **budget).update(X).release()  # type: ignore[arg-type]
    else:
        release = sketch().update(X).release(epsilon, delta, **budget)  # type: ignore[arg-type]
    wanted = expected(epsilon, delta, neighbors, people, share)
    assert [(law, shape) for law, _, shape in drawn] == [(law, shape) for law, _, shape in wanted]
    for (_, found, _), (_, scale, _) in zip(drawn, wanted, strict=True):
        assert scale <= found <= scale * (1 + Fraction(1, 2**39))
    assert (release.privacy.exact_scale, len(drawn)) == (str(drawn[0][1]), len(wanted))
    np.testing.assert_array_equal(release.counts, exact + 1000)
    if neighbors == "replace":
        assert release.metadata()["noisy_count"] == RECORDS and release.count == RECORDS
    else:
        assert release.metadata()["noisy_count"] == (RECORDS + 2000 if len(wanted) == 2 else None)
    law = noise.gaussian_variance if delta else noise.laplace_variance
    assert release.metadata()["counter_variance"] == law(drawn[0][1])
    assert release.metadata()["count_variance"] == (law(drawn[1][1]) if len(drawn) == 2 else 0.0)


def test_every_class_has_noise_of_its_own(drawn: list) -> None:
    parts = [sketch().update(X[:10]), sketch(), sketch().update(X[10:])]
    exact = [part._counts.copy() for part in parts]
    releases = release_disjoint(parts, Budget(0.5))
    assert len(drawn) == 6 and len({release.identity for release in releases}) == 3
    answers = [1000 * (n + 1) for n, (_, _, shape) in enumerate(drawn) if shape == (ROWS, BUCKETS)]
    for k, release in enumerate(releases):
        np.testing.assert_array_equal(release.counts, exact[k] + answers[k])
    assert {scale for _, scale, shape in drawn if shape == (1,)} == {Fraction(50)}


@pytest.mark.parametrize("way", ["publish", "begin_with_noise"])
def test_what_is_not_disjoint_is_refused_before_anything_is_drawn(drawn: list, way: str) -> None:
    open_gate = getattr(gate, way)
    other = scumble.Sketch(scumble.EuclideanKernel(1.0), 1, rows=ROWS, buckets=BUCKETS, design="iid", seed=3)
    one = sketch()
    for parts in ([sketch(), other], [one, one]):  # other hash functions; its records twice
        with pytest.raises(scumble.MergeError):
            open_gate([part.secret for part in parts], Budget(1.0))
    with pytest.raises(scumble.PrivacyError):
        open_gate([sketch().secret, sketch().secret], Budget(1.0, neighbors="replace"))
    assert drawn == []
    made = open_gate([one.secret], Budget(0.5))
    claim = made[0].privacy if made else one.secret.noise.claim  # type: ignore[union-attr]
    assert claim == calibrate(ROWS, epsilon=0.5)


def test_the_count_is_weighed_by_inverse_variance() -> None:
    """Of the count's own coordinate and the rows' sums, at several budgets."""
    for epsilon, delta in BUDGETS:
        release = sketch().update(X).release(epsilon, delta)  # type: ignore[arg-type]
        data = release.metadata()
        rows = release.counts.sum(axis=1).mean()
        variance = data["counter_variance"] * BUCKETS / ROWS
        weights = np.array([1 / variance, 1 / data["count_variance"]])
        wanted = float(weights @ [rows, data["noisy_count"]] / weights.sum())
        assert release.count == pytest.approx(wanted, rel=1e-12, abs=1e-9)
        assert release.count_standard_error == pytest.approx(1 / np.sqrt(weights.sum()), rel=1e-12)


@pytest.mark.parametrize("bounds", [None, (0.0, 9.0)])
def test_rows_that_a_budget_has_fixed_hold_the_same_records(bounds: tuple[float, float] | None) -> None:
    X = np.arange(300.0)[:, None] % 9
    sketch = scumble.Sketch(scumble.EuclideanKernel(1.0), dimensions=1, bounds=bounds).update(X)
    before, planned = sketch.secret.counts, sketch.secret.planned
    with sketch._decided(Budget.of(1)):
        narrow = sketch.secret.counts
        spec = sketch.secret.spec
        assert narrow.size < before.size and planned > sketch.secret.planned == 0
        np.testing.assert_array_equal(narrow, scumble.Sketch.from_spec(spec).update(X).secret.counts)
    assert not before.any() and sketch.secret.counts is narrow


@pytest.mark.parametrize("closed", [False, True])
def test_a_refusal_restores_the_counters_and_a_release_wipes_them(closed: bool) -> None:
    sketch = scumble.Sketch(scumble.EuclideanKernel(1.0), dimensions=1).update(np.arange(9.0))
    before, held = sketch.secret.counts, []
    with pytest.raises(KeyboardInterrupt), sketch._decided(Budget.of(1)):
        held.append(sketch.secret.counts)
        if closed:
            sketch.secret.give_up("It was interrupted.")
        raise KeyboardInterrupt
    assert before.any() != closed and (closed or sketch.secret.counts is before) and not held[0].any()


def test_records_that_add_more_than_one_to_a_row_are_refused() -> None:
    with pytest.raises(scumble.PrivacyError, match="Moments"):
        gate.require_ones(SimpleNamespace(spec=SimpleNamespace(reach=Reach(2))))  # type: ignore[arg-type]
    with pytest.raises(scumble.PrivacyError, match="tokens"):
        gate.require_one_each(SimpleNamespace(touches=(3,)))  # type: ignore[arg-type]


def test_records_are_counted_by_what_each_adds_to_a_row() -> None:
    three_each = SimpleNamespace(row=lambda _: np.array([6, 3]), spec=SimpleNamespace(reach=Reach(3)))
    assert secret.Secret.total.fget(three_each) == 3  # type: ignore[attr-defined]
