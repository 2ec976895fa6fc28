"""What every kernel is: a random hash, and the exact probability that two records meet under it.

A locality-sensitive hash sends near records to the same code more often than far ones. The probability that x and y
meet, over the random choice of the hash, is the kernel k(x, y), which the counts of codes estimate.

To add a kernel, write a class with

``_draw_one(draws, dimensions)``
    the numbers one hash needs, one line per row: ``draws.uniform(n)``, ``draws.normal(n)``, ``draws.cauchy(n)``;
``code(record, parameters)``
    the hash itself, one record at a time, returning a whole number, in plain Python that numba can compile;
``collision(X, Y)``
    the exact collision probability of one hash, as a matrix.

If it does not read numbers, it says so: ``reads = "category"`` or ``reads = "tokens"``.

`power` concatenated hashes give kᵖᵒʷᵉʳ; scaling, columns, equality and files come with this class.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

import numpy as np

from scumble.checks import Json, names, number, whole
from scumble.columns.containers import NOT_SHOWN, like_a_record
from scumble.columns.table import Ends, Table
from scumble.errors import DataError, ForeignFileError, ParameterError, many, parameter

if TYPE_CHECKING:
    from scumble.kernels.design import Draws

Columns = Sequence[str | int] | None
Scale = float | Sequence[float] | Mapping[str, float] | None
Reads = Literal["number", "category", "tokens"]
"""What a column can be read as: a place on a line, a value that is equal or not, a set."""

LARGEST = 1e300
"""A scaled value beyond this is as bad as infinity: products with it would overflow."""
FEW = 64
"""Records that are checked at once, without concern for memory."""


@dataclass(frozen=True, repr=False)
class Records:
    """Records as one kernel reads them: record i is ``values[offsets[i]:offsets[i + 1]]``, or row i of a matrix."""

    values: np.ndarray
    offsets: np.ndarray | None = None
    ends: Ends | None = None
    """Those of its columns, where somebody has looked; as secret as the records."""

    def __repr__(self) -> str:
        return "Records(secret)"

    def __len__(self) -> int:
        return len(self.values) if self.offsets is None else len(self.offsets) - 1

    def __getitem__(self, index: Any) -> Any:
        """Record `index`, or the records of a slice."""
        if not isinstance(index, slice):
            return self.values[index if self.offsets is None else slice(*self.offsets[index : index + 2])]
        first, last, step = index.indices(len(self))
        if step != 1:
            raise IndexError("Records are cut in steps of one.")
        if (first, last) == (0, len(self)):
            return self
        if self.offsets is None:
            return Records(self.values[first:last])
        return Records(self.values, self.offsets[first : max(first, last) + 1])

    def keep(self, good: np.ndarray) -> Records:
        """The records where `good` is true."""
        if self.offsets is None:
            return Records(self.values[good])
        lengths = np.diff(self.offsets)
        values = self.values[self.offsets[0] : self.offsets[-1]][np.repeat(good, lengths)]
        return Records(values, np.append(0, np.cumsum(lengths[good])))


class Kernel(ABC):
    """The base of all kernels. See the module's documentation for how to write one."""

    name: ClassVar[str] = ""
    reads: ClassVar[Reads] = "number"
    """What its columns are read as: numbers, categories, or sets of tokens. A product's factors each have their own."""
    radix: ClassVar[int | None] = None
    """How many values a code can take, where that is bounded; such codes need no rehash if they fit."""
    stationary: ClassVar[bool] = False
    """Whether k(x, y) depends on x − y alone, so a grid can serve it."""

    registry: ClassVar[dict[str, type[Kernel]]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.reads not in get_args(Reads):
            raise parameter(f"{cls.__name__}.reads", f"one of {', '.join(get_args(Reads))}", cls.reads)
        if "read" in vars(cls) and "reads" not in vars(cls):  # files are read by what `reads` says
            raise ParameterError(f"{cls.__name__} has a `read` and must say what that reads. Hint: reads = 'number'.")
        if vars(cls).get("name"):
            Kernel.registry[cls.name] = cls
        else:
            cls.name = ""  # not its parent's: files of that one hold other hashes

    def __init__(self, power: int = 1, *, scale: Scale = None, columns: Columns = None) -> None:
        if scale is not None and self.reads != "number":
            raise parameter("scale", "left out: only numbers have a scale", scale)
        self.power = whole("power", power)
        self.columns = None if columns is None else names("columns", columns)
        if self.columns is not None and not self.columns:
            raise parameter("columns", "at least one column, or None for all", columns)
        self.scale = _checked_scale(scale)
        self._known_limits: tuple[Any, np.ndarray] | None = None

    @abstractmethod
    def _draw_one(self, draws: Draws, dimensions: int) -> np.ndarray:
        """(rows, k): the parameters of one hash for each row."""

    @abstractmethod
    def collision(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """(n, m): the exact probability that one hash sends x and y to the same code."""

    @staticmethod
    def code(record: np.ndarray, parameters: np.ndarray) -> float:
        """The hash of one record: a whole number. Compiled by the engines that have no loop for this kernel."""
        raise TypeError("The engines have a loop for this kernel; it needs no `code`.")

    def settings(self) -> Json:
        """The constructor's arguments beyond power, scale and columns, as JSON values."""
        return {}

    def read(self, table: Table, which: Sequence[int]) -> tuple[Records, np.ndarray]:
        """The kernel's columns of a table as records, by what it `reads`, and a mask of bad cells (rows, columns).

        The mask has no columns where it was seen at once that no cell is bad.
        """
        if self.reads == "category":
            values = table.categories(which)
            return Records(values), np.isnan(values)
        if self.reads == "tokens":
            values, offsets, missing = table.tokens(which)
            return Records(values, offsets), missing[:, None]
        limit, within = self._limits(table.names, which), np.empty((table.rows, 0), np.bool_)
        if not isinstance(table, Table):  # on a device
            values = table.numeric(which)
            if len(values) and values.max() <= limit.min() and values.min() >= -limit.min():
                return Records(values), within
        elif table.rows <= FEW:
            values = table.numeric(which)
            return Records(values), ~(np.abs(values) <= limit)
        else:
            values, (low, high) = table.with_ends(which)
            if (high <= limit).all() and (low >= -limit).all():
                return Records(values, ends=(low, high)), within
        return Records(values), np.stack([~(abs(values[:, j]) <= limit[j]) for j in range(len(which))], axis=1)

    def _limits(self, names: Sequence[str] | None, which: Sequence[int]) -> np.ndarray:
        """The largest value of each column."""
        key = (names, tuple(which))
        if self._known_limits is None or self._known_limits[0] != key:
            with np.errstate(over="ignore"):
                limit = LARGEST / self._inverse_scale(names, which)
            self._known_limits = key, np.minimum(limit, np.finfo(np.float64).max)
        return self._known_limits[1]

    def codes(self, records: Records, parameters: np.ndarray) -> np.ndarray:
        """(n, rows, hashes) codes: the obvious twin of the compiled loops."""
        out = np.empty((len(records), *parameters.shape[:2]))
        for i, r, j in np.ndindex(out.shape):
            out[i, r, j] = self.code(records[i], parameters[r, j])
        return out

    def draw(self, draws: Draws, which: Sequence[int], names: Sequence[str] | None = None) -> np.ndarray:
        """(rows, hashes, k): the parameters of all hashes of all rows, for the table's columns `which`."""
        return np.stack([self._draw_one(draws, len(which)) for _ in range(self.power)], axis=1)

    @property
    def factors(self) -> tuple[Kernel, ...]:
        """The kernels that this one is a product of: itself."""
        return (self,)

    @property
    def numeric(self) -> bool:
        """Whether all that it reads are numbers: then a record is a point, and points between records are records."""
        return all(factor.reads == "number" for factor in self.factors)

    def which(self, width: int, names: Sequence[str] | None) -> list[int]:
        """The positions of the kernel's columns among a table's."""
        if self.columns is None:
            return list(range(width))
        return [_position(column, width, names) for column in self.columns]

    def __call__(self, X: object, Y: object) -> np.ndarray:
        """Exact collision probabilities k(x, y), (n, m): the ground truth of every estimate."""
        return self._evaluate(Table.of(X), Table.of(Y))

    def _evaluate(self, X: Table, Y: Table) -> np.ndarray:
        left, right = (self._readable(table) for table in (X, Y))
        if left.offsets is None and right.offsets is None and left.values.shape[1] != right.values.shape[1]:
            wide = many(left.values.shape[1], "column")
            raise DataError(f"X has {wide} and Y has {right.values.shape[1]}: they must be equal.")
        return self._collision_of(left, right) ** self.power

    def _readable(self, table: Table) -> Records:
        which = self.which(table.width, table.names)
        records, bad = self.read(table, which)
        if bad.any():
            raise DataError(f"Missing, infinite or too large cells: {int(bad.sum()):,}. Hint: drop those rows.")
        return self._scaled(records, table.names, which)

    def _scaled(self, records: Records, names: Sequence[str] | None, which: Sequence[int]) -> Records:
        return records if self.scale is None else Records(records.values / self._scales(names, which))

    def _collision_of(self, X: Records, Y: Records) -> np.ndarray:
        return self.collision(X.values, Y.values)

    def _scales(self, names: Sequence[str] | None, which: Sequence[int]) -> np.ndarray:
        """One divisor for each of the kernel's columns."""
        scale = 1.0 if self.scale is None else self.scale
        if isinstance(scale, float):
            return np.full(len(which), scale)
        if isinstance(scale, tuple):
            if len(scale) != len(which):
                raise parameter("scale", f"one number for each of the {len(which)} columns", list(scale))
            return np.array(scale)
        if names is None:
            raise parameter("scale", "a number or a list where columns have no names", dict(scale))
        mine = [names[i] for i in which]
        unknown = [name for name in scale if name not in mine]
        if unknown:
            hint = f"leave out {unknown[0]!r}, or name it among the columns, --columns (columns=), too."
            raise parameter("scale", f"given for the kernel's columns {mine}", ", ".join(unknown), hint)
        return np.array([scale.get(name, 1.0) for name in mine])

    def _inverse_scale(self, names: Sequence[str] | None, which: Sequence[int]) -> np.ndarray:
        return 1.0 / self._scales(names, which)

    def __mul__(self, other: object) -> Kernel:
        if not isinstance(other, Kernel):
            return NotImplemented
        return ProductKernel(*self.factors, *other.factors)

    def to_dict(self) -> Json:
        """The kernel as JSON values; `Kernel.from_dict` turns it back."""
        out: Json = {"kernel": self.name or type(self).__qualname__, **self.settings(), "power": self.power}
        if self.scale is not None:
            out["scale"] = list(self.scale) if isinstance(self.scale, tuple) else self.scale
        if self.columns is not None:
            out["columns"] = list(self.columns)
        return out

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Kernel:
        """The kernel that `to_dict` described."""
        values = dict(data)
        name = values.pop("kernel", None)
        kind = Kernel.registry.get(name) if isinstance(name, str) else None
        if kind is None:
            known = ", ".join(sorted(Kernel.registry))
            raise ForeignFileError(f"The kernel {name!r} is none of {known}. Hint: import the module that defines it.")
        return kind._from_settings(values)

    @classmethod
    def _from_settings(cls, values: Json) -> Kernel:
        return cls(**values)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Kernel) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(repr(sorted(self.to_dict().items(), key=lambda item: item[0])))

    def __repr__(self) -> str:
        values = {key: value for key, value in self.to_dict().items() if key != "kernel"}
        return f"{type(self).__name__}({', '.join(f'{key}={value!r}' for key, value in values.items())})"


SCALE = "numbers of the column are divided by it, so that 10 makes 10 years as far apart as 1 of another column."
"""What a scale is."""


def bandwidth_of(value: Any) -> float:
    """A bandwidth, or an error that says what it is."""
    return positive("bandwidth", value, "the distance at which two records are no longer near, such as 1.")


def positive(name: str, value: Any, hint: str = "") -> float:
    """A finite number above zero, or a clear error."""
    return number(name, value, "a positive, finite number", lambda it: 0.0 < it < float("inf"), hint)


def _checked_scale(scale: Scale) -> float | tuple[float, ...] | dict[str, float] | None:
    """What was given may be a record in the wrong place: an error shows none of it."""
    if isinstance(scale, Mapping):
        return {str(name): _of_column(str(name), value) for name, value in scale.items()}
    if scale is None or not isinstance(scale, (Sequence, np.ndarray)) or isinstance(scale, str):
        return None if scale is None else positive("scale", scale)
    try:
        return tuple(positive("scale", value) for value in scale)
    except ParameterError:
        raise parameter("scale", "positive, finite numbers", scale) from None


def _of_column(name: str, value: Any) -> float:
    try:
        return positive("scale", value)
    except ParameterError:
        must = f"`scale` of {name[:100]!r} must be a positive, finite number."
        raise ParameterError(f"{must} Hint: {SCALE}") from None


def _position(column: str | int, width: int, names: Sequence[str] | None) -> int:
    if isinstance(column, str):
        if names is None:
            raise ParameterError(
                f"The kernel asks for {column!r}, and columns have no names. Hint: pass a frame, or `columns=[...]`."
            )
        if column not in names:
            if like_a_record(names):
                raise DataError(f"The kernel asks for the column {column!r}. {NOT_SHOWN}")
            raise DataError(f"The kernel asks for the column {column!r}; the table has {', '.join(names)}.")
        return list(names).index(column)
    if not 0 <= column < width:
        raise DataError(f"The kernel asks for column {column}; the table has {many(width, 'column')}, counted from 0.")
    return int(column)


def projected(X: np.ndarray, directions: np.ndarray, start: np.ndarray | float = 0.0) -> np.ndarray:
    """start + Σ aⱼ xⱼ, one column after the other: the same rounding as the compiled loops."""
    t = np.empty((len(X), *directions.shape[:-1]))
    t[:] = start
    for j in range(X.shape[1]):
        t += X[:, j].reshape(-1, *[1] * (t.ndim - 1)) * directions[..., j]
    return t


class ProductKernel(Kernel):
    """The product of kernels: the hash codes are concatenated, so the collision probabilities multiply.

    Written ``k1 * k2``. Give each factor its columns; a factor without them reads all.

    >>> from scumble.kernels import EuclideanKernel, HammingKernel
    >>> near = EuclideanKernel(2.0, columns=[0]) * HammingKernel(columns=[1])
    >>> near([[0.0, 7]], [[0.0, 7], [0.0, 8]])
    array([[1., 0.]])
    """

    name = "product"

    def __init__(self, *factors: Kernel) -> None:
        if len(factors) < 2:
            raise parameter("factors", "at least two kernels", factors)
        super().__init__()
        self._factors = tuple(factor for kernel in factors for factor in kernel.factors)

    @property
    def factors(self) -> tuple[Kernel, ...]:
        return self._factors

    def _evaluate(self, X: Table, Y: Table) -> np.ndarray:
        out = self._factors[0]._evaluate(X, Y)
        for factor in self._factors[1:]:
            out = out * factor._evaluate(X, Y)
        return out

    def _draw_one(self, draws: Draws, dimensions: int) -> np.ndarray:
        raise TypeError("A product has no hash of its own: ask its factors.")

    def collision(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        return self._evaluate(Table.of(X), Table.of(Y))

    def which(self, width: int, names: Sequence[str] | None) -> list[int]:
        return sorted({i for factor in self._factors for i in factor.which(width, names)})

    def to_dict(self) -> Json:
        return {"kernel": self.name, "factors": [factor.to_dict() for factor in self._factors]}

    @classmethod
    def _from_settings(cls, values: Json) -> Kernel:
        return cls(*(Kernel.from_dict(factor) for factor in values["factors"]))

    def __repr__(self) -> str:
        return " * ".join(map(repr, self._factors))
