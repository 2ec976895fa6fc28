"""The examples in the docstrings of every module of `scumble.table` run."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

from scumble import table as views

MODULES = [module.name for module in pkgutil.iter_modules(views.__path__, "scumble.table.")]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0
