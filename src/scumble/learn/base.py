"""What all estimators share: public parameters, reading a table, one release, files.

How an estimator is written
---------------------------
``__init__``
    names every parameter, passes the common ones to ``super().__init__`` and stores its own; it does nothing else.
``fit(X, y=None)``
    does three things in this order::

        account = Account.of(ledger, dataset, part)
        X = self._begin(X)                          # as numbers, within the public bounds; sets `bounds_`, `clipped_`
        self.release_ = self._release(X, account)   # the only contact with the data
        self._learn()                               # from `release_` and `bounds_` alone; sets names ending in `_`
        return self

    With labels: ``X, y = self._begin(X, y)``. To make several releases, announce what they will claim before the
    first, ``paid = self._pay(claims, account)``, and pass `paid` to each; see
    :class:`scumble.releasing.spending.Prepaid`.
``_learn()``
    is post-processing. ``from_release`` also calls it, so a released file alone is enough.
``_learnt``
    names the fitted attributes that ``save`` writes (beside `bounds_`, `n_features_in_` and `feature_names_in_`): JSON
    values, arrays, kernels, releases, bundles, and lists, tuples or dicts of these. Never a fact about the data that
    no release paid for.

The parameters that all have in common, in order: `epsilon, delta, rho, mu, neighbors, kernel, rows, buckets, bounds,
schema, categories, public, records_per_person, random_state`.

Two rules hold everywhere. Nothing is read from the data unless a release pays for it or the caller declares it public:
where a fact is missing, `PrivacyError` says what to pass. And `random_state` is the public seed of the hash functions;
no seed reaches the noise, so two fits never agree exactly.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from scumble import checks
from scumble.errors import DataError, ParameterError, parameter
from scumble.kernels import Kernel
from scumble.learn.columns import FACTS
from scumble.learn.levels import Levels, table_of
from scumble.learn.looking import CURATORS, LooksLike
from scumble.learn.reading import target, target_numbers
from scumble.learn.scikit import BaseEstimator, DensityMixin, OutlierMixin, check_is_fitted
from scumble.learn.sketching import MakesSketches, default_kernel
from scumble.loading import load
from scumble.privacy.account import Account
from scumble.privacy.budget import Budget
from scumble.privacy.claim import PrivacyClaim
from scumble.release import Release
from scumble.releasing.spending import Prepaid
from scumble.schema import Described
from scumble.sketch import Sketch, release_disjoint
from scumble.tabular.release import TableRelease

__all__ = [
    "FACTS",
    "BaseEstimator",
    "DensityMixin",
    "OutlierMixin",
    "PrivateEstimator",
    "RepeatedReleaseWarning",
    "check_is_fitted",
    "default_kernel",
]

BESIDE_COUNTERS = 1 << 20
"""Bytes of a model's file for everything but its counters."""


class RepeatedReleaseWarning(UserWarning):
    """An estimator or a clone of it was fitted again: each fit is a release, and the same people's budgets add up."""


