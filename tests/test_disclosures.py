"""What a lawyer and a registry want to know: NIST's points, the registry's entry, the two measures of use."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
import yaml

import scumble
from scumble.cli import main
from scumble.errors import plain_number
from scumble.privacy import wording
from scumble.privacy.exact import show
from scumble.show import nist
from scumble.show.cards import card, facts, lines
from scumble.show.usefulness import errors, group, noises, sample_worth, smallest_group

# The schema of opendp/deployments-registry-data, without its descriptions.
SCHEMA = json.loads((Path(__file__).parent / "golden" / "registry" / "schema.json").read_text())
ODD = 'a "quoted" \\ name\n\u2028 with: # \U0001f600 \x85'


def release(**budget: Any) -> scumble.Release:
    rng = np.random.default_rng(0)
    sketch = scumble.Sketch(scumble.EuclideanKernel(1.0), columns=["x", ODD], rows=32, buckets=64)
    return sketch.update(rng.normal(size=(500, 2))).release(**({"epsilon": 1.0} | budget))


def table(**budget: Any) -> scumble.TableRelease:
    schema = scumble.Schema(age=scumble.Number(0, 100, whole=True), smoker=scumble.Boolean())
    rng = np.random.default_rng(0)
    sketch = scumble.TableSketch(schema).update({"age": rng.integers(0, 100, 500), "smoker": rng.random(500) < 0.3})
    return sketch.release(**({"epsilon": 1.0} | budget))


RELEASES: dict[str, Any] = {
    "pure": release,
    "delta": lambda: release(epsilon=1.0, delta=1e-6),
    "people": lambda: release(neighbors="replace", records_per_person=3),
    "bundle": lambda: scumble.Bundle({"a": release(), "b": release()}),
    "table": table,
}


@pytest.mark.parametrize("kind", RELEASES)
def test_an_entry_is_valid_in_the_registry_and_says_what_the_release_says(kind: str) -> None:
    one = facts(RELEASES[kind]())
    written = nist.entry(one, "People 2024.scumble")
    found = yaml.safe_load(written)
    jsonschema.Draft7Validator(SCHEMA, format_checker=jsonschema.Draft7Validator.FORMAT_CHECKER).validate(found)
    loss = found["deployment"]["privacy_loss"]
    assert loss["privacy_parameters"]["epsilon"] == one["epsilon"]
    assert loss["privacy_parameters"].get("delta", 0.0) == one["delta"]
    assert found["deployment"]["dp_variant"]["variant_name"] == ("Approximate DP" if one["delta"] else "Pure DP")
    assert ", ".join(one["columns"]) in found["deployment"]["basic"]["description"]
    assert re.fullmatch(r"[a-z0-9_]+", found["url_slug"])
    assert found["deployment"]["basic"]["data_product_type"] == "Summary statistics", "noisy counts are no rows"
    assert 'data_product_type: "Summary statistics" # fill in' in written, "what is made of them, the curator knows"
    wanted = "# fill in: plans for further releases of the same data"
    assert f'release_type_details: "" {wanted}\n' in written, "a question is no answer"
    blanks = [line for line in written.splitlines() if line.endswith("# fill in")]
    assert any("data_curators" in line or "- " in line for line in blanks) and len(blanks) >= 8


def test_a_promise_is_shown_short_and_never_smaller_than_it_is() -> None:
    """A table's parts add up to a little less than its budget."""
    made = table()
    assert 1.0 - 1e-6 < made.privacy.epsilon < 1.0
    assert facts(made)["epsilon"] == 1.0 and "epsilon: 1.0\n" in nist.entry(facts(made), "t")
    assert str(made.privacy).startswith("ε = 1,") and wording.promise(made.privacy.epsilon, 0.0).startswith("ε = 1,")
    assert wording.promise(1.0000004, 1.23456701e-6) == "ε = 1.00001, δ = 1.23457e-06"
    for written in (0.1, 0.3, 1e-6, 2.0, 123456.0):
        assert float(show(written)) == written


@pytest.mark.parametrize("kind", RELEASES)
def test_nineteen_points_are_answered(kind: str) -> None:
    found = RELEASES[kind]()
    one = facts(found)
    points = nist.points(one)
    assert len(points) == 19 and all(point.answer for point in points)
    answers = {point.name: point.answer for point in points}
    assert ("RECORD LEVEL" in answers["Unit of privacy"]) == (one["unit"] == "record")
    assert ("not protected" in answers["Neighboring datasets"]) == (one["neighbors"] == "replace")
    assert nist.BLANK in answers["Other releases of the same data"]
    chance = float(answers["Privacy loss, epsilon"].split("right in ")[1].removeprefix("at most ").split(" %")[0]) / 100
    assert chance >= math.exp(one["epsilon"]) / (1 + math.exp(one["epsilon"]))  # a promise is not rounded down
    card, least = dict(lines(found)).get("Worth", ""), list(errors(one).values())
    assert least == sorted(least, reverse=True), "the less flattering comes first"
    told, moved = answers["Smallest group that is visible"], answers["Accuracy"]
    assert [word for word in told.split() if word[0].isdigit()] == [group(noise) for noise in least]
    assert all(f"about {group(noise)}" in card for noise in least) or kind == "bundle"
    assert all(f" {plain_number(noise, 3)} {where}" in moved for where, noise in noises(one).items())


def test_from_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    book = scumble.Ledger.create("town.ledger")
    for dataset in ("people", "cats"):
        book.open_dataset(dataset, epsilon=3)
    for name in ("first", "second"):
        sketch = scumble.Sketch(scumble.EuclideanKernel(1.0), columns=["x"], rows=8, buckets=16)
        sketch.update(np.zeros((9, 1))).release(epsilon=1.0, ledger=book, dataset="people").save(f"{name}.scumble")
    info, charged = ["info", "first.scumble"], ["--ledger", "town.ledger", "--dataset"]
    for dataset, others in (("people", 1), ("cats", 0)):  # the other one, and not this one
        assert main([*info, "--nist", *charged, dataset]) == 0
        assert capsys.readouterr().out.count("ε = 1 (discrete-laplace)") == others
    assert main([*info, "--registry"]) == 0
    assert yaml.safe_load(capsys.readouterr().out)["url_slug"] == "first"
    for wrong in (charged[:2], [*charged, "people"]):
        assert main([*info, *wrong]) == 2


def test_what_a_release_is_worth() -> None:
    assert smallest_group(0.0) == 1 and smallest_group(25.0) == 100
    # a sample of n records tells a tenth of N with a standard error of N √(0.09 / n)
    assert sample_worth(error=10_000 * (0.09 / 900) ** 0.5, records=10_000) == pytest.approx(900)
    assert sample_worth(error=1.0, records=10_000) is None and sample_worth(error=0.0, records=0) is None


def test_the_smallest_group_of_hashed_rows_counts_what_hashing_does_to_answers() -> None:
    """With next to no noise, answers are off by collisions alone: no card may promise to show less than these."""
    rng = np.random.default_rng(3)
    sketch = scumble.Sketch(scumble.EuclideanKernel(3.0), 6, rows=64, buckets=64, design="iid")
    release = sketch.update(rng.normal(size=(20_000, 6))).release(epsilon=1000.0)
    known = facts(release)
    (told,) = errors(known).values()
    lower, upper = release.interval(np.full((1, 6), 30.0))  # nobody is there
    assert next(iter(noises(known).values())) < 0.01 and smallest_group(told) > (upper - lower)[0] / 2
    assert f"groups of about {group(told)} records" in " ".join(card(release, "people").split())
