"""Noise goes into one published thing, counters into one release, and no thread sees a sketch half-way."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scumble
from processes import in_child, in_children, in_threads
from scumble.files.places import Owned
from scumble.gate import spending
from scumble.privacy import calibrate

KERNEL = scumble.EuclideanKernel(1.0)
pytestmark = pytest.mark.filterwarnings(
    "ignore:This process:DeprecationWarning"
)  # Python's own, of forks among threads
forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")


def sketch(**options: Any) -> scumble.Sketch:
    return scumble.Sketch(KERNEL, 1, **{"rows": 8, "buckets": 64, "seed": 1, "design": "iid", **options})


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Another process goes on from that file."""
    other = Owned(str(path))
    assert other.take()
    try:
        yield
    finally:
        other.let_go()


# ---- noise that came first ----


def noisy(path: Path | None = None) -> scumble.Sketch:
    made = sketch().start_with_noise(1.0).update([[1.0]])
    if path is not None:
        made.save(path)
    return made


def test_a_file_that_is_loaded_twice_gives_one_release(tmp_path: Path) -> None:
    noisy(tmp_path / "half.secret")
    one, two = (scumble.load_secret(tmp_path / "half.secret") for _ in range(2))
    release = one.update([[2.0]]).release()
    with pytest.raises(scumble.BudgetError):
        two.update([[3.0]]).release()
    again = scumble.load_secret(tmp_path / "half.secret").release()
    assert again.identity == release.identity and np.array_equal(again.counts, release.counts)
    with pytest.raises(scumble.BudgetError):
        scumble.load_secret(tmp_path / "half.secret").update([[3.0]])
    live = noisy(tmp_path / "other.secret")
    scumble.load_secret(tmp_path / "other.secret").update([[5.0]]).release()
    with pytest.raises(scumble.BudgetError):
        live.release()
    noisy(tmp_path / "third.secret").update([[2.0]]).release()
    with pytest.raises(scumble.BudgetError):
        scumble.load_secret(tmp_path / "third.secret").update([[2.0]])


def refuses(act: Callable[[], object], kind: type[Exception] = scumble.BudgetError, about: str = "") -> bool:
    try:
        act()
    except kind as problem:
        return about in str(problem)
    return False


@forks
def test_of_two_processes_one_releases(tmp_path: Path) -> None:
    noisy(tmp_path / "half.secret")

    def work(k: int) -> bool:
        return not refuses(lambda: scumble.load_secret(tmp_path / "half.secret").update([[float(k)]]).release())

    assert sorted(in_children(2, work)) == [False, True]


def test_such_a_sketch_has_one_file(tmp_path: Path) -> None:
    made = noisy(tmp_path / "half.secret")
    made.update([[2.0]]).save(tmp_path / "half.secret")
    for one in (made, scumble.load_secret(tmp_path / "half.secret")):
        with pytest.raises(scumble.PrivacyError):
            one.save(tmp_path / "copy.secret")
    late = scumble.load_secret(tmp_path / "half.secret")
    made.release()
    with pytest.raises(scumble.BudgetError, match="released"):
        late.update([[7.0]]).save(tmp_path / "half.secret")
    (tmp_path / "half.secret").unlink()
    with pytest.raises(scumble.BudgetError, match="is gone"):
        late.save(tmp_path / "half.secret")
    assert sorted(path.name for path in tmp_path.iterdir()) == [], "and nothing is left lying about"


def test_a_copy_of_the_file_is_refused(tmp_path: Path) -> None:
    noisy(tmp_path / "half.secret")
    shutil.copy2(tmp_path / "half.secret", tmp_path / "copy.secret")
    with pytest.raises(scumble.SecretFileError, match="it is a copy"):
        scumble.load_secret(tmp_path / "copy.secret")
    (tmp_path / "half.secret").rename(tmp_path / "moved.secret")
    assert scumble.load_secret(tmp_path / "moved.secret").release().privacy.epsilon == 1.0
    plain = sketch().update([[1.0]])
    plain.save(tmp_path / "plain.secret")
    shutil.copy2(tmp_path / "plain.secret", tmp_path / "plain-copy.secret")
    assert scumble.load_secret(tmp_path / "plain-copy.secret").count == 1, "exact counters may be taken elsewhere"


