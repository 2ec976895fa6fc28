"""What a release costs in privacy, and the noise that pays for it.

The budget: `budget.py` turns what may be spent into noise scales and a claim (calibration.proof.md), by the moves of
`sensitivity.py`; `facts.py` is the price of facts that come first, and `account.py` says where a release is charged.

The noise: `laws/` has one file per law; `noise.py` is the only file that draws (noise.proof.md), with shares of Laplace
noise in `polya.py` and noise from several custodians in `splitting.py` (splitting.proof.md); `audit_hooks.py` is where
an auditor may watch.

The promise: `claim.py` is it as a value, `composition.py` what several cost together, `gaussian.py` how private
Gaussian noise is, `exact.py` exact fractions, and `wording.py` all of it in words.

The ledger: `ledger.py` keeps what was spent on each dataset (ledger.proof.md), with the arithmetic of `costs.py` and
the file of `ledgerfile.py`.
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
