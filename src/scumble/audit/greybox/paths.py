"""The registry of paths: every way through the library that ends in a release.

A path is a function from a table and an empty folder to what is published. `@path(...)` puts it into `PATHS`, and what
is in `PATHS` is audited by existing. :mod:`scumble.audit.greybox.coverage` finds ways that are not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from scumble.audit.greybox.neighbors import Pair, Table, odd_pairs, pairs
from scumble.audit.greybox.running import Run

SIZE: dict[str, Any] = {"rows": 6, "buckets": 16, "seed": 3}
"""Small sketches: every mechanism is called as in large ones."""
BUDGETS: dict[str, dict[str, Any]] = {
    "pure": {"epsilon": 1.0},
    "gaussian": {"epsilon": 1.0, "delta": 1e-3},
    "replace": {"epsilon": 1.0, "neighbors": "replace"},
    "gaussian replace": {"epsilon": 1.0, "delta": 1e-3, "neighbors": "replace"},
    "rho": {"rho": 0.02},
    "mu": {"mu": 0.2, "delta": 1e-5},
    "persons": {"epsilon": 1.0, "records_per_person": 3},
    "gaussian persons": {"epsilon": 1.0, "delta": 1e-3, "records_per_person": 3},
}
"""Every kind of promise; with small sketches, δ must be large for Gaussian noise to be the quieter."""


@dataclass(frozen=True)
class Path:
    """A way that ends in a release, and the neighbours it must bear.

    Parameters
    ----------
    takes : frozenset of str
        The traits of the neighbours that it can be given, beside the plain ones.
    neighbors, people : {"add-remove", "replace"} or int
        The promise: which tables are neighbours.
    public : tuple of str
        Facts that its user declares public: only neighbours that agree in them count.
    strict : bool
        Whether a record that cannot be read may be refused (`invalid="error"`): then a `DataError` or `ValueError` that
        one record brings about is the documented answer and no finding.
    few : int or None
        Take only so many pairs, for paths that are slow.
    forbidden : bool
        Whether the library should refuse what this path does. Then it may publish nothing at all.
    """

    name: str
    run: Run
    takes: frozenset[str] = frozenset()
    neighbors: str = "add-remove"
    people: int = 1
    public: tuple[str, ...] = ()
    strict: bool = False
    few: int | None = None
    forbidden: bool = False

    def pairs(self) -> list[Pair]:
        """The neighbouring tables to try."""
        if {"odd", "spelt"} & self.takes:
            return [pair for pair in odd_pairs(self.neighbors) if pair.trait in self.takes]
        relation = "replace" if "count" in self.public else self.neighbors
        found = [
            pair
            for pair in pairs(relation, people=self.people)
            if pair.trait in ("plain", *self.takes) and all(_agree(fact, pair) for fact in self.public)
        ]
        if self.few is None:
            return found
        step = max(1, len(found) // self.few)
        chosen = found[::step][: self.few]
        return chosen + [pair for pair in found if pair.records > 1 and pair not in chosen]

    @property
    def allowance(self) -> int:
        """How often the claim may be used: a replaced record is one removed and one added."""
        return 2 if self.neighbors == "add-remove" and "count" in self.public else 1


PATHS: dict[str, Path] = {}


def path(name: str, *takes: str, **promise: Any) -> Callable[[Run], Run]:
    """Register a path."""

    def register(run: Run) -> Run:
        add(name, run, *takes, **promise)
        return run

    return register


def add(name: str, run: Run, *takes: str, **promise: Any) -> None:
    """Register a path that is not a function of its own."""
    if name in PATHS:
        raise ValueError(f"there are two paths {name!r}")
    PATHS[name] = Path(name, run, frozenset(takes), **promise)


def promise_of(budget: dict[str, Any]) -> dict[str, Any]:
    """A budget as a path's promise."""
    return {"neighbors": budget.get("neighbors", "add-remove"), "people": budget.get("records_per_person", 1)}


def _agree(fact: str, pair: Pair) -> bool:
    return _fact(fact, pair.here) == _fact(fact, pair.there)


def _fact(name: str, table: Table) -> Any:
    if name == "count":
        return len(table)
    columns: Iterable[str] = {"bounds": ("x", "y"), "target_bounds": ("z",), "classes": ("label",)}[name]
    if name == "classes":
        return sorted({str(record["label"]) for record in table})
    return [(min(cells, default=0), max(cells, default=0)) for cells in ([r[c] for r in table] for c in columns)]
