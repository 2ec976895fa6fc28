"""Several releases of the same people: the cost that is claimed against sums over the discrete law, at several ε."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest

from lawful import brute, calibrate, calibrate_shares
from scumble.errors import ParameterError
from scumble.privacy import PrivacyClaim, composition, disjoint, overlapping
from scumble.privacy.composition import ROOM, of_disjoint_records
from scumble.privacy.exact import float_down, float_up
from scumble.privacy.laws import GAUSSIAN, LAPLACE, discrete_gaussian, discrete_laplace
from scumble.privacy.laws.discrete_gaussian import SHARE_SLACK
from scumble.privacy.laws.law import Law
from scumble.privacy.sensitivity import Moves, Scales, unit_of


def one(
    scale: Fraction | float, *, neighbors: str = "add-remove", law: Law = GAUSSIAN, **fields: object
) -> PrivacyClaim:
    """A release of one row with this noise; what it promises by itself does not matter here unless it is given."""
    people = int(str(fields.pop("records_per_person", 1)))
    moves, scales = Moves(1, neighbors, people), Scales(Fraction(scale), None)
    pure, rho = law.epsilon(moves, scales), float_up(law.rho(moves, scales))
    values = {"epsilon": 50.0 if pure is None else float_up(pure), "delta": 0.0 if pure else 1e-5, "rho": rho, **fields}
    return PrivacyClaim(
        **values,  # type: ignore[arg-type]
        neighbors=neighbors,
        unit=unit_of(people),
        records_per_person=people,
        mechanism=law.name,
        rows=1,
        scale=float(scale),
        exact_scale=str(Fraction(scale)),
    )


def true_delta(epsilon: float, sigmas: list[float], sides: int) -> float:
    """E max(0, 1 − e^(ε − L)) over the exact law: L adds up (1 − 2Z)/(2σ²) of each counter that moves by one."""
    losses, chances = np.zeros(1), np.ones(1)
    for sigma in sigmas:
        reach = math.ceil(8 * sigma) + 2
        k = np.arange(-reach, reach + 1)
        law = np.exp(-(k**2) / (2 * sigma**2))
        law /= law.sum()
        sums, both = k, law
        for _ in range(sides - 1):
            both = np.convolve(both, law)
            sums = np.arange(len(both)) - len(both) // 2
        losses = np.add.outer(losses, (sides - 2 * sums) / (2 * sigma**2)).ravel()
        chances = np.multiply.outer(chances, both).ravel()
        kept = chances > 1e-18  # what is left out is far less than any δ here, and makes the truth smaller
        losses, places = np.unique(losses[kept].round(12), return_inverse=True)
        chances = np.bincount(places, chances[kept])
    return float(np.sum(chances * np.maximum(0.0, -np.expm1(epsilon - losses))))


@pytest.mark.parametrize("delta", [1e-6, 1e-2])
@pytest.mark.parametrize("neighbors", ["add-remove", "replace"])
@pytest.mark.parametrize(
    "sigmas",
    [[0.5, 0.5], [0.5] * 4, [1.0, 1.0, 1.0], [0.7, 3.0], [2.0, 2.0], [3.0] * 4, [6.0, 6.0, 6.0], [6.0, 4.0]],
    ids=str,
)
def test_composed_gaussians_cost_no_less_than_their_law(sigmas: list[float], neighbors: str, delta: float) -> None:
    parts = tuple(one(sigma, neighbors=neighbors) for sigma in sigmas)
    epsilon, _ = composition._tightest(parts, delta)
    sides = 2 if neighbors == "replace" else 1
    assert true_delta(epsilon, sigmas, sides) <= delta
    if min(sigmas) >= 3:
        # The continuous noise that remains lacks a variance of 1.1 at most: within 8 % of the truth at σ = 3.
        assert true_delta(epsilon * 0.9, sigmas, sides) > delta
    merged = overlapping(parts)
    assert true_delta(merged.epsilon, sigmas, sides) <= merged.delta
    assert true_delta(merged.equivalent(delta), sigmas, sides) <= delta


def test_each_way_is_taken_where_it_is_least() -> None:
    wide, pure = one(6.0), one(6, law=LAPLACE)
    alone = composition._tightest((wide, wide), 1e-6)
    assert alone[1] == "gaussian" and alone[0] < composition._tightest((wide, wide, pure), 1e-6)[0]
    # One Laplace release of a sixth besides: its ε added is more than its ρ added.
    with_pure = composition._tightest((wide, wide, pure), 1e-6)
    assert alone[0] < with_pure[0] <= alone[0] + pure.epsilon
    small = one(600, law=LAPLACE)
    beside = composition._tightest((one(30.0), one(30.0), small), 1e-6)
    apart = composition._tightest((one(30.0), one(30.0)), 1e-6)
    assert beside == (float_up(Fraction(apart[0]) + Fraction(small.epsilon)), "gaussian")
    # A share is a discrete Gaussian up to a factor: it has a ρ, and is not one of the Gaussians.
    shares = calibrate_shares(4, custodians=2, epsilon=1, delta=1e-6)
    assert composition._tightest((shares, shares), 2e-6)[1] == "rho"
    assert composition._tightest((wide, shares), 2e-6)[1] == "rho"
    # Without a ρ, and with a δ that is no Gaussian's, only the sum is left.
    silent = dataclasses.replace(shares, rho=None)
    assert composition._tightest((wide, silent), 2e-6) == (math.inf, "sum")
    assert overlapping([wide, silent]).added_up == "sum"


def test_a_gaussian_without_rho_does_not_cost_nothing() -> None:
    """Narrow noise has no smooth bound. What its claim does not say is taken from its scale."""
    parts = (one(0.6), one(0.6))
    assert composition._tightest(tuple(dataclasses.replace(part, rho=None) for part in parts), 1e-6)[
        0
    ] == pytest.approx(composition._tightest(parts, 1e-6)[0], rel=1e-9)


def test_sums_are_rounded_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each ρ, ε and δ that is added up here has a sum between two floats."""
    parts = tuple(one(Fraction(n, 3), delta=delta) for n, delta in ((20, 0.01), (31, 0.003), (47, 0.0007)))
    asked: list[float] = []
    for module in (composition, discrete_gaussian):
        monkeypatch.setattr(module, "zcdp_delta", lambda epsilon, rho: asked.append(rho) or 0.0)
    composition._tightest.__wrapped__(parts, 1e-6)
    total = sum(Fraction(part.rho or 0) for part in parts)
    assert asked[0] == float_up(total) != float_down(total)
    assert asked[-1] == pytest.approx(float(total), rel=1e-12)
    plain = composition._plain_sum(parts)
    exact = sum(Fraction(part.delta) for part in parts)
    assert plain.delta == float_up(exact) != float_down(exact)

    answers = iter([9.0, 0.3])
    for module in (composition, discrete_gaussian):
        monkeypatch.setattr(module, "least_epsilon", lambda curve, delta: next(answers))
    pure = tuple(dataclasses.replace(one(6, law=LAPLACE), epsilon=epsilon) for epsilon in (0.1, 0.7))
    wanted = Fraction(0.3) + Fraction(0.1) + Fraction(0.7)
    assert float_up(wanted) != float_down(wanted)
    assert composition._tightest.__wrapped__((*parts, *pure), 1e-6) == (float_up(wanted), "gaussian")


