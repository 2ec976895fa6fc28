"""Sentences that are put together read as if they had been written: one column, no capital after a colon, years."""

from __future__ import annotations

import numpy as np
import pytest

import scumble
from scumble.audit.greybox import Report, Verdict


def sketch() -> scumble.Sketch:
    return scumble.Sketch(scumble.EuclideanKernel(5.0), columns=["year", "x"], rows=4, buckets=8)


def test_one_column_is_no_columns() -> None:
    with pytest.raises(scumble.DataError, match=r"^`X` has no column names and 1 column, but 2 were asked for"):
        sketch().update(np.ones((3, 1)))
    one = scumble.Sketch(scumble.EuclideanKernel(5.0), columns=["year"], rows=4, buckets=8)
    with pytest.raises(scumble.DataError, match=r"^`X` has no column names and 2 columns, but 1 was asked for"):
        one.update(np.ones((3, 2)))


def test_no_capital_after_a_colon() -> None:
    used = sketch().update(np.ones((3, 2)))
    used.release(epsilon=1.0)
    with pytest.raises(scumble.BudgetError, match=r"^Cannot release: this sketch has been released"):
        used.release(epsilon=1.0)


def test_years_on_a_card_have_no_commas() -> None:
    kernel = scumble.EuclideanKernel(5.0, 2)
    made = scumble.Sketch(kernel, columns=["year"], bounds=([1870.0], [2009.0]), design="grid")
    card = " ".join(made.update(np.full((9, 1), 1990.0)).release(epsilon=1.0)._repr_html_().split())
    assert "year 1870 to 2009" in card


def test_one_path_is_no_paths() -> None:
    assert str(Report((Verdict("a", pairs=20),))).endswith("\n1 path, 20 pairs of tables: no violation found.")


def test_a_target_that_is_none_is_guessed() -> None:
    schema = scumble.Schema(birth_country=scumble.Category(["CAN", "USA"]), age=scumble.Number(0, 99))
    with pytest.raises(scumble.ParameterError, match=r"got 'country'\. Did you mean 'birth_country'\? Hint"):
        scumble.TableSketch(schema, target="country")
