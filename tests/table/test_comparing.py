"""Comparisons of two releases: p-values that mean what they say, and differences that are found."""

from __future__ import annotations

import json
import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import scumble
from rates import most, normal
from scumble.cli import BAD_DATA, USAGE, main
from scumble.density.comparing import Error, Laplaces
from scumble.errors import MergeError, ParameterError

SCHEMA = scumble.Schema(
    age=scumble.Number(17, 90, whole=True),
    sex=scumble.Category(["f", "m"], other=False, missing=False),
    town=scumble.Category(["Ulm", "Bonn", "Jena"], within="land", parents={"Ulm": "BW", "Bonn": "NRW", "Jena": "TH"}),
    land=scumble.Category(["BW", "NRW", "TH"]),
)


def people(rng: np.random.Generator, n: int, shift: float = 0.0) -> pd.DataFrame:
    age = np.clip(np.rint(rng.normal(45 + 15 * shift, 15, n)), 17, 90)
    sex, town = rng.choice(["f", "m"], n), rng.choice(["Ulm", "Bonn", "Jena"], n, p=[0.6, 0.3, 0.1])
    return pd.DataFrame({"age": age, "sex": sex, "town": town, "land": ""})


def released(table: pd.DataFrame, **options: object) -> scumble.TableRelease:
    target = options.pop("target", None)
    return scumble.TableSketch(SCHEMA, target=target).update(table).release(**({"epsilon": 1.0} | options))


def one(found: pd.DataFrame, **named: object) -> pd.Series:
    rows = found
    for name, value in named.items():
        rows = rows[rows[name] == value]
    assert len(rows) == 1
    return rows.iloc[0]


@pytest.mark.parametrize("normal_part", [0.0, 20.0])
def test_tails_are_those_of_the_exact_law(normal_part):
    """Two Laplace numbers with the coefficient 2 and one with 1, convolved."""
    q, reach = np.exp(-1 / 5), 400
    k = np.arange(-reach, reach + 1)
    law = (1 - q) / (1 + q) * q ** np.abs(k)
    double = np.zeros(4 * reach + 1)
    double[::2] = law
    exact = np.convolve(np.convolve(double, double), law)
    if normal_part:
        bell = np.exp(-(k**2) / (2 * normal_part))
        exact = np.convolve(exact, bell / bell.sum())
    places = np.arange(len(exact)) - len(exact) // 2
    variance = 2 * q / (1 - q) ** 2
    error = Error(normal_part, (Laplaces(np.array([2.0]), variance, 2), Laplaces(np.array([1.0]), variance)))
    assert error.variance == pytest.approx(exact @ places**2, rel=1e-6)
    for far in (10, 40, 60, 100, 150):
        beyond = exact[np.abs(places) > far].sum() + exact[np.abs(places) == far].sum() / 2
        assert error.tail(far) == pytest.approx(beyond, rel=0.05)
    assert error.tail(error.reach(0.95)) == pytest.approx(0.05)
    assert error.tail(0.0) == 1.0


@pytest.mark.parametrize("money", [{"epsilon": 1.0}, {"epsilon": 1.0, "delta": 1e-6}])
def test_one_population_is_seldom_found_to_be_two(money):
    """Twelve pairs. The chance that one statistic has p < .05 in more than most(12, .06) of them is below 1e-9; there
    are three statistics, two noises. All p-values are independent between pairs, so their mean is within normal()
    standard deviations of one half."""
    rng = np.random.default_rng(5)
    frames = [released(people(rng, 2000), **money).compare(released(people(rng, 2000), **money)) for _ in range(12)]
    for named in ({"statistic": "mean"}, {"statistic": "rank"}, {"column": "town", "level": "Ulm"}):
        p = np.array([one(found, **named)["p_value"] for found in frames])
        assert np.count_nonzero(p < 0.05) <= most(len(p), 0.06)
        assert abs(p.mean() - 0.5) < normal() / np.sqrt(12 * len(p))


