"""What a release costs in privacy, and the noise that pays for it.

Before the noise::

    budget.py           what may be spent: one frozen value
    parts.py            one budget for several releases
    account.py          where it is charged: a ledger, a dataset, a part
    sensitivity.py      how far one person can move a release
    calibration.py      from a budget to noise scales, and back to a claim (calibration.proof.md)
    facts.py            a few noisy facts before a release: what they cost, and what is left
    purse.py            a claim that is fixed before the scales of its rows are

The noise::

    laws/               the laws, one file each: variance, draw, curve, cost
    noise.py            the exact samplers: the only file that draws (noise.proof.md)
    polya.py            a share of discrete Laplace noise
    splitting.py        noise from several custodians (splitting.proof.md)
    seam.py             where an auditor may look

What was promised::

    claim.py            what a release promises, as a value
    odds.py             what ε means for one person
    composition.py      what several releases cost together
    gaussian.py         how private Gaussian noise is
    laplace.py          how private Laplace noise is, beyond its pure ε
    curve.py            a privacy curve, read the other way round
    exact.py            exact fractions, and safe floats

The ledger::

    ledger.py           what has been spent on each dataset (ledger.proof.md)
    costs.py            its arithmetic
    ledgertables.py     its tables, which only grow
    ledgerfile.py       its file
"""

from scumble.privacy.calibration import DEFAULT_COUNT_SHARE, Calibration, analytic_gaussian_sigma, calibrate
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.composition import disjoint, overlapping
from scumble.privacy.noise import discrete_gaussian, discrete_laplace, gaussian_variance, laplace_variance

__all__ = [
    "DEFAULT_COUNT_SHARE",
    "Calibration",
    "PrivacyClaim",
    "analytic_gaussian_sigma",
    "calibrate",
    "discrete_gaussian",
    "discrete_laplace",
    "disjoint",
    "gaussian_variance",
    "laplace_variance",
    "overlapping",
]
