"""Calibration for tests of one law: δ > 0 means Gaussian noise, also for few rows, for which Laplace noise is less."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

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


def law_of(kind: str, scale: float, deviations: int = 9) -> np.ndarray:
    """P(k) for |k| up to where less than 1e-16 weighs, by its definition."""
    reach = math.ceil(scale * (40 if kind == "discrete-laplace" else deviations)) + 2
    k = np.arange(-reach, reach + 1)
    weights = np.exp(-abs(k) / scale) if kind == "discrete-laplace" else np.exp(-(k**2) / (2 * scale**2))
    return weights / weights.sum()


def brute(epsilon: float, kind: str, moves: list[tuple[int, float]], deviations: int = 9) -> float:
    """Σ max(0, P − e^ε Q) over every outcome of all coordinates, each with a move and a scale of its own."""
    here, there = np.ones(1), np.ones(1)
    for move, scale in moves:
        law = np.pad(law_of(kind, scale, deviations), abs(move))
        here = np.multiply.outer(here, law).ravel()
        there = np.multiply.outer(there, np.roll(law, move)).ravel()
    return float(np.maximum(here - math.exp(epsilon) * there, 0).sum())
