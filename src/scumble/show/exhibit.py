"""A release, a bundle or a fitted model, as the page and the API show it."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from scumble import checks
from scumble.columns.kinds import ranges_by
from scumble.density.bundle import Bundle, Label
from scumble.density.comparing import shares
from scumble.density.release import Release
from scumble.errors import DataError, ParameterError, many, parameter
from scumble.show import cards
from scumble.show import ranges as ranging
from scumble.show.pages import AnyExhibit, Arrays, Content, Questions
from scumble.show.ranges import Column
from scumble.show.usefulness import Facts, Model, as_json
from scumble.streams.published import StreamRelease

_TOLD = ("epsilon", "delta", "count", "count_standard_error", "meaning", "kind")
"""The facts of the card that a page of densities shows by themselves."""
STARTS = 100
"""Of the search for modes: those of ``scumble modes``, so that the page and the verb find the same places."""


class Exhibit(AnyExhibit):
    """What is shown of a release, a bundle with one release per class, or a fitted estimator, and what it answers.

    For columns by name: `ranges` to draw of numbers, the known `values` of categories, the `units`.

    >>> import numpy as np, scumble
    >>> sketch = scumble.Sketch(scumble.EuclideanKernel(1.0), columns=["age"], rows=50, buckets=64)
    >>> exhibit = Exhibit(sketch.update(np.full((1000, 1), 30.0)).release(epsilon=1.0), "ages")
    >>> sorted(exhibit.density([[30.0], [90.0]]))
    ['density', 'kernel_sum', 'lower', 'upper']
    """

    def __init__(
        self,
        found: object,
        title: str = "A private release",
        *,
        ranges: Mapping[str, tuple[float, float]] | None = None,
        values: Mapping[str, Sequence[str]] | None = None,
        units: Mapping[str, str] | None = None,
    ) -> None:
        self.title = title
        self.shown = self._releases_in(found)
        self.model: Model = None if self.shown is found else found
        self.names = ranging.column_names(self._one)
        self._given: tuple[Facts, ...] = dict(ranges or {}), dict(values or {}), dict(units or {})
        self._coded = ranging.columns_of(self.model)
        """The columns of the table that a model was fitted on, where its releases have other ones."""
        known = self.names if self._coded is None else [column.name for column in self._coded]
        for what, given in zip(("ranges", "values", "units"), self._given, strict=True):
            checks.columns_named(f"`{what}`", given, known)
        kinds = self.kinds | {column.name: column.kind for column in self._coded or () if column.kind}
        self._given = ranges_by(kinds, self._given[0]), *self._given[1:]
        for name, (low, high) in self._given[0].items():
            if not (np.isfinite([low, high]).all() and low < high):
                told = f"got {low:.12g} to {high:.12g}"
                raise ParameterError(
                    f"`ranges` of {name!r} must be finite, the low end first, {told}. Hint: {name}=LOW:HIGH."
                )

    def _releases_in(self, found: object) -> Any:
        """The release or the bundle that is shown."""
        release = found if isinstance(found, (Release, Bundle)) else getattr(found, "_learnt_from", None)
        if release is None:
            raise parameter("found", "a Release, a Bundle or a fitted estimator", type(found).__name__)
        if not isinstance(release, (Release, Bundle)):
            raise ParameterError(f"A {type(found).__name__} has no density to explore. Hint: its plot() draws it.")
        return release

    @property
    def _one(self) -> Release:
        return self.shown if isinstance(self.shown, Release) else next(iter(self.shown.values()))

    @property
    def releases(self) -> dict[Label | None, Release]:
        """Class → release; a release without classes stands under None."""
        return {None: self.shown} if isinstance(self.shown, Release) else {**self.shown}

    @property
    def drawable(self) -> bool:
        """Whether the page can answer by itself. It cannot run a kernel written in Python."""
        return self._one.spec.layout.drawable

    @property
    def roles(self) -> list[str]:
        """For each column: number, category or tokens, or any."""
        return ranging.roles(self._one)

    @property
    def kinds(self) -> dict[str, str]:
        """What declared columns hold."""
        return self._one.kinds

    @property
    def predicts(self) -> bool:
        """Whether there is something to predict."""
        return self.classifier is not None or hasattr(self.model, "predict")

    # ---- what it is ----

    @cached_property
    def columns(self) -> list[Column]:
        """The columns, as the page lists them."""
        given, values, units = self._given
        if self._coded is not None:
            if values:
                raise ParameterError("The model's schema lists all values. Hint: leave out `values`.")
            each = ((one, given.get(one.name, one.range), units.get(one.name, "")) for one in self._coded)
            return [replace(one, range=spread, unit=unit) for one, spread, unit in each]
        kinds = self.roles
        named = list(zip(self.names, kinds, strict=True))
        others: list[object] = [
            None if role == "number" else next(iter(values.get(name, ())), None) for name, role in named
        ]
        searched = [role == "number" and name not in given for name, role in named]
        found, there = self._ranges(others) if any(searched) else ([None] * len(kinds), True)
        return [
            Column(
                *(name, role, given.get(name, spread), tuple(values.get(name, ())), units.get(name, "")),
                self.kinds.get(name),
                lost=guessed and not there,
            )
            for (name, role), spread, guessed in zip(named, found, searched, strict=True)
        ]

    def _ranges(self, others: list[object]) -> tuple[list[ranging.Range | None], bool]:
        """What to draw: a model's public bounds; else of all classes together that were found. And if any was."""
        bounds = getattr(self.model, "bounds_", None)
        if bounds is not None:
            return [(float(low), float(high)) for low, high in zip(*bounds, strict=True)], True
        searched = [ranging.find(release, others) for release in self.releases.values()]
        there = any(found for _, found in searched)
        parts = [ranges for ranges, found in searched if found or not there]
        return [
            None if side[0] is None else (min(s[0] for s in side), max(s[1] for s in side))
            for side in zip(*parts, strict=True)
        ], there

    def facts(self) -> Facts:
        out = cards.facts(self.shown)
        if self.model is not None:
            claim = self.model.privacy_
            out |= {"kind": "model", "estimator": type(self.model).__name__, "meaning": claim.sentence()}
            out |= {
                name: getattr(claim, name) for name in ("epsilon", "delta", "rho", "neighbors", "unit", "mechanism")
            }
        return out

    def card(self) -> list[tuple[str, str]]:
        lines = cards.lines(self.shown)
        if self.model is None:
            return lines
        claim, kind = self.model.privacy_, type(self.model).__name__
        told = {"Promise": str(claim), "Meaning": claim.sentence()}
        model = ("Model", f"{kind}, learned from releases alone. The promise is for all of it together.")
        return [model, *((name, told.get(name, text)) for name, text in lines if name != "")]

    # ---- what it answers ----

    @cached_property
    def classifier(self) -> Any:
        """What tells classes apart by their densities, or None."""
        try:
            from scumble.learn import PrivateKDEClassifier
        except ImportError:
            return None
        if isinstance(self.model, PrivateKDEClassifier):
            return _nameless(self.model)
        bundle = self.model is None and isinstance(self.shown, Bundle) and len(self.shown) > 1
        if not bundle or any(role != "number" for role in self.roles):
            return None
        rule = "ferns" if self.shown.spec.layout.hashed else "map"
        return _nameless(PrivateKDEClassifier.from_release(self.shown, rule=rule))

    @property
    def questions(self) -> Questions:
        return {
            "/api/density": ({"points", "class", "confidence"}, self._asked_density),
            "/api/predict": ({"points"}, lambda asked: self.predict(asked.get("points"))),
        }

    def _asked_density(self, asked: Facts) -> Facts:
        confidence = checks.confidence(asked.get("confidence", 0.95))
        return self.density(asked.get("points"), label=asked.get("class"), confidence=confidence)

    def density(self, asked: object, *, label: object = None, confidence: float = 0.95) -> dict[str, list[float]]:
        """Kernel sums, densities and intervals at the points, as `scumble query` gives them."""
        release = self._release_of(label)
        table = self._table(asked)
        lower, upper = release.interval(table, confidence)
        answers = (release.kernel_sum(table), release.density(table, shrink=False), lower, upper)
        return {
            name: values.tolist()
            for name, values in zip(("kernel_sum", "density", "lower", "upper"), answers, strict=True)
        }

    def predict(self, asked: object) -> Facts:
        """A class or a number for each point, as `scumble predict` gives them; for classes also the probabilities."""
        model = self.classifier or _nameless(self.model)
        if model is None or not hasattr(model, "predict"):
            raise DataError("Nothing to predict: it holds densities alone. Hint: fitted models predict.")
        X = np.asarray(self._table(asked, numbers=True), dtype=np.float64)
        out: Facts = {"prediction": model.predict(X).tolist()}
        if hasattr(model, "predict_proba"):
            out |= {"classes": model.classes_.tolist(), "probability": model.predict_proba(X).tolist()}
        return out

    def _release_of(self, label: object) -> Release:
        found = self.releases
        if None in found:
            if label is not None:
                raise DataError("`class` must be left out: this release has no classes.")
            return found[None]
        by_text = {str(name): release for name, release in found.items()}
        if label is None or str(label) not in by_text:
            raise DataError(f"`class` must be one of {', '.join(by_text)}, got {label!r}.")
        return by_text[str(label)]

    def _table(self, asked: Any, *, numbers: bool = False) -> Any:
        """Points as JSON brings them, as a table that a release or a model reads."""
        names, kinds = self.names, self.roles
        if numbers:
            wide = len(names) if self.model is None else self.model._width
            names, kinds = names if wide == len(names) else [f"x{j}" for j in range(wide)], ["number"] * wide
        if len(set(names)) < len(names):
            raise DataError("Two columns of this release have the same name, and points cannot tell them apart.")
        columns = cells_of(asked, names, kinds, {} if numbers else self.kinds)
        if numbers:
            return np.column_stack([np.asarray(column, dtype=np.float64) for column in columns.values()])
        return columns

    # ---- where records crowd ----

    def modes(self) -> list[Facts]:
        """The modes of each class, the highest first: post-processing, made once."""
        spreads = [column.range for column in self.columns]
        if any(column.role != "number" for column in self.columns) or not self.drawable:
            return []
        if self._coded is not None and not all(ranging.as_numbers(column) for column in self._coded):
            return []
        try:
            from scumble.learn import PrivateModes
        except ImportError:
            return []
        out: list[Facts] = []
        bounds = tuple([side[k] for side in spreads if side is not None] for k in (0, 1))
        for k, release in enumerate(self.releases.values()):
            if not release.kernel.numeric:  # several columns of sets hold zeros and ones: numbers, but no places
                continue
            found = PrivateModes.from_release(release, bounds=bounds, starts=STARTS)
            each = zip(found.modes_.tolist(), found.densities_.tolist(), found.intervals_.tolist(), strict=True)
            out += [{"release": k, "point": at, "density": d, "lower": a, "upper": b} for at, d, (a, b) in each]
        return out

    # ---- for the page ----

    def content(self) -> tuple[Facts, str]:
        content = Content()
        description: Facts = {
            "title": self.title,
            "card": self.card(),
            **self._told(),
            "columns": [column.to_dict() for column in self._listed],
            "classes": [str(name) for name in self.releases if name is not None],
            "classifier": None,
            "modes": [],
            "drawable": self.drawable,
        }
        if self.drawable:
            numbers = {name: content.release(release) for name, release in self.releases.items()}
            if self.classifier is not None:
                description["classifier"] = content.classifier(self.classifier, numbers)
            description["modes"] = self.modes()
        return content.with_all(description)

    def _told(self) -> Facts:
        return {"info": {name: self.info[name] for name in _TOLD}}

    @property
    def _listed(self) -> list[Column]:
        return self.columns if self.drawable else [Column(name, "any", None, (), "") for name in self.names]


