"""The grey-box audit: every path that ends in a release keeps its promise, and no path is left out.

Nothing here is a matter of chance: the noise is recorded and played back, and no verdict depends on it.
"""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path as Folder
from unittest import mock

import numpy as np
import pytest

import scumble
from scumble.audit import greybox
from scumble.audit.greybox import all_paths, audit_path, building, clusters, coverage, estimators, forms
from scumble.audit.greybox.neighbors import Pair, base
from scumble.audit.greybox.paths import Path
from scumble.audit.greybox.running import run
from scumble.audit.greybox.sketches import numbers, sketch_of
from scumble.audit.replay import BEST, Call, Session, compare, used
from scumble.cli import REFUSED, USAGE, main
from scumble.learn import PrivateKDE, PrivateKDEClassifier
from scumble.learn import kde as kde_module
from scumble.privacy import calibrate, disjoint, seam
from scumble.privacy.calibration import Calibration
from scumble.privacy.splitting import calibrate_shares, draw_counters_share
from scumble.releasing.selection import noisy_best

PATHS = all_paths()
ALONE = [name for name in PATHS if not name.startswith("spark")]


@pytest.mark.parametrize("name", ALONE)
def test_the_path_keeps_its_promise(name):
    verdict = audit_path(PATHS[name])
    assert verdict.findings == []
    assert verdict.pairs > 0


def test_no_path_is_left_out():
    """Whatever ends in a release has run, every option of it; and Spark's paths, on one cluster, keep their promise.

    An estimator with options of its own is not run again here, for these are found by name: a hole it would fill shows.
    """
    seen = coverage.Seen()
    try:
        for name, path in PATHS.items():
            with seen.watching():
                if name not in ALONE:
                    assert audit_path(path).findings == []
                elif not re.search(r"\(.+\)", name):
                    run(path.run, path.pairs()[0].here)
    finally:
        clusters.stop()
    assert coverage.holes(seen) == []


def test_spark_is_audited_where_it_is():
    """`make test` installs Java, so Spark is there."""
    assert clusters.is_there() == any(name.startswith("spark") for name in PATHS)
    assert clusters.is_there()


def test_a_door_that_nobody_goes_through_is_a_hole():
    doors, holes = coverage.doors(), coverage.holes(coverage.Seen())
    assert {"scumble.build", "scumble.Sketch.release", "scumble.PrivateKDE.fit", "scumble fit"} <= set(doors)
    for door in doors:
        assert f"{door} was never called" in holes


def test_an_unknown_option_or_format_is_a_hole():
    seen = coverage.Seen()
    assert "Groups.__init__ was never called with `person_column`" in coverage.holes(seen)
    with mock.patch.dict(forms.BYTES):
        del forms.BYTES[".parquet"]
        assert "no path reads .parquet" in coverage.holes(seen)
    with mock.patch.dict(estimators.VALUES):
        del estimators.VALUES["threshold_share"]
        assert "PrivateOutlierDetector has an option `threshold_share` that no path varies" in coverage.holes(seen)


def test_places_are_found_in_the_source():
    places = coverage.places()
    assert ("releasing/gate.py", "publish") in places
    assert ("privacy/calibration.py", "Calibration._draw") in places
    assert ("privacy/laws/discrete_laplace.py", "DiscreteLaplace.draw") in places
    assert ("privacy/splitting.py", "draw_counters_share") in places
    assert ("releasing/selection.py", "noisy_best") in places
    assert ("sources/parquet.py", "Parquet.read") in places


# ---- the auditor catches what is wrong: each defect once, whatever else is mended ----


def findings(run_path, *takes, **promise):
    return audit_path(Path("a path", run_path, frozenset(takes), **promise)).findings


def good(table, folder):
    return sketch_of(table).release(epsilon=1.0)


def test_a_good_path_is_not_accused():
    assert findings(good, "floats", "missing", "empty") == []


def test_a_table_that_several_pairs_share_is_recorded_once():
    """Here all pairs but "one of two records" have the harmless table on one side or the other."""
    ran = []

    def path(table, folder):
        ran.append(table)
        return good(table, folder)

    verdict = audit_path(Path("a path", path))
    assert verdict.pairs == 5 and len(ran) == verdict.pairs + 2
    assert ran.count(base()) == 1


def test_too_little_noise_is_caught():
    def draw(self, scale, size, backend):
        return scumble.privacy.discrete_laplace(scale / 4, size)

    with mock.patch.object(Calibration, "_draw", draw):
        assert "no such noise was drawn" in findings(good)[0]


