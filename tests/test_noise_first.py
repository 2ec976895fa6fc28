"""Noise first: raw counters never exist, and what is stolen half way is a release."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import scumble
from rates import laplace
from scumble import files
from scumble.files.places import Owned
from scumble.sources import Build, build, build_by

KERNEL = scumble.EuclideanKernel(1.0)


def sketch(**options: object) -> scumble.Sketch:
    return scumble.Sketch(KERNEL, 1, **{"rows": 8, "buckets": 512, "seed": 1, "design": "iid", **options})  # type: ignore[arg-type]


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("neighbors", ["add-remove", "replace"])
def test_the_release_is_noise_plus_counts(delta: float, neighbors: str) -> None:
    X = np.random.default_rng(2).normal(size=(3000, 1))
    exact = sketch().update(X)
    noisy = sketch().start_with_noise(1.0, delta, neighbors=neighbors)
    before = noisy._counts.copy()
    noisy.update(X[:1000]).update(X[1000:])
    np.testing.assert_array_equal(noisy._counts - before, exact._counts)
    release = noisy.release()
    assert release.privacy == sketch().release(1.0, delta, neighbors).privacy
    assert abs(release.count - 3000) <= laplace() * release.count_standard_error
    if neighbors == "replace":
        assert release.count == 3000
    lower, upper = release.interval([[0.0]], confidence=1 - 1e-9)
    assert lower[0] < exact.kernel_sum([[0.0]])[0] < upper[0]


@pytest.mark.statistical(rate=1e-8)
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_noise_is_that_of_an_ordinary_release(delta: float) -> None:
    """Two-sample χ² on 4,096 counters each, bins cut at about every 400th: a false alarm in 10⁹ runs, nominally.

    Bins end at counters that were seen, each once: so none is empty, however often a whole number comes up.
    """
    first = sketch().start_with_noise(1.0, delta).release().counts.ravel()
    later = sketch().release(1.0, delta).counts.ravel()
    both = np.concatenate([first, later])
    ends = np.unique(np.quantile(both, np.linspace(0, 1, 21)[1:], method="inverted_cdf"))
    table = [np.bincount(np.searchsorted(ends, draws), minlength=len(ends)) for draws in (first, later)]
    assert stats.chi2_contingency(table).pvalue > 1e-9
    assert not np.array_equal(first, later)


def test_raw_counters_never_exist() -> None:
    """Every array that the layout is asked to count into has its noise already."""
    secret = sketch().start_with_noise(1e-4)
    seen: list[np.ndarray] = []
    layout = secret.spec.layout
    count = layout.count

    def spy(parts: object, counts: np.ndarray, **options: object) -> None:
        seen.append(counts.copy())
        count(parts, counts, **options)  # type: ignore[arg-type]

    layout.count = spy  # type: ignore[method-assign]
    for value in range(5):
        secret.update(np.full((10, 1), float(value)))
    # At this scale a counter's noise is below 100 with probability 0.003; 410 of 4,096 such: never.
    assert len(seen) == 5 and all((np.abs(counts) > 100).mean() > 0.9 for counts in seen)


def test_exact_answers_do_not_exist() -> None:
    secret = sketch().start_with_noise(1.0).update([[1.0]])
    for question in (lambda: secret.count, lambda: secret.kernel_sum([[1.0]]), lambda: secret.density([[1.0]])):
        with pytest.raises(scumble.PrivacyError, match="began with noise"):
            question()
    for one, other in ((secret, sketch()), (sketch(), secret)):
        with pytest.raises(scumble.MergeError):
            one.merge(other)
    with pytest.raises(scumble.PrivacyError, match="full noise already"):
        secret.release_share(1.0, custodians=2)
    for budget in ({"epsilon": 1.0}, {"ledger": "town.ledger"}, {"keep": True}):
        with pytest.raises(scumble.ParameterError, match="without a budget"):
            secret.release(**budget)  # type: ignore[arg-type]
    with pytest.raises(scumble.PrivacyError, match="it is kept in one file"):
        secret.to_bytes()
    secret.release()
    with pytest.raises(scumble.BudgetError):
        secret.release()


def test_noise_comes_first_or_not_at_all() -> None:
    for late in (sketch().update([[1.0]]), sketch().merge(sketch()), sketch().start_with_noise(1.0)):
        with pytest.raises(scumble.PrivacyError, match="before the first record"):
            late.start_with_noise(1.0)
    with pytest.raises(scumble.ParameterError, match=r"Give `epsilon`.*typical budgets are 0.1 to 3"):
        sketch().start_with_noise()
    empty = sketch().update(np.zeros((0, 1)))
    with pytest.raises(scumble.PrivacyError):
        empty.start_with_noise(1.0)


def test_the_ledger_is_charged_before_the_noise_and_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    book = scumble.Ledger.create(tmp_path / "l")
    book.open_dataset("people", epsilon=1)
    secret = sketch().start_with_noise(0.6, ledger=book, dataset="people")
    release = secret.update([[1.0]]).release()
    assert [charge.identity for charge in book.account("people").charges] == [release.identity]
    with pytest.raises(scumble.BudgetError):
        sketch().start_with_noise(0.6, ledger=book, dataset="people")

    def fail(*_: object) -> np.ndarray:
        raise OSError("no entropy")

    monkeypatch.setattr("scumble.privacy.noise._entropy", fail)
    other = sketch()
    with pytest.raises(OSError, match="no entropy"):
        other.start_with_noise(0.2, ledger=book, dataset="people")
    monkeypatch.undo()
    assert book.account("people").left().epsilon == Fraction(1, 5)
    with pytest.raises(scumble.BudgetError, match="failed after the budget was spent"):
        other.update([[1.0]])


def test_a_saved_sketch_goes_on_with_its_noise(tmp_path: Path) -> None:
    secret = sketch().start_with_noise(1.0).update([[1.0]])
    secret.save(tmp_path / "half.secret")
    again = scumble.load_secret(tmp_path / "half.secret").update([[2.0]])
    release = again.release()
    np.testing.assert_array_equal(release.counts, secret.update([[2.0]])._counts)
    assert again.noisy and release.noisy_count == secret.secret.noise.count  # type: ignore[union-attr]


def test_a_file_that_another_process_uses_is_left_alone_and_so_is_the_sketch(tmp_path: Path) -> None:
    secret = sketch().start_with_noise(1.0).update([[1.0]])
    secret.save(tmp_path / "half.secret")
    other, before = Owned(tmp_path / "half.secret"), (tmp_path / "half.secret").read_bytes()
    assert other.take()
    for act in (lambda: secret.save(tmp_path / "half.secret"), secret.release):
        with pytest.raises(scumble.BudgetError, match="Another process"):
            act()
    other.let_go()
    assert (tmp_path / "half.secret").read_bytes() == before
    with pytest.raises(scumble.PrivacyError):
        secret.save(tmp_path / "elsewhere.secret")
    assert not (tmp_path / "elsewhere.secret").exists()
    secret.update([[2.0]]).save(tmp_path / "half.secret")
    assert secret.release().privacy.epsilon == 1.0


# ---- builds ----


TABLE = pa.table({"age": np.random.default_rng(5).normal(40, 10, 200_000)})
OPTIONS: dict = {"epsilon": 1.0, "rows": 8, "buckets": 64, "noise_first": True}


def test_build_and_classes(tmp_path: Path) -> None:
    release = build(TABLE, KERNEL, **OPTIONS)
    assert abs(release.count - 200_000) < 2000  # 80 scales of its Laplace noise
    book = scumble.Ledger.create(tmp_path / "l")
    book.open_dataset("people", epsilon=1)
    table = TABLE.append_column("mode", pa.array(["bus", "car"] * 100_000))
    bundle = build_by(table, KERNEL, label="mode", classes=["bus", "car"], ledger=book, dataset="people", **OPTIONS)
    assert len(book.account("people").charges) == 1
    assert all(abs(part.count - 100_000) < 2000 for part in bundle.values())


def test_a_stolen_checkpoint_is_a_release_and_a_resumed_build_ends_the_same(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    source, kept = tmp_path / "people.parquet", tmp_path / "build.checkpoint"
    pq.write_table(TABLE, source, row_group_size=20_000)
    book = scumble.Ledger.create(tmp_path / "l")
    book.open_dataset("people", epsilon=1)  # enough for one
    options = {**OPTIONS, "checkpoint": kept, "checkpoint_seconds": 0, "ledger": book, "dataset": "people"}

    class Stop(Exception):
        pass

    def stop(progress: object) -> None:
        if progress.rows >= 100_000:  # type: ignore[attr-defined]
            raise Stop

    with pytest.raises(Stop):
        Build(str(source), KERNEL, **options).count(stop)
    stolen = files.read(kept, expect="checkpoint")
    # Nothing in it but noisy counters, public parameters, and how far the source was read.
    assert {"rows": 1, "dropped": 0, "skipped": {}}.items() <= stolen.metadata.items()
    read = stolen.metadata["position"][1]
    exact = scumble.Sketch(KERNEL, columns=["age"], rows=8, buckets=64, design="auto").update(TABLE[:read])
    assert not np.array_equal(stolen.arrays["counts.0"], exact._counts)
    noise = stolen.arrays["counts.0"] - exact._counts
    assert 3 < np.abs(noise).mean() < 20  # discrete Laplace of scale 8.33: 8.3 ± 0.4 on average
    resumed = Build(str(source), KERNEL, **options)
    resumed.count()
    release = resumed.release()
    everything = scumble.Sketch(KERNEL, columns=["age"], rows=8, buckets=64, design="auto").update(TABLE)
    np.testing.assert_array_equal(release.counts - noise, everything._counts)  # type: ignore[union-attr]
    assert len(book.account("people").charges) == 1


def test_persons_and_noise_first_do_not_go_together() -> None:
    table = TABLE.append_column("who", pa.array(np.arange(200_000)))
    with pytest.raises(scumble.PrivacyError, match="Noise first"):
        build(table, KERNEL, person_column="who", **OPTIONS)