def _nameless(model: Model) -> Any:
    """The model for plain arrays of the release's own columns: scikit-learn would warn of those without names."""
    if model is None or not hasattr(model, "feature_names_in_"):
        return model
    plain = copy.copy(model)
    plain.n_features_in_ = model._width  # of a mixed table: the page asks for numbers, as they are released
    vars(plain).pop("schema_", None)
    del plain.feature_names_in_
    return plain


# ---- two releases side by side ----


class PairExhibit(Exhibit):
    """What is shown of two releases of densities over the same columns, by what they are called, and what they answer.

    Their kernels and budgets may differ.

    >>> import numpy as np, scumble
    >>> def ages(mean):
    ...     sketch = scumble.Sketch(scumble.EuclideanKernel(5.0), columns=["age"], rows=50, buckets=64)
    ...     return sketch.update(np.full((1000, 1), mean)).release(epsilon=1.0)
    >>> pair = PairExhibit({"1990": ages(30.0), "2020": ages(40.0)}, ranges={"age": (0, 100)})
    >>> pair.content()[0]["classes"]
    ['1990', '2020']
    """

    classifier = None

    def __init__(self, found: Mapping[str, Release], title: str | None = None, **look: Any) -> None:
        if len(found) != 2 or not all(isinstance(release, Release) for release in found.values()):
            kinds = ", ".join(type(release).__name__ for release in found.values())
            raise ParameterError(
                f"Two releases of densities stand side by side, got {kinds or 'none'}. Hint: give them two names."
            )
        one, other = found.values()
        for what, of in (("columns", ranging.column_names), ("roles", ranging.roles)):
            if of(one) != of(other):
                theirs = f"{', '.join(of(one))} and {', '.join(of(other))}"
                raise ParameterError(f"Two releases must have the same {what}, got {theirs}. Hint: explore each.")
        super().__init__(found, " and ".join(found) if title is None else title, **look)
        if not all(release.spec.layout.drawable for release in found.values()):
            raise ParameterError("A release whose kernel is written in Python cannot be drawn by a page.")

    def _releases_in(self, found: object) -> Any:
        return found

    def facts(self) -> Facts:
        return {"kind": "pair", "releases": [cards.facts(release) for release in self.releases.values()]}

    def card(self) -> list[tuple[str, str]]:
        return [(f"{line} ({name})", text) for name, one in self.releases.items() for line, text in cards.lines(one)]

    def _told(self) -> Facts:
        told = [{name: one[name] for name in _TOLD} for one in self.info["releases"]]
        return {"info": told[0], "compared": told}