def test_no_noise_on_the_count_is_caught():
    with mock.patch.object(Calibration, "draw_count", lambda self, backend: 0):
        assert "no such noise was drawn" in findings(good)[0]


def test_a_published_fact_is_caught():
    def path(table, folder):
        return [sketch_of(table).release(epsilon=1.0), f"{len(table)} records"]

    assert any("differs beyond its noise" in finding for finding in findings(path))


def test_an_exact_number_among_what_a_model_shows_is_caught():
    """How many records were outside the bounds is the curator's own: scikit-learn's card shows whatever `dir` has."""

    def path(table, folder):
        return PrivateKDE(bounds=(2, 10), rows=4, buckets=16).fit(numbers(table))

    assert findings(path) == []
    with mock.patch("scumble.learn.looking.CURATORS", ()):
        assert any("differs beyond its noise" in finding for finding in findings(path))


def test_a_warning_and_a_refusal_that_one_record_brings_about_are_caught():
    def path(table, folder):
        if len(table) == 9:
            raise scumble.DataError("nine")
        return good(table, folder)

    assert any("one table is refused" in finding for finding in findings(path))
    assert findings(path, strict=True) == []

    def noisy(table, folder):
        import warnings

        warnings.warn(f"{len(table)} records", stacklevel=1)
        return good(table, folder)

    assert any("warnings or log lines differ" in finding for finding in findings(noisy))


def test_extreme_floats_that_move_others_are_caught():
    """As if one huge number made the engine read the whole batch in another way."""

    def path(table, folder):
        X = numbers(table)
        huge = np.nanmax(np.abs(X), initial=0.0) > 1e300
        return sketch_of([{"x": x + 5.0 * huge, "y": y} for x, y in X.tolist()]).release(epsilon=1.0)

    assert any(finding.startswith("all numbers huge") for finding in findings(path, "floats"))


def test_cells_read_by_equality_are_caught():
    """As if the hash of a cell were remembered under `==`: the hour that comes twice is one key."""

    def path(table, folder):
        first: dict = {}
        cells = [first.setdefault(record["cell"], repr(record["cell"])) for record in table]
        column = np.array(cells, object)
        sketch = scumble.Sketch(scumble.HammingKernel(), columns=["cell"], rows=6, buckets=16)
        return sketch.update({"cell": column}).release(epsilon=1.0)

    caught = [finding for finding in findings(path, "odd") if "times the claim" in finding]
    assert any(finding.startswith("the hour that comes twice") for finding in caught)
    assert any(finding.startswith("True among ones") for finding in caught)


def test_labels_that_turn_to_text_are_caught():
    """As if labels were read as NumPy does: one text among numbers makes texts of all, which are no numbers."""

    def path(table, folder):
        labels = np.asarray([{"bus": 0, "car": 1}.get(record["label"], record["label"]) for record in table])
        if labels.dtype.kind == "U":
            labels = np.char.add("text ", labels)
        model = PrivateKDEClassifier(bounds=(0, 10), classes=[0, 1], unknown="drop", rows=4)
        return model.fit(numbers(table), labels)

    caught = findings(path, "labels")
    assert any(finding.startswith("the label is 'n/a'") and "times the claim" in finding for finding in caught)


def test_an_exact_number_of_readable_records_under_replace_is_caught():
    def path(table, folder):
        sketch = sketch_of(table)
        sketch.secret.drops = False  # as if it did not know that it has dropped some
        return sketch.release(epsilon=1.0, neighbors="replace")

    assert any("differs beyond its noise" in found for found in findings(path, "missing", neighbors="replace"))


def test_columns_read_off_the_records_are_caught():
    def path(table, folder):
        names = sorted({name for record in table for name, cell in record.items() if not isinstance(cell, str)})
        return building.built(forms.file_of(table, folder, ".jsonl"), names, scumble.EuclideanKernel(2.0))

    assert any(finding.startswith("a key that no other") for finding in findings(path, "keys"))


def test_a_claim_that_forgets_a_part_is_caught():
    def path(table, folder):
        return PrivateKDE(bounds=(0, 10), bandwidths=[0.1, 0.5], rows=4, buckets=16).fit(numbers(table))

    assert findings(path) == []
    with mock.patch.object(kde_module, "overlapping", disjoint):
        assert "times the claim" in findings(path)[0]


