"""The rows of the results, asked by experiment, data set, method and ε."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, NamedTuple

import numpy as np


class Cell(NamedTuple):
    """Mean and standard deviation over the repetitions."""

    mean: float
    spread: float
    repetitions: int


class Rows:
    """Every measured number, grouped over its repetitions."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.rows = rows
        self._values: dict[tuple[Any, ...], list[float]] = defaultdict(list)
        self.reasons: dict[tuple[str, str, str], str] = {}
        for row in rows:
            place = row["experiment"], row["dataset"], row["method"]
            if "cannot" in row["result"]:
                self.reasons[place] = row["result"]["cannot"]
                continue
            for measure, value in row["result"].items():
                if isinstance(value, (int, float)) and not isinstance(value, bool):
                    self._values[*place, row["epsilon"], _frozen(row["options"]), measure].append(float(value))

    def cell(
        self, experiment: str, dataset: str, method: str, epsilon: float, measure: str, **options: object
    ) -> Cell | None:
        values = self._values.get((experiment, dataset, method, epsilon, _frozen(options), measure))
        if not values:
            return None
        spread = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
        return Cell(float(np.mean(values)), spread, len(values))

    def unlimited(self, experiment: str, dataset: str, method: str, measure: str) -> Cell | None:
        """Of a method that does not depend on ε, and was run at one only."""
        budgets = self.epsilons(experiment, dataset, method)
        return self.cell(experiment, dataset, method, budgets[-1], measure) if len(budgets) == 1 else None

    def epsilons(self, experiment: str, dataset: str | None = None, method: str | None = None) -> list[float]:
        return sorted(
            {
                row["epsilon"]
                for row in self.rows
                if row["experiment"] == experiment
                and (dataset is None or row["dataset"] == dataset)
                and (method is None or row["method"] == method)
            }
        )

    def datasets(self, experiment: str) -> list[str]:
        """In the order of the experiment."""
        return list(dict.fromkeys(row["dataset"] for row in self.rows if row["experiment"] == experiment))

    def methods(self, experiment: str, dataset: str) -> list[str]:
        found = (row for row in self.rows if row["experiment"] == experiment and row["dataset"] == dataset)
        return list(dict.fromkeys(row["method"] for row in found))

    def options(self, experiment: str, dataset: str, method: str, name: str) -> list[Any]:
        """The values that an option had."""
        found = (
            row["options"][name]
            for row in self.rows
            if (row["experiment"], row["dataset"], row["method"]) == (experiment, dataset, method)
            and name in row["options"]
        )
        return list(dict.fromkeys(found))


def _frozen(options: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple(sorted(options.items()))
