"""Files of every format version stay readable and answer the same. Add files here; never change one."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import scumble

FOLDER = Path(__file__).parent / "golden"
ANSWERS = json.loads((FOLDER / "answers.json").read_text())


def test_every_golden_file_has_its_answers() -> None:
    assert {path.name for path in FOLDER.glob("*.scumble")} == set(ANSWERS)


@pytest.mark.parametrize("name", ANSWERS)
def test_a_golden_file_answers_as_it_did(name: str) -> None:
    release, wanted = scumble.load(FOLDER / name), ANSWERS[name]
    Q = np.array(wanted["queries"])
    low, high = release.interval(Q)
    np.testing.assert_allclose(release.kernel_sum(Q), wanted["kernel_sum"], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(low, wanted["lower"], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(high, wanted["upper"], rtol=1e-9, atol=1e-9)
    assert release.count == pytest.approx(wanted["count"], rel=1e-12)
    assert (release.privacy.epsilon, release.privacy.delta) == (wanted["epsilon"], wanted["delta"])
