"""The laws of noise, one file each.

- ``law.py``: what a law is;
- ``discrete_laplace.py``, ``discrete_gaussian.py``: the two. A further one is a file and its place in `LAWS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType

from scumble.errors import ParameterError, parameter
from scumble.privacy.laws.discrete_gaussian import DiscreteGaussian
from scumble.privacy.laws.discrete_laplace import DiscreteLaplace
from scumble.privacy.laws.law import Law, Shared, require_scales
from scumble.privacy.sensitivity import Moves, Scales

LAPLACE, GAUSSIAN = DiscreteLaplace(), DiscreteGaussian()

LAWS: Mapping[str, Law] = MappingProxyType({law.name: law for law in (LAPLACE, GAUSSIAN)})
"""Every law by the name it has in claims and files."""


def quietest(
    moves: Moves, epsilon: float, delta: float, count_share: Fraction, shares: Shared = (), name: str | None = None
) -> tuple[Law, Scales]:
    """The law, or the one of this name, that answers (ε, δ) with the least variance on a counter; and its scales.

    Laplace noise grows with the number of rows and Gaussian noise with its root: for few rows the former is less, even
    where a δ is allowed.
    """
    if name is not None and (name not in LAWS or not LAWS[name].serves(epsilon, delta)):
        raise parameter("mechanism", "a law of noise that serves this budget, such as 'discrete-laplace'", name)
    found: list[tuple[float, Law, Scales]] = []
    refused: list[ParameterError] = []
    for law in LAWS.values() if name is None else (LAWS[name],):
        if law.serves(epsilon, delta):
            try:
                scales = require_scales(law.scales(moves, epsilon, delta, count_share), epsilon)
                found.append((law.variance(scales.counters), law, scales))
            except ParameterError as problem:
                refused.append(problem)
    if not found:
        raise refused[-1]
    _, law, scales = min(found, key=lambda one: one[0])
    return law, require_scales(law.scales(moves, epsilon, delta, count_share, shares), epsilon) if shares else scales
