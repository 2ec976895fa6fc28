"""What pools of words hide, against Dirichlet's law itself."""

from __future__ import annotations

import numpy as np
import pytest

from scumble.views.pools import misplaced

PLACES = np.array([0.5, 0.3, 0.15, 0.05])


@pytest.mark.parametrize(("records", "tied"), [(1, 0.2), (4, 0.2), (400, 0.2), (400, 0.05), (400, 0.8)])
def test_as_many_records_are_elsewhere_as_in_draws(records: int, tied: float) -> None:
    """Seeded draws; the mean of 20,000 deviations, each in [0, 1], is sure to 0.003, and two laws differ by little."""
    generator = np.random.default_rng(3)
    words = generator.dirichlet(PLACES * (1 / tied - 1), 20_000)
    shares = generator.multinomial(records, words) / records
    drawn = np.abs(shares - PLACES).sum(axis=1).mean() / 2
    (found,) = misplaced(np.array([float(records)]), PLACES * 1000, tied) / records
    assert found == pytest.approx(drawn, abs=0.02)


def test_a_single_record_is_in_one_place_and_no_record_in_none() -> None:
    assert misplaced(np.array([1.0, 0.0, -3.0]), PLACES, 0.0) == pytest.approx([1 - (PLACES**2).sum(), 0.0, 0.0])
    assert misplaced(np.array([9.0]), np.zeros(4), 0.5).tolist() == [0.0], "a pool that lies nowhere"
    assert misplaced(np.array([9.0]), np.array([4.0]), 0.5) == pytest.approx([0.0], abs=1e-6), "there is one place"