# ---- points, as JSON brings them ----

MOST_POINTS = 100_000
"""Points of one question."""


def cells_of(
    points: object, names: Sequence[str], roles: Sequence[str], kinds: Mapping[str, str] | None = None
) -> dict[str, list[object]]:
    """The points' cells, column by column.

    >>> cells_of([[31, "Ulm"], {"town": "Bonn", "age": 45}], ["age", "town"], ["number", "category"])
    {'age': [31, 45], 'town': ['Ulm', 'Bonn']}
    """
    if not isinstance(points, list) or not points:
        raise DataError('`points` must be a list of points, such as [[45, 50000]] or [{"age": 45}].')
    if len(points) > MOST_POINTS:
        raise DataError(f"`points` may hold {MOST_POINTS:,} points at a time, got {len(points):,}. Hint: ask in parts.")
    dated = [name for name, kind in (kinds or {}).items() if kind != "whole"]  # the release reads these
    rows = [_row(point, names, k) for k, point in enumerate(points)]
    out = {name: [row[j] for row in rows] for j, name in enumerate(names)}
    for (name, cells), role in zip(out.items(), roles, strict=True):
        for k, cell in enumerate(cells):
            wanted = None if name in dated and isinstance(cell, str | bool) else _wanted(cell, role)
            if wanted is not None:
                raise DataError(f"Column {name!r} of point {k} must be {wanted}, got {repr(cell)[:40]}.")
    return out


