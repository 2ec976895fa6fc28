"""What a release costs in privacy, and the noise that pays for it."""

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
