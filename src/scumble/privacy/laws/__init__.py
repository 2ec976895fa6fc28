"""The laws of noise, one file each.

``law.py`` says what a law is; ``discrete_laplace.py`` is the law of pure privacy, ``discrete_gaussian.py`` that of
δ > 0. A further law is a file here and its place in `LAWS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from scumble.privacy.laws.discrete_gaussian import DiscreteGaussian
from scumble.privacy.laws.discrete_laplace import DiscreteLaplace
from scumble.privacy.laws.law import Law

LAPLACE, GAUSSIAN = DiscreteLaplace(), DiscreteGaussian()

LAWS: Mapping[str, Law] = MappingProxyType({law.name: law for law in (LAPLACE, GAUSSIAN)})
"""Every law by the name it has in claims and files."""


def law_for(epsilon: float, delta: float) -> Law:
    """The law with which a request for (ε, δ) is answered."""
    return next(law for law in LAWS.values() if law.serves(epsilon, delta))