def test_a_person_with_more_records_than_claimed_is_caught():
    def path(table, folder):
        return sketch_of(table).release(epsilon=1.0, records_per_person=2)

    assert any("a person's 3 records" in finding for finding in findings(path, people=3))
    assert findings(path, people=2) == []


def test_a_lie_about_disjoint_records_is_caught():
    def path(table, folder):
        return scumble.merge([sketch_of(table).release(epsilon=1.0) for _ in range(3)], disjoint=True)

    assert "3 times the claim is spent" in findings(path)[0]


def test_a_person_in_two_parts_that_were_limited_apart_is_caught():
    def path(table, folder):
        halves = [[record for record in table if building._side(record) == k] for k in (0, 1)]
        limit = {"person_column": "who", "records_per_person": 3}
        parts = [building.built(forms.arrow(half), **limit) for half in halves]
        return scumble.merge(parts, disjoint="persons")

    caught = [found for found in findings(path, "persons", people=3) if "times the claim" in found]
    assert any(found.startswith("a person with far too many records") for found in caught)


def test_a_scale_read_off_the_data_is_caught():
    def path(table, folder):
        return sketch_of(table).release(epsilon=10.0 / len(table))

    assert any("a call differs" in finding for finding in findings(path))


# ---- noise is used once ----


def session(*events, before=None):
    watcher = Session(before)
    with seam.watching(watcher):
        for event in events:
            event()
    return watcher


def released(exact, name="a", claim=None, times=1, moved=0):
    claim = claim or calibrate(1, epsilon=1, count_share=0)

    def event():
        noise = claim.draw_counters((1, 2))
        seam.hold(name, claim.claim, noise, None)
        for k in range(times):
            seam.publish(noise + np.array([exact]) + k * moved, None, name)

    return event


def test_inputs_distances_are_added_up():
    here = session(released([5, 0]), released([1, 1], "b"))
    there = session(released([4, 0]), released([1, 3], "b"), before=here)
    found = compare(here, there)
    assert (found.epsilon, found.rho, found.calls, found.problems) == (Fraction(3), 0, 2, ())
    assert [call.output.tolist() for call in here.calls] != []


def test_a_second_use_of_noise_shows_what_lies_between():
    out = []

    def event(moved):
        def act():
            claim = calibrate(1, epsilon=1, count_share=0)
            noise = claim.draw_counters((1, 2))
            seam.hold("a", claim.claim, noise, None)
            first = seam.publish(noise + 5, None, "a")[0]
            second = seam.publish(noise + 5 + moved, None, "a")[0]
            out.append((second - first).tolist())

        return act

    here = session(event(0))
    session(event(1), before=here)
    assert out == [[[0, 0]], [[1, 1]]]  # equal inputs, equal outputs; else the difference is bare


def test_sums_with_some_noise_in_common_are_caught():
    def event():
        claim = calibrate_shares(1, custodians=3, dropouts=1, epsilon=1.0, count_share=0)
        parts = {}
        for name in "abc":
            parts[name] = draw_counters_share(claim, (1, 2))
            seam.hold(name, claim, parts[name], None)
        seam.publish(parts["a"] + parts["b"], None, "a", "b")
        seam.publish(parts["a"] + parts["b"] + parts["c"], None, "a", "b", "c")

    assert any("noise is used twice" in problem for problem in session(event).problems)


def test_too_few_shares_and_undrawn_noise_are_caught():
    def few():
        claim = calibrate_shares(1, custodians=3, epsilon=1.0, count_share=0)
        noise = draw_counters_share(claim, (1, 2))
        seam.hold("a", claim, noise, None)
        seam.publish(noise, None, "a")

    assert session(few).problems == ["fewer shares are added up than the promised noise needs"]
    nameless = session(lambda: seam.publish(np.zeros((1, 2), np.int64), None, "nobody's"))
    assert nameless.problems == ["numbers are published with noise that was never drawn for them"]


@pytest.mark.parametrize(("scores", "caught"), [((3, 3), False), ((4, 2), False), ((5, 2), True), ((3, 6), True)])
def test_scores_that_move_farther_apart_than_was_said_are_caught(scores, caught):
    """From 3 and 3 on: by one each, in opposite directions, is as far as two scores of sensitivity 1 go."""
    here = session(lambda: noisy_best([3, 3], 1))
    found = compare(here, session(lambda: noisy_best([*scores], 1), before=here))
    assert bool(found.problems) == caught and found.epsilon == 1


