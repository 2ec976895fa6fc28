"""A claim at its edges: the last value that may stand, and the first that may not, by hand and from a file."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction

import pytest

from scumble.errors import ParameterError
from scumble.privacy import PrivacyClaim, calibrate, disjoint, overlapping
from scumble.privacy.budget import Budget
from scumble.privacy.claim import _stored_fraction
from scumble.privacy.splitting import calibrate_shares

BUDGETS = [(Fraction(1, 10), 0), (0.5, 0), (1, 0), (3, 0), (Fraction(1, 10), 1e-6), (0.5, 1e-9), (1, 1e-6), (3, 1e-3)]
CLAIMS = {
    f"ε = {epsilon}, δ = {delta}, {neighbors}, {people}": calibrate(
        6, epsilon=epsilon, delta=delta, neighbors=neighbors, records_per_person=people
    )
    for epsilon, delta in BUDGETS
    for neighbors in ("add-remove", "replace")
    for people in (1, 3)
}
PURE = CLAIMS["ε = 1, δ = 0, add-remove, 1"]


def stored(claim: PrivacyClaim, **changes: object) -> PrivacyClaim:
    return PrivacyClaim.from_dict({**claim.to_dict(), **changes})


@pytest.mark.parametrize("name", CLAIMS)
def test_a_stored_claim_may_not_promise_a_digit_more_than_its_noise(name: str) -> None:
    claim = CLAIMS[name]
    assert claim.rho is not None
    assert stored(claim) == claim
    stored(claim, epsilon=math.nextafter(claim.epsilon, 9), rho=math.nextafter(claim.rho, 99))  # less may be promised
    less = [{"rho": math.nextafter(claim.rho, 0)}, {"rho": None}]
    if claim.delta:
        # In closed form for continuous noise, whose σ is within a percent of ours: a percent of ε is too much.
        less += [{"epsilon": claim.epsilon * 0.98}, {"delta": claim.delta * 0.9}, {"delta": 0.0}, {"delta": 1.0}]
    else:
        less += [{"epsilon": math.nextafter(claim.epsilon, 0)}]
    less += [{"rows": 7}, {"records_per_person": 4, "unit": "person"}]
    if claim.neighbors == "add-remove":
        less += [{"neighbors": "replace"}]
    for change in less:
        with pytest.raises(ParameterError, match="promises more privacy than its noise scales give"):
            stored(claim, **change)


@pytest.mark.parametrize("name", CLAIMS)
def test_smaller_scales_cost_more(name: str) -> None:
    claim = CLAIMS[name]
    for field in ("scale", "count_scale"):
        if getattr(claim, field) is None:
            continue
        smaller = Fraction(str(getattr(claim, f"exact_{field}"))) * Fraction(9, 10)
        with pytest.raises(ParameterError, match="promises more"):
            stored(claim, **{field: float(smaller), f"exact_{field}": str(smaller)})
        with pytest.raises(ParameterError, match="scales differ from its exact scales"):
            stored(claim, **{field: float(smaller)})


# For each field the last values that may stand, and the first that may not.
STANDING: dict[str, list] = {"epsilon": [0.0], "delta": [0.0, 1.0], "rho": [0.0, None], "rows": [1]}
FALLEN: dict[str, list] = {
    "epsilon": [-1e-300, math.inf, math.nan],
    "delta": [-1e-300, 1.0000001, math.nan],
    "rho": [-1e-300, math.inf, math.nan],
    "neighbors": ["swap"],
    "records_per_person": [0, 2],
    "unit": ["person"],
    "mechanism": ["laplace", "merged"],
    "rows": [0, None],
    "exact_scale": [None],
    "custodians": [3],
    "dropouts": [0],
}


@pytest.mark.parametrize("name", STANDING)
def test_the_last_values_that_may_stand(name: str) -> None:
    for value in STANDING[name]:
        assert getattr(dataclasses.replace(PURE, **{name: value}), name) == value


@pytest.mark.parametrize("name", FALLEN)
def test_the_first_values_that_may_not(name: str) -> None:
    for value in FALLEN[name]:
        with pytest.raises(ParameterError, match="must be"):
            dataclasses.replace(PURE, **{name: value})


def test_custodians_who_may_drop_out() -> None:
    for custodians, dropouts in ((1, 0), (3, 2)):
        assert dataclasses.replace(PURE, custodians=custodians, dropouts=dropouts).dropouts == dropouts
    for dropouts in (3, -1):
        with pytest.raises(ParameterError, match="`dropouts`"):
            dataclasses.replace(PURE, custodians=3, dropouts=dropouts)
    for merged in ({"combination": "disjoint"}, {"combination": "single", "parts": (PURE,)}):
        with pytest.raises(ParameterError, match="`combination`"):
            dataclasses.replace(PURE, mechanism="merged", **merged)


@pytest.mark.parametrize(
    "change",
    [
        {"custodians": 3, "dropouts": 0},
        {"exact_scales": ((1, "1"), (2, "2")), "rows": 3},
        {"column": (2, 2, 2)},
        {"step": 2},
        {"signed": True},
    ],
    ids=str,
)
def test_a_merged_release_has_no_noise_of_its_own(change: dict) -> None:
    merged = disjoint([PURE, CLAIMS["ε = 3, δ = 0, add-remove, 1"]])
    with pytest.raises(ParameterError):
        dataclasses.replace(merged, **change)


@pytest.mark.parametrize(
    "change",
    [
        {"exact_scales": ((1, "1"), (5, "2"))},
        {"exact_scales": ((6, "1"),), "exact_scale": None, "scale": None},
        {"exact_scales": ((1, "1"), (4, "2")), "exact_scale": None, "scale": None},
        {"exact_scales": ((0, "1"), (6, "2")), "exact_scale": None, "scale": None},
        {"exact_scales": ((1, "1"), (5, "2")), "exact_scale": None},
        {"column": (1, 1, 1)},
        {"column": (2, 3, 5)},
        {"column": (2, 2, 2), "custodians": 3, "dropouts": 0},
        {"column": (2, 2, 2), "step": 2},
        {"step": 0},
        {"step": 2, "custodians": 3, "dropouts": 0},
        {"signed": True, "custodians": 3, "dropouts": 0},
    ],
    ids=str,
)
def test_fields_that_no_claim_has_together(change: dict) -> None:
    dataclasses.replace(PURE, exact_scales=((1, "1"), (5, "2")), exact_scale=None, scale=None)
    dataclasses.replace(PURE, column=(2, 2, 2))
    with pytest.raises(ParameterError):
        dataclasses.replace(PURE, **change)


def test_stored_fractions_have_forty_digits_at_most() -> None:
    most = "9" * 40
    assert _stored_fraction(f"{most}/{most}") == 1 and _stored_fraction(most) == int(most)
    for bad in (f"{most}9", f"1/{most}9", "0", "01", "1/0", "1/01", "-1", "1.5", "1/2/3", "", "1 ", "٣"):
        with pytest.raises(ParameterError, match="a positive fraction"):
            _stored_fraction(bad)


@pytest.mark.parametrize("name", list(PURE.to_dict()))
def test_no_field_may_be_of_another_type(name: str) -> None:
    for bad in (True, b"x", {"a": 1}):
        with pytest.raises(ParameterError, match="of type"):
            stored(PURE, **{name: bad})


def test_whole_numbers_are_read_as_floats() -> None:
    found = stored(PURE, epsilon=2, rho=1)
    assert (found.epsilon, found.rho) == (2.0, 1.0)
    assert type(found.epsilon) is type(found.rho) is type(found.delta) is float


def test_large_budgets_are_shown_as_powers() -> None:
    assert "at most e^700." in dataclasses.replace(PURE, epsilon=700.0).sentence()
    assert "at most 3.74e+303." in dataclasses.replace(PURE, epsilon=699.0).sentence()
    assert str(calibrate_shares(6, Budget(1), custodians=5, dropouts=2)).endswith(
        "from 5 custodians, any 3 of them enough)"
    )


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 3.0])
def test_two_releases_of_one_record_cost_at_most_their_sum_and_more_than_one(epsilon: float) -> None:
    one, other = calibrate(6, epsilon=epsilon), calibrate(6, epsilon=2 * epsilon)
    both, apart = overlapping([one, other]), disjoint([one, other])
    assert other.epsilon < both.epsilon <= math.nextafter(one.epsilon + other.epsilon, math.inf)
    assert (apart.epsilon, apart.rho, apart.delta) == (other.epsilon, other.rho, 0.0)
    assert both.delta == 0.0 and both.rho is not None and one.rho is not None and other.rho is not None
    assert other.rho < both.rho <= (one.rho + other.rho) * (1 + 1e-15)
    for delta in (1e-9, 1e-3):
        assert max(one.equivalent(delta), other.equivalent(delta)) <= both.equivalent(delta) * (1 + 1e-8)
        assert apart.equivalent(delta) == max(one.equivalent(delta), other.equivalent(delta))


def test_failures_that_add_up_beyond_certainty_are_certainty() -> None:
    twelve = overlapping([calibrate(rows, epsilon=1, delta=0.09) for rows in range(1, 13)])
    assert 0.09 < twelve.delta <= 1.0