def test_one_table_released_twice_differs_by_noise_alone():
    """With 15.2 standard deviations, as far as a Laplace number goes (`rates.laplace`)."""
    table = people(np.random.default_rng(2), 20_000)
    first, second = released(table), released(table)
    tables, populations = first.compare(second, of="tables"), first.compare(second)
    assert (tables["p_value"] > 1e-9).all()
    narrow, wide = one(tables, statistic="mean"), one(populations, statistic="mean")
    assert narrow["high"] - narrow["low"] < wide["high"] - wide["low"]
    assert one(tables, statistic="records")["first"] == pytest.approx(20_000, rel=0.05)
    assert "tables" in tables.attrs["claim"] and "populations" in populations.attrs["claim"]


@pytest.mark.parametrize("options", [{}, {"neighbors": "replace"}, {"target": "sex"}, {"delta": 1e-6}])
def test_a_shift_is_found_where_it_is(options):
    """A tenth of a standard deviation, 20,000 records each: more than seven standard errors, and three are needed."""
    rng = np.random.default_rng(3)
    first, second = (released(people(rng, 20_000, shift), **options) for shift in (0.0, 0.15))
    found = first.compare(second)
    mean = one(found, statistic="mean")
    assert mean["p_adjusted"] < 0.05 and mean["low"] < 2.2 < mean["high"] + 1.5
    assert one(found, statistic="rank")["p_adjusted"] < 0.05
    assert (found[found["column"] == "town"]["p_adjusted"] > 1e-6).all()
    back = one(second.compare(first), statistic="mean")
    assert back["difference"] == pytest.approx(-mean["difference"])


def test_a_table_at_hand_counts_exactly():
    rng = np.random.default_rng(6)
    release, table = released(people(rng, 20_000)), people(rng, 5_000, 0.3)
    found = release.compare(table, of="tables")
    assert one(found, statistic="records")["second"] == 5000
    assert one(found, column="town", level="Bonn")["second"] == (table["town"] == "Bonn").mean()
    assert one(found, statistic="mean")["p_adjusted"] < 1e-6
    assert any(remark.startswith("SECRET") for remark in found.attrs["remarks"])
    parts = release.compare(iter([table[:2000], table[2000:]]), of="tables")
    pd.testing.assert_frame_equal(parts, found)


def test_what_is_not_alike_is_left_out_or_refused():
    rng = np.random.default_rng(7)
    table, release = people(rng, 5000), released(people(rng, 5000))
    other = scumble.Schema({**SCHEMA, "age": scumble.Number(0, 99)})
    found = release.compare(scumble.TableSketch(other).update(table).release(epsilon=1.0))
    assert "age" not in {*found["column"]} and "'age'" in found.attrs["remarks"][0]
    unknown = released(people(rng, 20)).compare(released(people(rng, 20), epsilon=0.1))
    unknown = unknown[unknown["difference"].isna()]
    assert len(unknown) and (unknown["p_value"] == 1.0).all() and np.isinf(unknown["low"]).all()
    alone = scumble.TableSketch(scumble.Schema(x=scumble.Boolean())).update({"x": [True] * 900}).release(epsilon=1.0)
    for wrong, options in ((alone, {}), (densities(0.0), {}), (released(table), {"of": "people"})):
        with pytest.raises(ParameterError):
            release.compare(wrong, **options)
    with pytest.raises(MergeError, match="same release"):
        release.compare(release)


# ---- densities ----

KERNEL = scumble.EuclideanKernel(bandwidth=2.0, power=2)


def densities(mean: float, **options: object) -> scumble.Release:
    rng = np.random.default_rng(int(10 * mean))
    sketch = scumble.Sketch(KERNEL, columns=["x"], **({"rows": 400, "buckets": 256} | options))
    return sketch.update({"x": rng.normal(mean, 1.0, 20_000)}).release(epsilon=1.0)


@pytest.mark.parametrize("options", [{}, {"seed": 5}, {"design": "grid", "bounds": (-8.0, 8.0), "buckets": 64}])
def test_densities_differ_where_they_do(options):
    if "design" in options:
        options = options | {"rows": None}
    points = np.array([[-1.0], [0.0], [1.5]])
    first, same, other = densities(0.0), densities(0.1, **options), densities(1.0, **options)
    assert (first.compare(same, points)["p_adjusted"] > 1e-6).all()
    found = first.compare(other, points)
    exact = other.density(points, shrink=False) - first.density(points, shrink=False)
    assert found["difference"].to_numpy() == pytest.approx(exact)
    assert found["p_adjusted"][0] < 1e-6 and found["difference"][0] < 0 < found["difference"][2]
    narrow = first.compare(other, points, of="tables")
    assert (narrow["high"] - narrow["low"] < found["high"] - found["low"]).all()


