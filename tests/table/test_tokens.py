"""Columns of tokens: which of a record's are counted, that the price covers all of them, and what is answered."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats
from tests.table.people import SCHEMA, people

import scumble
from scumble import ParameterError, PrivacyError, TableSketch, Tokens, files
from scumble.audit.replay import Session, compare, used
from scumble.columns.column import OTHER
from scumble.files.compiling import Patience
from scumble.gate.rows import Contest, Wanted, publish_as_planned, publish_rows, shared_claim
from scumble.privacy import audit_hooks
from scumble.privacy.budget import Budget
from scumble.privacy.laws.discrete_laplace import unequal_delta
from scumble.table import counting
from scumble.table.sketch import price
from scumble.table.tokens import Counted

WORDS = ["python", "sql", "rust", "go", "perl", "ada"]
WITH_TAGS = scumble.Schema({**SCHEMA, "tags": Tokens(WORDS, 3), "one": Tokens(["a", "b"], 1)})
CELLS = [["sql", "python"], [], None, ["ada", "sql", "perl", "go", "sql"], ["cobol", "lisp", "ada"], ["rust"]]


def tagged(n: int = 300) -> pd.DataFrame:
    """A table with sets that have up to seven words, some of which nobody declared."""
    rng = np.random.default_rng(1)
    frame = people(n)
    every = [*WORDS, "cobol", "lisp"]
    frame["tags"] = [[*rng.choice(every, rng.integers(0, 8))] for _ in range(n)]
    frame["one"] = [";".join(rng.choice(["a", "b", "c"], rng.integers(0, 3))) for _ in range(n)]
    return frame


def told(cell: object, words: list[str], most: int) -> list[str]:
    """The tokens of a cell that are counted, slowly and obviously."""
    listed = cell.split(";") if isinstance(cell, str) else list(cell) if isinstance(cell, list | np.ndarray) else []
    held = {word.strip() for word in listed if word.strip()}
    return [word for word in words if word in held][:most] + [OTHER] * bool(
        held - {*words} and len(held & {*words}) < most
    )


def counted(cells: Any, words: list[str], most: int) -> tuple[Counter[str], Counter[tuple[str, ...]]]:
    """How many records have each token and each pair of them."""
    each = [told(cell, words, most) for cell in cells]
    pairs = Counter(pair for one in each for pair in itertools.combinations(one, 2))
    return Counter(word for one in each for word in one), pairs


def exact(epsilon: float = 20_000.0, **options: Any) -> scumble.TableRelease:
    """A release of nearly no noise."""
    return TableSketch(WITH_TAGS, **options).update(tagged()).release(epsilon=epsilon)


# ---- counting ----


@pytest.mark.parametrize(
    "cells",
    [
        CELLS,
        np.array([None if one is None else {*one} for one in CELLS], object),
        pd.Series([None if one is None else " ; ".join(one) for one in CELLS]),
        pl.Series(CELLS),
        pa.array(CELLS),
        pa.chunked_array([CELLS[:2], CELLS[2:]], pa.list_(pa.string())),
        pa.array(CELLS, pa.large_list(pa.large_string())),
        pa.array([None if one is None else ";".join(one) for one in CELLS]).dictionary_encode(),
    ],
    ids=["list", "sets", "pandas", "polars", "array", "chunks", "large", "dictionary"],
)
def test_every_container_has_the_same_tokens(cells: Any) -> None:
    column = Tokens(WORDS, 3)
    names = [*column.levels, *["nothing"] * 3]
    found = [[names[code] for code in one if code < len(column.levels)] for one in column.slots(cells).codes]
    assert found == [told(cell, WORDS, 3) for cell in CELLS]


@pytest.mark.parametrize("target", [None, "sex"])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("compiled", [False, True])
def test_counters_are_those_of_an_obvious_count(
    target: str | None, threads: int, compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting, "numpy_first", Patience(0, 0) if compiled else Patience(10**12, 10**12))
    monkeypatch.setattr(counting, "WORTH_A_THREAD", 1)
    frame = tagged()
    sketch = TableSketch(WITH_TAGS, target, threads=threads).update(frame[:200]).update(frame[200:])
    spec = sketch.spec
    for row, own in spec.token_rows.items():
        column = WITH_TAGS.tokens[own.name]
        counts = sketch.secret.row(row).reshape(own.shape)
        words, pairs = counted(frame[own.name], list(map(str, column.values)), column.most)
        levels = column.levels
        if counts.ndim == 1:
            assert dict(zip(levels, counts.tolist(), strict=False)) == {word: words[word] for word in levels}
        else:
            found = {(levels[j], levels[k]): counts[j, k] for j in range(len(levels)) for k in range(len(levels))}
            assert found == {pair: pairs[pair] for pair in found}
    codes = spec.schema.find(frame, positions=spec.placed, distinct=True)[0].codes
    np.testing.assert_array_equal(counting.reference(spec, codes), sketch.secret.counts)


def test_a_record_adds_one_to_as_many_counters_as_its_row_is_paid_for() -> None:
    """Of a long vocabulary, pairs tell only the first words apart: the others must not share a counter."""
    words = [f"w{k}" for k in range(400)]
    schema = scumble.Schema(yes=scumble.Boolean(), tags=Tokens(words, 4), few=Tokens(words[:3], 4))
    rng = np.random.default_rng(2)
    for _ in range(40):
        tags = [*rng.choice([*words[:2], *words[-3:], "x", "y"], rng.integers(0, 7))]
        sketch = TableSketch(schema).update({"yes": [True], "tags": [tags], "few": [["w1", "w1", "z", "y"]]})
        spec = sketch.spec
        for row in range(len(spec.lengths)):
            counts = sketch.secret.row(row)
            assert counts.max() == 1 and counts.sum() == spec.touches.get(row, 1)
        assert spec.rows == sum(spec.touches.get(row, 1) for row in range(len(spec.lengths)))
        assert spec.lengths[-1] == 8**2 and spec.lengths[-3] == 256**2


# ---- releasing ----

BUDGETS: list[dict[str, Any]] = [
    {"epsilon": 1.0},
    {"epsilon": 1.0, "delta": 1e-6},
    {"epsilon": 1.0, "neighbors": "replace"},
    {"epsilon": 1.0, "delta": 1e-6, "records_per_person": 3},
    {"epsilon": 1.0, "records_per_person": 3},
    {"rho": 0.1},
]
NEIGHBORING = scumble.Schema(yes=scumble.Boolean(), x=scumble.Number(0, 9, cells=3), tags=Tokens(WORDS, 3))
HERE: dict[str, list[Any]] = {"yes": [True, False] * 5, "x": [*range(10)], "tags": [["sql"], ["go", "ada"]] * 5}


def replayed(table: dict[str, list[Any]], budget: dict[str, Any], before: Session | None, **options: Any) -> Any:
    session = Session(before)
    with audit_hooks.watching(session):
        release = TableSketch(NEIGHBORING, **options).update(table).release(**budget)
    return session, release.counts.tolist(), release.privacy


@pytest.mark.parametrize("pairs", [None, []])
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_neighbors_stay_within_the_claim(budget: dict[str, Any], pairs: list[Any] | None) -> None:
    """A person whose records hold the same tokens, and one whose records share some of them."""
    times = budget.get("records_per_person", 1)
    options = {"pairs": pairs}
    several = [["sql", "python", "rust"], ["sql", "go", "ada"], ["sql", "python", "perl", "x"]]
    for sets in ([several[0]] * times, several[:times], [[]] * times):
        there = {name: [*cells] for name, cells in HERE.items()}
        if budget.get("neighbors") == "replace":
            there["tags"][0] = sets[0]
        else:
            for tags in sets:
                for name, cell in zip(there, (True, 9, tags), strict=True):
                    there[name].append(cell)
        for one, other in ((HERE, there), (there, HERE)):
            recorded, first, claim = replayed(one, budget, None, **options)
            played, second, _ = replayed(other, budget, recorded, **options)
            found = compare(recorded, played)
            assert not found.problems and first == second
            assert used(claim, found.epsilon, found.rho) <= 1 + 1e-6


@pytest.mark.parametrize("pairs", [None, []])
@pytest.mark.parametrize("target", [None, "sex"])
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_all_that_is_published_is_paid_for(target: str | None, pairs: list[Any] | None, budget: dict[str, Any]) -> None:
    release = TableSketch(WITH_TAGS, target, pairs=pairs).update(tagged()).release(**budget)
    spec, grouped = release.spec, release._grouped
    assert price(spec, Budget.of(**{"count_share": Fraction(1, 100), **budget})) == release.privacy
    if "rho" not in budget and "delta" not in budget:
        sides = 2 if "neighbors" in budget else 1
        moved = sides * budget.get("records_per_person", 1)
        both = zip(grouped.times, release.scales, strict=True)
        assert sum(moved * times / scale for times, scale in both) <= release.privacy.epsilon
    words, _ = counted(tagged()["tags"], WORDS, 3)
    found = release.count(by="tags")
    assert [*found["tags"]] == [*WORDS, OTHER]
    for word, value, error in zip(found["tags"], found["value"], found["standard_error"], strict=True):
        # Seven words in 24 releases: Laplace tails of 15 deviations are below 168 · exp(−15√2) < 2e-7.
        assert abs(value - words[word]) < 15 * error
    again = scumble.TableRelease.from_bytes(release.to_bytes())
    assert again.schema == WITH_TAGS and again.scales == release.scales
    assert again.crosstab("tags").equals(release.crosstab("tags"))


def test_a_row_with_several_counters_of_a_record_is_neither_grouped_nor_compared() -> None:
    def secret() -> Any:
        return TableSketch(NEIGHBORING).update(HERE).secret

    spec, row = secret().spec, max(secret().spec.touches)
    groups = np.zeros(spec.lengths[row], np.int64)
    steps: list[tuple[Any, str]] = [
        ({row: Wanted(Fraction(1, 4), groups)}, "must not be grouped"),
        (Contest(Fraction(1, 8), {row: groups}, {row: np.zeros(1, np.int64)}, {}), "not yet published"),
    ]
    for step, why in steps:
        with pytest.raises(ParameterError, match=why):
            publish_as_planned(secret(), Budget(1.0), most=2, plan=lambda *_, step=step: step)
    times = spec.touches[row]
    held = [publish_as_planned(secret(), Budget(1.0), most=2, plan=plan) for plan in (asking(row, 2), asking(0, 2))]
    assert held[0].rows[0].scale == pytest.approx(times * float(held[1].rows[0].scale), rel=1e-6)
    with pytest.raises(PrivacyError, match="more of the budget"):
        publish_as_planned(secret(), Budget(1.0), most=2, plan=lambda *_: {row: Wanted(Fraction(3, 2))})
    # All rows with one scale: the curve of that claim does not cover persons who share tokens.
    each = [spec.touches.get(row, 1) for row in range(len(spec.lengths))]
    with pytest.raises(PrivacyError, match="tokens"):
        publish_rows(secret(), Budget(1.0), shares=each)
    assert shared_claim(Budget(1.0), spec, [2, *each[1:]]).rows == spec.rows == sum(each)


def asking(row: int, most: int) -> Callable[..., Any]:
    """A plan that publishes one row."""
    return lambda found, _: {} if found.rows else {row: Wanted(Fraction(1, most))}


def test_a_person_whose_records_share_tokens_is_covered_by_as_many_coins() -> None:
    """A person with m records moves t counters of each. The bound for t coins of step m/s covers every such move."""
    for people_, times in ((2, 3), (3, 2), (3, 3)):
        moves = {
            tuple(sorted(Counter(itertools.chain(*sets)).values()))
            for sets in itertools.product(itertools.combinations(range(5), times), repeat=people_)
        }
        for scale in (0.3, 1.0, 5.0):
            for epsilon in (0.01, 0.5, 2.0, people_ * times / scale / 2):
                allowed = unequal_delta(epsilon, np.array([float(times)]), np.array([people_ / scale]))
                assert max(_delta(move, scale, epsilon) for move in moves) <= allowed


def _delta(moves: tuple[int, ...], scale: float, epsilon: float) -> float:
    """δ(ε) of discrete Laplace noise on coordinates that move by so much, by every outcome."""
    losses = {0.0: 1.0}
    outcomes = np.arange(-400, 401)
    q = math.exp(-1 / scale)
    chance = (1 - q) / (1 + q) * q ** np.abs(outcomes)
    for move in moves:
        each = Counter[float]()
        for loss, p in zip((np.abs(outcomes - move) - np.abs(outcomes)) / scale, chance, strict=True):
            each[round(float(loss), 9)] += float(p)
        joint = Counter[float]()
        for (a, p), (b, r) in itertools.product(losses.items(), each.items()):
            joint[round(a + b, 9)] += p * r
        losses = dict(joint)
    return sum(p * -math.expm1(min(0.0, epsilon - loss)) for loss, p in losses.items())


def test_other_ways_through_the_gate_refuse_tokens() -> None:
    sketch = TableSketch(WITH_TAGS, pairs=[("age", "sex")]).update(tagged(50))
    with pytest.raises(PrivacyError, match="tokens"):
        sketch.release_share(1.0, custodians=3)
    assert sketch.release(1.0).count().value >= 0  # nothing was spent


# ---- asking ----


@pytest.mark.parametrize("options", [{}, {"pairs": []}, {"target": "sex"}])
def test_answers_are_the_counts(options: dict[str, Any]) -> None:
    release, frame = exact(**options), tagged()
    words, pairs = counted(frame["tags"], WORDS, 3)
    assert dict(release.count(by=["tags"])[["tags", "value"]].values) == pytest.approx(
        {word: words[word] for word in (*WORDS, OTHER)}, abs=2
    )
    top = release.top("tags", 2)
    assert [*top["tags"]] == [word for word, _ in words.most_common() if word != OTHER][:2]
    assert all(low <= rank <= high for rank, low, high in zip((1, 2), top["rank_low"], top["rank_high"], strict=True))
    crossed = release.crosstab("tags", "tags")
    for one, other in itertools.combinations(WORDS, 2):
        assert crossed["value"].loc[one, other] == crossed["value"].loc[other, one]
        assert crossed["value"].loc[one, other] == pytest.approx(pairs[one, other], abs=2)
        assert crossed["value"].loc[one, one] == pytest.approx(words[one], abs=2)
    assert "tags" not in release.columns


def test_intervals_hold_what_noise_can_be() -> None:
    """400 counts in each of two laws: fewer than .9 within the interval of .95 has a chance below 1e-6 each."""
    words = [f"w{k}" for k in range(400)]
    schema = scumble.Schema(yes=scumble.Boolean(), tags=Tokens(words, 2))
    table = {"yes": [True] * 800, "tags": [[f"w{k % 400}", f"w{(k + 1) % 400}"] for k in range(800)]}
    for delta in (0.0, 1e-6):
        release = TableSketch(schema).update(table).release(epsilon=1.0, delta=delta)
        counts = release._tokens("tags", pairs=False).counts
        half = release.top("tags", 1)
        reach = half["high"][0] - half["value"][0]
        assert np.mean(np.abs(counts[:400] - 4) <= reach) >= 0.9


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_ranks_are_those_that_noise_allows(law: Any) -> None:
    """Within the largest difference of two noises: a normal quantile, or a Laplace one where that is larger."""
    counts = np.array([50.0, 9.0, 41.0, 40.0, 20.0, 61.0, 3.0])
    words, shares = ("a", "b", OTHER, "c", "d", "e", "f"), (0.5, 0.95, 0.999)
    for share in shares:
        quantile = stats.laplace(scale=math.sqrt(0.5)) if law == "laplace" else stats.norm
        reach, usual = (one.ppf((1 + share) / 2) for one in (quantile, stats.norm))
        found = Counted(words, counts, 3.0, law)
        assert found.reach(share) == pytest.approx(reach)
        ranked = found.ranked(share)
        assert [word for word, *_ in ranked] == ["e", "a", "c", "d", "b", "f"]
        most = max(reach, usual) * math.sqrt(2) * 3.0
        own = {word: count for word, count in zip(words, counts.tolist(), strict=True) if word != OTHER}
        for word, estimate, first, last in ranked:
            assert estimate.value == own[word] and estimate.high - own[word] == math.ceil(reach * 3.0)
            assert first == 1 + sum(count > own[word] + most for count in own.values())
            assert last == len(own) - sum(count < own[word] - most for count in own.values())


def test_questions_that_were_not_counted_are_refused() -> None:
    release = exact()
    asked: list[Callable[[], object]] = [
        lambda: release.mean("tags"),
        lambda: release.count("tags == 'sql'"),
        lambda: release.count("age > 40", by="tags"),
        lambda: release.count(by=["tags", "sex"]),
        lambda: release.top("tags", where="age > 40"),
        lambda: release.top("sex", by="tags"),
        lambda: release.crosstab("tags", "sex"),
        lambda: release.crosstab("tags", margins=True),
        lambda: release.crosstab("one"),
        lambda: scumble.sql("select count(*) from people where tags = 'sql'", people=release),
        lambda: scumble.sql("select tags, count(*) from people group by tags", people=release),
    ]
    for one in asked:
        with pytest.raises(ParameterError, match=r"[Tt]oken"):
            one()


# ---- schemas, sources, files ----


def test_a_schema_describes_tokens_in_a_file(tmp_path: Path) -> None:
    schema = scumble.Schema(x=scumble.Boolean(), t=Tokens(["a b", "c"], 7, separator="|", ignore_case=True))
    schema.save(tmp_path / "s.toml")
    assert scumble.Schema.load(tmp_path / "s.toml") == schema == scumble.Schema.from_dict(schema.to_dict())
    assert schema != scumble.Schema(x=scumble.Boolean(), t=Tokens(["a b", "c"], 6, separator="|", ignore_case=True))
    assert eval(repr(schema), {**vars(scumble), "Tokens": Tokens}) == schema
    for wrong in ({"values": ["a"]}, {"values": [], "most": 2}, {"values": ["a"], "most": 65}, {"most": 2}):
        with pytest.raises(ParameterError):
            Tokens(**wrong)
    for separator in ("", 5):
        with pytest.raises(ParameterError, match="separator"):
            Tokens(["a"], 2, separator=separator)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="besides"):
        scumble.Schema(t=Tokens(["a"], 1))
    with pytest.raises(scumble.DataError, match="'t'"):
        TableSketch(schema).update({"x": [True], "t": pa.array([{"a": 1}])})


@pytest.mark.parametrize("form", ["csv", "mixed.jsonl", "parquet", "polars"])
def test_every_source_gives_the_same_tokens(form: str, tmp_path: Path) -> None:
    sets = [["new york", "ulm"], [], None, ["ulm", "rome", "bonn"], ["bonn"]]
    texts = [None if one is None else ";".join(one) for one in sets]
    ages = [1, 2, 3, 4, 5]
    path = tmp_path / f"table.{form}"
    source: Any = path
    if form == "csv":
        pd.DataFrame({"age": ages, "towns": texts}).to_csv(path, index=False)
    elif form.endswith("jsonl"):
        cells = [text if k % 2 else one for k, (one, text) in enumerate(zip(sets, texts, strict=True))]
        rows = zip(ages, cells, strict=True)
        path.write_text("".join(json.dumps({"age": age, "towns": one}) + "\n" for age, one in rows))
    elif form == "parquet":
        pq.write_table(pa.table({"age": ages, "towns": sets}), path)
    else:
        source = pl.DataFrame({"age": ages, "towns": sets})
    schema = scumble.Schema(age=scumble.Number(0, 9, whole=True), towns=Tokens(["ulm", "new york", "bonn"], 2))
    with pytest.warns(scumble.errors.CuratorWarning, match=r"'towns' was not counted.*\n?.*\(other\)"):
        release = scumble.build(source, schema=schema, epsilon=20_000)
    found = release.count(by="towns").set_index("towns")["value"]
    assert found.round().to_dict() == {"ulm": 2, "new york": 1, "bonn": 2, OTHER: 0}


def test_a_file_with_several_scales_for_one_row_is_refused() -> None:
    release = TableSketch(NEIGHBORING).update(HERE).release(1.0)
    box = files.from_bytes(release.to_bytes(), expect="table")
    runs = box.metadata["scales"]
    assert isinstance(runs, list)
    last, scale = runs[-1]
    changed = [*runs[:-1], [last - 1, scale], [1, str(Fraction(scale) * 2)]]
    with pytest.raises(scumble.CorruptFileError, match="several scales"):
        scumble.TableRelease.from_bytes(files.to_bytes("table", box.metadata | {"scales": changed}, box.arrays))
