"""PrivacyClaim: reading, storing, combining, the (ε′, δ) that a release also has, and the edges of its fields."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from fractions import Fraction

import pytest
from dp_accounting.pld import privacy_loss_distribution

from lawful import brute
from scumble.errors import MergeError, ParameterError
from scumble.gate.words import claim_of_words
from scumble.privacy import PrivacyClaim, calibrate, disjoint, overlapping
from scumble.privacy.budget import Budget
from scumble.privacy.claim import _stored_fraction
from scumble.privacy.sensitivity import Column
from scumble.privacy.splitting import calibrate_shares

PURE = calibrate(100, epsilon=1)
SMALL = calibrate(100, epsilon=0.25)
GAUSS = calibrate(100, epsilon=1, delta=1e-6)
SWAP = calibrate(100, epsilon=1, neighbors="replace")
FAMILY = calibrate(100, epsilon=1, records_per_person=4)


@pytest.mark.parametrize(("rows", "epsilon"), [(10, 1.0), (200, 1.0), (500, 4.0)])
@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-3])
def test_pure_equivalent_equals_dp_accounting(rows: int, epsilon: float, delta: float) -> None:
    claim = calibrate(rows, epsilon=epsilon, count_share=0)
    step = 1 / claim.scale
    oracle = privacy_loss_distribution.from_discrete_laplace_mechanism(step, value_discretization_interval=step / 2)
    theirs = oracle.self_compose(rows).get_epsilon_for_delta(delta)
    assert claim.equivalent(delta) == pytest.approx(min(epsilon, theirs), rel=1e-4)


@pytest.mark.parametrize("moves", [[2], [1, 1], [2, 0]])
def test_pure_curve_covers_two_records_however_they_are_spread(moves: list[int]) -> None:
    claim = calibrate(1, epsilon=1.5, records_per_person=2, count_share=0)
    for delta in (1e-3, 0.05):
        assert brute(claim.equivalent(delta), "discrete-laplace", [(move, claim.scale) for move in moves]) <= delta


PLAIN = Budget(0.5, count_share=0)
ONE, OTHER = PLAIN.claim(8), PLAIN.claim(16)
COUNTED = [Budget(0.5).claim(8), Budget(0.5).claim(16)]
NORMAL = [calibrate(rows, epsilon=0.5, delta=1e-6, mechanism="discrete-gaussian") for rows in (8, 16)]
TWO, THREE, FOUR = (Budget(1.0).claim(rows) for rows in (1, 2, 3))
WORDS = claim_of_words(Budget(1.0, 1e-9), 1)
EITHER = "discrete-gaussian or discrete-laplace"


@pytest.mark.parametrize(
    ("claim", "noise"),
    [
        *((overlapping([TWO, ONE]), ONE.mechanism), (overlapping([THREE, ONE]), ONE.mechanism)),
        (overlapping([TWO, disjoint([ONE, OTHER])]), ONE.mechanism),
        (overlapping([TWO, disjoint(NORMAL)]), NORMAL[0].mechanism),
        (overlapping([TWO, disjoint([NORMAL[0], OTHER])]), EITHER),
    ],
    ids=str,
)
def test_choices_after_facts(claim: PrivacyClaim, noise: str) -> None:
    assert claim.by_facts and claim.noise == noise


@pytest.mark.parametrize(
    "claim",
    [
        *(ONE, disjoint([TWO, ONE]), overlapping([TWO, ONE, OTHER]), overlapping([FOUR, ONE])),
        *(overlapping([TWO, COUNTED[0]]), overlapping([TWO, NORMAL[0]]), overlapping([TWO, disjoint(COUNTED)])),
        *(overlapping([TWO, disjoint([NORMAL[0], NORMAL[0]])]), overlapping([PLAIN.claim(1), PLAIN.claim(1)])),
        *(overlapping([WORDS, ONE]), overlapping([TWO, disjoint([ONE, overlapping([ONE, OTHER])])])),
    ],
    ids=str,
)
def test_no_choices_after_facts(claim: PrivacyClaim) -> None:
    assert not claim.by_facts and claim.noise == claim.of_counters.mechanism


def test_the_part_that_is_about_counters() -> None:
    assert overlapping([WORDS, ONE]).of_counters == ONE and ONE.of_counters == ONE
    for several in (overlapping([WORDS, ONE, OTHER]), overlapping([ONE, OTHER]), overlapping([WORDS, WORDS, ONE])):
        assert several.of_counters == several
    assert str(overlapping([GAUSS, GAUSS])).endswith("together, Gaussian noise added up exactly)")


def test_an_equivalent_needs_a_delta_that_its_noise_can_keep() -> None:
    assert PURE.equivalent(0) == 1.0 and GAUSS.equivalent(1e-6) <= 1.0 < GAUSS.equivalent(1e-9)
    for bad in (-1e-9, 1, math.nan, "x", None):
        with pytest.raises(ParameterError, match="`delta` must be"):
            PURE.equivalent(bad)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="positive for discrete-gaussian noise"):
        GAUSS.equivalent(0)


def test_disjoint_takes_the_larger() -> None:
    merged = disjoint([SMALL, PURE, GAUSS])
    assert (merged.epsilon, merged.delta, merged.rho) == (1.0, 1e-6, max(PURE.rho, SMALL.rho, GAUSS.rho))
    assert merged.mechanism == "merged" and merged.scale is None
    assert merged.equivalent(1e-6) == max(c.equivalent(1e-6) for c in (SMALL, PURE, GAUSS))
    assert disjoint([PURE]) is PURE
    assert disjoint([PURE] * 1000).parts == (PURE,)
    assert disjoint([disjoint([SMALL, PURE]), GAUSS]) == merged


def test_overlapping_adds() -> None:
    merged = overlapping([PURE, SMALL, GAUSS])
    assert merged.epsilon < 2.25 and merged.delta == 1e-6 and merged.added_up == "rho"
    pure = overlapping([PURE, SMALL])
    assert pure.epsilon == 1.25 and pure.delta == 0 and pure.added_up == "sum"
    assert Fraction(merged.rho) >= sum(Fraction(c.rho) for c in (PURE, SMALL, GAUSS))
    assert merged.equivalent(1e-5) < 2.25
    assert overlapping([overlapping([PURE, SMALL]), GAUSS]) == merged
    assert overlapping(claim for claim in [PURE]) is PURE
    tenths = overlapping([calibrate(1, epsilon=0.1)] * 3)
    assert Fraction(tenths.epsilon) >= 3 * Fraction(0.1)  # the float sum, rounded up


def test_merging_protects_only_as_many_records_as_every_part_allows() -> None:
    assert disjoint([PURE, FAMILY]).records_per_person == 1
    assert overlapping([FAMILY, FAMILY]).unit == "person"


@pytest.mark.parametrize("combine", [disjoint, overlapping])
def test_bad_merges(combine) -> None:
    with pytest.raises(MergeError, match="neighbors is 'add-remove' here and 'replace' there"):
        combine([PURE, SWAP])
    with pytest.raises(ParameterError, match="at least one claim"):
        combine([])


PERIODS = Budget(1.0).claim(4, column=Column(3, 3, 3))
ALL = [PURE, SMALL, GAUSS, SWAP, FAMILY, PERIODS, disjoint([PURE, PURE]), overlapping([PURE, disjoint([GAUSS, SMALL])])]


@pytest.mark.parametrize("claim", ALL, ids=str)
def test_round_trip_through_json(claim: PrivacyClaim) -> None:
    text = json.dumps(claim.to_dict(), allow_nan=False)
    assert PrivacyClaim.from_dict(json.loads(text)) == claim


ALTERED: dict[str, list] = {
    "epsilon": [0.5, "1"],  # more than the scales give
    "rows": [101],
    "scale": [2.0],
    "exact_scale": ["-3", "0", "many", "1e999999999", None],
    "exact_count_scale": ["1/0"],
    "count_scale": [None],
    "parts": [None, [{}]],
    "surprise": [1],
}


@pytest.mark.parametrize("name", ALTERED)
def test_altered_claims_are_refused(name: str) -> None:
    for value in ALTERED[name]:
        with pytest.raises(ParameterError):
            PrivacyClaim.from_dict({**PURE.to_dict(), name: value})


def test_missing_fields_and_false_sums_are_refused() -> None:
    for name in PURE.to_dict():
        with pytest.raises(ParameterError, match=f"fields; odd are {name}"):
            PrivacyClaim.from_dict({key: value for key, value in PURE.to_dict().items() if key != name})
    with pytest.raises(ParameterError, match="does not follow from its parts"):
        PrivacyClaim.from_dict({**overlapping([PURE, SMALL]).to_dict(), "epsilon": 1.0})
    with pytest.raises(ParameterError, match="a mapping"):
        PrivacyClaim.from_dict("claim")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "change",
    [
        {"combination": "overlapping"},
        {"combination": "disjoint"},
        {"parts": [calibrate(10, epsilon=0.001).to_dict()]},
        {"combination": "overlapping", "parts": [calibrate(10, epsilon=0.001).to_dict()]},
    ],
    ids=["overlapping", "disjoint", "single with parts", "overlapping with parts"],
)
def test_the_claim_of_one_release_cannot_vanish_in_a_merged_one(change: dict) -> None:
    """Merging and the ledger take merged claims apart: one that says so without parts of its own would cost nothing."""
    with pytest.raises(ParameterError, match="combination"):
        PrivacyClaim.from_dict({**calibrate(10, epsilon=1.0).to_dict(), **change})


def test_sentence_speaks_of_the_right_unit() -> None:
    assert "adding or removing one record" in PURE.sentence()
    assert "a factor of at most 2.72" in PURE.sentence()
    assert "except with a probability of at most 1e-06" in GAUSS.sentence()
    assert "changing one record" in SWAP.sentence()
    assert "one person's records (up to 4)" in FAMILY.sentence()
    assert all(claim.sentence().count(". ") == 0 for claim in ALL)


def test_str_shows_the_budget() -> None:
    assert str(PURE).startswith("ε = 1, ρ = ")
    assert float(str(PURE).split("ρ = ")[1].split()[0]) >= PURE.rho
    for rho in (0.4901499, 0.49014, 0.12344, 0.1234):
        told = str(dataclasses.replace(PURE, rho=rho)).split("ρ = ")[1].split()[0]
        assert rho <= float(told) < rho + 1e-4, "no promise is shown smaller than it is"
    for epsilon, delta in ((5.0, 1.004e-6), (0.25, 1e-6), (5.5, 0.0)):
        words = dataclasses.replace(PURE, epsilon=epsilon, delta=delta).sentence()
        factor, *failure = (float(found) for found in re.findall(r"at most ([0-9.e+-]+[0-9])", words))
        assert math.exp(epsilon) <= factor <= 1.01 * math.exp(epsilon)
        assert all(delta <= told <= 1.01 * delta for told in failure) and len(failure) == (delta > 0)
    assert "δ = 1e-06" in str(GAUSS)
    assert "2 measurements of the same records together" in str(overlapping([PURE, PURE]))


BUDGETS = [(Fraction(1, 10), 0), (0.5, 0), (1, 0), (3, 0), (Fraction(1, 10), 1e-6), (0.5, 1e-9), (1, 1e-6), (3, 1e-3)]
CLAIMS = {
    f"ε = {epsilon}, δ = {delta}, {neighbors}, {people}": calibrate(
        6, epsilon=epsilon, delta=delta, neighbors=neighbors, records_per_person=people
    )
    for epsilon, delta in BUDGETS
    for neighbors, people in (("add-remove", 1), ("replace", 3))
}
SIX = CLAIMS["ε = 1, δ = 0, add-remove, 1"]


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


# For each field the first values that may not stand.
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


@pytest.mark.parametrize("name", FALLEN)
def test_the_first_values_that_may_not(name: str) -> None:
    for value in FALLEN[name]:
        with pytest.raises(ParameterError, match="must be"):
            dataclasses.replace(SIX, **{name: value})


def test_custodians_who_may_drop_out() -> None:
    for custodians, dropouts in ((1, 0), (3, 2)):
        assert dataclasses.replace(SIX, custodians=custodians, dropouts=dropouts).dropouts == dropouts
    for dropouts in (3, -1):
        with pytest.raises(ParameterError, match="`dropouts`"):
            dataclasses.replace(SIX, custodians=3, dropouts=dropouts)
    for merged in ({"combination": "disjoint"}, {"combination": "single", "parts": (SIX,)}):
        with pytest.raises(ParameterError, match="`combination`"):
            dataclasses.replace(SIX, mechanism="merged", **merged)


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
    merged = disjoint([SIX, CLAIMS["ε = 3, δ = 0, add-remove, 1"]])
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
    dataclasses.replace(SIX, exact_scales=((1, "1"), (5, "2")), exact_scale=None, scale=None)
    dataclasses.replace(SIX, column=(2, 2, 2))
    assert dataclasses.replace(WORDS, threshold=1).threshold == 1
    for claim, threshold in ((WORDS, 0), (WORDS, 2**62), (GAUSS, 9)):
        with pytest.raises(ParameterError, match="threshold"):
            dataclasses.replace(claim, threshold=threshold)
    with pytest.raises(ParameterError):
        dataclasses.replace(SIX, **change)


def test_stored_fractions_have_forty_digits_at_most() -> None:
    most = "9" * 40
    assert _stored_fraction(f"{most}/{most}") == 1 and _stored_fraction(most) == int(most)
    for bad in (f"{most}9", f"1/{most}9", "0", "01", "1/0", "1/01", "-1", "1.5", "1/2/3", "", "1 ", "٣"):
        with pytest.raises(ParameterError, match="a positive fraction"):
            _stored_fraction(bad)


@pytest.mark.parametrize("name", list(SIX.to_dict()))
def test_no_field_may_be_of_another_type(name: str) -> None:
    for bad in (True, b"x", {"a": 1}):
        with pytest.raises(ParameterError, match="of type"):
            stored(SIX, **{name: bad})


@pytest.mark.parametrize("column", [[2, 2], [2, 2, 2, 2], [2, 2, 2.0], [2, "2", 2], []])
def test_a_column_is_three_whole_numbers(column: list) -> None:
    with pytest.raises(ParameterError, match="three whole numbers"):
        stored(SIX, column=column)


def test_whole_numbers_are_read_as_floats() -> None:
    with pytest.raises(ParameterError, match="no float holds"):
        stored(SIX, epsilon=10**400)
    found = stored(SIX, epsilon=2, rho=1)
    assert (found.epsilon, found.rho) == (2.0, 1.0)
    assert type(found.epsilon) is type(found.rho) is type(found.delta) is float


def test_large_budgets_are_shown_as_powers() -> None:
    assert "at most e^700." in dataclasses.replace(SIX, epsilon=700.0).sentence()
    assert "at most 3.74e+303." in dataclasses.replace(SIX, epsilon=699.0).sentence()
    assert str(calibrate_shares(6, Budget(1), custodians=5, dropouts=2)).endswith(
        "from 5 custodians, any 3 of them enough)"
    )


def test_failures_that_add_up_beyond_certainty_are_certainty() -> None:
    twelve = overlapping([calibrate(rows, epsilon=1, delta=0.09) for rows in range(1, 13)])
    assert 0.09 < twelve.delta <= 1.0
