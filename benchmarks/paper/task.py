"""One row of the results: which experiment, on which data, by which method, at which budget, which repetition."""

from __future__ import annotations

from typing import NamedTuple


class Task(NamedTuple):
    """What to run once. `options` are (name, value) pairs in the order of their names."""

    experiment: str
    dataset: str
    method: str
    epsilon: float
    repetition: int
    options: tuple[tuple[str, object], ...] = ()

    @property
    def key(self) -> str:
        """A string that stays the same from run to run: the name of this row in the results."""
        fields = [self.experiment, self.dataset, self.method, f"epsilon={self.epsilon:g}"]
        fields += [f"{name}={value}" for name, value in self.options]
        return "/".join([*fields, f"repetition={self.repetition}"])

    def option(self, name: str, default: object = None) -> object:
        """The value of one option."""
        return dict(self.options).get(name, default)
