"""Columns within columns: the coarser one is not counted, follows from the finer one, and never contradicts it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import scumble
from scumble.columns.schema import Schema
from scumble.errors import ParameterError
from scumble.table.grouping import pooled
from scumble.table.spec import TableSpec, axis

STREETS = {f"s{number:02}": f"d{number // 5}" for number in range(40)}
DISTRICTS = {f"d{number}": "NRW" if number < 3 else "BW" for number in range(8)}
STATES = ["BW", "NRW", "HH"]


def category(words: Any, within: str | None = None, **options: Any) -> scumble.Category:
    parents = {"within": within, "parents": words} if within else {}
    return scumble.Category(list(words), **parents, **options)


SCHEMA = Schema(
    state=category(STATES),
    street=category(STREETS, "district"),
    age=scumble.Number(0, 99, whole=True),
    district=category(DISTRICTS, "state"),
    smoker=scumble.Boolean(),
)


def people(n: int = 4_000) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    street = rng.choice([*STREETS, "elsewhere", None], n, p=rng.dirichlet(np.ones(42)))
    district = [STREETS.get(one) if one else None for one in street]
    state = [DISTRICTS.get(one) if one else None for one in district]
    age = rng.integers(0, 100, n)
    smoker = rng.random(n) < 0.3
    return pd.DataFrame({"state": state, "street": street, "age": age, "district": district, "smoker": smoker})


@pytest.fixture(scope="module", params=[None, "smoker", "street"])
def release(request: pytest.FixtureRequest) -> scumble.TableRelease:
    made = scumble.TableSketch(SCHEMA, target=request.param).update(people()).release(epsilon=2.0, delta=1e-6)
    return scumble.TableRelease.from_bytes(made.to_bytes(draws=True))


def test_what_follows_from_another_column_is_not_counted_and_sums_are_exact(release: scumble.TableRelease) -> None:
    assert not {"state", "district"} & {name for view in release.views for name in view}
    by = {name: release.count(by=name).set_index(name).value for name in ("state", "district", "street")}
    for fine, coarse, parents in (("street", "district", STREETS), ("district", "state", DISTRICTS)):
        up = by[fine].groupby(lambda word: parents.get(word, word)).sum()  # noqa: B023
        np.testing.assert_allclose(up, by[coarse].reindex(up.index), rtol=1e-9, atol=1e-6)
    where = "age >= 50 and district in ['d1', 'd5']"
    parts = [release.count(f"{where} and state == '{state}'").value for state in STATES]
    assert sum(parts) == pytest.approx(release.count(where).value)
    assert release.count("state == 'HH'").value == 0 == release.count("street == 's01' and state == 'BW'").high
    both = release.crosstab("state", "district", long=True)
    allowed = both.district.map(lambda word: DISTRICTS.get(word, word)) == both.state
    assert (both.high[~allowed] == 0).all() and (both.value[allowed] > 0).any()
    rows = scumble.sql("select state, district, count(*) n from p group by state, district", p=release)
    found = rows.loc[rows.n_high > 0, ["state", "district"]].astype(object).fillna("(missing)")
    assert (found.district.map(lambda word: DISTRICTS.get(word, word)) == found.state).all()


def test_every_synthetic_row_is_possible(release: scumble.TableRelease) -> None:
    tables = [
        release.sample(3_000, random_state=1),
        release.sample(500, random_state=1, where="state == 'BW' and age > 20"),
        release.sample(500, random_state=1, where="street == 's03' or state == 'BW' or age < 5"),
        *release.draws(2, rows=1_000),
    ]
    for rows in tables:
        found = rows[["street", "district", "state"]].astype(object).fillna("(missing)")
        assert (found.street.map(lambda word: STREETS.get(word, word)) == found.district).all()
        assert (found.district.map(lambda word: DISTRICTS.get(word, word)) == found.state).all()
    assert set(tables[1].state) == {"BW"} and (tables[1].age > 20).all()
    weights = release.weights(tables[0])
    assert weights[tables[0].state == "NRW"].sum() == pytest.approx(release.count("state == 'NRW'").value, rel=1e-3)


def test_the_finer_column_decides() -> None:
    """What a record counts as is a function of its own finest cell, whatever its coarser cells hold."""
    table = people(500)
    scrambled = table.assign(state="nonsense", district=table.district[::-1].to_numpy())
    mine, other = (scumble.TableSketch(SCHEMA).update(one) for one in (table, scrambled))
    np.testing.assert_array_equal(mine.secret.counts, other.secret.counts)
    assert (SCHEMA.encode(table).codes == SCHEMA.encode(scrambled).codes).all()
    mine.merge(other)
    assert mine.count == 1000


def test_files_keep_it(tmp_path: Path) -> None:
    SCHEMA.save(tmp_path / "schema.toml")
    assert Schema.load(tmp_path / "schema.toml") == SCHEMA == Schema.from_dict(SCHEMA.to_dict())
    assert TableSpec.from_dict(TableSpec.of(SCHEMA).to_dict()) == TableSpec.of(SCHEMA)
    words = scumble.Category([1, 2], within="state", parents={1: "BW", "2": "HH"})
    assert words != scumble.Category([1, 2]) != scumble.Category([1, 2], within="state", parents={1: "BW", 2: "BW"})
    assert eval(repr(words), {"Category": scumble.Category}) == words


def test_contradictions_are_refused() -> None:
    fine = category({"x": "y"}, "b")
    for columns in (
        {"a": fine},
        {"a": category({"x": "y"}, "a")},
        *({"a": fine, "b": coarse} for coarse in (scumble.Boolean(missing=True), category(["z"]))),
        *({"a": fine, "b": category(["y"], **none)} for none in ({"other": False}, {"missing": False})),
        {"a": fine, "b": category({"y": "x"}, "a")},
        {"a": category({"x": "y"}, "c"), "b": category({"x": "y"}, "c"), "c": category(["y"])},
    ):
        with pytest.raises(ParameterError):
            Schema(columns)
    good: dict[str, Any] = {"x": "y", "z": "y"}
    parents: list[Any] = [["x"], {"x": "y"}, good | {"z": None}, good | {"w": "y"}, good | {"(other)": "y"}]
    wrong: list[dict[str, Any]] = [{"within": "b"}, {"parents": good}, {"within": 3, "parents": good}]
    for options in (*wrong, *({"within": "b", "parents": one} for one in parents)):
        with pytest.raises(ParameterError):
            scumble.Category(["x", "z"], **options)
    few = Schema({name: SCHEMA[name] for name in ("state", "district")})
    for schema, target in ((SCHEMA, "state"), (few, "district")):
        with pytest.raises(ParameterError):
            scumble.TableSketch(schema, target=target)


def test_pairs_keep_coarser_columns_apart() -> None:
    """As long as there is room, no group of levels spans two levels of a column above."""
    rng = np.random.default_rng(3)
    above = [np.arange(60) // 4, np.arange(60) // 20]
    for most in range(1, 61):
        group = pooled(rng.random(60), most, above)
        assert set(group.tolist()) == set(range(group.max() + 1)) and group.max() < most
        for levels in above:
            if most >= levels.max() + 1:
                assert all(len(set(levels[group == one])) == 1 for one in range(group.max() + 1))
    spec = TableSpec.of(SCHEMA, levels=12)
    street = SCHEMA.names.index("street")
    coarse = axis(SCHEMA["street"], 12, spec.above(street))
    assert coarse.max() < 12 and coarse[-1] not in coarse[:-1]
