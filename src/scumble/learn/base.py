"""What all estimators share: public parameters, reading a table, one release, files.

How an estimator is written
---------------------------
Parameters
    are annotated attributes of a class under ``@estimator``, which makes `__init__` of them and of the inherited ones.
``_check()``
    refuses bad parameters, before anything is charged.
``_publish(X, y, account)``
    makes the release, the only contact with the data: X as numbers within the public bounds, y as `_records` returns
    it. For several releases, ``paid = self._pay(claims, account)`` announces what they will claim; pass it to each.
``_learn()``
    is post-processing of `release_` and `bounds_` alone; ``from_release`` also calls it.
``_learnt``
    names the fitted attributes that ``save`` writes. Never a fact about the data that no release paid for.

Nothing is read from the data unless a release pays for it or the caller declares it public. `random_state` is the
public seed of the hash functions; no seed reaches the noise.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ParamSpec, Self, TypeVar, dataclass_transform, overload

import numpy as np

from scumble import checks, files, learn
from scumble.columns.schema import Described, Schema
from scumble.density.bundle import Bundle
from scumble.density.loading import release_in
from scumble.density.plan import choose
from scumble.density.release import Release
from scumble.density.release_plan import DEFAULT_RECORDS
from scumble.density.sketch import Sketch, release_disjoint
from scumble.density.spec import Spec
from scumble.errors import ForeignFileError, ParameterError, PrivacyError, parameter, suggest_attribute
from scumble.gate.spending import Prepaid
from scumble.kernels import EuclideanKernel, Kernel
from scumble.learn import columns
from scumble.learn.columns import BaseEstimator, Bounds, Coding, Curator, check_is_fitted, coding
from scumble.learn.levels import Levels
from scumble.privacy.account import Account
from scumble.privacy.budget import Budget
from scumble.privacy.claim import PrivacyClaim
from scumble.table.release import TableRelease

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from scumble.privacy.ledger import Ledger

BESIDE_COUNTERS = 1 << 20
"""Bytes of a model's file for everything but its counters."""
CURATORS = ("clipped_",)
"""Fitted attributes that are for the curator only: neither saved, nor pickled, nor shown."""
FACTS = ("bounds", "classes", "count", "target_bounds")
"""What `public` may declare: that these facts about the table are already public and may be read from it."""
LACKING = {
    "partial_fit": "each fit is a release, with a price of its own; pass all records to one, or add them to a sketch "
    "in parts and learn by from_release"
}
"""What scikit-learn's estimators may have, and these do not."""
Kind = TypeVar("Kind", bound=type)
Model = TypeVar("Model", covariant=True)
Parameters = ParamSpec("Parameters")


class RepeatedReleaseWarning(UserWarning):
    """An estimator or a clone of it was fitted again: each fit is a release, and the same people's budgets add up."""


class Fitted(BaseEstimator):
    """Attributes of a `PrivateEstimator` that are no parameters."""

    _learnt: tuple[str, ...] = ()
    """Fitted attributes that `save` writes."""
    _made_again: tuple[str, ...] = ()
    """What is made from the releases when it is first needed, and is not pickled."""
    _plans_later = False
    """Whether rows that are left open are chosen at the release (:mod:`scumble.density.release_plan`)."""
    _always_needs_bounds = False
    """Whether a kernel of the caller's own is not enough."""
    _learns_from: tuple[type, ...] = (Release,)
    """Kinds of releases that `from_release` takes."""
    before_charge: Callable[[int], object] | None = None
    """Called before a budget is spent, with the most bytes that the model's file can have: it must be writable."""

    release_: Any
    identity_: str
    """The UUID of this fit, as it appears in the ledger it was charged to."""
    clipped_: int
    """How many records had values outside the bounds. For the curator only: it is neither saved, pickled nor shown."""
    classes_: np.ndarray
    shares_: np.ndarray
    target_bounds_: tuple[float, float]
    n_features_in_: int
    feature_names_in_: np.ndarray
    curator: Curator = Curator()
    """Warned, before a budget is spent, of how the records were read."""
    bounds_: Bounds | None
    """Of the numbers that records become: with a schema, one pair for each of `Coding.names`."""
    schema_: Schema | None = None
    """What the columns of a table can hold; None where records are numbers."""