def test_a_second_name_of_the_file_is_refused(tmp_path: Path) -> None:
    """A hard link is the very file. When the release has been made, the other name leads to nothing."""
    home, other = tmp_path / "half.secret", tmp_path / "other.secret"
    made = noisy(home)
    os.link(home, other)
    with pytest.raises(scumble.SecretFileError, match="second name"):
        scumble.load_secret(other)
    with pytest.raises(scumble.SecretFileError, match="second name"):
        made.release()
    other.unlink()
    with open(home, "rb") as before:
        made.release()
        assert before.read() == b""


def test_a_backup_that_is_put_back_is_refused(tmp_path: Path) -> None:
    """It may get the very number of the file that is gone: many file systems give that out again at once."""
    home, backup = tmp_path / "half.secret", tmp_path / "backup"
    made = noisy(home)
    shutil.copy2(home, backup)
    made.update([[2.0]]).release()
    for k in range(50):
        shutil.copy2(backup, copy := tmp_path / f"{k}.secret")
        with pytest.raises(scumble.SecretFileError, match="it is a copy"):
            scumble.load_secret(copy)


def test_one_build_at_a_time_goes_on_from_a_checkpoint(tmp_path: Path) -> None:
    """Noise first or not: two that go on from the same counters would be two releases of them."""
    from scumble.sources import Build

    source, kept = tmp_path / "people.csv", tmp_path / "c.secret"
    source.write_text("age\n" + "1\n" * 1000)
    for noise_first in (False, True):
        options: dict[str, Any] = {"epsilon": 1.0, "rows": 4, "buckets": 8, "noise_first": noise_first}
        options |= {"checkpoint": kept, "checkpoint_seconds": 0}
        one, two = (Build(str(source), KERNEL, ["age"], **options) for _ in range(2))
        one.count()
        with pytest.raises(scumble.BudgetError, match="Another process is resuming"):
            two.count()
        shutil.copy2(kept, tmp_path / "copy.secret")
        again = Build(str(source), KERNEL, ["age"], **{**options, "checkpoint": tmp_path / "copy.secret"})
        if noise_first:
            with pytest.raises(scumble.SecretFileError, match="it is a copy"):
                again.count()
        one.discard_checkpoint()
        one.release()
        (tmp_path / "copy.secret").unlink()
    del again
    assert sorted(path.name for path in tmp_path.iterdir()) == ["people.csv"], "nothing is left lying about"


@forks
def test_noise_stays_with_the_process_that_drew_it() -> None:
    made, plain = noisy(), sketch().update([[1.0]])
    assert in_child(lambda: refuses(made.release, about="forked") and plain.count == 1) == 0
    assert made.release().privacy.epsilon == 1.0


def forked_ways(tmp_path: Path) -> dict[str, Callable[[], object]]:
    """Ways to let out records that were counted before a fork."""
    book = scumble.Ledger.create(tmp_path / "book")
    book.open_dataset("people", epsilon=9)
    table = scumble.TableSketch(scumble.Schema(x=scumble.Number(0, 1))).update({"x": [0.5]})
    part = tmp_path / "part.secret"
    sketch().update([[1.0]]).save(part)
    charged = sketch().update([[1.0]])
    made, loaded, stream = sketch().update([[1.0]]), scumble.load_secret(part), scumble.Stream
    size: dict[str, Any] = {"rows": 8, "buckets": 64, "seed": 1, "design": "iid", "periods": 2, "epsilon": 1.0}
    return {
        "release": lambda: made.release(1.0),
        "charged": lambda: charged.release(1.0, ledger=book, dataset="people"),
        "share": lambda: made.release_share(1.0, custodians=2),
        "merged": lambda: scumble.merge([sketch().update([[2.0]]), made]).release(1.0),
        "updated": lambda: made.update([[2.0]]).release(1.0),
        "table": lambda: table.release(1.0),
        "loaded": lambda: loaded.release(1.0),
        "stream": lambda: stream(KERNEL, 1, **size).merge(made),
    }


@forks
def test_records_are_released_by_the_process_that_counted_them(tmp_path: Path) -> None:
    ways, empty = forked_ways(tmp_path), sketch()

    def child() -> bool:
        open_ways = [name for name, way in ways.items() if not refuses(way, about="forked")]
        sketch().update([[1.0]]).release(1.0)
        empty.update([[1.0]]).save(tmp_path / "mine.secret")
        return open_ways == ["charged"]  # by a ledger, which adds up what both processes spend

    assert in_child(child) == 0
    assert all(way() is not None for name, way in ways.items() if name in ("merged", "table", "loaded"))
    mine = scumble.load_secret(tmp_path / "mine.secret")
    assert scumble.merge([empty.update([[2.0]]), mine]).count == 2, "a worker's records are its own"