def _row(point: object, names: Sequence[str], k: int) -> list[object]:
    if isinstance(point, dict):
        unknown = [name for name in point if name not in names]
        missing = [name for name in names if name not in point]
        if unknown or missing:
            what = f"lacks {missing[0]!r}" if missing else f"names {unknown[0]!r}"
            raise DataError(f"Point {k} {what}: the columns are {', '.join(names)}.")
        return [point[name] for name in names]
    if isinstance(point, list) and len(point) == len(names):
        return point
    raise DataError(f"Point {k} must have {many(len(names), 'value')}, one for each of {', '.join(names)}.")


def _wanted(cell: object, role: str) -> str | None:
    """None if the cell will do, else what it must be."""
    number = isinstance(cell, (int, float)) and not isinstance(cell, bool) and abs(cell) < 1e300
    if role == "number":
        return None if number else "a finite number"
    if role == "category":
        return None if number or isinstance(cell, (str, bool)) else "text or a number"
    if role == "tokens":
        texts = isinstance(cell, list) and all(isinstance(token, str) for token in cell)
        return None if texts or isinstance(cell, str) else "text or a list of texts"
    return None


# ---- a stream ----


MOST_PERIODS = 60
"""More are thinned out, evenly: a page of a year stays small and is made in seconds."""
WINDOWS = (28, 7)
CURVE, MAP = (120,), (32, 24)
"""Points along each column."""
HALF = 1.96
"""Standard errors in half a 95 % interval."""


