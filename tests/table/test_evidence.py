"""How the counters of a release lie: folded, split and handed to models, compared with loops over records."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.table.people import SCHEMA, people

import scumble
from scumble.errors import CorruptFileError
from scumble.table.counting import reference
from scumble.table.evidence import Grouped, _column
from scumble.table.grouping import Column
from scumble.table.spec import TableSpec

TARGETS = pytest.mark.parametrize("target", [None, "sex", "smoker"])


def grouped(target: str | None) -> Grouped:
    """Every other pair, and pairs of levels."""
    spec = TableSpec.of(SCHEMA, target=target, levels=6)
    return Grouped(spec, tuple(np.arange(int(axis.max()) + 1) // 2 for axis in spec.axes), spec.pairs[::2])


@TARGETS
def test_models_get_the_counts_of_each_class(target: str | None) -> None:
    found = grouped(target)
    spec = found.spec
    codes = np.asarray(SCHEMA.find(people(200), positions=spec.placed)[0].codes)
    rows = np.split(reference(spec, codes), np.cumsum(spec.lengths)[:-1])
    published = rows[: spec.singles]
    for pair in found.pairs:
        cells = found.cells(pair)
        folded = np.zeros(cells.max() + 1, np.int64)
        np.add.at(folded, cells, rows[spec.singles + spec.pairs.index(pair)])
        published.append(folded)
    counts = np.concatenate(published)
    assert len(counts) == found.length
    variances = [0.0, *range(1, len(published))]
    evidence = found.evidence(counts, variances, (200.0, 0.0))
    assert len(evidence) == spec.classes
    for c, one in enumerate(evidence):
        mine = codes if spec.place is None else codes[codes[:, spec.place] == c]
        levels = [mine[:, j] for j in spec.counted]
        coarse = [found.groups[j][spec.axes[j]][mine[:, j]] for j in spec.counted]
        views = list(one.views)
        if target is None:
            count = views.pop()
            assert count.columns == () and count.counts == 200.0 and count.variance == 1e-9
        else:
            assert views[0].columns == () and views[0].counts == len(mine)
        assert [view.variance for view in views] == [max(variances[row], 1e-9) for row in found.crosstabs]
        for (column, digit), view in one.positions.items():
            place = len(SCHEMA) + spec.placed.index((spec.counted[column], digit))
            np.testing.assert_array_equal(view.counts, np.bincount(mine[:, place], minlength=spec.sizes[place]))
            assert view.variance == max(variances[place - len(SCHEMA) + (target is not None)], 1e-9)
        assert len(one.positions) == 2
        pairs = [view.columns for view in views if len(view.columns) == 2]
        assert [tuple(spec.counted[k] for k in pair) for pair in pairs] == list(found.pairs)
        for view in views:
            wanted = np.zeros(view.counts.shape)
            of = levels if len(view.columns) == 1 else coarse
            np.add.at(wanted, tuple(of[k] for k in view.columns), 1 if view.columns else len(mine))
            np.testing.assert_array_equal(view.counts, wanted)
    assert all(view.columns for view in found.evidence(counts, variances, None)[0].views) == (target is None)


def test_columns_as_models_see_them() -> None:
    schema = scumble.Schema(
        rain=scumble.Number(0, 100, cells=4, zeros=True, missing=True),
        sex=scumble.Category(["a", "b"], missing=True),
        day=scumble.Date("2024-01-01", "2024-01-31"),
    )
    spec = TableSpec.of(schema)
    days = schema["day"].size
    assert [_column(spec, j) for j in range(3)] == [
        Column(6, ordered=5, missing=True, lone=0),
        Column(4, missing=True),
        Column(days, ordered=days),
    ]


@TARGETS
def test_groups_that_are_none_are_refused(target: str | None) -> None:
    good = grouped(target)
    good.check()
    one, *others = good.groups
    pairs = good.pairs
    changes: list[dict[str, Any]] = [
        {"pairs": pairs[::-1]},
        {"pairs": (*pairs, pairs[-1])},
        {"pairs": (*pairs, (0, 99))},
        {"groups": (one[1:], *others)},
        {"groups": (one + 1, *others)},
        {"groups": (one * 2, *others)},
    ]
    for change in changes:
        with pytest.raises(CorruptFileError):
            replace(good, **change).check()