@dataclass_transform(kw_only_default=True, eq_default=False)
def estimator(kind: Kind) -> Kind:
    """Give a class the `__init__` that stores its annotated attributes, and those of its bases, by keyword alone."""
    dataclass(kw_only=True, eq=False, repr=False)(kind)
    kind.__init__ = checks.keywords(kind.__init__)  # type: ignore[misc]
    return kind


@estimator
class PrivateEstimator(Fitted):
    """The base of all estimators. See the module's documentation for how to write one.

    Parameters
    ----------
    epsilon, delta : float
        The whole privacy budget of one `fit`.
    rho, mu : float or None
        The budget as zero-concentrated or Gaussian differential privacy, instead of ε, which is then not used.
    neighbors : {"add-remove", "replace"}
        "add-remove" hides whether a record is there; "replace" hides its content, and N is public.
    kernel : Kernel or None
        What near means. None makes a Euclidean kernel from the public bounds.
    rows, buckets : int or None
        The sketch's size. None lets the plan choose, including a grid where it is better.
    bounds : pair of float, pair of array-like, mapping or None
        (low, high), public, each a number or one per column, or pairs by the names of columns. Values outside are
        clipped.
    schema : Schema, mapping, str, PathLike or None
        Instead of bounds, what each column of a table can hold (:class:`scumble.Schema`, or the path of its file).
        Public. Columns are found by name; others are ignored.
    public : sequence of str
        Facts that are already public and may be read from the data: "bounds", "count", ("classes", "target_bounds").
    records_per_person : int
        The most records that one person may own.
    random_state : int or None
        The public seed of the hash functions; None is 0. It never reaches the noise.
    """

    epsilon: float = 1.0
    delta: float = 0.0
    rho: float | None = None
    mu: float | None = None
    neighbors: str = "add-remove"
    kernel: object = None
    rows: int | None = None
    buckets: int | None = None
    bounds: object = None
    schema: Described | None = None
    public: Sequence[str] = ()
    records_per_person: int = 1
    random_state: int | None = None

    # ---- fit ----

    def fit(
        self,
        X: object,
        y: object = None,
        *,
        ledger: Ledger | str | os.PathLike[str] | None = None,
        dataset: str | None = None,
        part: str | None = None,
        **unsupported: object,
    ) -> Self:
        """Make the release, the only contact with the data, and learn from it.

        Estimators without a target ignore `y`. `ledger`, `dataset`, `part`: where to charge.
        """
        for name, value in unsupported.items():
            if name != "sample_weight":
                raise TypeError(f"`fit` got an unexpected keyword {name!r}. Hint: it takes ledger, dataset and part.")
            if value is not None:
                raise ParameterError(
                    "`sample_weight` is not supported: noise hides one record, not one that counts several times. "
                    "Hint: leave it out; classifiers have class_weight=."
                )
        self._check()
        self.price(), self._seed(), self._public()  # which refuse nonsense, also of what this estimator does not use
        for name in ("rows", "buckets"):
            if getattr(self, name) is not None:
                checks.whole(name, getattr(self, name))
        account = Account.of(ledger, dataset, part)
        self._warn_of_repeats()
        X, y = self._records(X, y)
        for name in self._made_again:
            self.__dict__.pop(name, None)
        self._publish(X, y, account)
        self._learn()
        return self

    def _check(self) -> None:
        """Refuse bad parameters."""

    def _records(self, X: object, y: object) -> tuple[np.ndarray, Any]:
        """X as numbers within the public bounds, and what else `_publish` needs; sets the public facts."""
        return self._enter(X), None

    def _publish(self, X: np.ndarray, y: Any, account: Account | None) -> None:
        """One release of the records, for the whole budget."""
        budget, kernel = self.price(), self._kernel()
        self._require_of(kernel)
        sketch = self._sketch(kernel, X, budget).update(X)  # what it refuses costs nothing
        paid = self._pay([sketch.price(budget)], account, counters=sketch.rows * sketch.buckets)
        (self.release_,) = release_disjoint([sketch], budget, paid, refined=self._refines())

    def _learn(self) -> None:
        """Post-processing of the release: whatever `fit` and `from_release` have in common."""

    def _require_of(self, kernel: Kernel) -> None:
        """Refuse a kernel from whose release nothing could be learned: before it is paid for, and in a release."""

    def price(self) -> Budget:
        """What one `fit` costs at most, all its releases together: known before it sees data."""
        epsilon = self.epsilon if self.rho is None and self.mu is None else None
        return Budget.of(epsilon, self.delta, self.neighbors, self.records_per_person, rho=self.rho, mu=self.mu)

    def _pay(self, claims: Sequence[PrivacyClaim], account: Account | None, *, counters: int) -> Prepaid:
        """Charge all that this fit will release, at once and before the first noise; sets `identity_`.

        `counters` is how many there will be, at most: `before_charge` gets the size of the model's file.
        """
        if self.before_charge is not None:
            schema = 0 if self.schema_ is None else len(json.dumps(self.schema_.to_dict()))
            self.before_charge(8 * counters + BESIDE_COUNTERS + 8 * schema)
        paid = Prepaid(claims, account)
        self.identity_ = paid.identity
        return paid

    def _warn_of_repeats(self) -> None:
        fits = self.__dict__.setdefault("_fits", [0])
        fits[0] += 1
        if fits[0] > 1:
            warnings.warn(
                f"This is fit number {fits[0]} of this {type(self).__name__} and its clones; people who are in all "
                f"these tables spend {fits[0]} times ε = {self.epsilon}. Hint: fit once and use its release again.",
                RepeatedReleaseWarning,
                stacklevel=3,
            )

    # ---- columns ----

    def _enter(self, X: object) -> np.ndarray:
        """The first records, as numbers within the bounds; settles what the columns are, and `clipped_`."""
        if self._settle_schema():
            numbers, self.clipped_, strays = self._coding().read(X, self.curator.fewest)  # type: ignore[union-attr]
            self.curator.look_at(strays, self.schema_)  # type: ignore[arg-type]
            return numbers
        found = columns.records(self, X, reset=True)
        self.bounds_, self.clipped_ = self._public_bounds(found), 0
        if self.bounds_ is None:
            return found
        names = self._names() or tuple(f"column {j}" for j in range(found.shape[1]))
        self.curator.look_at(*columns.beyond(found, self.bounds_, names))
        inside = np.clip(found, *self.bounds_)
        self.clipped_ = int(np.any(inside != found, axis=1).sum())
        return inside

    def _matrix(self, X: object, *, clip: bool = False) -> np.ndarray:
        """Other records, as numbers. `clip` moves them into the public bounds, where those of a schema are already."""
        coded = self._coding()
        if coded is not None:
            return coded.read(X)[0]
        found = columns.records(self, X, reset=False)
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

    def _names(self) -> tuple[str, ...] | None:
        """What these are called."""
        coded = self._coding()
        names = getattr(self, "feature_names_in_", None) if coded is None else coded.names
        return None if names is None else tuple(map(str, names))

    # ---- public facts ----

    def _settle_schema(self) -> bool:
        """Take the columns from the schema; False if there is none."""
        self.__dict__.pop("schema_", None)
        if self.schema is None:
            return False
        if self.bounds is not None:
            raise ParameterError("`schema` says what every column can hold. Hint: leave out `bounds`.")
        self.schema_ = schema = Schema.of(self.schema)
        self.n_features_in_ = len(schema)
        self.feature_names_in_ = np.array(schema.names, dtype=object)
        self.bounds_ = coding(schema, self._indicators()).bounds
        return True

    def _take_columns(self, width: int, columns: tuple[str, ...] | None, bounds: object) -> None:
        """What the columns are, from a release: so many numbers, of these names and bounds, if it has any."""
        if self._settle_schema():
            self._coding().require(width, columns, bounds)  # type: ignore[union-attr]
            return
        self.n_features_in_ = width
        if columns is not None:
            self.feature_names_in_ = np.array(columns, dtype=object)
        self.bounds_ = None if bounds is None else self._sides(bounds, width)

    def _sides(self, bounds: object, width: int) -> Bounds:
        return checks.sides(checks.by_column(bounds, self._names()), width)

    def _public_bounds(self, X: np.ndarray) -> Bounds | None:
        """The bounds that were given, or those of the data if the caller declared them public."""
        if self.bounds is not None:
            return self._sides(self.bounds, X.shape[1])
        if "bounds" in self._public():
            return columns.own_bounds(X)
        if self.kernel is not None and not self._always_needs_bounds:
            return None
        raise PrivacyError(
            "Learning needs the columns' public bounds. Hint: pass bounds=(low, high), each a number or one "
            "per column, or schema=; if the data's own bounds are public already, public=('bounds',)."
        )

    def _public(self) -> tuple[str, ...]:
        given = self.public if isinstance(self.public, Iterable) else (None,)
        words = (given,) if isinstance(given, str) else tuple(given)
        if not all(isinstance(word, str) and word in FACTS for word in words):
            raise parameter("public", f"some of {', '.join(FACTS)}", self.public)
        return words

    # ---- the sketch, from public facts alone ----

    def _sketch(self, kernel: Kernel, X: np.ndarray, budget: Budget, **options: Any) -> Sketch:
        """An empty sketch for these columns, as large as the plan finds best for this budget."""
        bounds = None if self.bounds_ is None else tuple(side.tolist() for side in self.bounds_)
        size: dict[str, Any] = {"rows": self.rows, "buckets": self.buckets, "design": "auto", **options}
        size |= {"columns": self._names(), "seed": self._seed()}
        if size["rows"] is not None and size["buckets"] is not None:
            return Sketch(kernel, self._width, **size)
        facts: dict[str, Any] = {"bounds": bounds, "refined": self._refines(), "n": self._public_count(X)}
        later = self._plans_later and size["rows"] is None
        spec, planned = choose(kernel, dimensions=self._width, budget=budget, later=later, **size, **facts)
        if size["rows"] is None and spec.shape is None and not planned:
            spec = replace(spec, rows=min(spec.rows, self._most_rows(spec)))
        return Sketch.from_spec(spec, planned=planned)

    def _most_rows(self, spec: Spec) -> int:
        """How many of the hashed rows that the plan chose are taken, at most."""
        return spec.rows

    def _refines(self) -> bool:
        """Whether answers are refined (`scumble.learn.refine`), so fewer rows are enough."""
        return False

    def _public_count(self, X: np.ndarray) -> int:
        """Roughly how many records: their number only where it is public."""
        known = self.neighbors == "replace" or "count" in self._public()
        return max(len(X), 1) if known else DEFAULT_RECORDS

    def _kernel(self) -> Kernel:
        """The kernel given, or one made from the public bounds."""
        if self.kernel is None:
            return self._default_kernel()
        if not isinstance(self.kernel, Kernel):
            raise parameter("kernel", "a scumble kernel, such as scumble.EuclideanKernel(bandwidth=1.0)", self.kernel)
        return self.kernel

    def _default_kernel(self) -> Kernel:
        assert self.bounds_ is not None
        return default_kernel(self.bounds_)

    def _seed(self) -> int:
        if self.random_state is None:
            return 0
        hint = "it is the hash seed, which is published with the release."
        return checks.whole("random_state", self.random_state, 0, must="a whole number or None", hint=hint)

    # ---- answering ----

    def _read(self, X: object, *, clip: bool = False) -> np.ndarray:
        """Queries, validated against what was fitted. `clip` moves them into the public bounds."""
        check_is_fitted(self)
        levels = self._levels()
        return self._matrix(X, clip=clip) if levels is None else levels.read(X)

    def _example(self, rows: int) -> Any:
        """Some records that can be read: of a table, rows; else the middle of the bounds."""
        table = self._levels() or self._coding()
        if table is not None:
            return table.example(rows)
        middle = np.zeros(self.n_features_in_) if self.bounds_ is None else np.mean(self.bounds_, axis=0)
        return np.tile(middle, (rows, 1))

    @property
    def privacy_(self) -> PrivacyClaim:
        """What one `fit` promises, all its releases together: a PrivacyClaim."""
        check_is_fitted(self)
        return self._claim()

    def _claim(self) -> PrivacyClaim:
        return self.release_.privacy

    # ---- from a release ----

    @overload
    @classmethod
    def from_release(
        cls: Callable[Parameters, Model], release: object, *none: Parameters.args, **parameters: Parameters.kwargs
    ) -> Model: ...
    @overload
    @classmethod
    def from_release(cls, release: object, *, target: str | None, **parameters: object) -> Self: ...
    @classmethod  # type: ignore[misc]  # parameters are given by keyword alone
    def from_release(cls, release: object, **parameters: Any) -> Self:
        """A fitted estimator from a release (or the path of its file) alone: no data is needed, no budget is spent.

        `parameters` are the constructor's. What the release settles, such as the kernel, may be left out and cannot
        differ; the budget is that of a further `fit`. Hashed rows have no `bounds`. From the release of a table,
        `target` names the column to learn, unless the release was built with one; its missing and undeclared words
        are no classes.
        """
        found = opened(release, cls)
        if isinstance(found, TableRelease):
            return cls._from_table(found, **parameters)
        model = cls._promising(found.privacy, **{**cls._implied(found), **parameters})
        model._check()
        model._take(found)
        model._learn()
        return model

    @classmethod
    def _promising(cls, claim: PrivacyClaim, **parameters: Any) -> Self:
        """An estimator with the budget of a claim, unless `parameters` say otherwise."""
        names = ("epsilon", "delta", "neighbors", "records_per_person")
        return cls(**{**{name: getattr(claim, name) for name in names}, **parameters})

    @classmethod
    def _learns(cls, release: object) -> bool:
        """Whether `from_release` takes it."""
        return isinstance(release, cls._learns_from)

    @classmethod
    def _implied(cls, release: Any) -> dict[str, Any]:
        """Parameters that follow from a release."""
        return {"kernel": release.kernel, "random_state": release.seed}

    def _take(self, release: Any) -> None:
        """What `fit` learns from the data before `_learn`, from a release."""
        self.release_, self.identity_ = release, release.identity
        self._require_settled(kernel=release.kernel, rows=release.rows)
        given = release.bounds if self.bounds is None else self.bounds
        self._take_columns(release.dimensions, release.columns, given)
        if self.bounds_ is None and self._always_needs_bounds:
            raise ParameterError(
                f"{type(self).__name__} needs public bounds, and a release of hashed rows has none. "
                "Hint: pass bounds=(low, high)."
            )

    def _require_settled(self, read: Callable[[Any], object] = lambda given: given, **settled: object) -> None:
        """Refuse parameters that, once `read`, differ from what a release settles; None: it has no such thing."""
        for name, there in settled.items():
            given = getattr(self, name, None)
            if given is not None and (there is None or read(given) != there):
                must = "left out for this release" if there is None else f"that of the release, {there!r}, or left out"
                raise parameter(name, must, given)

    def _take_target(self, spec: Any) -> None:
        """What `_records` learns from the target, from the spec of a release of moments."""

    @classmethod
    def _from_table(cls, release: TableRelease, target: str | None = None, **parameters: Any) -> Self:
        """A fitted estimator from the release of a table, by `_learn_table`."""
        model = cls._promising(release.privacy, **parameters)
        model._require_settled(kernel=None, rows=None, buckets=None, bounds=None, schema=None, length=None)
        model.identity_, model.bounds_ = release.identity, None
        model._learn_table(release, target)
        levels = model._levels()
        assert levels is not None
        model.n_features_in_ = len(levels.names)
        model.feature_names_in_ = np.array(levels.names, dtype=object)
        return model

    def _learn_table(self, release: TableRelease, target: str | None) -> None:
        """What is learned from the release of a table, by estimators that take one."""
        raise NotImplementedError

    def _levels(self) -> Levels | None:
        """How records are read, where the release is that of a table."""
        release = self._learnt_from
        return Levels(release, vars(self).get("target_")) if isinstance(release, TableRelease) else None

    @property
    def _learnt_from(self) -> Any:
        """The release, or of several the first; None before a fit."""
        held = vars(self)
        return held["release_"] if "release_" in held else (held.get("releases_") or [None])[0]

    # ---- files, pictures, scikit-learn ----

    if not TYPE_CHECKING:  # or every attribute would have a type

        def __getattr__(self, name: str) -> object:
            return suggest_attribute(self, name, LACKING)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted estimator to a file, atomically: parameters, what was learned, the releases. No pickle."""
        from scumble.learn import models

        check_is_fitted(self)
        models.save(self, path)

    def plot(self, **options: Any) -> Figure:
        """A picture of what was learned, a matplotlib Figure; options as for :func:`scumble.show.pictures.draw`."""
        from scumble.show import pictures

        check_is_fitted(self)
        if self._levels() is not None or self.schema_ is not None:
            raise ParameterError("There is no picture of a model of a table. Hint: release.plot() draws its columns.")
        return pictures.draw(self, **options)

    def __dir__(self) -> list[str]:
        # scikit-learn's card lists every fitted attribute that is found here, and a notebook keeps the card.
        return [name for name in super().__dir__() if name not in CURATORS]

    def _repr_html_inner(self) -> str:
        return super()._repr_html_inner() + self._card()

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        out = super()._repr_mimebundle_(**options)
        if "text/html" in out:
            out["text/html"] += self._card()
        return out

    def _card(self) -> str:
        from scumble.show import cards

        return cards.estimator_html(self) if self.__sklearn_is_fitted__() else ""

    def __getstate__(self) -> dict[str, Any]:
        # What only the curator may know is not pickled; what can be made again need not be.
        left_out = (*CURATORS, "_fits", "before_charge", "curator", *self._made_again)
        return {name: value for name, value in super().__getstate__().items() if name not in left_out}

    def __sklearn_clone__(self) -> Any:
        copy = super().__sklearn_clone__()
        copy._fits = self.__dict__.setdefault("_fits", [0])
        return copy

    def __sklearn_is_fitted__(self) -> bool:
        return any(name.startswith("release") and name.endswith("_") for name in vars(self))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True  # the noise has no seed
        return tags


def default_kernel(bounds: Bounds, *, bandwidth: float | None = None, power: int = 2) -> EuclideanKernel:
    """A Euclidean kernel in units of the bounds' widths.

    Points of a unit cube lie about √(d/6) apart. The bandwidth √d/6 at power 2 halves the kernel in a tenth of that.
    """
    low, high = bounds
    d = len(low)
    return EuclideanKernel(np.sqrt(d) / 6.0 if bandwidth is None else bandwidth, power, scale=(high - low).tolist())


def opened(release: Any, kind: type[PrivateEstimator]) -> Any:
    """The release that an estimator is to learn from, or the one in a file."""
    file = None
    if isinstance(release, str | os.PathLike):
        file = repr(os.fspath(release))
        release = release_in(files.read(release, expect=files.RELEASES))
    if isinstance(release, dict) and Bundle in kind._learns_from:
        release = Bundle(release)
    if kind._learns(release):
        return release
    moments = getattr(kind, "_moments", None)
    wanted = _kind_of(moments) + " or ".join(one.__name__ for one in kind._learns_from)
    others = [name for name in learn.HOMES if getattr(learn, name)._learns(release)]
    if not others:
        hint = "a Sketch becomes one by sketch.release(epsilon=...)." if isinstance(release, Sketch) else ""
        raise parameter("release", f"a {wanted}, or the path of its file", type(release).__name__, hint)
    found = _kind_of(release.spec) + type(release).__name__
    sampled = "; or fit release.sample(n)" if isinstance(release, TableRelease) else ""
    raise (ForeignFileError if file else ParameterError)(
        f"{kind.__name__} learns from a {wanted}, and {file or 'this'} is a {found}. "
        f"Hint: use {', '.join(others)}{sampled}."
    )


def _kind_of(moments: object) -> str:
    return f"{moments.kind} " if hasattr(moments, "kind") else ""