@pytest.mark.parametrize(("delta", "parts"), [(1e-6, 3), (0.1, 7), (0.3, 5)])
def test_the_parts_of_a_curve_share_its_delta(monkeypatch: pytest.MonkeyPatch, delta: float, parts: int) -> None:
    merged = overlapping([one(n + 5, law=LAPLACE) for n in range(parts)])
    asked: list[float] = []
    monkeypatch.setattr(PrivacyClaim, "equivalent", lambda self, delta: asked.append(delta) or 0.1)
    monkeypatch.setattr(composition, "_tightest", lambda parts, delta: (math.inf, "sum"))
    exact = parts * Fraction(0.1)
    assert float_up(exact) != float_down(exact) or parts == 5
    assert merged._curve(delta) == float_up(exact)
    assert len(asked) == parts
    assert Fraction(delta) * (1 - Fraction(1, 2**50)) < sum(map(Fraction, asked)) <= Fraction(delta)
    monkeypatch.setattr(composition, "_tightest", lambda parts, delta: (0.05, "rho"))
    assert merged._curve(delta) == 0.05


@pytest.mark.parametrize("delta", [1e-9, 1e-3, 0.05])
@pytest.mark.parametrize("scales", [[1.0, 1.0], [0.4, 2.5]])
def test_composed_laplace_curves_cover_every_outcome(delta: float, scales: list[float]) -> None:
    merged = overlapping([one(Fraction(scale), law=LAPLACE) for scale in scales])
    epsilon = merged.equivalent(delta)
    assert epsilon <= merged.epsilon
    assert brute(epsilon, "discrete-laplace", [(1, scale) for scale in scales]) <= delta * (1 + 1e-9)


def test_curves_are_read_at_scales_that_are_rounded_down(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple] = []
    monkeypatch.setattr(discrete_laplace, "laplace_delta", lambda *given: asked.append(given) or 0.0)
    scale, count = Fraction(100, 3), Fraction(200, 7)
    assert float_down(scale) != float_up(scale) and float_down(count) != float_up(count)
    pure = dataclasses.replace(
        one(scale, law=LAPLACE, neighbors="replace", records_per_person=3),
        rows=5,
        count_scale=float(count),
        exact_count_scale=str(count),
    )
    pure._curve(1e-6)
    assert asked[0][1:] == (10, 3 / float_down(scale), 3 / float_down(count), 1e-6)
    shift = discrete_gaussian.shift(pure.moves, pure.scales)
    assert (shift.sigma, shift.count_sigma) == (float_down(scale), float_down(count))
    assert (shift.cells, shift.squared, shift.count) == (30, 90, 3)