class StreamExhibit(AnyExhibit):
    """What is shown of a stream of one or two columns of numbers; `ranges` to draw and `units` of columns by name.

    Examples
    --------
    >>> import numpy as np, scumble
    >>> stream = scumble.Stream(scumble.EuclideanKernel(5.0), columns=["age"], periods=3, epsilon=1.0, rows=8)
    >>> for year in range(3):
    ...     _ = stream.update(np.full((100, 1), 30.0 + year))
    ...     _ = stream.close_period()
    >>> StreamExhibit(stream.published(), "Ages", ranges={"age": (0, 100)}).shown_periods
    [1, 2, 3]
    """

    parts = ("page.html", "stream.css", None, "stream.js")
    # no release is read there, so there is no engine

    def __init__(
        self,
        stream: StreamRelease,
        title: str = "A private stream",
        *,
        ranges: Mapping[str, tuple[float, float]] | None = None,
        units: Mapping[str, str] | None = None,
    ) -> None:
        self.title, self.stream = title, stream
        self._total = stream.total()
        self.names = _names(self._total)
        self._shown = Exhibit(self._total, title, ranges=ranges, units=units)

    # ---- what is shown ----

    @property
    def shown_periods(self) -> list[int]:
        """The last period of each picture: all of them, or so many, evenly spread."""
        last = self.stream.periods
        spread: list[int] = np.unique(np.rint(np.linspace(1, last, min(last, MOST_PERIODS))).astype(int)).tolist()
        return spread

    @property
    def widths(self) -> list[int | None]:
        """What can be chosen: the running total (None), windows of so many periods, and single periods."""
        return [None, *(width for width in WINDOWS if width < self.stream.periods), 1]

    @cached_property
    def columns(self) -> list[Facts]:
        """The columns, with what to draw of each."""
        return [column.to_dict() for column in self._shown.columns]

    @cached_property
    def places(self) -> list[np.ndarray]:
        """Where the stream is asked, along each column."""
        sizes = CURVE if len(self.names) == 1 else MAP
        return [_spread(column["range"], n) for column, n in zip(self.columns, sizes, strict=True)]

    def points(self) -> np.ndarray:
        """All of these points, the first column changing fastest."""
        axes = np.meshgrid(*self.places[::-1], indexing="ij")
        return np.column_stack([axis.ravel() for axis in axes[::-1]])

    def release(self, width: int | None, last: int) -> Release:
        """The release behind one picture; early windows begin with the first period."""
        return self.stream.total(last) if width is None else self.stream.window(min(width, last), last=last)

    # ---- for the page ----

    def facts(self) -> Facts:
        own = {"kind": "stream", "periods": self.stream.periods, "horizon": self.stream.horizon}
        return {**cards.facts(self._total), **own}

    def card(self) -> list[tuple[str, str]]:
        return cards.lines(self._total)

    def content(self) -> tuple[Facts, str]:
        arrays, asked = Arrays(), self.points()
        told = ("epsilon", "delta", "count", "count_standard_error", "meaning", "periods", "horizon")
        return {
            "title": self.title,
            "card": self.card(),
            "info": {name: self.info[name] for name in told},
            "columns": self.columns,
            "places": [place.tolist() for place in self.places],
            "ends": self.shown_periods,
            "choices": [self._choice(width, asked, arrays) for width in self.widths],
            "compared": self._compared(asked, arrays),
            "arrays": arrays.index,
        }, arrays.to_base64()

    def _choice(self, width: int | None, asked: np.ndarray, arrays: Arrays) -> Facts:
        """Kernel sums and half their 95 % intervals, period by period; and the records in all, likewise."""
        sums, halves, counts = [], [], []
        for last in self.shown_periods:
            release = self.release(width, last)
            low, high = release.interval(asked)
            sums.append((low + high) / 2.0)
            halves.append((high - low) / 2.0)
            counts.append([release.count, HALF * release.count_standard_error])
        return {
            "width": width,
            "sums": arrays.add(np.array(sums, np.float32).ravel()),
            "halves": arrays.add(np.array(halves, np.float32).ravel()),
            "counts": as_json(np.array(counts).tolist()),
        }

    def _compared(self, asked: np.ndarray, arrays: Arrays) -> Facts:
        """What a comparison of two single periods needs of each: shares, their noise, and the records in all."""
        releases = [self.release(1, last) for last in self.shown_periods]
        both = np.array([shares(release, asked) for release in releases], np.float32)
        return {
            "shares": arrays.add(both[:, 0].ravel()),
            "noises": arrays.add(both[:, 1].ravel()),
            "divisors": [release.divisor for release in releases],
        }


def _names(release: Release) -> list[str]:
    names, kinds = ranging.column_names(release), ranging.roles(release)
    if len(names) not in (1, 2) or any(kind != "number" for kind in kinds) or not release.kernel.numeric:
        told = f"{', '.join(names)} ({', '.join(kinds)})"
        raise ParameterError(f"A stream's page shows one or two columns of numbers, not {told}. Hint: use `series`.")
    return names


def _spread(ends: tuple[float, float], n: int) -> np.ndarray:
    """The middles of `n` equal parts; a file may state bounds whose difference is beyond all numbers."""
    share = (np.arange(n) + 0.5) / n
    return ends[0] * (1.0 - share) + ends[1] * share
