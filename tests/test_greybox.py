"""The grey-box audit: every path that ends in a release keeps its promise, no path is left out, and faults are caught.

Nothing here is a matter of chance: the noise is recorded and played back, and no verdict depends on it.
"""

from __future__ import annotations

import json
import re
import warnings
from fractions import Fraction
from functools import partial
from unittest import mock

import numpy as np
import pytest

import coverage_of_paths as coverage
import greybox_estimators as estimators
import greybox_files
import greybox_paths
import greybox_sources as sources
import scumble
from scumble.audit import greybox
from scumble.audit.greybox import Path, all_paths, audit_path, run
from scumble.audit.greybox.neighbors import Pair, arrow, base, halves, numbers
from scumble.audit.greybox.sketches import points
from scumble.audit.replay import BEST, Call, Session, compare, used
from scumble.cli import REFUSED, USAGE, main
from scumble.gate import rows
from scumble.gate.gate import Nodes
from scumble.gate.selection import noisy_best
from scumble.learn import PrivateKDEClassifier, outliers
from scumble.privacy import audit_hooks, calibrate, discrete_laplace, disjoint
from scumble.privacy.budget import Budget
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.sensitivity import Column
from scumble.privacy.splitting import calibrate_shares, draw_counters_share
from scumble.streams import choosing, method, toeplitz

PATHS = all_paths()
ALONE = [name for name in PATHS if not name.startswith("spark")]


@pytest.fixture(autouse=True)
def brief(monkeypatch):
    greybox_paths.brief(monkeypatch)


@pytest.mark.parametrize("name", ALONE)
def test_the_path_keeps_its_promise(name):
    verdict = audit_path(PATHS[name])
    assert verdict.findings == []
    assert verdict.pairs > 0


def test_what_has_not_run_is_a_hole():
    doors, holes = coverage.doors(), coverage.holes(coverage.Seen())
    assert {"scumble.build", "scumble.Sketch.release", "scumble.PrivateKDE.fit", "scumble fit"} <= set(doors)
    assert {f"{door} was never called" for door in doors} <= set(holes)
    assert "Options.__init__ was never called with `person_column`" in holes
    with mock.patch.dict(greybox_files.BYTES), mock.patch.dict(estimators.VALUES):
        del greybox_files.BYTES[".parquet"], estimators.VALUES["threshold_share"]
        assert len(coverage.holes(coverage.Seen())) == len(holes) + 2
    assert {
        ("gate/gate.py", "publish"),
        ("privacy/claim.py", "PrivacyClaim.draw_counters"),
        ("privacy/laws/discrete_laplace.py", "DiscreteLaplace.draw"),
        ("privacy/splitting.py", "draw_counters_share"),
        ("gate/selection.py", "noisy_best"),
        ("sources/arrow.py", "Parquet.read"),
    } <= coverage.places()


def test_pairs_are_neighbors():
    """What a path is given differs in one record, or in those of one person."""
    for path in PATHS.values():
        for pair in path.pairs():
            gone, come = ([repr(record) for record in table] for table in (pair.here, pair.there))
            for record in list(gone):
                if record in come:
                    gone.remove(record)
                    come.remove(record)
            if pair.trait == "persons" and path.neighbors == "add-remove":
                assert not come and len({record["who"] for record in pair.here if repr(record) in gone}) == 1
            elif path.neighbors == "replace" or "count" in path.public:
                assert len(gone) == len(come) == 1
            else:
                assert min(len(gone), len(come)) == 0 and 1 <= max(len(gone), len(come)) == pair.records <= path.people


# ---- planted faults: paths that are wrong ----

FAULTS: list = []


def good(table, folder):
    return points(table).release(epsilon=1.0)


def wrong(why, *takes, **promise):
    """A path with a fault; `why` is a part of the finding that must come."""

    def register(run):
        path = Path("a path", run, frozenset(takes), few=None, **promise)
        FAULTS.append(pytest.param(path, lambda patch: None, why, id=f"{run.__name__} {why}"))
        return run

    return register


@wrong("2 times the claim")
def a_record_counts_twice(table, folder):
    return points(table).update(numbers(table)).release(epsilon=1.0)


@wrong("differs beyond its noise")
def a_published_fact(table, folder):
    return [good(table, folder), f"{len(table)} records"]


@wrong("differs beyond its noise", "missing", neighbors="replace")
def an_exact_number_of_readable_records_under_replace(table, folder):
    sketch = points(table)
    sketch.secret.drops = False  # as if it did not know that it has dropped some
    return sketch.release(epsilon=1.0, neighbors="replace")


