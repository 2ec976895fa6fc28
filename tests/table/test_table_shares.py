"""Five custodians, one release: the sum of their shares is one release's counters with one release's noise."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.table.people import SCHEMA, people

import scumble
from scumble.errors import MergeError, ParameterError, PrivacyError
from scumble.privacy.budget import Budget
from scumble.table.sketch import COUNT_SHARE, TableShare

PAIRS = [("age", "sex"), ("sex", "smoker"), ("hours", "age")]


def sketch(frame: pd.DataFrame, **options: Any) -> scumble.TableSketch:
    return scumble.TableSketch(SCHEMA, pairs=PAIRS, invalid="drop", **options).update(frame)


def shares(n: int = 5, rows: int = 200, came: int | None = None, **options: Any) -> list[TableShare]:
    budget: dict[str, Any] = {"epsilon": 1.0, "custodians": n, **options}
    return [sketch(people(rows, seed)).release_share(**budget) for seed in range(n if came is None else came)]


def exact(seeds: range, rows: int = 200) -> np.ndarray:
    found: np.ndarray = sketch(pd.concat([people(rows, seed) for seed in seeds])).contents()[1]["counts"]
    return found


@pytest.mark.parametrize("options", [{}, {"delta": 1e-6, "epsilon": 3.0}], ids=["laplace", "gaussian"])
def test_the_sum_has_the_scale_of_one_release(options: dict[str, Any]) -> None:
    release = scumble.combine(shares(**options))
    budget = Budget.of(options.get("epsilon", 1.0), options.get("delta", 0.0), "add-remove", 1, COUNT_SHARE)
    alone = budget.claim(release.spec.rows)
    claimed = Fraction(release.privacy.exact_scale) / Fraction(alone.exact_scale)
    assert 1 <= claimed < 1 + Fraction(1, 10**4)
    assert release.variances == pytest.approx(
        (alone.law.variance(alone.scales.counters),) * release.spec.rows, rel=1e-3
    )
    assert (release.privacy.epsilon, release.privacy.custodians) == (pytest.approx(alone.epsilon), 5)


def test_the_sum_has_the_noise_of_one_release() -> None:
    """The mean square of thousands of draws: beyond 7 standard errors in less than one of 10⁹ tests."""
    releases = [scumble.combine(shares(epsilon=0.5)) for _ in range(8)]
    noise = np.concatenate([release.counts - exact(range(5)) for release in releases]).astype(float)
    variance = releases[0].variances[0]
    fourth = 24 * (variance / 2) ** 2  # of Laplace noise, 24 b⁴ with 2 b² = variance
    z = (np.mean(noise**2) - variance) / np.sqrt((fourth - variance**2) / noise.size)
    assert noise.size > 3000 and abs(z) < 7


@pytest.mark.parametrize("more", [{}, {"target": "sex"}, {"together": [("age", "sex", "hours")]}], ids=str)
def test_answers_are_those_of_all_custodians(more: dict[str, Any], tmp_path: Path) -> None:
    budget: dict[str, Any] = {"epsilon": 5.0, "custodians": 5}
    release = scumble.combine([sketch(people(1000, seed), **more).release_share(**budget) for seed in range(5)])
    everybody = pd.concat([people(1000, seed) for seed in range(5)])
    truth = ((everybody.sex == "Female") & (everybody.age >= 50)).sum()
    assert abs(release.count("sex == 'Female' and age >= 50").value - truth) < 250
    assert abs(release.mean("age").value - everybody.age.mean()) < 1.5
    release.save(tmp_path / "all.scumble")
    again = scumble.load(tmp_path / "all.scumble")
    assert again.privacy == release.privacy and again.count("smoker").value == release.count("smoker").value


def test_more_than_enough_shares_have_more_noise() -> None:
    enough = scumble.combine(shares(5, came=3, dropouts=2))
    more = scumble.combine(shares(5, dropouts=2))
    assert more.variances[0] == pytest.approx(enough.variances[0] * 5 / 3, rel=0.02)
    assert scumble.TableRelease.from_bytes(more.to_bytes()).variances == more.variances
    with pytest.raises(PrivacyError, match="are needed"):
        scumble.combine(shares(5, came=2, dropouts=2))


def test_a_share_goes_into_one_sum_and_lives_in_its_file(tmp_path: Path) -> None:
    found = shares(3)
    for k, one in enumerate(found):
        one.save(tmp_path / f"{k}.share")
    loaded = [scumble.load_share(tmp_path / f"{k}.share") for k in range(3)]
    assert {type(one) for one in loaded} == {TableShare}
    first = scumble.combine(loaded)
    with pytest.raises(MergeError, match="another sum"):
        scumble.combine([*found[:2], sketch(people(200, 9)).release_share(epsilon=1.0, custodians=3)])
    assert np.array_equal(scumble.combine(found).counts, first.counts)


def test_what_is_not_fixed_beforehand_has_no_shares() -> None:
    with pytest.raises(ParameterError, match="pairs"):
        scumble.TableSketch(SCHEMA).release_share(epsilon=1.0, custodians=2)
    for wrong in (("age",), ("age", "sexx")):
        with pytest.raises(ParameterError):
            scumble.TableSketch(SCHEMA, pairs=[wrong])
    density = scumble.Sketch(scumble.EuclideanKernel(1.0), dimensions=1, rows=4, buckets=8)
    with pytest.raises(ParameterError):
        scumble.combine([*shares(1, custodians=2), density.release_share(epsilon=1.0, custodians=2)])


def test_a_ledger_is_charged_for_the_whole(tmp_path: Path) -> None:
    ledger = scumble.Ledger.create(tmp_path / "book")
    ledger.open_dataset("people", epsilon=1)
    made = sketch(people(50))
    made.release_share(epsilon=0.75, custodians=2, ledger=ledger, dataset="people")
    assert ledger.account("people").left().epsilon == Fraction(1, 4)
    with pytest.raises(scumble.errors.BudgetError):
        made.release_share(epsilon=0.1, custodians=2, ledger=ledger, dataset="people")


def test_named_pairs_also_make_a_release_of_ones_own() -> None:
    release = sketch(people(1000)).release(epsilon=5.0)
    assert {*release.views} <= {("age",), ("sex",), ("hours",), ("seen",), ("smoker",), *PAIRS, ("age", "hours")}
