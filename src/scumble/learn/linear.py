"""Linear classification from moments."""

from __future__ import annotations

import numpy as np

from scumble.learn.base import estimator
from scumble.learn.moment_release import MomentRelease
from scumble.learn.moments import LENGTH, ONCE, TWICE, ClassMoments, Floats, anchored
from scumble.learn.supervised import Classifier, LearnsFromMoments, TakesVectors, laplace_is_quieter

ANCHOR, UNIT_ANCHOR = 0.15, 0.05
"""a² over the number of columns, and over the square of the greatest length."""
CAUTION = 1.0
"""λ/(s √q)."""
LEAST = 2.0
"""Standard errors of a count: no class is taken to be smaller."""
CLEAREST = 0.95
"""The most of a class's indicator that planes are taken to explain: log-odds stay finite."""
PRIORS, TURNS = 16, 50
"""Sizes that a plane's columns may have, and turns until the share of each is settled."""


@estimator
class PrivateLinearClassifier(LearnsFromMoments, TakesVectors, Classifier):
    """A linear classifier in closed form, for any number of classes: made for wide records, such as embeddings.

    Columns are scaled to [−1, 1] by their public bounds, a constant column is added, and each record's vector z is
    divided by its length; with `length` instead of `bounds`, a record is a vector as it points. The release holds
    Σ zzᵀ over all records, Σ z over each class, and how many records each class has
    (:mod:`scumble.learn.moments`). Least squares on the classes' indicators follows from these (DP-FC: Mehta,
    Krichene, Thakurta, Kurakin & Cutkosky 2022): what a class has beyond its share of all vectors, times
    (Σ zzᵀ + λ)⁻¹, is its plane. Log-odds follow from how much the planes explain.

    `kernel`, `rows` and `buckets` are not used. For the parameters, see
    :class:`~scumble.learn.base.PrivateEstimator`, :class:`~scumble.learn.supervised.Classifier` and
    :class:`~scumble.learn.supervised.TakesVectors`.

    Attributes
    ----------
    coef_, intercept_ : numpy.ndarray
        Planes in the columns' own units, one per class, or one for two classes: those of the records' vectors of equal
        length, to which `offsets_`, the log-odds of each class at the middle of all records, are added.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 1, (4000, 3))
    >>> y = (X[:, 0] > X[:, 1]).astype(int)
    >>> model = PrivateLinearClassifier(epsilon=5.0, bounds=(0, 1), classes=[0, 1]).fit(X, y)
    >>> accuracy = model.score(X, y)                # 0.97 or so: the noise is fresh each time
    >>> model.coef_.shape, model.classes_.tolist()
    ((1, 3), [0, 1])
    """

    _learnt = ("classes_", "coef_", "intercept_", "planes_", "offsets_", "shares_")
    _always_needs_bounds = True
    _moments = ClassMoments

    def _spec(self) -> ClassMoments:
        d, classes = self._width, len(self.classes_)
        pure = laplace_is_quieter(self.price(), 0.75 * (d + 1))
        ball = self.length is not None
        anchor = anchored(1, UNIT_ANCHOR) if ball else anchored(d, ANCHOR)
        return ClassMoments(self._spans(), self._names(), pure, anchor, classes, ball=ball)

    def _learn(self) -> None:
        self.planes_, self.offsets_, self.shares_ = class_model(self.release_)
        planes = self.planes_ if len(self.classes_) > 2 else self.planes_[1:]
        constant = planes[:, -1] * self.release_.spec.anchor
        low, high = map(np.array, self._spans())
        self.coef_ = 2.0 * planes[:, :-1] / (high - low)
        self.intercept_ = constant - planes[:, :-1].sum(axis=1) - self.coef_ @ low

    def _log_probabilities(self, X: np.ndarray) -> np.ndarray:
        """Of the class against all others."""
        # Plane by plane: a record's score must not depend on who else is asked about.
        z = self.release_.spec.vectors(X) / LENGTH
        planes = zip(self.planes_, self.offsets_, strict=True)
        odds = np.stack([np.einsum("nq,q->n", z, plane) + one for plane, one in planes], 1)
        if len(self.classes_) == 2:
            odds[:, 0] = 0.0
            return odds
        return -np.logaddexp(0.0, -odds)