@wrong("one table is refused")
def a_refusal_because_of_one_record(table, folder):
    if len(table) == 9:
        raise scumble.DataError("nine")
    return good(table, folder)


@wrong("warnings or log lines differ")
def a_warning_because_of_one_record(table, folder):
    warnings.warn(f"{len(table)} records", stacklevel=1)
    return good(table, folder)


@wrong("all numbers huge", "floats")
def an_extreme_float_that_moves_others(table, folder):
    """As if one huge number made the engine read the whole batch in another way."""
    huge = np.nanmax(np.abs(numbers(table)), initial=0.0) > 1e300
    return points([{"x": x + 5.0 * huge, "y": y} for x, y in numbers(table).tolist()]).release(epsilon=1.0)


@wrong("the label is 'n/a'", "labels")
def labels_that_turn_to_text(table, folder):
    """As if labels were read as NumPy does: one text among numbers makes texts of all, which are no numbers."""
    labels = np.asarray([{"bus": 0, "car": 1}.get(record["label"], record["label"]) for record in table])
    if labels.dtype.kind == "U":
        labels = np.char.add("text ", labels)
    model = PrivateKDEClassifier(bounds=(0, 10), classes=[0, 1], unknown="drop", rows=4)
    return model.fit(numbers(table), labels)


@wrong("a key that no other", "keys")
def columns_read_off_the_records(table, folder):
    names = sorted({name for record in table for name, cell in record.items() if not isinstance(cell, str)})
    return sources.built(greybox_files.file_of(table, folder, "people.jsonl"), names, scumble.EuclideanKernel(2.0))


@wrong("a person's 3 records", people=3)
def a_person_with_more_records_than_claimed(table, folder):
    return points(table).release(epsilon=1.0, records_per_person=2)


@wrong("3 times the claim")
def a_lie_about_disjoint_records(table, folder):
    return scumble.merge([good(table, folder) for _ in range(3)], disjoint=True)


@wrong("a person with far too many records", "persons", people=3)
def a_person_in_two_parts_that_were_limited_apart(table, folder):
    limit = {"person_column": "who", "records_per_person": 3}
    return scumble.merge([sources.built(arrow(half), **limit) for half in halves(table)], disjoint="persons")


@wrong("a call differs")
def a_scale_read_off_the_data(table, folder):
    return points(table).release(epsilon=10.0 / len(table))


# ---- planted faults: the library is wrong, and a registered path shows it ----


def planted(why, *names):
    def register(plant):
        FAULTS.extend(pytest.param(PATHS[name], plant, why, id=f"{plant.__name__} {name}") for name in names)
        return plant

    return register


@planted("no such noise was drawn", "Sketch.release, pure")
def too_little_noise(patch):
    patch.setattr(
        PrivacyClaim, "draw_counters", lambda self, size, **_: discrete_laplace(self.scales.counters / 4, size)
    )


@planted("no such noise was drawn", "Sketch.release, pure")
def no_noise_on_the_count(patch):
    patch.setattr(PrivacyClaim, "draw_count", lambda self, backend: 0)


@planted("differs beyond its noise", "PrivateKDE()")
def an_exact_number_among_what_a_model_shows(patch):
    """scikit-learn's card shows whatever `dir` has."""
    patch.setattr("scumble.learn.base.CURATORS", ())


@planted("times the claim", "PrivateOutlierDetector()")
def a_claim_that_forgets_a_part(patch):
    patch.setattr(outliers, "overlapping", disjoint)


CONTESTS = [f"rows as planned, {name}" for name in ("pure", "replace", "persons")]


@planted("times the claim", *(name.replace("planned", "planned, more than all") for name in CONTESTS))
def a_contest_that_is_not_paid_for(patch):
    choose = rows._Way.choose

    def free(way, contest, funds):
        left, funds._left = funds._left, Fraction(9)
        winner = choose(way, contest, funds)
        funds._left = left
        return winner

    patch.setattr(rows._Way, "choose", free)


@planted("farther apart", *CONTESTS)
def a_contest_that_claims_to_be_monotone(patch):
    patch.setattr(rows, "noisy_best", partial(noisy_best, monotone=True))


@planted("farther apart", CONTESTS[1])
def a_contest_with_one_side_of_two(patch):
    patch.setattr(rows, "sides_of", lambda _: 1)


