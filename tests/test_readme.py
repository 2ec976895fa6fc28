"""The README as a newcomer types it: line by line, in an empty folder, with just what its install lines name."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from scumble.learn.estimators import HOMES, TASKS

ROOT = Path(__file__).parent.parent
STEP = re.compile(r"""scumble\[([a-z,]+)\]"|^```(\w*)\n(.*?)^```$""", re.DOTALL | re.MULTILINE)
EXTRAS = {
    "learn": ["sklearn"],
    "plot": ["matplotlib"],
    "sql": ["adbc_driver_manager", "sqlglot"],
    "duckdb": ["duckdb"],
    "spark": ["pyspark", "pandas"],
    "opendp": ["opendp"],
    "frames": ["pandas", "polars"],
}
DRIVER = """
import contextlib, io, json, shlex, sys, warnings

class Hidden:
    names = set(json.loads(sys.argv[1]))
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in self.names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hidden())
names, printed = {"__name__": "__main__"}, []
for kind, text in json.load(sys.stdin):
    if kind == "install":
        Hidden.names -= set(text)
    elif kind == "python":
        exec(compile(text, "README.md", "exec"), names)
    else:
        from scumble.cli import main
        code = main(shlex.split(text, comments=True)[1:])
        assert code == 0, (code, text)
"""


def test_every_extra_is_in_the_readme() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    text = (ROOT / "README.md").read_text()
    assert [name for name in extras if f"`scumble[{name}]`" not in text] == []


def steps() -> list[tuple[str, object]]:
    """What there is to type, and to install before."""
    found: list[tuple[str, object]] = []
    for extras, kind, text in STEP.findall((ROOT / "README.md").read_text()):
        if kind == "sh":
            extras = ",".join(re.findall(r"scumble\[([a-z,]+)\]", text))
        if extras:
            found.append(("install", [name for one in extras.split(",") for name in EXTRAS[one]]))
        elif kind == "python":
            found.append(("python", text))
        elif kind == "console":
            found += [("line", line[2:]) for line in text.splitlines() if line.startswith("$ ")]
    return found


def typed(lines: list[tuple[str, object]], folder: Path) -> subprocess.CompletedProcess[str]:
    hidden = sorted({name for names in EXTRAS.values() for name in names})
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", DRIVER, json.dumps(hidden)],
        input=json.dumps(lines),
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONUTF8": "1"},
    )


@pytest.mark.statistical(rate=1e-8)  # the first example's, below
def test_every_line_runs_in_order_in_an_empty_folder(tmp_path: Path) -> None:
    lines = steps()
    assert sum(kind == "line" for kind, _ in lines) >= 6 and sum(kind == "python" for kind, _ in lines) >= 4
    done = typed(lines, tmp_path)
    assert done.returncode == 0, done.stderr
    check_the_first_example(done.stdout)
    assert {"people.parquet", "points.csv", "people.scumble", "people.png"} <= {one.name for one in tmp_path.iterdir()}


EACH_ESTIMATOR = """
import sys
from scumble import learn
from scumble.cli import main
from scumble.learn.estimators import HOMES, TASKS
for name in HOMES:
    try:
        getattr(learn, name)
    except ImportError as problem:
        assert str(problem).endswith("Hint: pip install 'scumble[learn]'."), problem
        print(type(problem).__name__)
    for one in [one for one in sys.modules if one.startswith("scumble.learn.")]:
        del sys.modules[one]  # as the first that is asked for
for task in TASKS:
    words = ["--bounds", "0:1", "--target", "y", "--epsilon", "1", "--out", "m.scumble"]
    assert main(["fit", "none.csv", "--task", task, *words]) == 2
"""


def test_what_is_not_installed_is_asked_for_by_name(tmp_path: Path) -> None:
    done = typed([("python", EACH_ESTIMATOR)], tmp_path)
    assert done.returncode == 0 and done.stdout.split() == ["ImportError"] * len(HOMES), done.stderr
    assert done.stderr.count("pip install 'scumble[learn]'") == len(TASKS)
    build = "scumble build people.csv --columns age --bandwidth 5 --bounds age=0:100 --epsilon 1 --out p.scumble"
    before: list[tuple[str, object]] = [("line", "scumble demo --table people.csv"), ("line", build)]
    for verb in ("modes p.scumble", "plot p.scumble --out p.png"):
        done = typed([*before, ("line", f"scumble {verb}")], tmp_path)
        assert done.returncode == 1 and "pip install 'scumble[" in done.stderr and "bug" not in done.stderr, verb
        before = []  # the release is there


@pytest.mark.parametrize("there", ["people.csv", "points.csv"])
def test_no_table_of_yours_is_replaced(there: str, tmp_path: Path) -> None:
    (tmp_path / there).write_text("mine")
    done = typed([("line", "scumble demo --table people.csv")], tmp_path)
    assert done.returncode == 1 and f"{there}' is there already" in done.stderr
    assert (tmp_path / there).read_text() == "mine" and len(list(tmp_path.iterdir())) == 1


def check_the_first_example(printed: str) -> None:
    found = re.search(r"about ([\d,]+) people; near .*: ([\d,]+) to ([\d,]+); truly ([\d,]+)", printed)
    assert found is not None
    count, low, high, exact = (int(number.replace(",", "")) for number in found.groups())
    # The count's noise is a Laplace number of scale 25 at most, and 500 are twenty of them: 2e-9. An interval is four
    # standard errors wide, so a width beyond its sides is 5.9 from its middle: 4e-9.
    assert abs(count - 100_000) < 500 and low - (high - low) < exact < high + (high - low)


@pytest.mark.parametrize("page", ["analyst", "curator"])
def test_a_tutorial_names_what_it_needs_before_it_is_needed(page: str) -> None:
    """Packages that `pip install scumble` does not bring."""
    text = (ROOT / "docs" / "tutorials" / f"{page}.md").read_text()
    install = re.search(r"^pip install .*$", text, re.MULTILINE)
    assert install is not None and text.index("```python") > install.start()
    needs = {
        r"scumble\.learn|scumble (modes|fit|predict)": "learn",
        r"scumble plot|\.plot\(": "plot",
        "scumble sql": "sql",
    }
    needs |= {r"import pandas|--by|--report": "pandas"}
    assert [word for use, word in needs.items() if re.search(use, text) and word not in install[0]] == []