@forks
def test_a_lock_that_another_thread_held_does_not_hang_a_forked_child() -> None:
    made = sketch().update([[1.0]])
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with made.secret.lock:
            held.set()
            done.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(60)
    try:
        assert in_child(lambda: made.update([[2.0]]).count == 2) == 0
    finally:
        done.set()
        thread.join()


def test_a_file_that_is_read_with_drop_does_not_publish_its_number(tmp_path: Path) -> None:
    """Begun with 'error', gone on with 'drop': N would depend on what records say."""
    sketch().start_with_noise(1.0, neighbors="replace").save(tmp_path / "half.secret")
    loaded = scumble.load_secret(tmp_path / "half.secret", invalid="drop").update([[1.0], [np.nan]])
    with pytest.raises(scumble.PrivacyError, match="neighbors='replace'"):
        loaded.release()


# ---- shares ----


def shares(count: int, of: int, dropouts: int) -> list[scumble.Share]:
    return [
        sketch().update([[float(k)]]).release_share(1.0, custodians=of, dropouts=dropouts, count_share=0)
        for k in range(count)
    ]


def test_a_share_goes_into_one_sum() -> None:
    parts = shares(4, of=4, dropouts=1)
    first = scumble.combine(parts[:3])
    with pytest.raises(scumble.MergeError, match="bare share"):
        scumble.combine(parts)
    np.testing.assert_array_equal(scumble.combine(parts[:3][::-1]).counts, first.counts)


@forks
def test_a_share_goes_into_one_sum_in_another_process_too(tmp_path: Path) -> None:
    paths = [tmp_path / f"{k}.share" for k in range(3)]
    for part, path in zip(shares(3, of=3, dropouts=1), paths, strict=True):
        part.save(path)

    def refuses_sum(*which: int) -> bool:
        parts = [scumble.load_share(paths[k]) for k in which]
        return refuses(lambda: scumble.combine(parts), scumble.MergeError, "bare share")

    assert in_child(lambda: not refuses_sum(0, 1)) == 0
    assert in_child(lambda: refuses_sum(0, 1, 2) and refuses_sum(1, 2) and not refuses_sum(0, 1)) == 0


def test_one_sum_by_secure_aggregation() -> None:
    parts = shares(3, of=3, dropouts=1)
    two, three = (sum(part.payload for part in parts[:k]) for k in (2, 3))
    parts[0].from_sum(two, arrived=2)
    with pytest.raises(scumble.MergeError, match="difference"):
        parts[0].from_sum(three, arrived=3)


@forks
def test_shares_that_another_process_has_added_up_since_they_were_read(tmp_path: Path) -> None:
    paths = [tmp_path / f"{k}.share" for k in range(3)]
    for part, path in zip(shares(3, of=3, dropouts=1), paths, strict=True):
        part.save(path)
    early = [scumble.load_share(path) for path in paths]
    assert in_child(lambda: scumble.combine([scumble.load_share(path) for path in paths[:2]])) == 0
    payload = sum(part.payload for part in early)
    for act in (lambda: scumble.combine(early), lambda: early[0].from_sum(payload, arrived=3)):
        with pytest.raises(scumble.MergeError, match="bare share"):
            act()
    assert early[2]._sum is None and scumble.load_share(paths[2])._sum is None, "a refusal leaves the others free"
    with held(paths[0]), pytest.raises(scumble.MergeError):
        scumble.combine(early[:2])
    scumble.combine(early[:2])
    paths[0].unlink()
    with pytest.raises(FileNotFoundError):
        scumble.combine(early[:2])
    shutil.copy2(paths[1], paths[0])
    with pytest.raises(scumble.MergeError, match="another share"):
        scumble.combine(early[:2])


@forks
def test_a_share_stays_with_the_process_that_made_it(tmp_path: Path) -> None:
    parts = shares(2, of=2, dropouts=0)
    for act in (lambda: scumble.combine(parts), lambda: parts[0].save(tmp_path / "copy.share")):
        assert in_child(lambda act=act: refuses(act, scumble.PrivacyError)) == 0  # type: ignore[misc]
    assert not (tmp_path / "copy.share").exists()
    scumble.combine(parts)


# ---- parts of a dataset ----