TOEPLITZ, BRIDGE, DAILY = "Stream, gaussian, toeplitz", "Stream, pure, bridge", "Stream, pure, daily"


@planted("", TOEPLITZ, DAILY)
def a_node_is_used_twice(patch):
    """Every period has the first one's noise."""
    first, draw = {}, Nodes.draw
    patch.setattr(Nodes, "draw", lambda nodes, node: first.setdefault(nodes._identity, draw(nodes, node)).copy())


@planted("", TOEPLITZ)
def a_node_has_another_ones_noise(patch):
    """Drawn as it must be, but each period publishes with the noise of the one before."""
    last, publish = {}, Nodes.publish

    def swapped(nodes, node, noise, exact):
        mine, last[nodes._identity] = last.get(nodes._identity, noise), noise
        return publish(nodes, node, mine, exact)

    patch.setattr(Nodes, "publish", swapped)


@planted("times the claim", TOEPLITZ, BRIDGE)
def the_column_is_missed(patch):
    """The noise of a single release on numbers that are a million times as large."""
    patch.setattr(toeplitz.Toeplitz, "column", Column(1, 1, 1))
    patch.setattr(method.Bridge, "column", Column(1, 1, 1))


@planted("times the claim", TOEPLITZ)
def a_weight_grows_after_the_column_was_taken(patch):
    """The noise hides a smaller triangle than the one that is published."""
    honest, weights = toeplitz.Toeplitz(5).column, toeplitz.Toeplitz.own.func
    patch.setattr(toeplitz.Toeplitz, "own", property(lambda method: 2 * weights(method)))
    patch.setattr(toeplitz.Toeplitz, "column", honest)


@planted("", "Stream, resumed from its file", "Stream, bridge resumed from its file")
def noise_is_drawn_again_after_a_resume(patch):
    load = scumble.load_stream

    def again(*args, **options):
        stream = load(*args, **options)
        stream._machine.open(stream._closed, stream._nodes.draw, stream._nodes.pin)
        return stream

    patch.setattr(scumble, "load_stream", again)


@planted("something else than its noise", BRIDGE)
def a_block_tells_a_record(patch):
    pin = Nodes.pin
    patch.setattr(Nodes, "pin", lambda nodes, block, names, left: pin(nodes, block, names, left + 1))


@planted("", BRIDGE)
def a_block_is_not_told_to_anybody(patch):
    """The bridge without its pin: noise that nobody accounts for decides what is published."""
    patch.setattr(Nodes, "pin", lambda nodes, block, names, left: left)


@planted("beyond its noise", TOEPLITZ)
def the_exact_total_goes_out(patch):
    close = toeplitz._Machine.close

    def leaks(machine, period, exact, publish):
        close(machine, period, exact, publish)
        machine.arrays["total"] = machine.arrays["total"] + (exact.sum() % 2)

    patch.setattr(toeplitz._Machine, "close", leaks)


@pytest.mark.parametrize(("path", "plant", "why"), FAULTS)
def test_a_planted_fault_is_caught(path, plant, why, monkeypatch):
    monkeypatch.setattr(choosing, "_made", choosing._made.__wrapped__)  # no method that was made before
    plant(monkeypatch)
    assert any(why in finding for finding in audit_path(path).findings)


def test_what_is_right_is_not_accused():
    """A path may be strict, and the names of this machine's folders are no difference."""

    def misses(table, folder):
        raise scumble.DataError(f"no such file: {folder}/people.csv")

    assert audit_path(Path("a path", a_refusal_because_of_one_record, strict=True)).findings == []
    assert audit_path(Path("a path", misses, forbidden=True), [Pair("one record", base(), base(9))]).findings == []


def test_a_table_that_several_pairs_share_is_recorded_once():
    """Here all pairs but "one of two records" have the harmless table on one side or the other."""
    ran = []
    verdict = audit_path(Path("a path", lambda table, folder: ran.append(table) or good(table, folder)))
    assert verdict.pairs == 5 and len(ran) == verdict.pairs + 2
    assert ran.count(base()) == 1


def test_runs_leave_nothing_behind():
    before = dict(scumble.gate.spending._SPENT)
    outcome = run(good, base())
    assert dict(scumble.gate.spending._SPENT) == before and audit_hooks._watching is None
    assert outcome.published and outcome.claim.epsilon == 1.0
    assert run(good, base(), before=outcome.session).published == outcome.published


# ---- record and play back ----