class PrivateEstimator(MakesSketches, LooksLike):
    """The base of all estimators. See the module's documentation for how to write one.

    Parameters
    ----------
    epsilon, delta : float
        The whole privacy budget of one `fit`.
    rho, mu : float or None
        The budget in another currency, instead of ε, which is then not used: zero-concentrated or Gaussian differential
        privacy.
    neighbors : {"add-remove", "replace"}
        "add-remove" hides whether a record is there; "replace" hides its content, and N is public.
    kernel : Kernel or None
        What near means. None makes a Euclidean kernel from the public bounds.
    rows, buckets : int or None
        The sketch's size. None lets the plan choose, including a grid where it is better.
    bounds : pair of float, pair of array-like, mapping or None
        (low, high), public, each a number or one per column. Values outside are clipped. For tables with names, also
        a mapping from names to pairs: beside `categories`, those of the columns that are numbers; else, of all.
    schema : Schema, mapping, str, PathLike or None
        Instead of bounds, what each column of a table can hold: numbers, dates, booleans, categories, missing cells
        (:class:`scumble.Schema`, or the path of its file). Public. Tables then come as they are; columns are found by
        name, in any order, and those that the schema does not name are left alone.
    categories : mapping or None
        A schema in short, beside `bounds`: lists of words by the names of their columns, public. Words that are not
        listed, and missing cells, are levels of their own. All other columns are numbers.
    public : sequence of str
        Facts that are already public and may be read from the data: "bounds", "count", ("classes", "target_bounds").
    records_per_person : int
        The most records that one person may own.
    random_state : int or None
        The public seed of the hash functions, a whole number; None is 0. It never reaches the noise.
    """

    _learnt: ClassVar[tuple[str, ...]] = ()
    """Fitted attributes that `save` writes."""
    _made_again: ClassVar[tuple[str, ...]] = ()
    """What is made from the releases when it is first needed, and is not pickled."""

    clipped_: int
    """How many records had values outside the bounds. For the curator only: it is neither saved, pickled nor shown."""
    before_charge: Callable[[int], object] | None = None
    """Told the most bytes that the model's file can have, before a budget is spent: to prove that it can be written."""
    release_: Release
    identity_: str
    """The UUID of this fit, as it appears in the ledger it was charged to."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__init__" in vars(cls):
            cls.__init__ = checks.keywords(cls.__init__)  # type: ignore[method-assign]

    @checks.keywords
    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 0.0,
        rho: float | None = None,
        mu: float | None = None,
        neighbors: str = "add-remove",
        kernel: Kernel | None = None,
        rows: int | None = None,
        buckets: int | None = None,
        bounds: Any = None,
        schema: Described | None = None,
        categories: Mapping[str, Sequence[Any]] | None = None,
        public: Sequence[str] = (),
        records_per_person: int = 1,
        random_state: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.rho = rho
        self.mu = mu
        self.neighbors = neighbors
        self.kernel = kernel
        self.rows = rows
        self.buckets = buckets
        self.bounds = bounds
        self.schema = schema
        self.categories = categories
        self.public = public
        self.records_per_person = records_per_person
        self.random_state = random_state

    # ---- the three steps of `fit` ----

    def _begin(self, X: object, y: object = None, *, numeric: bool = False) -> Any:
        """X (and y, if given) validated, within the public bounds; sets `n_features_in_`, `bounds_` and `clipped_`.

        A `numeric` y comes as float64, labels as the cells they are: `targets.labelled` reads them.
        """
        self._check_common()
        self._warn_of_repeats()
        X, self.clipped_ = self._enter(X)
        if y is None:
            return X
        y = target(y, len(X))
        return X, target_numbers(y) if numeric else y

    def _check_common(self) -> None:
        """Refuse nonsense before anything is charged, also of what this estimator does not use."""
        self.price(), self._seed(), self._public()
        for name in ("rows", "buckets"):
            if getattr(self, name) is not None:
                checks.whole(name, getattr(self, name))

    def _require_of(self, kernel: Kernel) -> None:
        """Refuse a kernel from whose release nothing could be learnt: before it is paid for, and in a release."""

    def _release(self, X: np.ndarray, account: Account | None = None) -> Release:
        """One release of the records, for the whole budget."""
        budget, kernel = self.price(), self._kernel()
        self._require_of(kernel)
        sketch = self._sketch(kernel, X, budget).update(X)  # what it refuses costs nothing
        paid = self._pay([sketch.price(budget)], account, counters=sketch.rows * sketch.buckets)
        return release_disjoint([sketch], budget, paid, refined=self._refines())[0]

    def price(self) -> Budget:
        """What one `fit` costs at most, all its releases together: known before it sees data."""
        # A classifier of kernels has no other currency: choosing among them costs pure ε.
        rho, mu = getattr(self, "rho", None), getattr(self, "mu", None)
        epsilon = self.epsilon if rho is None and mu is None else None
        return Budget.of(epsilon, self.delta, self.neighbors, self.records_per_person, rho=rho, mu=mu)

    def _pay(self, claims: Sequence[PrivacyClaim], account: Account | None, *, counters: int) -> Prepaid:
        """Charge all that this fit will release, at once and before the first noise; sets `identity_`.

        `counters` is how many there will be, at most: before the charge, whoever will write the model is told its size.
        """
        if self.before_charge is not None:
            schema = 0 if self.schema_ is None else len(json.dumps(self.schema_.to_dict()))
            self.before_charge(8 * counters + BESIDE_COUNTERS + 8 * schema)
        paid = Prepaid(claims, account)
        self.identity_ = paid.identity
        return paid

    def _learn(self) -> None:
        """Post-processing of the release: whatever `fit` and `from_release` have in common."""

    # ---- answering ----

    def _read(self, X: object, *, clip: bool = False) -> np.ndarray:
        """Queries, validated against what was fitted. `clip` moves them into the public bounds."""
        check_is_fitted(self)
        levels = self._levels()
        if levels is not None:
            return levels.read(X)
        return self._matrix(X, clip=clip)

    def _example(self, rows: int) -> Any:
        """Some records that can be read: of a table, rows; else the middle of the bounds."""
        table = self._levels() or self._coding()
        if table is not None:
            return table.example(rows)
        middle = np.zeros(self.n_features_in_) if self.bounds_ is None else np.mean(self.bounds_, axis=0)
        return np.tile(middle, (rows, 1))

    # ---- from a release, to and from files ----

    @classmethod
    def from_release(cls, release: Release | str | os.PathLike[str], **parameters: Any) -> Self:
        """A fitted estimator from a release (or the path of its file) alone: no data is needed, no budget is spent.

        `parameters` are the constructor's. Budget and kernel are the release's; `bounds` must be given where the
        estimator needs them and the release has none (hashed rows have none).
        """
        table = table_of(release)
        if table is not None:
            return cls._from_table(table, **parameters)
        found = release_of(release)
        model = cls(
            **{
                "epsilon": found.privacy.epsilon,
                "delta": found.privacy.delta,
                "neighbors": found.privacy.neighbors,
                "kernel": found.kernel,
                "records_per_person": found.privacy.records_per_person,
                "random_state": found.seed,
                **parameters,
            }
        )
        model._take(found)
        model.release_ = found
        model.identity_ = found.identity
        model._learn()
        return model

    # ---- from the release of a table ----

    @classmethod
    def _from_table(cls, release: TableRelease, target: str | None = None, **parameters: Any) -> Self:
        """A fitted estimator from the release of a table; those that can be overwrite `_learn_table`."""
        model = cls(**{**cls._promised(release.privacy), **parameters})
        model.identity_, model.bounds_ = release.identity, None
        model._learn_table(release, target)
        levels = model._levels()
        assert levels is not None
        model.n_features_in_ = len(levels.names)
        model.feature_names_in_ = np.array(levels.names, dtype=object)
        return model

    @staticmethod
    def _promised(claim: PrivacyClaim) -> dict[str, Any]:
        names = ("epsilon", "delta", "neighbors", "records_per_person")
        return {name: getattr(claim, name) for name in names}

    def _learn_table(self, release: TableRelease, target: str | None) -> None:
        raise ParameterError(
            f"{type(self).__name__} asks for densities near points, which the release of a table does not have. "
            "Hint: PrivateKDEClassifier, PrivateLinearRegression and PrivateOutlierDetector learn from tables, and "
            "release.sample(n) gives rows to anything else; build with a kernel to release a density."
        )

    def _levels(self) -> Levels | None:
        """How records are read, where the release is that of a table."""
        held = vars(self)
        release = held["release_"] if "release_" in held else (held.get("releases_") or [None])[0]
        return Levels(release, held.get("target_")) if isinstance(release, TableRelease) else None

    def _take(self, release: Release) -> None:
        """What `_begin` learns from the data, from a release."""
        given = release.bounds if self.bounds is None else self.bounds
        self._take_columns(release.dimensions, release.columns, given)
        if self.bounds_ is None and self._always_needs_bounds:
            raise ParameterError(
                f"{type(self).__name__} needs public bounds, and a release of hashed rows has none. "
                "Hint: pass bounds=(low, high)."
            )

    @property
    def privacy_(self) -> PrivacyClaim:
        """What one `fit` promises, all its releases together: a PrivacyClaim."""
        check_is_fitted(self)
        return self._claim()

    def _claim(self) -> PrivacyClaim:
        return self.release_.privacy

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted estimator to a file, atomically: parameters, what was learnt, the releases. No pickle."""
        from scumble.learn import saving

        check_is_fitted(self)
        saving.save(self, path)

    def __getstate__(self) -> dict[str, Any]:
        # What only the curator may know does not travel; what can be made again need not.
        return {
            name: value
            for name, value in super().__getstate__().items()
            if name not in (*CURATORS, "_fits", "before_charge", "curator", *self._made_again)
        }

    # ---- each fit is a release ----

    def _warn_of_repeats(self) -> None:
        fits = self.__dict__.setdefault("_fits", [0])
        fits[0] += 1
        if fits[0] > 1:
            warnings.warn(
                f"This is fit number {fits[0]} of this {type(self).__name__} and its clones, and each fit is a release "
                f"of its own: for people who are in all these tables the budgets add up, to {fits[0]} times "
                f"ε = {self.epsilon}. Hint: fit once and use the release again; that is free.",
                RepeatedReleaseWarning,
                stacklevel=4,
            )

    def __sklearn_clone__(self) -> Any:
        copy = super().__sklearn_clone__()
        copy._fits = self.__dict__.setdefault("_fits", [0])
        return copy

    def __sklearn_is_fitted__(self) -> bool:
        return any(
            name.endswith("_") and not name.startswith("__") for name in vars(self) if name.startswith("release")
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True  # the noise has no seed
        return tags


def release_of(release: Any) -> Release:
    """A release, or the one in a file."""
    if isinstance(release, (str, os.PathLike)):
        return load(release)
    if not isinstance(release, Release):
        hint = "a Sketch becomes one by sketch.release(epsilon=...)." if isinstance(release, Sketch) else ""
        raise parameter("release", "a Release or the path of its file", type(release).__name__, hint)
    return release


def require_kernel(kernel: Kernel, kinds: tuple[type[Kernel], ...], task: str) -> None:
    """Refuse a release of the wrong kind for a task, naming the right one."""
    if not all(isinstance(factor, kinds) for factor in kernel.factors):
        names = " or ".join(kind.__name__ for kind in kinds)
        raise DataError(
            f"{task} needs a release with a {names}; this one has {kernel!r}. Hint: build it with that kernel."
        )
