"""``REPORT.md`` and its figures, made from ``results.json`` and from nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.paper.report import density, figures, learning, provenance, summary, timing
from benchmarks.paper.report.rows import Rows

NAME = "REPORT.md"
TITLE = """# The paper's experiments, with every rival

B. Coleman and A. Shrivastava, *A one-pass private sketch for most machine learning tasks* (arXiv:2006.09352), run
again: every method that the paper names, some that came later, and scumble, all at the same, true privacy. Made by
`make paper` from [results.json](results.json); no number in it was typed. Neighbors add or remove one record. Where a
method needs a δ, it is 1e-6. A figure is the mean of ten repetitions ± their standard deviation,
where nothing else is said.
"""


def text(results: dict[str, Any]) -> str:
    """The report, in Markdown."""
    rows = Rows(results["rows"])
    parts = [
        TITLE,
        summary.text(rows),
        density.text(rows),
        density.close_calls(rows),
        learning.classification(rows),
        learning.regression(rows),
        learning.wang(rows),
        timing.text(rows),
        density.ablations(rows),
        learning.ablations(rows),
        provenance.text(results),
    ]
    return "\n".join(part for part in parts if part)


def in_short(results: dict[str, Any]) -> str:
    """The summary for docs/benchmarks.md."""
    return summary.in_short(Rows(results["rows"]))


def write(folder: Path, results: dict[str, Any]) -> None:
    """The report and its figures, into `folder`."""
    figures.write(folder / "figures", Rows(results["rows"]))
    (folder / NAME).write_text(text(results), "utf-8")
