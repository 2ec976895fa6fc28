"""Columns with ``discover=True``: their words are found in the pass, and views are then about these words."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import scumble
from scumble import Category, Number, Schema, TableSketch
from scumble.columns.category import HASHED
from scumble.columns.hashing import BUCKETS, bucket_of
from scumble.errors import CorruptFileError, ParameterError, PrivacyError
from scumble.gate.rows import PublishedRows
from scumble.privacy.budget import Budget
from scumble.sources import Build
from scumble.table.counting import count, reference
from scumble.table.discovery import Found, usual
from scumble.table.planner import Planner
from scumble.table.sketch import price
from scumble.table.spec import TableSpec

BUDGET = Budget(4.0, 1e-6)
COLUMNS = {"town": Category(discover=True), "age": Number(0, 9, whole=True), "sex": Category(["f", "m"])}
TOWNS = [f"town {k}" for k in range(12)]
SHARES = np.array([30, 20, 10, 8, 7, 6, 5, 4, 4, 3, 2, 1]) / 100


def table(n: int, seed: int = 0, towns: list[str] = TOWNS, shares: Any = SHARES) -> dict[str, list[Any]]:
    draw = np.random.default_rng(seed)
    own = draw.choice(len(towns), n, p=shares)
    names = np.array([*towns, None], object)[np.where(draw.random(n) < 0.05, len(towns), own)]
    sex = np.where(draw.random(n) < 0.2 + 0.6 * (own % 2), "f", "m")
    return {"town": names.tolist(), "age": draw.integers(0, 10, n).tolist(), "sex": sex.tolist(), "who": list(range(n))}


def sketch(n: int = 20_000, columns: Any = COLUMNS, **options: Any) -> TableSketch:
    data = table(n)
    return TableSketch(Schema(columns), **options).update({name: data[name] for name in columns})


@pytest.fixture(scope="module")
def release() -> scumble.TableRelease:
    return sketch().release(epsilon=4.0, delta=1e-6, n=20_000)


def test_buckets_of_these_words_differ() -> None:
    """What the other tests count on."""
    assert len({bucket_of(town.encode()) % HASHED for town in TOWNS}) == len(TOWNS)


def test_found_words_are_levels_like_declared_ones(release: scumble.TableRelease, tmp_path: Path) -> None:
    data = table(20_000)
    column = release.schema["town"]
    assert isinstance(column, Category) and column.discover and not column.hashed
    # ε = 0.4 finds words from some 33 records on; the rarest has 190: missed once in e^60 times.
    assert set(column.values) == set(TOWNS) and column.values[:2] == ("town 0", "town 1")
    counts = release.count(by="town").set_index("town")["value"]
    for town in (*TOWNS, None):  # noise of a level: below 10; 40 standard errors
        assert abs(counts["(missing)" if town is None else town] - data["town"].count(town)) < 100
    both = sum(town == "town 1" and sex == "f" for town, sex in zip(data["town"], data["sex"], strict=True))
    assert abs(release.count("town = 'town 1' and sex = 'f'").value - both) < 200
    release.save(tmp_path / "r.scumble")
    again = scumble.load(tmp_path / "r.scumble")
    assert isinstance(again, scumble.TableRelease) and again.schema == release.schema and again.spec == release.spec
    assert again.privacy == release.privacy
    assert set(release.sample(200)["town"].dropna()) <= {*TOWNS, "(other)"}
    assert "found privately" in release._repr_html_()


def test_the_price_is_known_beforehand_and_within_the_request(release: scumble.TableRelease, tmp_path: Path) -> None:
    spec = TableSpec.of(Schema(COLUMNS))
    claim = price(spec, Budget(4.0, 1e-6, count_share=Fraction(1, 100)))
    assert claim == release.privacy and claim.epsilon <= 4.0 and claim.delta <= 1e-6
    words, views = claim.parts
    assert words.threshold is not None and views.threshold is None and claim.of_counters == views
    assert words.epsilon <= 0.4 and words.delta == 5e-7
    ledger = scumble.Ledger.create(tmp_path / "ledger")
    ledger.open_dataset("towns", epsilon=1.0, delta=1e-6)
    sketch(2_000).release(epsilon=1.0, delta=1e-6, ledger=ledger, dataset="towns")  # all of it, and no more
    spent = ledger.account("towns").spent
    assert 0.999999 < spent.epsilon <= 1 and spent.rho is None
    assert spent.delta == Fraction("5e-7")  # Laplace noise needs none


@pytest.mark.parametrize("target", [None, "sex"])
@pytest.mark.parametrize("missing", [True, False])
@pytest.mark.parametrize("levels", [None, 96])  # buckets are a multiple of an axis's levels, or are not
def test_views_of_found_words_are_those_of_declared_ones(target: str | None, missing: bool, levels: int | None) -> None:
    columns = {**COLUMNS, "town": Category(discover=True, missing=missing)}
    data = table(3_000)
    if not missing:
        data["town"] = [town or "town 0" for town in data["town"]]
    made = TableSketch(Schema(columns), target=target, levels=levels).update(data)
    ranked = {town.encode(): 300 - k for k, town in enumerate(TOWNS)}
    found = Found(made.spec, [ranked], BUDGET, None, 1)
    assert found.spec.schema["town"].levels[:12] == tuple(TOWNS) and found.spec.apart == {0: 12}
    codes = found.spec.schema.find(data, positions=found.spec.placed, distinct=True)[0].codes
    wanted = np.split(reference(found.spec, codes), np.cumsum(found.spec.lengths)[:-1])
    for row, groups in found.groups.items():
        exact = made.secret.row(row)
        mine = exact if groups is None else np.bincount(groups, exact, found.spec.lengths[row]).astype(np.int64)
        assert mine.tolist() == wanted[row].tolist(), found.spec.views[row]


def test_words_that_share_a_level_of_pairs_or_find_no_room_are_pooled_there() -> None:
    spec = TableSpec.of(Schema(COLUMNS), levels=4)  # 128 levels of buckets, room for two words
    by_level: dict[int, list[str]] = {}
    for word in (f"w{k}" for k in range(2_000)):
        by_level.setdefault(bucket_of(word.encode()) % 128, []).append(word)
    (big, small, *_), (rival, equal, *_), (alone, *_), (last, *_), (most, more, *_) = list(by_level.values())[:5]
    ranked = {rival: 900, equal: 800, most: 750, big: 700, alone: 600, last: 500, more: 112, small: 60}
    found = Found(spec, [{word.encode(): number for word, number in ranked.items()}], BUDGET, None, 1)
    assert found.spec.schema["town"].levels[:8] == (big, alone, rival, equal, most, last, more, small)
    assert found.spec.apart == {0: 2} and found.spec.axes[0].tolist() == [0, 1, *[2] * 7, 3]
    read = TableSpec.from_dict(found.spec.to_dict())
    assert read == found.spec and [axis.tolist() for axis in read.axes] == [axis.tolist() for axis in found.spec.axes]


@pytest.mark.parametrize("target", [None, "sex"])
def test_counting_agrees_with_the_reference(target: str | None) -> None:
    data = table(500)
    spec = TableSpec.of(Schema(COLUMNS, who=scumble.Distinct()), target=target, levels=8)
    codes = spec.schema.find(data, positions=spec.placed, distinct=True)[0].codes
    counts = np.zeros(spec.counters, np.int64)
    count(spec, codes, counts, 2)
    assert np.array_equal(counts, reference(spec, codes))
    assert counts[: spec.lengths[0]].sum() == 500
    assert max(spec.lengths) < 2 * BUCKETS * (3 if target else 1) * 4


@pytest.mark.parametrize(
    ("columns", "options", "n"),
    [
        (["town"], {}, 20_000),
        (["town", "sex"], {"pairs": ()}, 20_000),
        (["town", "age", "sex"], {"pairs": [("town", "sex")]}, 20_000),
        (["town", "age", "sex"], {"target": "sex"}, 20_000),
        (["town", "age", "sex"], {}, 10),  # nothing is found
        (["town", "age"], {}, 0),
        (["town"], {}, 0),
        (["town", "sex", "who"], {}, 20_000),
        (["age", "town", "sex"], {"important": ["town", ("town", "sex")]}, 20_000),
    ],
)
def test_whatever_is_found_is_released(columns: list[str], options: Any, n: int) -> None:
    made = sketch(n, {name: {**COLUMNS, "who": scumble.Distinct()}[name] for name in columns}, **options).release(
        epsilon=1.0, delta=1e-6
    )
    values = made.schema["town"].values  # type: ignore[attr-defined]
    assert len(values) <= 12 and (n < 100) == (not values)
    assert abs(made.count().value - n) < 2_000
    assert scumble.TableRelease.from_bytes(made.to_bytes()).schema == made.schema
    assert len(made.sample(5)) <= 5


def test_a_plan_pays_however_many_words_are_found() -> None:
    spec = TableSpec.of(Schema({"town": Category(discover=True), "sex": Category(["f", "m"])}))
    most = Planner(usual(spec), BUDGET).most
    for many in (0, 1, 5_000, 70_000):
        found = Found(spec, [{b"w%d" % k: 10**6 - k for k in range(many)}], BUDGET, None, most)
        nothing = PublishedRows((), BUDGET.claim(spec.rows), 1_000_000, 1.0, "")
        step = found(nothing, ())
        assert sum(one.share for one in step.values()) <= 1  # type: ignore[union-attr]
        assert max(one.share for one in step.values()) <= Fraction(1, most)  # type: ignore[union-attr]


def test_parts_are_kept_and_merged(tmp_path: Path) -> None:
    data = table(2_000)
    halves = [{name: cells[k * 1000 : (k + 1) * 1000] for name, cells in data.items()} for k in range(2)]
    first, second = (TableSketch(Schema(COLUMNS)).update(half) for half in halves)
    second.save(tmp_path / "part.secret")
    loaded = scumble.load_secret(tmp_path / "part.secret")
    assert isinstance(loaded, TableSketch)
    first.merge(loaded)
    exact = {town.encode(): data["town"].count(town) for town in TOWNS}
    assert first.secret.words[0].margins() == exact  # no two of them share a bucket
    first.release(epsilon=1.0, delta=1e-6)
    assert first.secret.words[0].margins() == {}


def test_found_words_are_the_same_in_any_order_and_with_any_threads(tmp_path: Path) -> None:
    towns = [f"w{k}" for k in range(3_000)]  # hundreds of them meet in a thousand buckets
    rows = pa.table({name: table(40_000, towns=towns, shares=np.full(3_000, 1 / 3_000))[name] for name in COLUMNS})
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("scumble.gate.words.bucket_of", lambda word: bucket_of(word) % 1_000)
        wanted = TableSketch(Schema(COLUMNS)).update(rows).secret
        assert 100 < len(wanted.words[0].margins()) < 1_000
        for threads in (1, 2, 7):
            shuffled = rows.take(np.random.default_rng(threads).permutation(len(rows)))
            path = tmp_path / f"{threads}.parquet"
            pq.write_table(shuffled, path, row_group_size=3_000)
            options: dict[str, Any] = {"schema": Schema(COLUMNS), "epsilon": 1.0, "delta": 1e-6, "threads": threads}
            job = Build(str(path), **options)
            assert job.tally.aside == (threads > 1)
            options |= {"checkpoint": tmp_path / f"{threads}.secret", "checkpoint_seconds": 0.0}
            with pytest.raises(ZeroDivisionError):
                Build(str(path), **options).count(lambda _: 1 / 0)  # type: ignore[arg-type]
            for found in (job.count(), Build(str(path), **options).count()):
                assert found.sketches[0].secret.words[0].margins() == wanted.words[0].margins()
                assert found.sketches[0].secret.counts.tolist() == wanted.counts.tolist()


def test_texts_that_no_cell_can_hold_are_no_words() -> None:
    """Three words of one bucket whose votes spell a fourth, which is "Ulm main station" after a blank: to a column that
    ignores blanks the same word again, and to another one a word."""
    spelled = ["a9jjW,ain station", "0Ulm m:sb9Rtation", '"Ulm main sa(aIbn']
    towns = [town for town in (*spelled, "Ulm main station") for _ in range(1000)]
    for strip in (True, False):
        made = TableSketch(Schema(town=Category(discover=True, strip=strip)))
        made.update({"town": towns})
        assert made.secret.words[0].margins()[b" Ulm main station"] == 1000
        found = made.release(epsilon=1.0, delta=1e-6).schema["town"]
        assert isinstance(found, Category)
        assert {*found.values} == {"Ulm main station"} | ({" Ulm main station"} if not strip else set())


@pytest.mark.parametrize(
    "refused",
    [
        lambda: Category(discover=True, other=False),
        lambda: Category(discover=True, within="age", parents={"a": "b"}),
        lambda: Category(discover="yes"),  # type: ignore[arg-type]
        lambda: TableSketch(Schema(COLUMNS), target="town"),
        lambda: TableSketch(Schema(COLUMNS), together=[("town", "age", "sex")]),
        lambda: TableSketch(Schema(COLUMNS), pairs=[("town", "sex")]).release_share(1.0, 1e-6, custodians=2),
        lambda: scumble.build(pa.table(table(10)), schema=Schema(COLUMNS), epsilon=1.0),
        lambda: scumble.build(pa.table(table(10)), schema=Schema(COLUMNS), rho=0.1, delta=1e-6),
    ],
)
def test_refusals(refused: Any) -> None:
    with pytest.raises((ParameterError, PrivacyError)):
        refused()


def test_without_delta_the_sketch_stays_open() -> None:
    made = sketch(100)
    with pytest.raises(PrivacyError, match="δ = 0"):
        made.release(epsilon=1.0)
    made.release(epsilon=1.0, delta=1e-6)


@pytest.mark.parametrize(
    "harm",
    [
        lambda data: data["spec"].update(apart=[[0, -1]]),
        lambda data: data["spec"].update(apart=[[7, 1]]),
        lambda data: data["spec"].update(apart=[[0, 2**20]]),
        lambda data: data["spec"].update(apart=5),
        lambda data: data["spec"].update(apart=[[0, 3]]),
        lambda data: data["spec"]["schema"]["columns"][0].pop("values"),
        lambda data: data["spec"]["schema"]["columns"][0]["values"].pop(),
        lambda data: data["privacy"]["parts"][0].update(threshold=2),
        lambda data: data["privacy"]["parts"].pop(0),
        lambda data: data.update(privacy=data["privacy"]["parts"][1]),  # as if its words had been public
        lambda data: data["privacy"].update(epsilon=0.1),
    ],
)
def test_hostile_files_are_refused(release: scumble.TableRelease, harm: Any) -> None:
    container = scumble.files.from_bytes(release.to_bytes(), expect="table")
    harm(container.metadata)
    with pytest.raises(CorruptFileError):
        scumble.TableRelease.from_container(container)


def test_rules_that_leave_no_record_unless_words_are_found_are_refused_at_once() -> None:
    """Else whether there is a release would depend on the words, after the charge."""
    with pytest.raises(ParameterError, match="exclude every record"):
        Schema(town=Category(discover=True), age=Number(0, 9), rules=["town != '(other)'", "town is not missing"])


def test_no_cell_of_a_discovered_column_drops_its_record() -> None:
    """Not blanks that are kept, nor a vocabulary's own NA: under replace the number of records is public."""
    schema = Schema(word=Category(discover=True, strip=False), land=Category(["NA", "DE"], discover=True))
    words, lands = ["a", " ", "  NA", "b", None, ""], ["NA", " NA", "DE", "", "x", None]
    sketch = TableSketch(schema).update({"word": words, "land": lands})
    assert (sketch.count, sketch.dropped) == (6, 0)
