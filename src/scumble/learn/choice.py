"""One classifier that chooses how to learn, by public facts alone.

Each way of learning has noise in the score of a record, in units of the indicator of a class, that follows from the
number of columns d, the budget and roughly how many records there are. Curves with k knots in each column have √d k e,
e being the error of a record's share of a sum. Planes invert the products of q = d + 1 columns; their errors, e √q, are
relative to eigenvalues of 1/q. The first line that applies is taken:

====== ======================================================================
steps  vectors of bounded `length`, with δ (:class:`PrivateLogisticRegression`)
planes vectors of bounded `length`, without (:class:`PrivateLinearClassifier`)
ferns  up to 4 columns, which a fern looks at together (:class:`PrivateKDEClassifier`)
curves two classes, noise in curves at most `BEARABLE` (:class:`PrivateAdditiveClassifier`)
ferns  up to 16 columns
steps  with δ
planes noise in planes is at most `BEARABLE`
ferns  everywhere else
====== ======================================================================

Ferns need ``neighbors="add-remove"``; without them, steps or planes learn.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from scumble.columns.containers import take_apart
from scumble.columns.schema import Schema
from scumble.errors import ParameterError
from scumble.learn import ferns
from scumble.learn.additive import Additive, PrivateAdditiveClassifier
from scumble.learn.base import estimator, opened
from scumble.learn.classifier import PrivateKDEClassifier
from scumble.learn.columns import lasting, records
from scumble.learn.linear import PrivateLinearClassifier
from scumble.learn.logistic import PrivateLogisticRegression
from scumble.learn.moments import enough_knots
from scumble.learn.supervised import Classifier, TakesVectors, required

WAYS: dict[str, Any] = {
    "ferns": PrivateKDEClassifier,
    "curves": PrivateAdditiveClassifier,
    "steps": PrivateLogisticRegression,
    "planes": PrivateLinearClassifier,
}
BEARABLE = 0.2
"""Noise in a score, in units of the indicator of a class: a fifth is small next to its deviation of a half."""
MOST_CURVES = 256
"""Columns, beyond which curves have more sums than they are worth."""


class _Learnt:
    way_: str


def _as_chosen(name: str) -> Any:
    """A method of the estimator that was chosen."""
    return lambda model, *given: getattr(model._learner(), name)(*given)


@estimator
class PrivateClassifier(_Learnt, TakesVectors, Classifier):
    """A classifier for any table, which chooses how to learn by public facts: see :mod:`scumble.learn.choice`.

    These are the columns, the classes, the budget, whether records are vectors, and, with ``public=("count",)``, how
    many records there are (otherwise 10,000). `way_` says what was chosen: "ferns", "curves", "steps" or "planes";
    other fitted attributes are those of that estimator. For the parameters, see
    :class:`~scumble.learn.base.PrivateEstimator`, :class:`~scumble.learn.supervised.Classifier` and
    :class:`~scumble.learn.supervised.TakesVectors`; `kernel`, `rows` and `buckets` are for ferns.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 10, (5000, 6))
    >>> y = (np.abs(X[:, 0] - 5) + X[:, 1] > 7).astype(int)
    >>> model = PrivateClassifier(bounds=(0, 10), classes=[0, 1]).fit(X, y)
    >>> accuracy = model.score(X, y)                # 0.9 or so: the noise is fresh each time
    >>> model.way_, round(model.privacy_.epsilon, 9)
    ('curves', 1.0)
    """

    _learnt = ("way_", *dict.fromkeys(name for way in WAYS.values() for name in way._learnt))
    _made_again = tuple(name for way in WAYS.values() for name in way._made_again)
    _learns_from = tuple(dict.fromkeys(kind for way in WAYS.values() for kind in way._learns_from))

    def _way(self, columns: int, classes: int, records: int) -> str:
        """The table of the module's documentation."""
        pure, together = self.price().pure, self.neighbors != "replace"
        if self.length is not None:
            return "planes" if pure else "steps"
        if together and columns <= ferns.TOGETHER:
            return "ferns"
        if classes == 2 and columns <= MOST_CURVES and self._noise("curves", columns, classes, records) <= BEARABLE:
            return "curves"
        if together and columns <= ferns.KEPT:
            return "ferns"
        if not pure:
            return "steps"
        planes = not together or self._noise("planes", columns, classes, records) <= BEARABLE
        return "planes" if planes else "ferns"

    def _noise(self, way: str, columns: int, classes: int, records: int) -> float:
        """In the score of a record."""
        model = WAYS[way](**{name: getattr(self, name) for name in ("epsilon", "delta", "rho", "mu", "neighbors")})
        model.n_features_in_, model.classes_ = columns, np.arange(classes)
        model.bounds_ = np.zeros(columns), np.ones(columns)
        spec, budget = model._spec(), self.price()
        made = budget.claim(spec.rows, spec.shares, spec.reach)
        errors = [np.sqrt(made.law.variance(scale)) / spec.step / records for scale in made.row_scales]
        if isinstance(model, Additive):
            return float(np.sqrt(columns) * enough_knots(errors[-1]) * errors[1])
        return float((columns + 1) ** 1.5 * errors[1] / 2.0)

    # ---- fitting: everything else is as of the estimator that was chosen ----

    def _records(self, X: object, y: object) -> tuple[np.ndarray, Any]:
        X = X if hasattr(X, "shape") else lasting(X)  # it is read twice
        parts = take_apart(X)
        columns = len(parts.columns) if self.schema is None else len(Schema.of(self.schema))
        given, plain = None, self.schema is None
        if self.classes is None and "classes" in self._public():
            given = required(self, y, len(records(self, X, reset=True)) if plain else parts.rows)
        self._take_classes(given)
        known = self.neighbors == "replace" or "count" in self._public()
        self.way_ = self._way(columns, len(self.classes_), max(parts.rows, 1) if known else ferns.ENOUGH)
        return self._learner()._records(X, y)

    def _learner(self) -> Any:
        """This model, seen as the estimator that was chosen: they share all attributes."""
        kind = WAYS[self.way_]
        found = kind.__new__(kind)
        found.__dict__ = self.__dict__
        return found

    _publish, _learn, _indicators = map(_as_chosen, ("_publish", "_learn", "_indicators"))
    _log_probabilities, _shares, _claim = map(_as_chosen, ("_log_probabilities", "_shares", "_claim"))

    @classmethod
    def _learns(cls, release: object) -> bool:
        return any(kind._learns(release) for kind in WAYS.values())

    @classmethod
    def from_release(cls, release: object, **parameters: Any) -> Self:  # type: ignore[override]
        """A fitted classifier from moments or a bundle (or the path of its file); the way follows from their kind."""
        found = opened(release, cls)
        model = cls()
        model.way_ = next(way for way, kind in WAYS.items() if kind._learns(found))
        learner = WAYS[model.way_].from_release(found, **parameters)
        if getattr(learner, "rule", "ferns") != "ferns":
            raise ParameterError("This release is of a table or densities. Hint: PrivateKDEClassifier.from_release.")
        model.__dict__ |= vars(learner)
        return model
