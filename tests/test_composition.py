"""What composition rests on: the lines of counting/sensitivity.proof.md and gate.proof.md that a test can hold."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import scumble
from discovered import KERNELS
from scumble.audit import broken_bound
from scumble.columns.table import Table
from scumble.counting import Hasher, cpu, reference
from scumble.density.bundle import Bundle
from scumble.kernels import Kernel
from scumble.kernels.design import Design

KERNEL = scumble.EuclideanKernel(1.0)


def small(**options: object) -> scumble.Sketch:
    return scumble.Sketch(KERNEL, 1, **{"rows": 4, "buckets": 16, "design": "iid", **options})


def exact(sketch: scumble.Sketch) -> np.ndarray:
    return sketch.contents()[1]["counts"].copy()


def test_replace_needs_a_count_that_no_record_can_change(tmp_path: Path) -> None:
    """A record replaced by an unreadable one is dropped: N would change, and under replace N is published exactly."""
    sketch = small(invalid="drop").update([[1.0], [np.nan]])
    with pytest.raises(scumble.PrivacyError, match="invalid='drop'"):
        sketch.release(epsilon=1.0, neighbors="replace")
    sketch.save(tmp_path / "part.secret")
    with pytest.raises(scumble.PrivacyError, match="invalid='drop'"):
        scumble.load_secret(tmp_path / "part.secret").release(epsilon=1.0, neighbors="replace")
    with pytest.raises(scumble.PrivacyError, match="invalid='drop'"):
        scumble.merge([small(), sketch]).release(epsilon=1.0, neighbors="replace")
    assert sketch.release(epsilon=1.0).privacy.neighbors == "add-remove", "and nothing was spent by asking"


def test_classes_do_not_go_with_replace() -> None:
    """A record that changes its label leaves one class and joins another: both exact counts would move."""
    parts = {name: small().update([[1.0]]).release(epsilon=1.0, neighbors="replace") for name in "ab"}
    with pytest.raises(scumble.PrivacyError):
        Bundle(parts)


def test_a_persons_records_may_be_in_several_classes() -> None:
    """m records in all move the classes' tables together by no more than m a row: the claim for m holds."""
    records = np.array([[0.3], [7.1], [-4.0]])
    for owners in ([0, 0, 0], [0, 1, 1], [0, 1, 2]):
        here = [exact(small()) for _ in range(3)]
        there = [exact(small().update(records[np.array(owners) == c])) for c in range(3)]
        assert broken_bound(np.hstack(here), np.hstack(there), people=3) == ""


class Wild(Kernel):
    """Breaks its promise of two codes, and returns what is no number."""

    name = "wild"
    radix = 2

    def _draw_one(self, draws: object, dimensions: int) -> np.ndarray:
        return draws.uniform(1)

    @staticmethod
    def code(record: np.ndarray, parameters: np.ndarray) -> float:
        return record[0]

    def collision(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        return np.ones((len(X), len(Y)))


@pytest.mark.parametrize("engine", [cpu, reference], ids=["cpu", "reference"])
def test_a_kernel_that_breaks_its_word_still_counts_once_a_row(engine: object) -> None:
    values = np.array([[0.0], [1.0], [2.0], [1e18], [-1.0], [np.inf], [-np.inf], [np.nan]])
    kernel = Wild()
    hasher = Hasher(kernel, Design("iid", 3, 9), buckets=2, width=1)
    assert hasher.direct
    for value in values:
        counts = np.zeros((9, 2), np.int64)
        engine.count(hasher, [kernel.read(Table.of(value[None]), [0])[0]], counts, 1)
        assert np.all(counts.sum(axis=1) == 1) and np.all(counts >= 0)


@pytest.mark.parametrize("kind", KERNELS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("columns", [1, 9])
def test_a_record_is_counted_alike_in_any_company(kind: type[Kernel], columns: int) -> None:
    """In a table of many, alone, or last: the same counter, to the last bit.

    Where the loops differ in rounding between the body and the end of a tile, a record more would move its neighbors.
    Steps so fine that the last bit of a projection decides make that visible.
    """
    rng = np.random.default_rng(4)
    X = rng.normal(size=(83, columns)) if kind.reads != "tokens" else rng.integers(0, 2, (83, columns)).astype(float)
    kernel = kind(bandwidth=1e-15) if "bandwidth" in kind().settings() else kind(power=3)

    def count(part: np.ndarray) -> np.ndarray:
        return exact(scumble.Sketch(kernel, columns, rows=11, buckets=257, design="iid").update(part))

    whole = count(X)
    np.testing.assert_array_equal(sum(count(X[i : i + 1]) for i in range(len(X))), whole)
    for i in (0, 40, 82):
        assert broken_bound(count(np.delete(X, i, axis=0)), whole) == ""


ROOT = Path(__file__).parent.parent


def test_every_test_that_a_proof_names_exists() -> None:
    known = {
        name for path in ROOT.glob("tests/**/*.py") for name in re.findall(r"^def (test_\w+)", path.read_text(), re.M)
    }
    texts = [*ROOT.glob("src/scumble/**/*.proof.md"), ROOT / "docs" / "trust.md"]
    assert len(texts) >= 4
    for path in texts:
        named = set(re.findall(r"`(test_\w+)`", path.read_text()))
        assert named, path
        assert named <= known, (path, named - known)


def test_every_line_that_the_page_on_trust_names_exists() -> None:
    text = (ROOT / "docs" / "trust.md").read_text()
    lines = re.findall(r"`((?!tests/)[\w/]+\.py)(?:: ([\w, ]+))?`", text)
    assert len(lines) >= 20
    for path, names in lines:
        source = (ROOT / "src" / "scumble" / path).read_text()
        for name in names.split(", ") if names else ():
            assert re.search(rf"^\s*(?:def|class) {name}\b", source, re.MULTILINE), (path, name)
