"""What a release costs in privacy, and the noise that pays for it.

Before the noise::

    budget.py           what may be spent, and what becomes of it: noise scales and a claim (calibration.proof.md)
    account.py          where it is charged: a ledger, a dataset, a part
    sensitivity.py      how far one person can move a release
    facts.py            a few noisy facts before a release: their cost, and what is left

The noise::

    laws/               the laws, one file each: variance, draw, curve, cost
    noise.py            the exact samplers: the only file that draws (noise.proof.md)
    polya.py            a share of discrete Laplace noise
    splitting.py        noise from several custodians (splitting.proof.md)
    audit_hooks.py      where an auditor may watch

The promise::

    claim.py            what a release promises, as a value
    composition.py      what several releases cost together
    gaussian.py         how private Gaussian noise is; special functions with NumPy alone
    exact.py            exact fractions, and safe floats
    wording.py          budgets and claims in words

The ledger::

    ledger.py           what has been spent on each dataset (ledger.proof.md)
    costs.py            its arithmetic
    ledgerfile.py       its file and its tables, which only grow
"""

from scumble.privacy.budget import DEFAULT_COUNT_SHARE, calibrate
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.composition import disjoint, overlapping
from scumble.privacy.gaussian import analytic_gaussian_sigma
from scumble.privacy.noise import discrete_gaussian, discrete_laplace, gaussian_variance, laplace_variance

__all__ = [
    "DEFAULT_COUNT_SHARE",
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
