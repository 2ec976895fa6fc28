"""Every estimator charges its fit to a ledger: at once, before any noise, with the claim that the model makes."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scumble
from estimators import EACH, KINDS
from scumble import learn
from scumble.gate.spending import Prepaid
from scumble.kernels import ColumnKernel
from scumble.learn.base import PrivateEstimator
from scumble.privacy import calibrate, overlapping
from scumble.privacy.account import Account
from scumble.privacy.ledger import Cost

X = np.random.default_rng(0).uniform(0.0, 1.0, (300, 2))


def options_of(kind: type[PrivateEstimator]) -> list[dict[str, Any]]:
    """Every way that makes another number of releases."""
    names = kind._get_param_names()
    plain: dict[str, Any] = {"bounds": (0.0, 1.0), "epsilon": 0.7, "rows": 20}
    if "classes" in names:
        plain["classes"] = ["a", "b"]
    if "target_bounds" in names:
        plain |= {"target_bounds": (0.0, 1.0), "rows": 40}
    out = [plain, {**plain, "delta": 1e-6}]
    if "selection_share" in names:
        several = {"kernel": [ColumnKernel(0.2, 2), ColumnKernel(0.5, 2)]}
        out += [{**plain, **several, "selection_share": 0.2}, {**plain, "rule": "ml"}]
        out.append({**plain, "selection_share": 0.2, "delta": 1e-6})  # of columns
    return out


CASES = [(kind, options) for kind in KINDS for options in options_of(kind)]


def fitted(kind: type[PrivateEstimator], options: dict[str, Any], **account: Any) -> Any:
    names = kind._get_param_names()
    y = np.where(X[:, 0] > 0.5, "a", "b") if "classes" in names else X[:, 0] if "target_bounds" in names else None
    return kind(**options).fit(X, y, **account)


@pytest.mark.parametrize(("kind", "options"), CASES, ids=lambda value: getattr(value, "__name__", None))
def test_a_fit_is_one_entry_with_the_models_identity_and_claim(kind: Any, options: Any, tmp_path: Path) -> None:
    book = scumble.Ledger.create(tmp_path / "town.ledger")
    book.open_dataset("people", epsilon=1, delta=1e-5)
    price = kind(**options).price()  # known before it sees data
    model = fitted(kind, options, ledger=book, dataset="people")
    assert model.privacy_.epsilon <= price.epsilon and model.privacy_.delta <= price.delta
    (charge,) = book.account("people").charges
    assert charge.identity == model.identity_
    assert charge.cost in (Cost.of(model.privacy_), Cost.of(model.privacy_, rounded=False))
    assert charge.cost.epsilon <= Cost.of(model.privacy_).epsilon and model.privacy_.epsilon <= 0.7
    path = tmp_path / "model.scumble"
    model.save(path)
    assert learn.load(path).identity_ == model.identity_


@EACH
def test_a_fit_that_is_refused_draws_no_noise(kind: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    book = scumble.Ledger.create(tmp_path / "town.ledger")
    book.open_dataset("people", epsilon=0.1, delta=1e-5)

    def no_noise(*_: object) -> np.ndarray:
        raise AssertionError("noise was drawn")

    monkeypatch.setattr("scumble.privacy.noise._entropy", no_noise)
    for options in options_of(kind):
        with pytest.raises(scumble.BudgetError):
            fitted(kind, options, ledger=book, dataset="people")
    assert book.account("people").charges == ()


def test_what_was_not_announced_is_refused() -> None:
    one, other = calibrate(8, epsilon=1), calibrate(8, epsilon=2)
    paid = Prepaid([one], None)
    assert paid.charge(one) == paid.identity
    for claim in (one, other):  # again, and another
        with pytest.raises(scumble.PrivacyError, match="not announced"):
            paid.charge(claim)
    two = Prepaid([one, other], None)
    assert len({two.charge(other), two.charge(one), two.identity}) == 3


def test_what_was_announced_is_charged_once_and_at_once(tmp_path: Path) -> None:
    book = scumble.Ledger.create(tmp_path / "town.ledger")
    book.open_dataset("people", epsilon=1)
    one, two = calibrate(8, epsilon=0.25), calibrate(8, epsilon=0.5)
    paid = Prepaid([one, two], Account.of(book, "people", None))
    (charge,) = book.account("people").charges
    assert charge.identity == paid.identity and charge.cost == Cost.of(overlapping([one, two]))
    assert paid.key == (book.key(), "people", None) and Prepaid([one], None).key is None
    names = [paid.charge(two), paid.charge(one)]
    assert names == [str(uuid.uuid5(uuid.UUID(paid.identity), f"release {k}")) for k in (1, 2)]
    assert len(book.account("people").charges) == 1


def test_unknown_labels_are_not_dropped_where_their_number_is_public() -> None:
    model = learn.PrivateLinearClassifier(bounds=(0, 1), classes=["a", "b"], unknown="drop", neighbors="replace")
    with pytest.raises(scumble.PrivacyError):
        model.fit(X, ["a"] * 150 + ["b"] * 149 + ["n/a"])
    assert not hasattr(model, "release_")
