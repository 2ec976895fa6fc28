"""Calibration for tests of one law: δ > 0 means Gaussian noise, also for few rows, for which Laplace noise is less."""

from __future__ import annotations

from typing import Any

from scumble.privacy import calibrate as quieter
from scumble.privacy.budget import Budget
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.splitting import calibrate_shares as quieter_shares


def calibrate(rows: Any, **budget: Any) -> PrivacyClaim:
    return quieter(rows, **_lawful(budget))


def calibrate_shares(rows: Any, *, custodians: Any, dropouts: Any = 0, **budget: Any) -> PrivacyClaim:
    given = _lawful(budget)
    law = given.pop("mechanism", None)
    return quieter_shares(rows, Budget.of(**given), custodians=custodians, dropouts=dropouts, mechanism=law)


def _lawful(budget: dict[str, Any]) -> dict[str, Any]:
    try:
        gaussian = float(budget.get("delta", 0)) > 0
    except (TypeError, ValueError):
        gaussian = False  # a test of what is refused
    return {"mechanism": "discrete-gaussian", **budget} if gaussian else budget
