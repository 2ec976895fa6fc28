"""What an estimator knows of its columns: how many, their names, their public bounds or schema.

All of it is public, and is settled before anything is released. Records come as numbers, within bounds, or as tables
of any kind, within a schema (:mod:`scumble.learn.frames`); every estimator reads both through here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from scumble import checks
from scumble.columns.schema import Schema
from scumble.columns.table import Table
from scumble.errors import DataError, ParameterError, PrivacyError, parameter
from scumble.learn.frames import Coding, coding, lasting, names_of, short_schema
from scumble.learn.reading import BadCells, BaseEstimator, Curator, beyond, records

FACTS = ("bounds", "classes", "count", "target_bounds")
"""What `public` may declare: that these facts about the table are already public and may be read from it."""

Bounds = tuple[np.ndarray, np.ndarray]


class KnowsColumns(BaseEstimator):
    """What a `PrivateEstimator` has to do with columns; and its attributes that are no parameters."""

    _learnt: tuple[str, ...] = ()
    """Fitted attributes that `save` writes."""
    _made_again: tuple[str, ...] = ()
    """What is made from the releases when it is first needed, and is not pickled."""
    _plans_later = False
    """Whether rows that are left open are chosen at the release (:mod:`scumble.density.release_plan`)."""
    _always_needs_bounds = False
    """Whether a kernel of the caller's own is not enough."""
    before_charge: Callable[[int], object] | None = None
    """Called before a budget is spent, with the most bytes that the model's file can have: it must be writable."""

    kernel: Any
    bounds: Any
    schema: Any
    categories: Any
    public: Sequence[str]

    release_: Any
    identity_: str
    """The UUID of this fit, as it appears in the ledger it was charged to."""
    clipped_: int
    """How many records had values outside the bounds. For the curator only: it is neither saved, pickled nor shown."""
    classes_: np.ndarray
    target_bounds_: tuple[float, float]
    n_features_in_: int
    feature_names_in_: np.ndarray
    curator: Curator = Curator()
    """Warned, before a budget is spent, of how the records were read."""
    bounds_: Bounds | None
    """Of the numbers that records become: with a schema, one pair for each of `Coding.names`."""
    schema_: Schema | None = None
    """What the columns of a table can hold; None where records are numbers."""

    # ---- records ----

    def _enter(self, X: object) -> tuple[np.ndarray, int]:
        """The first records, which settle what the columns are: as numbers, and how many were outside the bounds."""
        X = self._lasting(X)
        schema = self._public_schema(X)
        self.__dict__.pop("schema_", None)
        if schema is not None:
            self._know(schema)
            numbers, outside, strays = self._coding().read(X, self.curator.fewest)  # type: ignore[union-attr]
            self.curator.look_at(strays, schema)
            return numbers, outside
        found = records(self, X, reset=True)
        self.bounds_ = self._public_bounds(found)
        if self.bounds_ is None:
            return found, 0
        names = self._names() or [f"column {j}" for j in range(found.shape[1])]
        self.curator.look_at(*beyond(found, self.bounds_, names))
        inside = np.clip(found, *self.bounds_)
        return inside, int(np.any(inside != found, axis=1).sum())

    def _lasting(self, X: object) -> Any:
        """A table that a schema needs to read more than once, in a form that can be."""
        return X if self.schema is None and self.categories is None and self.schema_ is None else lasting(X)

    def _matrix(self, X: object, *, clip: bool = False) -> np.ndarray:
        """Other records, as numbers. `clip` moves them into the public bounds, where those of a schema are already."""
        coded = self._coding()
        if coded is not None:
            return coded.read(X)[0]
        found = records(self, X, reset=False)
        return np.clip(found, *self.bounds_) if clip and self.bounds_ is not None else found

    def _coding(self) -> Coding | None:
        """How the records of a table become numbers."""
        return None if self.schema_ is None else coding(self.schema_, self._indicators())

    def _indicators(self) -> bool:
        """Whether each level of a category is a column of its own."""
        return True

    @property
    def _width(self) -> int:
        """How many numbers a record has."""
        coded = self._coding()
        return self.n_features_in_ if coded is None else coded.width

    def _names(self) -> list[str] | None:
        """What these are called."""
        coded = self._coding()
        if coded is not None:
            return list(coded.names)
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else [str(name) for name in names]

    # ---- public facts ----

    def _know(self, schema: Schema) -> None:
        self.schema_ = schema
        self.n_features_in_ = len(schema)
        self.feature_names_in_ = np.array(schema.names, dtype=object)
        self.bounds_ = coding(schema, self._indicators()).bounds

    def _take_columns(self, width: int, columns: Any, bounds: Any) -> None:
        """What the columns are, from a release: so many numbers, of these names and bounds, if it has any."""
        schema = self._public_schema(None)
        self.__dict__.pop("schema_", None)
        if schema is not None:
            self._know(schema)
            self._coding().require(width, columns)  # type: ignore[union-attr]
            return
        self.n_features_in_ = width
        if columns is not None:
            self.feature_names_in_ = np.array(columns, dtype=object)
        self.bounds_ = None if bounds is None else checks.sides(checks.by_column(bounds, self._names()), width)

    def _public_schema(self, X: object) -> Schema | None:
        """The schema that was given, whole or in short; `X` is the table, None if there is only a release."""
        if self.schema is not None:
            if self.bounds is not None or self.categories is not None:
                raise ParameterError(
                    "`schema` says what every column can hold. Hint: leave out `bounds` and `categories`."
                )
            return Schema.of(self.schema)
        if self.categories is None:
            return None
        if isinstance(self.bounds, Mapping):
            return short_schema(self.categories, self.bounds, None)
        if X is None:
            raise ParameterError(
                "A release does not say which columns `categories` stand among. "
                "Hint: pass schema=, or bounds={name: (low, high), ...} with them."
            )
        names = names_of(X)
        if names is None or not isinstance(self.categories, Mapping):
            return short_schema(self.categories, self.bounds, names)  # which says what is wrong
        plain = [name for name in names if name not in self.categories]
        bounds = self._bounds_of(X, plain) if plain else None
        return short_schema(self.categories, bounds, names)

    def _bounds_of(self, X: object, plain: list[str]) -> Bounds:
        """The bounds of those columns of a table that are numbers; it is read only if they are to be its own."""
        if self.bounds is not None:
            return checks.sides(self.bounds, len(plain))
        if "bounds" not in self._public():
            self._refuse_bounds()
        values = Table.of(X, columns=plain).numeric(range(len(plain)))
        if not np.isfinite(values).all():
            raise BadCells(~np.isfinite(values), plain)
        return _own_bounds(values)

    def _public_bounds(self, X: np.ndarray) -> Bounds | None:
        """The bounds that were given, or those of the data if the caller declared them public."""
        public = self._public()
        if self.bounds is not None:
            return checks.sides(checks.by_column(self.bounds, self._names()), X.shape[1])
        if "bounds" in public:
            return _own_bounds(X)
        return self._refuse_bounds() if self.kernel is None or self._always_needs_bounds else None

    def _refuse_bounds(self) -> Bounds:
        raise PrivacyError(
            f"{type(self).__name__} needs the columns' public bounds. Hint: pass bounds=(low, high), each a number or "
            "one per column, or schema=; if the data's own bounds are public already, public=('bounds',)."
        )

    def _public(self) -> tuple[str, ...]:
        given = self.public if isinstance(self.public, Iterable) else (None,)
        words = (given,) if isinstance(given, str) else tuple(given)
        if not all(isinstance(word, str) and word in FACTS for word in words):
            raise parameter("public", f"some of {', '.join(FACTS)}", self.public)
        return words


def _own_bounds(X: np.ndarray) -> Bounds:
    """The least and greatest values of a table's columns."""
    if not len(X):
        raise DataError("Found a table with 0 sample(s) while a minimum of 1 is required.")
    low, high = X.min(axis=0), X.max(axis=0)
    # A constant column needs some width; it says nothing to the kernel either way.
    return low, np.where(high > low, high, low + np.maximum(np.abs(low), 1.0))