def test_a_sketch_is_charged_to_one_part_of_a_dataset(tmp_path: Path) -> None:
    """A ledger takes the largest of two parts, for no record is in both; here the very same records would be."""
    book = scumble.Ledger.create(tmp_path / "book")
    book.open_dataset("people", epsilon=3.0, parts=["2023", "2024"])
    account: dict[str, Any] = {"epsilon": 1.0, "ledger": book, "dataset": "people", "keep": True}
    made = sketch().update([[1.0]])
    made.release(**account, part="2023")
    made.release(**account, part="2023")
    with pytest.raises(scumble.BudgetError):
        made.release(**account, part="2024")
    made.release(**account)  # all of the dataset pays
    with pytest.raises(scumble.BudgetError):
        sketch().update([[2.0]]).merge(made).release(**account, part="2024")
    assert book.account("people").spent.epsilon == 3


# ---- N under replace ----


def test_a_limit_used_by_hand_makes_no_number_public(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(spending, "_FILTERED_BY_HAND", [])
    X = np.arange(4.0)[:, None]
    kept = X[scumble.PersonLimit(1).keep(["ann", "ann", "bob", "cid"])]
    with pytest.raises(scumble.PrivacyError, match="PersonLimit"):
        sketch().update(kept).release(1.0, neighbors="replace")
    sketch().update(kept).save(tmp_path / "kept.secret")
    monkeypatch.setattr(spending, "_FILTERED_BY_HAND", [])  # as in another process
    with pytest.raises(scumble.PrivacyError):
        scumble.load_secret(tmp_path / "kept.secret").release(1.0, neighbors="replace")
    assert sketch().update(kept).release(1.0).privacy.neighbors == "add-remove"


# ---- merging ----


def released(**budget: Any) -> scumble.Release:
    return sketch().update([[1.0]]).release(**{"epsilon": 1.0, **budget})


def test_three_releases_of_one_table_cost_three() -> None:
    parts = [released() for _ in range(3)]
    assert scumble.merge(parts).privacy.epsilon == 3.0
    assert parts[0].merge(parts[1]).privacy.epsilon == 2.0
    assert scumble.merge(parts, disjoint=False).privacy.epsilon == 3.0
    assert scumble.merge(parts, disjoint=True).privacy.epsilon == 1.0
    with pytest.raises(scumble.ParameterError, match="no person is"):
        scumble.merge(parts, disjoint="people")  # type: ignore[call-overload]


def test_a_count_is_merged_only_where_every_part_has_one() -> None:
    with_count, without = released(), released(count_share=0)
    assert with_count.noisy_count is not None and without.noisy_count is None
    assert scumble.merge([with_count, without]).noisy_count is None
    both = scumble.merge([with_count, released()])
    assert both.noisy_count is not None
    public = [released(neighbors="replace") for _ in range(2)]
    assert scumble.merge(public).count == 2.0 and scumble.merge(public).count_standard_error == 0.0
    assert len({one.identity for one in (with_count, without, both, *public)}) == 5


def test_a_person_may_have_records_in_each_of_two_tables() -> None:
    """Three records in each: both releases, though no record is in both."""
    parts = [released(records_per_person=3) for _ in range(2)]
    apart = scumble.merge(parts, disjoint=True).privacy
    assert apart.epsilon == 2.0 and apart.unit == "person"
    assert scumble.merge(parts, disjoint="persons").privacy.epsilon == 1.0
    mixed = scumble.merge([parts[0], released()], disjoint=True).privacy
    assert mixed.epsilon == 1.0 and mixed.unit == "record", "one record is in one of them"


# ---- threads ----


def test_threads_that_share_a_sketch_lose_nothing() -> None:
    X = np.random.default_rng(0).normal(size=(40_000, 1))
    alone = sketch().update(X)
    shared = sketch(threads=1)
    assert in_threads(*(lambda k=k: [shared.update(X[k::40]) for k in range(k, 40, 4)] for k in range(4))) == [None] * 4  # type: ignore[misc]
    np.testing.assert_array_equal(shared._counts, alone._counts)


def test_an_update_that_reads_while_the_sketch_is_released_is_refused() -> None:
    made, inside, go_on = sketch().update([[1.0]]), threading.Event(), threading.Event()
    layout = made.spec.layout
    read = layout.read

    def slow(X: Any, **options: Any) -> Any:
        found = read(X, **options)
        inside.set()
        go_on.wait(60)
        return found

    layout.read = slow  # type: ignore[method-assign]
    problems: list[list[BaseException | None]] = []
    thread = threading.Thread(target=lambda: problems.append(in_threads(lambda: made.update([[2.0]]))))
    thread.start()
    inside.wait(60)
    release = made.release(epsilon=1e9)  # noise of scale 1e-8: none
    go_on.set()
    thread.join()
    assert isinstance(problems[0][0], scumble.BudgetError) and release.counts.sum() == 8
    with pytest.raises(scumble.BudgetError, match="released only once"):
        made.update([[3.0]])


def test_questions_wait_for_an_update(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader of counters that another thread takes away would read beyond them."""
    made = sketch().update(np.zeros((100, 1)))
    with made.secret.lock:
        asked = threading.Thread(target=lambda: made.kernel_sum([[0.0]]), daemon=True)
        asked.start()
        asked.join(0.3)
        assert asked.is_alive()
    asked.join(60)
    assert not asked.is_alive()


def test_an_interrupted_merge_closes_the_sketch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between counters and lineage: merged again, the records would count twice."""
    one, two = sketch().update([[1.0]]), sketch().update([[2.0]])

    class Interrupted(set):
        def __ior__(self, other: object) -> Any:
            raise KeyboardInterrupt

    one.secret.lineage = Interrupted(one.secret.lineage)
    with pytest.raises(KeyboardInterrupt):
        one.merge(two)
    for act in (lambda: one.merge(two), lambda: one.release(epsilon=1.0)):
        with pytest.raises(scumble.BudgetError):
            act()
    assert two.count == 1, "the other one is as it was"


def test_two_threads_that_merge_crosswise_do_not_hang() -> None:
    for _ in range(20):
        one, two = sketch().update([[1.0]]), sketch().update([[2.0]])
        problems = in_threads(lambda: one.merge(two), lambda: two.merge(one))  # noqa: B023
        assert sum(problem is None for problem in problems) == 1, "the second would count records twice"


def test_an_error_while_adding_leaves_no_counter(monkeypatch: pytest.MonkeyPatch) -> None:
    made = sketch().update([[1.0]])

    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("scumble.privacy.audit_hooks.publish", fail)
    counts = made._counts
    with pytest.raises(MemoryError):
        made.release(epsilon=1.0)
    assert not counts.any() and made._counts.size == 0
    with pytest.raises(scumble.BudgetError, match="after the budget was spent"):
        made.release(epsilon=1.0)


def test_claims_of_many_releases_against_brute_force() -> None:
    """The exact curve of the sum of the losses, by another accountant, is not above ours and not far below."""
    from dp_accounting import GaussianDpEvent, SelfComposedDpEvent
    from dp_accounting.pld import PLDAccountant

    one = calibrate(100, epsilon=1.0, delta=1e-6, count_share=0)
    from scumble.privacy import overlapping

    for k in (2, 7):
        ours = overlapping([one] * k)
        assert one.scale is not None
        accountant = PLDAccountant().compose(SelfComposedDpEvent(GaussianDpEvent(one.scale / 10.0), k))  # √100 = 10
        exact = accountant.get_epsilon(ours.delta)
        assert exact <= ours.epsilon * (1 + 1e-3) and ours.epsilon <= exact * 1.01


def test_a_share_is_in_one_file_and_in_one_hand(tmp_path: Path) -> None:
    one, two = (sketch().update([[1.0]]).release_share(1.0, custodians=2) for _ in range(2))
    home = tmp_path / "a.share"
    one.save(home)
    early = scumble.load_share(home)
    for same in (one, early):
        with pytest.raises(scumble.PrivacyError, match="second sum"):
            same.save(tmp_path / "b.share")
    with held(home), pytest.raises(scumble.MergeError):
        one.save(home)
    two._process = -1  # as after a fork
    with pytest.raises(scumble.PrivacyError, match="process that made it"):
        two.save(tmp_path / "b.share")
    two._process = os.getpid()
    scumble.combine([one, two])
    early.save(home)
    assert scumble.load_share(home)._sum == one._sum, "what the file knows is not forgotten"
    two.save(tmp_path / "b.share")
    os.replace(tmp_path / "b.share", home)
    with pytest.raises(scumble.MergeError, match="another share"):
        one.save(home)


def test_noise_that_came_first_is_written_by_the_holder_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "half.secret"
    made = noisy(home)
    with held(home), pytest.raises(scumble.BudgetError):
        made.save(home)
    monkeypatch.setattr(Owned, "write", lambda self, data: False)
    with pytest.raises(scumble.BudgetError):
        made.save(home)


def test_noise_may_be_given_out_again_in_the_same_thing_only() -> None:
    spending.publish_once("a noise", "one thing")
    spending.publish_once("a noise", "one thing")
    with pytest.raises(scumble.BudgetError):
        spending.publish_once("a noise", "another")
