"""Tables and numbers in Markdown."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from benchmarks.paper.report.rows import Cell

Format = Callable[[float], str]


def table(head: Sequence[str], lines: Sequence[Sequence[str]], text: int = 1) -> str:
    """The first `text` columns are words, the others numbers."""
    rows = [head, ["---"] * text + ["---:"] * (len(head) - text), *lines]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows) + "\n"


def percent(value: float) -> str:
    """A relative error: 3.1 %, 0.24 %."""
    return significant(100.0 * value)


def accuracy(value: float) -> str:
    return f"{100.0 * value:.1f}"


def squared(value: float) -> str:
    return f"{value:.4f}" if value < 10.0 else significant(value)


def significant(value: float) -> str:
    """Three digits, without an exponent where that reads well."""
    if value == 0.0:
        return "0"
    if 1e-4 <= abs(value) < 1e4:
        digits = max(0, 2 - _exponent(value))
        return f"{value:.{digits}f}"
    return f"{value:.2e}"


def _exponent(value: float) -> int:
    return int(f"{abs(value):e}".split("e")[1])


def with_spread(cell: Cell | None, form: Format) -> str:
    if cell is None:
        return "–"
    return f"{form(cell.mean)} ± {form(cell.spread)}" if cell.repetitions > 1 else form(cell.mean)


def budget(epsilon: float) -> str:
    return f"ε = {epsilon:g}"