def test_the_curve_of_shares_keeps_room_in_delta(monkeypatch: pytest.MonkeyPatch) -> None:
    claim = calibrate_shares(5, custodians=3, epsilon=1, delta=1e-6)
    asked: list[float] = []
    monkeypatch.setattr(discrete_gaussian, "certified_delta", lambda *_, target: asked.append(target) or 0.0)
    anew = discrete_gaussian._certified_epsilon.__wrapped__  # what is answered here must not be remembered
    monkeypatch.setattr(discrete_gaussian, "_certified_epsilon", anew)
    for delta in (1e-9, 1e-3):
        asked.clear()
        claim._curve(delta)
        assert asked[0] == delta * (1 - 2 * SHARE_SLACK)


def test_a_delta_between_two_floats_is_the_lower_one() -> None:
    """The float 0.1 is above a tenth: the answer for a tenth must not be that for the float."""
    loud = dataclasses.replace(one(2), epsilon=0.001, delta=0.1)
    assert loud.equivalent(0.1) == 0.001
    assert loud.equivalent(Fraction(1, 10)) > 0.1
    assert loud.equivalent("0.1") > 0.1  # type: ignore[arg-type]


def test_a_millionth_is_what_is_asked_for() -> None:
    for claim in (calibrate(9, epsilon=0.5), calibrate(9, epsilon=3, delta=1e-9)):
        assert claim.equivalent() == claim.equivalent(1e-6) < claim.equivalent(1e-8)


def test_records_apart_are_the_largest_cost_and_persons_apart_the_sum() -> None:
    record = [calibrate(6, epsilon=epsilon) for epsilon in (0.3, 2)]
    person = [calibrate(6, epsilon=epsilon, records_per_person=m) for epsilon, m in ((0.3, 2), (2, 5))]
    assert of_disjoint_records(record) == disjoint(record)
    assert of_disjoint_records([record[0], person[1]]) == disjoint([record[0], person[1]])
    assert of_disjoint_records([person[1], record[0]]).combination == "disjoint"
    assert of_disjoint_records(person) == overlapping(person)
    assert of_disjoint_records(person).combination == "overlapping"


def gaussians(epsilon: float, delta: float, *, times: int, **options: object) -> list[PrivacyClaim]:
    return [calibrate(6 + k, epsilon=epsilon, delta=delta, **options) for k in range(times)]  # type: ignore[arg-type]


CASES = {
    "gaussian": gaussians(0.5, 1e-6, times=4),
    "replace": gaussians(1, 1e-6, times=3, neighbors="replace"),
    "persons": gaussians(3, 1e-3, times=2, records_per_person=3),
    "mixed": [*gaussians(0.3, 1e-9, times=3), calibrate(6, epsilon=0.1)],
}


@pytest.mark.parametrize("name", CASES)
def test_a_stored_sum_promises_no_more_than_its_parts(name: str) -> None:
    merged, plain = overlapping(CASES[name]), composition._plain_sum(tuple(CASES[name]))
    least = composition._tightest(plain.parts, plain.delta)[0]
    assert least < plain.epsilon and merged.added_up != "sum"
    assert least * (1 + 0.99 * ROOM) <= merged.epsilon <= least * (1 + 1.01 * ROOM)
    held = merged.to_dict()

    def read(**changes: object) -> PrivacyClaim:
        return PrivacyClaim.from_dict({**held, **changes})

    assert read() == merged
    assert read(epsilon=plain.epsilon) == plain and plain.added_up == "sum", "as older files have it"
    assert read(epsilon=least).epsilon == least
    assert merged.rho is not None
    for forged in (
        {"epsilon": math.nextafter(least, 0)},
        {"epsilon": math.nextafter(plain.epsilon, math.inf)},
        {"delta": math.nextafter(merged.delta, 0)},
        {"delta": math.nextafter(merged.delta, 1)},
        {"delta": 0.0},
        {"rho": math.nextafter(merged.rho, 0)},
        {"rho": None},
        {"parts": held["parts"][1:]},
        {"parts": held["parts"] * 2},
        {"combination": "disjoint"},
    ):
        with pytest.raises(ParameterError, match="does not follow from its parts"):
            read(**forged)


def test_a_stored_sum_of_pure_promises_is_the_sum() -> None:
    merged = overlapping([calibrate(6, epsilon=0.3), calibrate(6, epsilon=0.7)])
    for epsilon in (math.nextafter(merged.epsilon, 0), math.nextafter(merged.epsilon, 9)):
        with pytest.raises(ParameterError, match="does not follow from its parts"):
            PrivacyClaim.from_dict({**merged.to_dict(), "epsilon": epsilon})
    assert PrivacyClaim.from_dict(merged.to_dict()) == merged
