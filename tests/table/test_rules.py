"""Rules: cells that they exclude hold nobody in any draw, and every synthetic row obeys them, values included."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import scumble
from scumble.columns.rules import Factors
from scumble.columns.schema import Schema
from scumble.errors import ParameterError
from scumble.table.mixture import Obeyed
from scumble.table.posterior import Draws, Posterior

NUMBER, DATE = scumble.Number(0, 9, whole=True), scumble.Date("2024-01-01", "2024-12-31")
COLUMNS = {
    "admitted": DATE,
    "discharged": scumble.Date("2024-01-01", "2024-12-31", resolution="hour", cells=30, missing=True),
    "due": scumble.Number(0, 500),
    "paid": scumble.Number(0, 500, cells=7, missing=True),
    "sex": scumble.Category(["f", "m"]),
    "pregnant": scumble.Boolean(),
    "town": scumble.Category(["Ulm", "Bonn"], within="state", parents={"Ulm": "BW", "Bonn": "NRW"}),
    "state": scumble.Category(["BW", "NRW"]),
}
RULES = [
    "discharged >= admitted",
    "not paid > due",
    "due > 40",
    "not pregnant or sex == 'f'",
    "state == 'BW' or pregnant",
]
SCHEMA = Schema(COLUMNS, rules=RULES)


def people(n: int = 5_000) -> pd.DataFrame:
    rng = np.random.default_rng(4)
    admitted = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 330, n), unit="D")
    discharged = admitted + pd.to_timedelta(rng.geometric(0.1, n) * 24, unit="h")
    due = rng.uniform(50, 500, n)
    paid = np.where(rng.random(n) < 0.1, np.nan, due * rng.random(n))
    sex = rng.choice(["f", "m"], n)
    pregnant = (sex == "f") & (rng.random(n) < 0.4)
    town = np.where(pregnant & (rng.random(n) < 0.5), "Bonn", "Ulm")
    columns = {"admitted": admitted, "discharged": discharged, "due": due, "paid": paid, "sex": sex}
    state = np.where(town == "Ulm", "BW", "NRW")
    return pd.DataFrame(columns | {"pregnant": pregnant, "town": town, "state": state})


@pytest.fixture(scope="module", params=[None, "pregnant"])
def release(request: pytest.FixtureRequest) -> scumble.TableRelease:
    made = scumble.TableSketch(SCHEMA, target=request.param).update(people()).release(epsilon=1.0, delta=1e-6)
    return scumble.TableRelease.from_bytes(made.to_bytes(draws=True))


def obey(rows: pd.DataFrame) -> bool:
    """Whether all rows obey all rules, by pandas alone."""
    kept = [
        rows.discharged.isna() | (rows.discharged.dt.floor("D") >= rows.admitted),
        rows.paid.isna() | (rows.paid <= rows.due),
        rows.due > 40,
        ~rows.pregnant | ~rows.sex.isin(["m", "(other)"]),
        (rows.state == "BW") | rows.state.isna() | rows.pregnant,
    ]
    return all(one.fillna(True).all() for one in kept)


def test_every_synthetic_row_obeys(release: scumble.TableRelease) -> None:
    for rows in (
        release.sample(1_000, random_state=1),
        release.sample(500, random_state=2, where="due < 123.4 and admitted > '2024-06-07'"),
        *release.draws(2, rows=500),
    ):
        assert len(rows) >= 500 and obey(rows)
    assert not obey(scumble.TableSketch(COLUMNS).update(people()).release(epsilon=1.0, delta=1e-6).sample(5_000))


def test_what_is_excluded_holds_nobody(release: scumble.TableRelease) -> None:
    for where in (
        *("paid > 400 and due < 200", "due < 30", "pregnant and sex == 'm'", "town == 'Bonn' and not pregnant"),
        "admitted >= '2024-08-01' and discharged < '2024-06-01'",
    ):
        found = release.count(where)
        assert (found.value, found.low, found.high) == (0, 0, 0)
    total = release.count().value
    assert abs(total - 5_000) < 250  # the noise of the total is below 20
    asked = [{"sex": sex, "pregnant": yes} for sex in ("f", "m", "(other)") for yes in (True, False)]
    assert sum(release.count(one).value for one in [*asked, {"sex": None}]) == pytest.approx(total)
    assert release.crosstab("admitted", "sex", bins=4, long=True).value.sum() == pytest.approx(total)
    rows = release.sample(3_000, random_state=5)
    # 3,000 rows: a share is within five standard deviations, 0.046, of the draws' mean.
    share = release.count("admitted < '2024-07-01'").value / total
    assert abs((rows.admitted < "2024-07-01").mean() - share) < 0.05


def small_draws(sizes: tuple[int, ...], rules: Obeyed) -> Draws:
    rng = np.random.default_rng(7)
    groups = tuple(np.arange(size) // 2 for size in sizes)
    tables = tuple(rng.dirichlet(np.ones(int(group.max()) + 1), (2, 3)).astype(np.float32) for group in groups)
    within = []
    for group in groups:
        share = rng.random((2, len(group)))
        within.append((share / (share @ np.eye(group.max() + 1)[group])[:, group]).astype(np.float32))
    return Draws(rng.uniform(50, 99, 2), rng.dirichlet(np.ones(3), 2), tables, tuple(within), groups, rules)


def test_sums_are_those_over_all_cells() -> None:
    sizes, rng = (3, 4, 2, 3, 2), np.random.default_rng(1)
    pairs = {(0, 1): rng.random((3, 4)).round(1), (1, 3): np.triu(np.ones((4, 3)))}
    alone = {1: np.array([1.0, 0.0, 0.5, 1.0]), 4: np.array([1.0, 0.25])}
    draws = small_draws(sizes, Obeyed.of(Factors(alone, pairs), {j: j for j in range(5)}, None, 0))
    posterior = Posterior([draws], None)
    product = {0: rng.random(3), 2: np.array([1.0, 0.0]), 3: rng.random(3)}
    for draw in range(2):
        cells = draws.mixture(draw).table(range(5))
        cells *= np.einsum("ab,bd,b,e->abde", *pairs.values(), *alone.values())[:, :, None]
        cells *= draws.totals[draw] / cells.sum()
        asked = cells * np.einsum("a,c,d->acd", *product.values())[:, None, :, :, None]
        assert posterior.counts([(1.0, {})])[draw] == pytest.approx(draws.totals[draw])
        assert posterior.counts([(1.0, product)])[draw] == pytest.approx(asked.sum(), rel=1e-5)
        for columns in itertools.chain(*(itertools.permutations(range(5), k) for k in (1, 2))):
            kept = asked.sum(axis=tuple(j for j in range(5) if j not in columns))
            kept = kept if list(columns) == sorted(columns) else kept.T
            np.testing.assert_allclose(posterior.cells(columns, [(1.0, product)])[draw], kept, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("operator", ["<", "<=", ">", ">=", "==", "!="])
@pytest.mark.parametrize(
    "columns",
    [
        (NUMBER, scumble.Number(2, 12, whole=True, cells=3)),
        (scumble.Number(0, 1), scumble.Number(0.2, 3, cells=5, missing=True)),
        (scumble.Number(0, 1e6, scale="log"), scumble.Number(5, 50)),
        (DATE, scumble.Date("2024-03-01", "2025-12-31", cells="week", missing=True)),
        (COLUMNS["admitted"], COLUMNS["discharged"]),
    ],
)
def test_shares_are_those_of_values_drawn(columns: tuple[Any, Any], operator: str) -> None:
    """Of values drawn in two cells that share obeys a comparison which its factor says; none if it is 0, all if 1."""
    schema = Schema({"a": columns[0], "b": columns[1]}, rules=[f"a {operator} b"])
    (rule,) = schema.constraints.each
    rng = np.random.default_rng(3)
    codes = np.stack([rng.integers(0, size, 40_000) for size in schema.sizes], axis=1)
    held = rule.obeyed(schema, codes, schema.decode(codes, rng))
    share = rule.allowed[codes[:, 0], codes[:, 1]]
    assert rule.allowed.shape == schema.sizes
    assert held[share == 1].all() or operator in ("==", "!=")
    assert not held[share == 0].any() and ((share == 0).any() or operator == "!=")
    if operator not in ("==", "!="):  # 40,000 pairs, and shares from 8 × 8 points
        assert abs(held.mean() - share.mean()) < 0.02
    kept_codes, kept = schema.constraints.kept(codes, schema.decode(codes, rng))
    assert len(kept) == len(kept_codes) > 0 and rule.obeyed(schema, kept_codes, kept).all()


def test_files_keep_rules(tmp_path: Path) -> None:
    SCHEMA.save(tmp_path / "schema.toml")
    assert Schema.load(tmp_path / "schema.toml") == SCHEMA == Schema.from_dict(SCHEMA.to_dict())
    assert Schema(COLUMNS) != SCHEMA and hash(Schema(COLUMNS)) != hash(SCHEMA)
    assert "rules" not in Schema(COLUMNS).to_dict()
    assert Schema(rules=NUMBER).names == ("rules",)
    one, other = (scumble.TableSketch(schema) for schema in (SCHEMA, COLUMNS))
    with pytest.raises(scumble.MergeError):
        one.merge(other)


def test_rules_that_are_none_are_refused() -> None:
    named = {"yes": scumble.Boolean(), "word": scumble.Category(["x"]), "day": DATE}
    alone = ["", "a < z", "a < day", "a < b or yes", "a < a", "a > 9", "yes and not yes", "word < 'x'", "word < yes"]
    alone += ["(a == 1 or b == 2) or c == 3", "a + 1 < b"]
    several: list[Any] = ["a < b", [3], ["a < b", "b < a"], ["a < b", "b < c", "a < c"]]
    for rules in (*several, *([one] for one in alone)):
        with pytest.raises(ParameterError):
            Schema({"a": NUMBER, "b": NUMBER, "c": NUMBER, **named}, rules=rules)


def test_rules_whose_tables_would_fill_the_memory_are_refused() -> None:
    """A schema may come from anyone."""
    several = "a >= b and not a < b and b <= a and not b > a and a >= b"
    for cells, rule in ((5_000, "a >= b"), (2_000, several)):
        with pytest.raises(ParameterError, match="cells"):
            Schema({name: scumble.Number(0, 1e6, cells=cells, missing=True) for name in "ab"}, rules=[rule])
