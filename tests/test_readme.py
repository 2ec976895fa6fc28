"""The README as a newcomer types it: line by line, in an empty folder, with just what its install lines name."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from scumble.learn import HOMES, TASKS

ROOT = Path(__file__).parent.parent
STEP = re.compile(r"""scumble\[([a-z,]+)\]"|^```(\w*)\n(.*?)^```$""", re.DOTALL | re.MULTILINE)
EXTRAS = {
    "learn": ["sklearn"],
    "plot": ["matplotlib"],
    "sql": ["adbc_driver_manager", "sqlglot", "pandas"],
    "duckdb": ["duckdb"],
    "fast": ["numba"],
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


@pytest.mark.statistical(rate=1e-8)  # the first answer, below
def test_every_line_runs_in_order_in_an_empty_folder(tmp_path: Path) -> None:
    lines = steps()
    assert sum(kind == "line" for kind, _ in lines) >= 5 and sum(kind == "python" for kind, _ in lines) >= 2
    done = typed(lines, tmp_path)
    assert done.returncode == 0, done.stderr
    check_the_first_answer(done.stdout)
    assert {"people.scumble", "people.html", "synthetic.csv"} <= {one.name for one in tmp_path.iterdir()}


EACH_ESTIMATOR = """
import sys
import tokenize
from scumble import learn
from scumble.cli import main
from scumble.learn import HOMES, TASKS
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
    assert done.returncode == 1 and f"{there}' already exists" in done.stderr
    assert (tmp_path / there).read_text() == "mine" and len(list(tmp_path.iterdir())) == 1


def check_the_first_answer(printed: str) -> None:
    """The table has 8,835 people of 65 and older in Ulm.

    The interval's half width is about 70, two standard errors. An error of 1,000 is beyond 14 standard errors even if
    they were twice as large, and a Laplace law exceeds that with probability exp(-14 √2) = 2.5e-9.
    """
    found = re.search(r"([\d,.]+) \(([\d,.]+) to ([\d,.]+)\)", printed)
    assert found is not None
    value, low, high = (float(number.replace(",", "")) for number in found.groups())
    assert low < value < high and abs(value - 8_835) < 1_000


@pytest.mark.parametrize("page", ["analyst", "curator", "density"])
def test_a_tutorial_names_what_it_needs_before_it_is_needed(page: str) -> None:
    """Packages that `pip install scumble` does not bring."""
    text = (ROOT / "docs" / "tutorials" / f"{page}.md").read_text()
    install = re.search(r"^pip install .*$", text, re.MULTILINE)
    assert install is not None and text.index("```python") > install.start()
    needs = {
        r"scumble\.learn|scumble (modes|fit|predict)": "learn",
        r"scumble plot|\.plot\(": "plot",
        r"scumble[ .]sql": "sql",
        r"import pandas|--by|--report|\.to_string\(": "sql|pandas",
    }
    assert [word for use, word in needs.items() if re.search(use, text) and not re.search(word, install[0])] == []


# ---- the notebooks run from top to bottom, show what they promise, and are stored without output ----


NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))

# In a process of its own, as warnings are: one for all, for imports take longer than cells.
RUN = """
import json, os, sys
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

shell, told = InteractiveShell.instance(), {}
shell.enable_gui = lambda gui=None: None  # there is no window
for path in sys.argv[1:]:
    folder = os.path.basename(path)
    os.mkdir(folder)
    os.chdir(folder)
    shell.reset(new_session=False)
    shown, said = [], ""
    for cell in json.load(open(path, encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            with capture_output() as seen:
                done = shell.run_cell("".join(cell["source"]))
                done.raise_error()
                last = [] if done.result is None else [shell.display_formatter.format(done.result)[0]]
            outputs = [*last, *(output.data for output in seen.outputs)]
            shown += [{kind: str(data) for kind, data in output.items()} for output in outputs]
            said += seen.stderr
    told[folder] = shown, said
    os.chdir("..")
json.dump(told, open("told.json", "w"))
"""


def test_they_are_stored_without_output() -> None:
    for path in NOTEBOOKS:
        for cell in json.loads(path.read_text())["cells"]:
            assert not cell.get("outputs") and cell.get("execution_count") is None


def test_they_run_from_top_to_bottom(tmp_path: Path) -> None:
    environment = {**os.environ, "IPYTHONDIR": str(tmp_path / "own")}
    command = [sys.executable, "-c", RUN, *map(str, NOTEBOOKS)]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads((tmp_path / "told.json").read_text())
    assert len(told) == len(NOTEBOOKS) > 3
    for name, (shown, said) in told.items():
        assert any("image/png" in data for data in shown), f"{name}: no picture"
        assert any("scumble-card" in data.get("text/html", "") for data in shown), f"{name}: no card"
        assert not said, f"{name}: a warning was shown: {said}"


# ---- pages are short and in plain English ----


PAGES = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))
PAGE, PARAGRAPH, TOTAL = 2_000, 100, 30_000
"""The most words of a page, of a paragraph, and of all pages in docs/."""
LIMITS = {"README.md": 900, "CHANGELOG.md": 1_200, "docs/limitations.md": 1_500, "docs/speed.md": 1_000}
"""Pages with a limit of their own."""
REFERENCE = ("docs/api/", "docs/command-line.md", "docs/file-format.md")
"""As long as it must be."""
BANNED = re.compile(
    r"\b(nought|foretold|told|whoever|thereof|dearer|beside|hangs? together|made[ -]up|by the clock|as a rule|such a|"
    r"since then|was tried|measured again)\b|(?:^|[.:] )of which\b|"
    r"neighbour|colour|behaviour|favour|centre|catalogue|licence|labelled|modelled|(?<!_)learnt|"
    r"(?<=\w)(?:al|ar|or|gn|tim|nim|ard|dom)is(?:e|ed|es|ing|ation)\b",
    re.IGNORECASE | re.MULTILINE,
)
"""What no native writer says in technical prose, the diary of a project, and British spelling."""
PUBLIC = ("catalogue",)
"""Names in the code."""


def prose(text: str) -> str:
    """Without code, and without the tables that commands write."""
    text = re.sub(r"<!-- begin: .*?<!-- end -->", "", text, flags=re.DOTALL)
    text = re.sub(r"^ *```.*?^ *```$|<!--.*?-->", "", text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"`[^`\n]*`|\]\([^)\s]*\)", " code ", text)


def words(text: str) -> int:
    return len(re.findall(r"\S*[^\W\d_]\S*", text))


def paragraphs(text: str) -> list[str]:
    """Items of a list count by themselves, and so do the cells of a table."""
    blocks = re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )", text)
    return [part for block in blocks for part in (re.split(r"\||\n", block) if block.startswith("|") else [block])]


@pytest.mark.parametrize("page", [*sorted(path.name for path in ROOT.glob("*.md")), *PAGES])
def test_a_page_is_short_and_plain(page: str) -> None:
    text = prose((ROOT / page).read_text("utf-8"))
    if not page.startswith(REFERENCE):
        assert words(text) <= LIMITS.get(page, PAGE)
    long = [part for part in paragraphs(text) if words(part) > PARAGRAPH]
    assert not long, long
    assert not (found := [match[0] for match in BANNED.finditer(text)]), found


@pytest.mark.parametrize("room", ["src/scumble", "tests", "benchmarks", "requirements", "docs"])
def test_docstrings_and_comments_are_plain(room: str) -> None:
    found = []
    for path in sorted((ROOT / room).rglob("*.py")):
        told = "\n".join(line for text in remarks(path) for line in text.splitlines() if not CODE.match(line))
        found += [(path.name, match[0]) for match in BANNED.finditer(prose(told)) if match[0] not in PUBLIC]
    assert not found, found


CODE = re.compile(r"\s*(>>>|\.\.\.|[\w, ]+ : )")
"""Lines of a docstring that are an example, or name a parameter."""


def remarks(path: Path) -> Iterator[str]:
    """The comments of a file, and the strings that are statements by themselves."""
    begins = True
    for token in tokenize.generate_tokens(io.StringIO(path.read_text("utf-8")).readline):
        if token.type == tokenize.COMMENT or (token.type == tokenize.STRING and begins):
            yield token.string
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            begins = token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)


def test_all_pages_together_can_be_read() -> None:
    assert sum(words(prose((ROOT / page).read_text("utf-8"))) for page in PAGES) <= TOTAL


def test_what_is_long_or_odd_is_found() -> None:
    text = "One two.\n\n```text\nno\n```\n\n- three four\n- five\n\n| six | seven |\n\n<!-- begin: x -->no<!-- end -->"
    assert words(prose(text)) == 7
    assert [words(part) for part in paragraphs(prose(text)) if words(part)] == [2, 2, 1, 1, 1]
    assert len(BANNED.findall("It is told here. Of which there are two, made up by neighbours.")) == 4
    assert not BANNED.search("A neighbor of this color, next to that one.")
