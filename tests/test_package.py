"""The package as a whole: lazy, typed, complete, and light."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import scumble

ROOT = Path(scumble.__file__).parent
HEAVY = {
    *("pyspark", "cupy", "matplotlib", "pandas", "polars", "sklearn", "opendp", "adbc_driver_manager", "torch"),
    *("duckdb", "sqlglot"),
}


def modules() -> list[str]:
    names = [module.name for module in pkgutil.walk_packages(scumble.__path__, "scumble.")]
    return [name for name in names if not name.endswith("__main__")]


def imported(path: str) -> set[tuple[str | None, str]]:
    """(module, name) of every name that a file re-exports, `import X as X`."""
    tree = ast.parse((ROOT / path).read_text())
    found = [
        (node.module, alias) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names
    ]
    return {(home, alias.name) for home, alias in found if alias.asname == alias.name}


def test_the_stub_lists_the_same_names() -> None:
    listed = imported("__init__.pyi")
    assert listed == {*((home, name) for name, home in scumble._HOME.items()), ("scumble._version", "__version__")}


def test_every_estimator_is_listed() -> None:
    from greybox_estimators import estimators
    from scumble.learn import HOMES, TASKS

    assert {name: kind.__module__ for name, kind in estimators().items()} == HOMES
    assert set(TASKS.values()) <= set(HOMES)


def test_every_public_name_is_there_and_documented() -> None:
    assert [name for name in scumble.__all__ if name != "__version__" and not getattr(scumble, name).__doc__] == []


def undocumented(module: ModuleType) -> list[str]:
    """Public methods and properties of its public classes without a docstring, their own or one they inherit."""
    found = []
    for kind in vars(module).values():
        if inspect.isclass(kind) and kind.__module__ == module.__name__ and not kind.__name__.startswith("_"):
            for name, member in vars(kind).items():
                plain = getattr(member, "fget", None) or getattr(member, "func", None) or member
                ours = inspect.isroutine(plain) and inspect.unwrap(plain).__module__ == module.__name__
                told = any(getattr(vars(base).get(name), "__doc__", None) for base in kind.__mro__)
                if ours and not name.startswith("_") and not told:
                    found.append(f"{kind.__qualname__}.{name}")
    return found


def test_every_public_method_is_documented() -> None:
    """Modules, classes and functions are ruff's to check."""
    assert [name for module in modules() for name in undocumented(importlib.import_module(module))] == []


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


CLIENT = """
from typing import assert_type
import scumble
age, town = scumble.Number(0, 99, whole=True), scumble.Category(["Ulm", "Bonn"], missing_words=["-"])
release = scumble.build("people.csv", schema=scumble.Schema(age=age, town=town), epsilon=1.0)
assert_type(release, scumble.TableRelease)
assert_type(release.count("age > 5") - release.count(), scumble.Estimate)
assert_type(release.quantile("age", 0.5), scumble.Estimate)
for found in (release.share("age > 5", by="town"), release.mean("age", by=["town"]), release.quantile("age", [0.5])):
    print(found["value"].sum())
density = scumble.build("people.csv", scumble.EuclideanKernel(5.0), columns=["age"], epsilon=1.0)
assert isinstance(density, scumble.Release)
assert_type(density.rows, int)
assert_type(density.kernel, scumble.Kernel)
assert_type(scumble.TableSketch(release.schema).columns, tuple[str, ...])
table = scumble.TableSketch(release.schema, pairs=[("age", "town")])
assert_type(scumble.combine([table.release_share(1.0, custodians=1)]), scumble.TableRelease)
assert_type(table.release_share(1.0, custodians=1).from_sum([1], arrived=1), scumble.TableRelease)
assert_type(scumble.PrivateKDE.from_release(density, bounds=(0.0, 9.0)), scumble.PrivateKDE)
assert_type(scumble.PrivateLinearRegression.from_release("x.scumble", target="age"), scumble.PrivateLinearRegression)
print(release.sample(10)["age"].mean(), release.sample(10, format="arrow").num_rows)
"""
WRONG = """release.count("age > 5").wheels
scumble.Number("a")
scumble.PrivateKDE(bandwith=3.0)
scumble.PrivateKDE.from_release(density, bandwith=3.0)
scumble.PrivateKDE.from_release(density, rows="many")
"""


def test_a_clients_program_is_typed(tmp_path: Path) -> None:
    """Strictly, by a type checker that knows pandas not, and with what `make check` has left: a mistake is an error."""
    assert (ROOT / "py.typed").exists()
    (tmp_path / "client.py").write_text(CLIENT)
    (tmp_path / "wrong.py").write_text(CLIENT + WRONG)
    command = [sys.executable, "-m", "mypy", str(tmp_path / "client.py"), str(tmp_path / "wrong.py")]
    where = {"cwd": ROOT.parent.parent, "env": os.environ | {"MYPYPATH": "src"}}
    said = subprocess.run(command, **where, capture_output=True, text=True, check=False)
    found = re.findall(r"(\w+)\.py:\d+: error:", said.stdout)
    assert found == ["wrong"] * len(WRONG.splitlines()), said.stdout
