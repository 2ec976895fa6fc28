"""`scumble fit --ledger`: charged before the noise, with the very claim that the model makes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from scumble import learn
from scumble.cli import main
from scumble.cli.fit import TASKS, price
from scumble.privacy.ledger import open_ledger

TARGETS: dict[str, dict] = {
    "classify": {"classes": ["a", "b", "c"]},
    "separate": {"classes": ["a", "b"]},
    "regress": {"target_bounds": (0.0, 1.0)},
}


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("task", list(TASKS))
def test_the_price_is_the_models_claim(task: str, delta: float, rng: np.random.Generator) -> None:
    X = rng.uniform(size=(300, 2))
    y = X[:, 0] if task == "regress" else rng.choice(["a", "b"], 300)
    options = {"bounds": ([0.0, 0.0], [1.0, 1.0]), "delta": delta, "epsilon": 0.7, "rows": 20, **TARGETS[task]}
    kind = getattr(learn, TASKS[task])
    claim = kind(**options).fit(X, y).privacy_
    assert price(kind, options) == claim
    assert claim.epsilon <= 0.7


def test_a_fit_is_charged_until_the_budget_is_spent(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    table, book = tmp_path / "people.csv", tmp_path / "town.ledger"
    table.write_text("age,mode\n" + "".join(f"{age},{'bus' if age < 40 else 'car'}\n" for age in range(20, 60)))
    assert main(["ledger", str(book), "--open", "people", "--epsilon", "1.5"]) == 0
    line = f"fit {table} --task classify --columns age --target mode --classes bus,car --bounds age=0:100 --epsilon 1"
    account = ["--ledger", str(book), "--dataset", "people", "--out"]
    assert main([*line.split(), *account, str(tmp_path / "one.scumble")]) == 0
    assert float(open_ledger(book).account("people").spent.epsilon) == pytest.approx(1.0)
    capsys.readouterr()
    assert main([*line.split(), *account, str(tmp_path / "two.scumble")]) == 3
    assert "left" in capsys.readouterr().err
    assert not (tmp_path / "two.scumble").exists()
    assert float(open_ledger(book).account("people").spent.epsilon) == pytest.approx(1.0)
