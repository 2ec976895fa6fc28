"""`scumble fit --ledger`: charged before the noise, with the very claim that the model makes."""

from __future__ import annotations

from pathlib import Path

import pytest

from scumble import learn
from scumble.cli import main
from scumble.privacy.ledger import open_ledger


def test_a_fit_is_charged_until_the_budget_is_spent(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    table, book = tmp_path / "people.csv", tmp_path / "town.ledger"
    table.write_text("age,mode\n" + "".join(f"{age},{'bus' if age < 40 else 'car'}\n" for age in range(20, 60)))
    assert main(["ledger", str(book), "--open", "people", "--epsilon", "1.5"]) == 0
    line = f"fit {table} --task classify --columns age --target mode --classes bus,car --bounds age=0:100 --epsilon 1"
    account = ["--ledger", str(book), "--dataset", "people", "--out"]
    assert main([*line.split(), *account, str(tmp_path / "one.scumble")]) == 0
    account_now = open_ledger(book).account("people")
    assert float(account_now.spent.epsilon) == pytest.approx(1.0)
    assert [charge.identity for charge in account_now.charges] == [learn.load(tmp_path / "one.scumble").identity_]
    capsys.readouterr()
    assert main([*line.split(), *account, str(tmp_path / "two.scumble")]) == 3
    assert "left" in capsys.readouterr().err
    assert not (tmp_path / "two.scumble").exists()
    assert float(open_ledger(book).account("people").spent.epsilon) == pytest.approx(1.0)