def class_model(release: MomentRelease) -> tuple[Floats, Floats, Floats]:
    """(classes, columns + 1) planes, (classes,) offsets and shares: the log-odds of a class are z·plane + offset.

    Ridge regression on a class's indicator makes scores s = z·w. The products' eigenvalues are freed of their noise
    (`quiet`), and each column's part of a plane is as large as the noise in the class's sum lets one trust (`trusted`).
    With the mean and variance V of the scores over all records, and the gap g between their means inside and outside
    the class, whose share is π, the log-odds are those of two normal laws (Fisher's discriminant),

        log(π/(1 − π)) + (s − mean − (½ − π) g) g/(V − π(1 − π) g²),

    whatever scale the penalty gave to w. The gap that the noise in the class's sum makes by itself is taken off, and
    what is left is drawn toward the gap that classes have on average, by as much as it is uncertain. V counts the
    penalty as variance: noise may have hidden as much. A class without a gap keeps its share as the probability of
    every record.
    """
    spec = release.spec
    assert isinstance(spec, ClassMoments)
    counts, products, sums = release.rows
    q, least, noise = spec.width, max(LEAST * release.errors[0], 1.0), release.errors[2] ** 2
    total = np.maximum(counts, least).sum()
    shares = np.maximum(counts, least) / total
    size = shares * (1.0 - shares)
    of_classes = sums.reshape(spec.classes, q)
    everyone = of_classes.sum(axis=0)
    values, vectors = np.linalg.eigh(spec.matrix(products))
    error = release.errors[1] * ONCE[spec.pure] / TWICE[spec.pure]
    kept = np.maximum(quiet(values, error), 0.0) + CAUTION * error * np.sqrt(q)
    inverse = (vectors / kept) @ vectors.T
    squares, apart = inverse**2, of_classes - shares[:, None] * everyone
    planes = apart @ inverse
    own = noise * ((1.0 - shares) ** 2 + (spec.classes - 1) * shares**2)  # of what sets a class apart
    trusts = np.array([trusted(*pair) for pair in zip(planes**2, np.outer(own, squares.sum(axis=1)), strict=True)])
    planes = planes * trusts
    found = (planes * apart).sum(axis=1)
    gaps = found - noise * trusts @ np.diag(inverse)
    known = np.maximum((planes**2).sum(axis=1) - noise * trusts**2 @ squares.sum(axis=0), 0.0)
    errors = np.sqrt(noise * (4.0 * known + 2.0 * noise * (trusts @ squares * trusts).sum(axis=1)))
    scale = size * total
    usual = max(float(gaps.sum()), 0.0) / float(scale.sum())
    trust = usual**2 / (usual**2 + (errors / scale) ** 2 + 1e-300)
    gap = np.maximum(trust * gaps / scale + (1.0 - trust) * usual, 0.0)
    mean = planes @ everyone / total
    spread = (planes @ vectors) ** 2 @ kept / total - size * gap**2
    steep = gap / np.maximum(np.maximum(spread, (1.0 - CLEAREST) * gap * size), 1e-300)
    offsets = np.log(shares / (1.0 - shares)) - steep * (mean + (0.5 - shares) * gap)
    return steep[:, None] * planes, offsets, shares


def quiet(values: Floats, error: float) -> Floats:
    """Eigenvalues of a symmetric matrix without what noise of that deviation in its entries adds.

    Noise drives eigenvalues apart, each away from all others. What is left of them is the best that goes with the
    eigenvectors as they are (Bun, Allez, Bouchaud & Potters 2016).
    """
    gaps = values[:, None] - values
    found: Floats = values - 2.0 * error**2 * (gaps / np.maximum(gaps**2 + error**2, 1e-300)).sum(axis=1)
    return found


def trusted(squares: Floats, variances: Floats) -> Floats:
    """What part of each number with noise of these variances is no noise: 1 for all where there is none.

    The numbers' own laws are normal, of a few variances, of which each has a share (Stephens 2017): where few numbers
    are large and the others nothing, the large ones stay.
    """
    seen = squares / (variances + 1e-30 * squares + 1e-300)
    sizes = np.append(0.0, np.geomspace(1.0 / PRIORS, max(float(seen.max()), 1.0), PRIORS))
    logs = -0.5 * (seen[:, None] / (1.0 + sizes) + np.log1p(sizes))
    chances = np.exp(logs - logs.max(axis=1, keepdims=True))
    shares = np.full(len(sizes), 1.0 / len(sizes))
    for _ in range(TURNS):
        owned = chances * shares
        owned /= owned.sum(axis=1, keepdims=True)
        shares = owned.mean(axis=0)
    found: Floats = owned @ (sizes / (1.0 + sizes))
    return found