def test_periods_of_a_stream_share_their_noise():
    rng = np.random.default_rng(1)
    stream = scumble.Stream(KERNEL, 1, periods=3, epsilon=1.0, delta=1e-6, rows=100, buckets=64)
    for mean in (0.0, 0.0, 4.0):
        stream.update(rng.normal(mean, 1.0, (5000, 1)))
        stream.close_period()
    first, second, third = (stream.period(number) for number in (1, 2, 3))
    assert first.compare(second, [[0.0]])["p_value"][0] > 1e-6
    found = first.compare(third, [[0.0]], of="tables")
    assert found["p_value"][0] < 1e-6 and found["difference"][0] < -0.2
    apart = sum(r.standard_error([[0.0]])[0] / r.divisor for r in (first, third))
    assert (found["high"] - found["low"])[0] >= 2 * 1.959 * apart


# ---- the verb ----


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, rng = tmp_path_factory.mktemp("compared"), np.random.default_rng(10)
    for name, shift in (("old", 0.0), ("new", 0.2)):
        table = people(rng, 20_000, shift)
        released(table).save(folder / f"{name}.scumble", draws=True)
        table.to_csv(folder / f"{name}.csv", index=False)
    densities(0.0).save(folder / "density.scumble")
    densities(1.0).save(folder / "other.scumble")
    return folder


def test_the_verb_says_what_changed(files, capsys, monkeypatch):
    monkeypatch.chdir(files)
    assert main(["compare", "old.scumble", "new.scumble", "--json", "--quiet"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["of"] == "populations" and said["correction"] == "Holm" and not said["secret"]
    assert said["rows"][0]["statistic"] == "mean" and said["rows"][0]["p_adjusted"] < 0.05
    assert main(["compare", "old.scumble", "new.scumble", "--csv", "--of", "tables"]) == 0
    assert capsys.readouterr().out.startswith("column,statistic,level,first,second,difference,low,high,p_value")
    assert main(["compare", "old.scumble", "new.scumble", "--plot", "new.png", "--units", "age=years"]) == 0
    assert plt.imread("new.png").shape[1] > 800
    assert "Holm" in capsys.readouterr().err
    assert main(["compare", "density.scumble", "other.scumble", "--at", "x=0", "--at", "x=3", "--json", "--quiet"]) == 0
    assert [row["point"] for row in json.loads(capsys.readouterr().out)["rows"]] == [0, 1]


def test_what_is_exact_is_marked_as_secret(files, capsys, monkeypatch):
    monkeypatch.chdir(files)
    assert main(["compare", "--reference", "old.scumble", "new.csv", "--out", "drift.json", "--quiet"]) == 0
    assert "SECRET" in capsys.readouterr().err
    assert json.loads(Path("drift.json").read_text())["secret"]
    assert os.name != "posix" or Path("drift.json").stat().st_mode & 0o777 == 0o600
    assert main(["compare", "--reference", "old.scumble", "new.csv", "--plot", "drift.svg", "--quiet"]) == 0
    assert "SECRET" in Path("drift.svg").read_text() or "one side is exact" in Path("drift.svg").read_text()
    assert os.name != "posix" or Path("drift.svg").stat().st_mode & 0o777 == 0o600
    assert main(["compare", "--reference", "old.scumble", "new.csv", "--quiet"]) == 0
    assert capsys.readouterr().out.startswith("SECRET")


def test_the_verb_refuses(files, monkeypatch):
    monkeypatch.chdir(files)
    for words, code in (
        (["new.scumble"], USAGE),
        (["--reference", "old.scumble", "old.scumble", "new.csv"], USAGE),
        (["density.scumble", "other.scumble"], USAGE),
        (["old.scumble", "new.scumble", "--csv", "--json"], USAGE),
        (["old.scumble", "new.scumble", "--plot", "picture.txt"], USAGE),
        (["old.scumble", "nowhere.scumble"], BAD_DATA),
        (["old.scumble", "old.scumble"], BAD_DATA),
    ):
        assert main(["compare", *words]) == code
