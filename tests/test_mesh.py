"""Pictures of a density show its peaks, however narrow, and say of how many records they are."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from scumble.show import plots

TOP = np.array([0.4137, 0.7291])
"""Between points of any mesh here."""


def landscape(wide: float, shape: tuple[int, int] | None = None) -> Any:
    """What a picture needs of a release: one steep peak of height 1 over a low plain."""

    def density(places: dict[str, np.ndarray], *, shrink: bool = False) -> np.ndarray:
        off = np.column_stack([places["a"], places["b"]]) - TOP
        return np.asarray(0.01 + 0.99 * np.exp(-np.hypot(*off.T) / wide))

    known = {"columns": ("a", "b"), "dimensions": 2, "kernel": None, "bounds": ((0.0, 0.0), (1.0, 1.0))}
    known |= {"spec": SimpleNamespace(shape=shape), "count": 1000.0, "divisor": 1000.0, "density": density}
    known |= {"privacy": SimpleNamespace(epsilon=1.0, delta=0.0)}
    return SimpleNamespace(**known, standard_error=lambda places: np.full(len(places["a"]), 0.001))


def test_a_mesh_is_as_fine_as_the_cells_are() -> None:
    view = plots.View(landscape(0.1, (100, 500)), {"b": (0.5, 0.75)}, {}, {})
    assert [len(plots.mesh_axis(view, name, 61)) for name in ("a", "b")] == [100, 125]
    whole = plots.View(landscape(0.1, (10, 500)), {}, {}, {})
    assert [len(plots.mesh_axis(whole, name, 61)) for name in ("a", "b")] == [61, 183]


@pytest.mark.parametrize("end, told", [(5_000_000, "5M"), (50_000, "50,000"), (5, "5")])
def test_no_axis_is_written_in_powers_of_ten(end: int, told: str) -> None:
    axes = plots.new_figure(4.0, 3.0).subplots()
    axes.set_xlim(0, end)
    plots.thousands(axes.xaxis)
    labels = axes.xaxis.get_major_formatter().format_ticks(axes.get_xticks())
    assert told in labels and labels[0] == "0" and not any("e" in label for label in labels)


def test_names_and_signs_of_any_kind_are_drawn(tmp_path: Path) -> None:
    """A long name is cut, and a letter that no font has is no warning."""
    figure = plots.density(landscape(0.1), units={"a": "of " + 80 * "x"}, title="👨 costs $5")
    label = figure.axes[0].get_xlabel()
    assert len(label) <= 56 and label.endswith("…")
    plots.save(figure, tmp_path / "a.png")
