"""The laws of noise, one file each: what a law is stands in `scumble.privacy.laws.law`.

A further law is a file here and its place in `LAWS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType

from scumble.errors import ParameterError
from scumble.privacy.laws.discrete_gaussian import DiscreteGaussian
from scumble.privacy.laws.discrete_laplace import DiscreteLaplace
from scumble.privacy.laws.law import Law, require_scales
from scumble.privacy.sensitivity import Moves

LAPLACE, GAUSSIAN = DiscreteLaplace(), DiscreteGaussian()

LAWS: Mapping[str, Law] = MappingProxyType({law.name: law for law in (LAPLACE, GAUSSIAN)})
"""Every law by the name it has in claims and files."""


def quietest(moves: Moves, epsilon: float, delta: float, count_share: Fraction) -> Law:
    """The law that answers a request for (ε, δ) with the least variance on a counter.

    Laplace noise grows with the number of rows and Gaussian noise with its root: for few rows the former is less, even
    where a δ is allowed.
    """
    found: list[tuple[float, Law]] = []
    refused: list[ParameterError] = []
    for law in LAWS.values():
        if law.serves(epsilon, delta):
            try:
                scales = require_scales(law.scales(moves, epsilon, delta, count_share), epsilon)
                found.append((law.variance(scales.counters), law))
            except ParameterError as problem:
                refused.append(problem)
    if not found:
        raise refused[-1]
    return min(found, key=lambda one: one[0])[1]