def test_costs_of_each_kind_of_call():
    one, two = np.array([[3, 4, 5]]), np.array([[3, 6, 4]])
    laplace = [Call("discrete-laplace", Fraction(2), exact, exact) for exact in (one, two)]
    gaussian = [Call("discrete-gaussian", Fraction(2), exact, exact) for exact in (one, two)]
    best = [Call(BEST, Fraction(2), exact[0], exact[0], apart=4) for exact in (one, two)]
    assert laplace[0].cost(laplace[1]) == (Fraction(3, 2), 0)
    assert gaussian[0].cost(gaussian[1]) == (0, Fraction(5, 8))
    assert best[0].cost(best[1]) == best[0].cost(best[0]) == (2, 0)  # whatever these two tables move
    pure, concentrated = calibrate(1, epsilon=1).claim, calibrate(1, rho=0.02).claim
    assert used(pure, Fraction(1, 2), Fraction(0)) == 0.5
    assert used(pure, Fraction(0), Fraction(1, 100)) == float("inf")
    assert used(concentrated, Fraction(0), Fraction(concentrated.rho)) == 1.0
    assert used(disjoint([pure, concentrated]), Fraction(1), Fraction(0)) == 1.0


# ---- pairs, and the verb ----


@pytest.mark.parametrize("name", ALONE)
def test_pairs_are_neighbours(name):
    """What a path is given differs in one record, or in those of one person."""
    path = PATHS[name]
    for pair in path.pairs():
        here, there = ([repr(record) for record in table] for table in (pair.here, pair.there))
        gone, come = list(here), list(there)
        for record in here:
            if record in come:
                gone.remove(record)
                come.remove(record)
        if pair.trait == "persons" and path.neighbors == "add-remove":
            assert not come and len({record["who"] for record in pair.here if repr(record) in gone}) == 1
        elif path.neighbors == "replace" or "count" in path.public:
            assert len(gone) == len(come) == 1
        else:
            assert min(len(gone), len(come)) == 0 and 1 <= max(len(gone), len(come)) == pair.records <= path.people


def test_runs_leave_nothing_behind():
    before = dict(scumble.releasing.spending._SPENT)
    outcome = run(good, base())
    assert dict(scumble.releasing.spending._SPENT) == before and seam._watching is None
    assert outcome.published and outcome.claim.epsilon == 1.0
    again = run(good, base(), before=outcome.session)
    assert again.published == outcome.published


def test_a_machines_paths_do_not_count_as_differences(tmp_path: Folder):
    def path(table, folder):
        raise scumble.DataError(f"no such file: {folder}/people.csv")

    pair = Pair("one record", base(), base(9))
    assert audit_path(Path("p", path, forbidden=True), [pair]).findings == []


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_each_path_is_shown_as_it_finishes(capfd, options):
    """In a terminal on standard output, and beside a JSON document on standard error."""
    shown, audited = [], greybox.audit_path

    def watched(path):
        shown.append("".join(capfd.readouterr()))
        return audited(path)

    with mock.patch.object(greybox, "audit_path", watched):
        assert main(["audit", "--grey-box", "--path", "Sketch.release, *ure", *options]) == 0
    names = [name for name in PATHS if re.fullmatch(r"Sketch\.release, .*ure", name)]
    assert [name in text for name, text in zip(names, shown[1:], strict=False)] == [True] * (len(names) - 1)
    last = capfd.readouterr()
    assert names[-1] in (last.err if options else last.out) and (not options or json.loads(last.out)["passed"])


def test_scumble_audit_grey_box(capsys):
    assert main(["audit", "--grey-box", "--path", "Sketch.release, *ure"]) == 0
    shown = capsys.readouterr().out
    assert "Sketch.release, pure" in shown and "no violation found" in shown and "100%" in shown
    assert main(["audit", "--grey-box", "--path", "Sketch.release, pure", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["passed"] and told["paths"][0]["share"] == 1.0
    with mock.patch.object(Calibration, "draw_count", lambda self, backend: 0):
        assert main(["audit", "--grey-box", "--path", "Sketch.release, pure"]) == REFUSED
    assert "VIOLATION" in capsys.readouterr().out
    assert main(["audit", "--grey-box", "--path", "nobody's"]) == USAGE
    assert main(["audit", "--grey-box", "--kernel", "hamming"]) == USAGE
