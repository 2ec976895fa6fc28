"""What somebody declares of a kernel's columns, by option: `whole`, `dates`, `times`, `booleans`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from scumble import checks
from scumble.errors import ParameterError, parameter
from scumble.schema.kinds import bounds_by, require_numbers
from scumble.tables.roles import roles_of

if TYPE_CHECKING:
    from scumble.kernels import Kernel

KINDS = {"whole": "whole", "dates": "date", "times": "time", "booleans": "boolean"}
"""The kind that each option declares."""
EXAMPLES = {"whole": "age", "dates": "born", "times": "seen", "booleans": "smoker"}


@dataclass(frozen=True, kw_only=True)
class Declarations:
    """Columns that a kernel reads as numbers and that hold something else (:mod:`scumble.schema.kinds`).

    >>> Declarations(whole=["age"], dates=["seen"]).kinds
    {'age': 'whole', 'seen': 'date'}
    """

    whole: Sequence[str] | None = None
    dates: Sequence[str] | None = None
    times: Sequence[str] | None = None
    booleans: Sequence[str] | None = None
    kinds: dict[str, str] = field(init=False, default_factory=dict)
    """The kind of each of them."""

    def __post_init__(self) -> None:
        for option, kind in KINDS.items():
            given = getattr(self, option)
            named = checks.names(option, given or (), EXAMPLES[option])
            if not all(isinstance(name, str) for name in named):
                raise parameter(option, f"a list of names, such as ['{EXAMPLES[option]}']", given)
            for name in named:
                if (other := self.kinds.setdefault(name, kind)) != kind:
                    raise ParameterError(
                        f"{name!r} is declared as {other} and as {kind}, and a column is of one kind. Hint: leave it "
                        f"out of --{option} ({option}=), or of the other."
                    )

    @staticmethod
    def taken(options: dict[str, Any]) -> Declarations:
        """Those among the keywords, which are then gone from the others."""
        return Declarations(**{name: options.pop(name) for name in KINDS if name in options})

    def drop(self, name: str | None) -> str | None:
        """The kind of a column that the kernel does not read, which is then gone from the others."""
        return None if name is None else self.kinds.pop(name, None)

    def bounds(self, bounds: Any) -> Any:
        """Bounds with their dates as numbers."""
        return bounds_by(self.kinds, bounds) if self.kinds else bounds

    def require_of(self, kernel: Kernel, columns: Sequence[str] | None) -> Mapping[str, str]:
        """The kinds, if all are of columns that the kernel reads as numbers."""
        if self.kinds and columns is None:
            raise ParameterError("Declared columns have names. Hint: give `columns`, all of their names.")
        if self.kinds:
            require_numbers(self.kinds, roles_of(kernel, columns or ()))
        return self.kinds
