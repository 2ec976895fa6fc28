"""The ledger: adds up exactly, refuses in time, forgets nothing, and survives its users."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import sqlite3
import stat
import uuid
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scumble
from processes import in_children, in_threads
from scumble import cli
from scumble.privacy import calibrate, ledgerfile
from scumble.privacy.account import Account
from scumble.privacy.gaussian import zcdp_delta
from scumble.privacy.ledger import Cost, Ledger
from scumble.sources import build_by

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


@pytest.fixture
def book(tmp_path: Path) -> Ledger:
    return Ledger.create(tmp_path / "town.ledger")


def sketch(records: int = 100) -> scumble.Sketch:
    made = scumble.Sketch(scumble.EuclideanKernel(1.0), 1, rows=4, buckets=8, design="iid")
    return made.update(np.arange(float(records))[:, None])


def charge(book: Ledger, dataset: str = "people", part: str | None = None, **budget: object) -> bool:
    claim = calibrate(20, **{"epsilon": 0.1, **budget})  # type: ignore[arg-type]
    return book.charge(dataset, claim, identity=str(uuid.uuid4()), part=part)


# ---- adding up ----


@pytest.mark.parametrize(("budget", "part"), [(0.3, 0.1), (1, Fraction(1, 3))])
def test_three_tenths_are_three_times_one_tenth(book: Ledger, budget: float, part: float) -> None:
    book.open_dataset("people", epsilon=budget)
    for _ in range(2):
        assert charge(book, epsilon=part)
    with pytest.raises(scumble.BudgetError):
        charge(book, epsilon=0.34)
    assert charge(book, epsilon=part)
    assert book.account("people").left() == Cost(Fraction(0), Fraction(0), None)
    with pytest.raises(scumble.BudgetError):
        charge(book, epsilon=part)
    assert len(book.account("people").charges) == 3


@given(epsilon=st.floats(1e-3, 20), rows=st.integers(1, 3000))
@settings(max_examples=60, deadline=None)
def test_a_release_never_costs_more_than_its_request_nor_less_than_its_truth(epsilon: float, rows: int) -> None:
    claim = calibrate(rows, epsilon=epsilon)
    exact, rounded = Cost.of(claim, rounded=False), Cost.of(claim)
    truth = rows / Fraction(claim.exact_scale or "") + 1 / Fraction(claim.exact_count_scale or "")
    assert truth <= exact.epsilon <= Fraction(epsilon) + Fraction(1, 10**30)
    assert exact.epsilon <= rounded.epsilon <= exact.epsilon * (1 + Fraction(1, 2**39))


def test_zcdp_adds_rho_and_keeps_the_promise_at_the_ledgers_delta(book: Ledger) -> None:
    account = book.open_dataset("people", epsilon=2, delta=1e-6, composition="zcdp")
    assert account.rho is not None
    by_rho = book.open_dataset("others", rho="0.02", delta=1e-6)
    assert (by_rho.composition, by_rho.epsilon, by_rho.rho) == ("zcdp", None, Fraction(1, 50))
    charge(book, "others")
    assert zcdp_delta(2.0, float(account.rho)) <= 1e-6 < zcdp_delta(2.0, float(account.rho) * 1.0001)
    done = 0
    with pytest.raises(scumble.BudgetError, match="it needs ρ"):
        for _ in range(1000):
            charge(book, epsilon=0.5, delta=1e-6)
            done += 1
    # Basic composition would have paid for 4 (and for no δ at all beyond the first).
    assert done > 8
    assert 1.8 < book.account("people").spent_epsilon() <= 2.0
    assert book.account("people").spent.rho == done * Cost.of(calibrate(20, epsilon=0.5, delta=1e-6)).rho


def slow_cost(charges: list[tuple[str | None, Fraction]], parts: list[str]) -> Fraction:
    """The worst over persons: each is in one part, or in none."""
    return max(sum((c for p, c in charges if p in (None, mine)), Fraction(0)) for mine in [*parts, None])


@given(st.lists(st.tuples(st.sampled_from([None, "north", "south", "east"]), st.integers(1, 5)), max_size=14))
@settings(max_examples=20, deadline=None)
def test_disjoint_parts_cost_the_largest(tmp_path_factory: pytest.TempPathFactory, wishes: list) -> None:
    book = Ledger.create(tmp_path_factory.mktemp("parts") / "l")
    parts = ["north", "south", "east"]
    book.open_dataset("people", epsilon=1, parts=parts)
    granted: list[tuple[str | None, Fraction]] = []
    for part, tenths in wishes:
        cost = Fraction(tenths, 10)
        fits = slow_cost([*granted, (part, cost)], parts) <= 1
        with contextlib.nullcontext() if fits else pytest.raises(scumble.BudgetError):
            charge(book, part=part, epsilon=cost)
            granted.append((part, cost))
    assert book.account("people").spent.epsilon == slow_cost(granted, parts)


def test_an_undeclared_part_is_no_fresh_budget(book: Ledger) -> None:
    book.open_dataset("people", epsilon=1, parts=["north"])
    with pytest.raises(scumble.ParameterError, match="no part 'nroth'"):
        charge(book, part="nroth")
    book.open_dataset("people", epsilon=1, parts=["north", "south"])  # more may come later
    charge(book, part="south", epsilon=1)
    charge(book, part="north", epsilon=1)
    with pytest.raises(scumble.BudgetError):
        charge(book)


def test_promises_of_different_kinds_do_not_add_up(book: Ledger) -> None:
    book.open_dataset("people", epsilon=5, records_per_person=3)
    with pytest.raises(scumble.ParameterError, match="neighbors"):
        charge(book, neighbors="replace", records_per_person=3)
    with pytest.raises(scumble.ParameterError, match="at least 3"):
        charge(book)
    charge(book, records_per_person=4)


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        *({"epsilon": wrong} for wrong in (0, -1, "nan")),
        {"epsilon": 1, "rho": 1, "delta": 1e-6},
        {"epsilon": 1, "composition": "zcdp"},
        {"rho": 1, "composition": "pure"},
        {"epsilon": 1, "composition": "rdp"},
        {"epsilon": 1, "delta": 1e-6, "composition": "rdp"},
        *({"rho": wrong, "delta": 1e-6} for wrong in (0, -1)),
        {"epsilon": 1, "delta": 1},
        *({"epsilon": 1, "parts": ["a", wrong]} for wrong in ("a", " ", 5)),
        {"epsilon": 1, "neighbors": "both"},
        {"epsilon": 1, "records_per_person": 0},
    ],
)
def test_budgets_that_make_no_sense(book: Ledger, wrong: dict) -> None:
    with pytest.raises(scumble.ParameterError):
        book.open_dataset("people", **wrong)
    for name in ("", "  ", None, 5, b"people"):
        with pytest.raises(scumble.ParameterError):
            book.open_dataset(name, epsilon=1)  # type: ignore[arg-type]
    assert book.accounts() == {}


# ---- never refunded, never twice, never changed ----


def test_a_charge_is_idempotent_by_identity_and_a_budget_is_not_changed(book: Ledger) -> None:
    book.open_dataset("people", epsilon=1)
    book.open_dataset("people", epsilon=1.0)
    with pytest.raises(scumble.BudgetError):
        book.open_dataset("people", epsilon=2)
    claim, identity = calibrate(10, epsilon=0.6), str(uuid.uuid4())
    assert book.charge("people", claim, identity=identity)
    assert not book.charge("people", claim, identity=identity)
    assert book.account("people").left().epsilon == Fraction(2, 5)
    with pytest.raises(scumble.BudgetError, match="another cost"):
        book.charge("people", calibrate(10, epsilon=0.1), identity=identity)
    with pytest.raises(ValueError, match="UUID"):
        book.charge("people", claim, identity="{" + identity + "}")


def test_rows_cannot_be_changed_or_deleted_and_edits_are_found(book: Ledger) -> None:
    book.open_dataset("people", epsilon=1)
    charge(book)
    with contextlib.closing(sqlite3.connect(book.path)) as raw:
        for statement in ("UPDATE charges SET epsilon = '0'", "DELETE FROM charges", "DELETE FROM datasets"):
            with pytest.raises(sqlite3.IntegrityError, match="a ledger only grows"):
                raw.execute(statement)
    kept = Path(book.path).read_bytes()
    for edit in (
        "DROP TRIGGER charges_update",
        "DROP TRIGGER charges_update; UPDATE charges SET epsilon = '0'; "
        "CREATE TRIGGER charges_update BEFORE UPDATE ON charges BEGIN SELECT RAISE(ABORT, 'a ledger only grows'); END",
        "INSERT INTO charges SELECT 2, 'x', dataset, part, epsilon, delta, rho, mechanism, charged, seal FROM charges",
        "CREATE TABLE more (x)",
    ):
        Path(book.path).write_bytes(kept)
        with contextlib.closing(sqlite3.connect(book.path)) as raw:
            raw.executescript(edit)
        with pytest.raises(scumble.CorruptFileError):
            charge(book)


def test_a_charge_to_nobody_is_damage(book: Ledger) -> None:
    """Sealed as it should be, and yet no account would show it."""
    with contextlib.closing(sqlite3.connect(book.path)) as raw:
        cost = ["1/10", "0", "1/100", "discrete-laplace", "2026-01-01"]
        ledgerfile.append(raw, "charges", [str(uuid.uuid4()), "nobody", None, *cost])
        raw.commit()
    with pytest.raises(scumble.CorruptFileError, match="restore it from a backup"):
        Ledger(book.path)


def test_a_damaged_index_is_found(book: Ledger) -> None:
    """The rows and their seals are whole; but by the index SQLite would find, or miss, another row."""
    book.open_dataset("people", epsilon=1)
    identity = str(uuid.uuid4())
    book.charge("people", calibrate(10, epsilon=0.1), identity=identity)
    kept = Path(book.path).read_bytes()
    places = [k for k in range(len(kept)) if kept.startswith(identity.encode(), k)]
    assert len(places) == 2, "in the row and in the index"
    for place in places:
        damaged = bytearray(kept)
        damaged[place] ^= 1
        Path(book.path).write_bytes(damaged)
        with pytest.raises(scumble.CorruptFileError, match="is damaged"):
            Ledger(book.path)


def test_charged_before_noise_is_drawn_and_not_given_back(book: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    book.open_dataset("people", epsilon=1)
    secret = sketch()
    seen = []

    def fail(*_: object) -> np.ndarray:
        seen.append(len(book.account("people").charges))
        raise OSError("no entropy")

    monkeypatch.setattr("scumble.privacy.noise._entropy", fail)
    with pytest.raises(OSError, match="no entropy"):
        secret.release(epsilon=0.6, ledger=book, dataset="people")
    assert seen == [1], "the charge was there when the first noise was asked for"
    assert book.account("people").left().epsilon == Fraction(2, 5)
    assert secret._counts.size == 0
    with pytest.raises(scumble.BudgetError):
        secret.release(epsilon=0.1, ledger=book, dataset="people")


def test_a_refused_release_leaves_the_sketch_as_it_was(book: Ledger) -> None:
    book.open_dataset("people", epsilon=1)
    secret = sketch()
    with pytest.raises(scumble.BudgetError):
        secret.release(epsilon=2, ledger=book, dataset="people")
    with pytest.raises(scumble.ParameterError, match="no dataset"):
        secret.release(epsilon=1, ledger=book, dataset="peeple")
    assert secret.count == 100
    release = secret.release(epsilon=1, ledger=book.path, dataset="people")
    assert [charge.identity for charge in book.account("people").charges] == [release.identity]


def test_a_second_release_needs_a_ledger_with_budget_left(book: Ledger, tmp_path: Path) -> None:
    book.open_dataset("people", epsilon=1)
    book.open_dataset("others", epsilon=1)
    secret = sketch()
    with pytest.raises(scumble.BudgetError, match="needs a ledger"):
        secret.release(epsilon=0.4, keep=True)
    secret.save(tmp_path / "part.secret")
    one = secret.release(epsilon=0.4, ledger=book, dataset="people", keep=True)
    two = secret.release(epsilon=0.4, ledger=book, dataset="people", keep=True)
    assert one.identity != two.identity and not np.array_equal(one.counts, two.counts)
    with pytest.raises(scumble.BudgetError, match=r"ε = 0\.2, δ = 0 left"):
        secret.release(epsilon=0.4, ledger=book, dataset="people", keep=True)
    for way in ({}, {"ledger": book, "dataset": "others"}):  # not without it, and not from another account
        with pytest.raises(scumble.BudgetError, match="released before"):
            secret.release(epsilon=0.1, **way)
    scumble.load_secret(tmp_path / "part.secret").release(epsilon=0.2, ledger=book, dataset="people")
    with pytest.raises(scumble.BudgetError):
        secret.release(epsilon=0.1, ledger=book, dataset="people")


def test_a_release_without_a_ledger_is_not_mended_by_one_afterwards(book: Ledger, tmp_path: Path) -> None:
    book.open_dataset("people", epsilon=1)
    secret = sketch()
    secret.save(tmp_path / "part.secret")
    secret.release(epsilon=0.4)
    with pytest.raises(scumble.BudgetError, match="released before"):
        scumble.load_secret(tmp_path / "part.secret").release(epsilon=0.4, ledger=book, dataset="people")
    assert book.account("people").charges == ()


def test_a_bundle_is_charged_once(book: Ledger) -> None:
    book.open_dataset("people", epsilon=1)
    table = pa.table({"age": [1.0, 2.0, 3.0, 4.0], "mode": ["bus", "car", "bus", "car"]})
    size = {"label": "mode", "classes": ["bus", "car", "bike"], "rows": 4, "buckets": 8}
    paid = {"epsilon": 0.7, "ledger": book, "dataset": "people"}
    bundle = build_by(table, scumble.EuclideanKernel(1.0), **size, **paid)
    assert len({release.identity for release in bundle.values()}) == 3
    assert book.account("people").left().epsilon == Fraction(3, 10)


@pytest.mark.parametrize("way", [{"dataset": "people"}, {"part": "north"}, {"dataset": "people", "part": "north"}])
def test_where_to_charge(book: Ledger, way: dict) -> None:
    """A dataset needs its ledger, and a ledger its dataset: a forgotten one is no release without charge."""
    with pytest.raises(scumble.ParameterError):
        sketch().release(epsilon=1, **way)
    for wrong in (None, 5, b"people"):
        with pytest.raises(scumble.ParameterError):
            sketch().release(epsilon=1, ledger=book, dataset=wrong)  # type: ignore[arg-type]
    assert Account.of(None, None, None) is None


# ---- several at once ----


@pytest.mark.statistical(rate=1e-100)
def test_eight_processes_race_for_a_budget_of_three(book: Ledger, tmp_path: Path) -> None:
    book.open_dataset("people", epsilon=0.3)
    secret = sketch()

    def work(k: int) -> bool:
        try:
            release = secret.release(epsilon=0.1, ledger=book, dataset="people")
        except scumble.BudgetError:
            return False
        release.save(tmp_path / f"{k}.scumble")
        return True

    assert sum(in_children(8, work)) == 3
    releases = [scumble.load(path) for path in tmp_path.glob("*.scumble")]
    assert {one.identity for one in releases} == {charge.identity for charge in book.account("people").charges}
    assert len({one.counts.tobytes() for one in releases}) == 3


def test_threads_race_for_a_budget_of_three(book: Ledger) -> None:
    """Threads share POSIX locks, which a careless open and close of the file would drop."""
    book.open_dataset("people", epsilon=0.3)
    won: list[bool] = []

    def work() -> None:
        for _ in range(2):
            with contextlib.suppress(scumble.BudgetError):
                won.append(charge(Ledger(book.path)))

    assert not any(in_threads(*[work] * 8))
    assert len(won) == 3 == len(book.account("people").charges)


def test_a_ledger_in_use_is_waited_for_and_then_refused(book: Ledger) -> None:
    book.open_dataset("people", epsilon=1)
    with contextlib.closing(sqlite3.connect(book.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        secret = sketch()
        with pytest.raises(scumble.FileError, match=r"in use for over 0\.2 s"):
            secret.release(epsilon=1, ledger=Ledger(book.path, timeout=0.2), dataset="people")
        other.execute("ROLLBACK")
    secret.release(epsilon=1, ledger=book, dataset="people")


# ---- the file ----


def test_the_file_is_for_its_owner_only(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        book = Ledger.create(tmp_path / "town.ledger")
        book.open_dataset("people", epsilon=1)
        charge(book)
        assert stat.S_IMODE(os.stat(book.path).st_mode) == 0o600
        with contextlib.closing(sqlite3.connect(book.path, isolation_level=None)) as raw:
            raw.execute("BEGIN IMMEDIATE")
            raw.execute("INSERT INTO parts VALUES (9, 'x', 'y', 'z')")
            journal = Path(book.path + "-journal")
            assert stat.S_IMODE(journal.stat().st_mode) == 0o600
            raw.execute("ROLLBACK")
    finally:
        os.umask(old)
    assert [path.name for path in tmp_path.iterdir()] == ["town.ledger"]
    os.chmod(book.path, 0o644)
    with pytest.warns(UserWarning, match="chmod 600"):
        Ledger(book.path)


@pytest.mark.parametrize("links", [True, False])
def test_an_existing_file_is_never_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool) -> None:
    def fails(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    if not links:  # a disk that has none
        monkeypatch.setattr("os.link", fails)
    book = Ledger.create(tmp_path / "town.ledger")
    book.open_dataset("people", epsilon=1)
    assert stat.S_IMODE(os.stat(book.path).st_mode) == 0o600 and os.listdir(tmp_path) == ["town.ledger"]
    with pytest.raises(scumble.FileError):
        Ledger.create(book.path)
    assert "people" in book.accounts()
    for link, target in (("link", book.path), ("stray", tmp_path / "nowhere")):
        (tmp_path / link).symlink_to(target)
        with pytest.raises(scumble.FileError, match="already"):
            Ledger.create(tmp_path / link)
    assert not (tmp_path / "nowhere").exists()
    monkeypatch.setattr("os.link", fails)
    monkeypatch.setattr("os.replace", fails)
    with pytest.raises(scumble.FileError):
        Ledger.create(tmp_path / "other.ledger")


def test_a_missing_ledger_is_not_made_silently(tmp_path: Path) -> None:
    for missing in (lambda: Ledger(tmp_path / "twon.ledger"), lambda: Ledger.create(tmp_path / "nowhere" / "l")):
        with pytest.raises(FileNotFoundError):
            missing()
    with pytest.raises(FileNotFoundError):
        ledgerfile.make(str(tmp_path / "nowhere" / "l"))
    with pytest.raises(scumble.FileError, match="too long"):
        ledgerfile.make(str(tmp_path / ("a" * 300)))
    assert list(tmp_path.iterdir()) == []
    if Path("/proc/self").exists():  # a folder that is there and takes no files
        with pytest.raises(scumble.FileError) as problem:
            Ledger.create("/proc/town.ledger")
        assert not isinstance(problem.value, FileNotFoundError)


def test_foreign_files_are_refused_and_left_alone(tmp_path: Path, book: Ledger) -> None:
    with contextlib.closing(sqlite3.connect(book.path, isolation_level=None)) as raw:
        raw.execute("PRAGMA user_version = 2")
    with pytest.raises(scumble.NewerFileError):
        Ledger(book.path)
    os.unlink(book.path)
    with contextlib.closing(sqlite3.connect(tmp_path / "other.db")) as raw:
        raw.execute("CREATE TABLE t (x)")
        raw.commit()
    (tmp_path / "text").write_text("age,income\n1,2\n" * 100)
    (tmp_path / "empty").touch()
    (tmp_path / "short").write_bytes(b"SQLite format 3\0" + bytes(20))
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for path in tmp_path.iterdir():
        before = path.read_bytes() if path.is_file() else b""
        with pytest.raises(scumble.ForeignFileError):
            Ledger(path)
        assert not path.is_file() or path.read_bytes() == before


def test_damage_is_refused_or_harmless(book: Ledger) -> None:
    """Flip bits all over the file: either it is refused, or it says exactly what it said before."""
    book.open_dataset("people", epsilon=1, parts=["a"])
    charge(book)
    charge(book, part="a")
    before, kept = book.accounts(), Path(book.path).read_bytes()
    rng = np.random.default_rng(3)

    def refused(data: bytes) -> bool:
        Path(book.path).write_bytes(data)
        try:
            assert Ledger(book.path).accounts() == before
        except scumble.FileError as problem:
            assert "ledger" in str(problem).lower()
            return True
        return False

    found = 0
    text = [kept.find(word) for word in (b"discrete-laplace", b"1/10", b"people", b"add-remove")]
    for place in [*rng.choice(len(kept), 120, replace=False).tolist(), *text]:
        damaged = bytearray(kept)
        damaged[place] ^= 1 << int(rng.integers(8))
        found += refused(bytes(damaged))
    assert found > 5
    for size in range(1, len(kept), 1024):
        assert refused(kept[:size]) or size > len(kept) - 4096  # the last page is an index that nobody needs


@pytest.mark.parametrize("full", [False, True])
def test_a_full_disk_stops_the_release(book: Ledger, monkeypatch: pytest.MonkeyPatch, full: bool) -> None:
    """As does a ledger that cannot be written to."""
    book.open_dataset("people", epsilon=1)
    connect = Ledger._connect

    def work(_: int) -> bool:
        if full:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        else:
            monkeypatch.setattr(Ledger, "_connect", lambda self, mode: connect(self, "ro"))
        secret = sketch()
        try:
            secret.release(epsilon=1, ledger=book, dataset="people")
        except scumble.FileError:
            return secret.count == 100
        return False

    assert in_children(1, work) == [True]
    assert book.account("people").charges == ()
    charge(book)


# ---- the verb ----


def test_deltas_add_up_too(book: Ledger) -> None:
    book.open_dataset("people", epsilon=10, delta=2e-6)
    for _ in range(2):
        charge(book, epsilon=1, delta=1e-6)
    with pytest.raises(scumble.BudgetError):
        charge(book, epsilon=1, delta=1e-7)
    charge(book, epsilon=8)
    assert book._timeout == 60.0 and Ledger(book.path, timeout=1.0)._timeout == 1.0


def test_what_is_left_of_a_spent_budget_is_shown_as_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    book = Ledger.create(tmp_path / "l")
    book.open_dataset("d", epsilon="1")
    table = pa.table({"x": [1.0, 2.0] * 50})
    for epsilon in (0.3, 0.6999999999):
        scumble.build(table, scumble.EuclideanKernel(1.0), rows=8, buckets=8, epsilon=epsilon, ledger=book, dataset="d")
    assert 0 < book.account("d").left().epsilon < 1e-9
    assert cli.main(["ledger", str(tmp_path / "l")]) == 0
    line = next(line for line in capsys.readouterr().out.splitlines() if "budget" in line)
    assert line.split()[-1] == "0"
