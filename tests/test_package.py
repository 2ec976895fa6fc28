"""The package as a whole: lazy, typed, complete, and light."""

from __future__ import annotations

import ast
import doctest
import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import scumble

ROOT = Path(scumble.__file__).parent
HEAVY = {"pyspark", "cupy", "matplotlib", "pandas", "polars", "sklearn", "opendp", "adbc_driver_manager", "torch"}


def modules() -> list[str]:
    names = [module.name for module in pkgutil.walk_packages(scumble.__path__, "scumble.")]
    return [name for name in names if not name.endswith("__main__")]


def test_the_stub_lists_the_same_names() -> None:
    tree = ast.parse((ROOT / "__init__.pyi").read_text())
    listed = {
        (node.module, alias.name) for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    assert listed == {*((home, name) for name, home in scumble._HOME.items()), ("scumble._version", "__version__")}


@pytest.mark.parametrize("name", scumble.__all__)
def test_every_public_name_is_there_and_documented(name: str) -> None:
    value = getattr(scumble, name)
    assert name == "__version__" or value.__doc__, f"{name} has no docstring"


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Skech'"):
        scumble.Skech  # noqa: B018


def test_importing_and_sketching_loads_nothing_heavy() -> None:
    program = (
        "import sys, numpy, scumble\n"
        "before = set(sys.modules)\n"
        "scumble.Sketch(scumble.EuclideanKernel(1.0), 2, rows=8, buckets=8).update(numpy.zeros((3, 2))).release(1.0)\n"
        "print(*sorted(sys.modules))\n"
        "assert 'numba' not in before, 'import scumble alone must not load the compiler'\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not HEAVY & set(done.stdout.split())


@pytest.mark.parametrize("name", modules())
def test_the_examples_in_docstrings_run(name: str) -> None:
    results = doctest.testmod(
        importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    )
    assert results.failed == 0


def test_there_are_examples() -> None:
    finder = doctest.DocTestFinder()
    assert (
        sum(len(test.examples) > 0 for name in modules() for test in finder.find(importlib.import_module(name))) >= 15
    )