def session(*events, before=None):
    watcher = Session(before)
    with audit_hooks.watching(watcher):
        for event in events:
            event()
    return watcher


def released(exact, name="a", moved=()):
    """Numbers with noise; with `moved`, once more with the same noise. What comes out is kept in `released.out`."""

    def event():
        claim = calibrate(1, epsilon=1, count_share=0)
        noise = claim.draw_counters((1, 2))
        audit_hooks.hold(name, claim, noise, None)
        released.out = [audit_hooks.publish(noise + np.array([exact]) + k, None, name)[0] for k in (0, *moved)]

    return event


def test_inputs_distances_are_added_up():
    here = session(released([5, 0]), released([1, 1], "b"))
    there = session(released([4, 0]), released([1, 3], "b"), before=here)
    found = compare(here, there)
    assert (found.epsilon, found.rho, found.calls, found.problems) == (Fraction(3), 0, 2, ())


@pytest.mark.parametrize("moved", [0, 1])
def test_a_second_use_of_noise_shows_what_lies_between(moved):
    here = session(released([5, 5], moved=[0]))
    session(released([5, 5], moved=[moved]), before=here)
    assert (released.out[1] - released.out[0]).tolist() == [[moved, moved]]


def shares(*sums, dropouts=0):
    def event():
        claim = calibrate_shares(1, Budget(1.0, count_share=0), custodians=3, dropouts=dropouts)
        parts = {name: draw_counters_share(claim, (1, 2)) for name in "abc"}
        for name, part in parts.items():
            audit_hooks.hold(name, claim, part, None)
        for names in sums:
            audit_hooks.publish(sum(parts[name] for name in names), None, *names)

    return event


@pytest.mark.parametrize(
    ("event", "problem"),
    [
        (shares("abc"), None),
        (shares("ab", "abc", dropouts=1), "noise is used twice"),
        (shares("a"), "fewer shares"),
        (lambda: audit_hooks.publish(np.zeros((1, 2), np.int64), None, "nobody's"), "never drawn"),
    ],
    ids=["right", "some noise in common", "too few", "undrawn"],
)
def test_shares_of_noise_are_used_once_and_all(event, problem):
    problems = session(event).problems
    assert any(problem in found for found in problems) if problem else not problems


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
    pure, concentrated = calibrate(1, epsilon=1), calibrate(1, rho=0.02)
    assert used(pure, Fraction(1, 2), Fraction(0)) == 0.5
    assert used(pure, Fraction(0), Fraction(1, 100)) == float("inf")
    assert used(concentrated, Fraction(0), Fraction(concentrated.rho)) == 1.0
    assert used(disjoint([pure, concentrated]), Fraction(1), Fraction(0)) == 1.0


# ---- the verb ----


def test_scumble_audit_grey_box(capsys):
    shown = []
    report = greybox.audit_paths("Sketch.release, r*", shown.append)
    assert shown == [greybox.HEADING, *report.paths] and len(shown) > 2
    assert main(["audit", "--grey-box", "--path", "Sketch.release, pure", "--json"]) == 0
    out, err = capsys.readouterr()
    told = json.loads(out)
    assert told["passed"] and told["paths"][0]["share"] == 1.0 and "Sketch.release, pure" in err
    with mock.patch.object(PrivacyClaim, "draw_count", lambda self, backend: 0):
        assert main(["audit", "--grey-box", "--path", "Sketch.release, pure"]) == REFUSED
    assert "VIOLATION" in capsys.readouterr().out
    assert main(["audit", "--grey-box", "--path", "nobody's"]) == USAGE
    assert main(["audit", "--grey-box", "--kernel", "hamming"]) == USAGE


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_each_path_is_shown_as_it_finishes(capfd, options):
    """In a terminal on standard output, and with a JSON document on standard error."""
    shown, audited = [], greybox.audit_path

    def watched(path):
        shown.append("".join(capfd.readouterr()))
        return audited(path)

    with mock.patch.object(greybox, "audit_path", watched):
        assert main(["audit", "--grey-box", "--path", "Sketch.release, *ure", *options]) == 0
    names = [name for name in PATHS if re.fullmatch(r"Sketch\.release, .*ure", name)]
    assert [name in text for name, text in zip(names, shown[1:], strict=False)] == [True] * (len(names) - 1)
    last = capfd.readouterr()
    assert names[-1] in (last.err if options else last.out)
    if options:
        report = json.loads(last.out)
        assert report["passed"] and report["paths"][0]["share"] == 1.0
