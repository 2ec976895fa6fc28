"""Calibration for tests of one law: δ > 0 means Gaussian noise, also for few rows, for which Laplace noise is less."""

from __future__ import annotations

from typing import Any

from scumble.privacy import calibrate as quieter
from scumble.privacy.calibration import Calibration
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.splitting import calibrate_shares as quieter_shares


def calibrate(rows: Any, **budget: Any) -> Calibration:
    return quieter(rows, **_lawful(budget))


def calibrate_shares(rows: Any, **budget: Any) -> PrivacyClaim:
    return quieter_shares(rows, **_lawful(budget))


def _lawful(budget: dict[str, Any]) -> dict[str, Any]:
    try:
        gaussian = float(budget.get("delta", 0)) > 0
    except (TypeError, ValueError):
        gaussian = False  # a test of what is refused
    return {"mechanism": "discrete-gaussian", **budget} if gaussian else budget
