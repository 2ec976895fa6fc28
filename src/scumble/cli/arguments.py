"""Options that verbs share. Their values come from the command line, else from a TOML file, else they are defaults."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from typing import Any

from scumble.errors import ParameterError

Parser = argparse.ArgumentParser

# ---- values ----


class Whole:
    """A whole number within limits, beyond which nothing could be meant."""

    def __init__(self, least: int = 1, most: int = 10**9) -> None:
        self.least, self.most = least, most

    def __call__(self, text: str) -> int:
        try:
            found = int(text)
        except ValueError:
            found = self.least - 1
        if not self.least <= found <= self.most:
            raise argparse.ArgumentTypeError(f"must be a whole number from {self.least} to {self.most}")
        return found


SEED = Whole(0, 2**64 - 1)


def cells(text: str) -> int | tuple[int, ...]:
    """256; or 200,100, one number for each axis of a grid"""
    whole = Whole()
    try:
        found = tuple(whole(part) for part in text.split(","))
    except argparse.ArgumentTypeError:
        raise argparse.ArgumentTypeError(
            f"must be a whole number from 1 to {whole.most}, or of a grid with --bounds one for each axis, 200,100"
        ) from None
    return found[0] if len(found) == 1 else found


def name(text: str) -> str:
    """age"""
    if not text:
        raise argparse.ArgumentTypeError("must not be empty")
    return text


def real(text: str) -> float:
    """0.95"""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a number, and {text[:40]!r} is none") from None


def names(text: str) -> list[str]:
    """age,income"""
    found = [part.strip() for part in text.split(",")]
    if not all(found):
        raise argparse.ArgumentTypeError("names must be separated by single commas, such as age,income")
    return found


def _pairs(text: str, what: str, words: str = "") -> dict[str, str]:
    found = {}
    for part in names(text):
        name, mark, value = part.rpartition("=")
        if not mark or not name:
            plain = "; numbers stand plain, as 100000: commas separate" if re.fullmatch(r"[0-9.]+", part) else words
            raise argparse.ArgumentTypeError(f"must look like {what}{plain}")
        if name in found:
            raise argparse.ArgumentTypeError(f"names {name!r} twice, and only one of them can be meant")
        found[name] = value
    return found


def scale(text: str) -> float | dict[str, float]:
    """10, or age=10,income=20000"""
    try:
        if "=" not in text:
            return float(text)
        return {name: float(value) for name, value in _pairs(text, "age=10,income=20000").items()}
    except ValueError:
        raise argparse.ArgumentTypeError("must be a number, or look like age=10,income=20000") from None


def bounds(text: str) -> dict[str, tuple[Any, Any]] | tuple[float, float]:
    """0:100 for all columns, or age=0:100,seen=2024-01-01:2024-12-31"""
    if "=" in text or ":" not in text:
        return _ranges(text, _bound)
    from scumble.checks import LARGEST

    low, high = ranges(f"all={text}")["all"]
    if not low < high:
        raise argparse.ArgumentTypeError(f"must have low below high, got {text}")
    if not all(isinstance(side, str) or abs(side) <= LARGEST for side in (low, high)):
        raise argparse.ArgumentTypeError(f"must lie between -1e300 and 1e300, got {text}")
    return low, high


def ranges(text: str) -> dict[str, tuple[Any, Any]]:
    """age=0:100,seen=2024-01-01:2024-12-31"""
    return _ranges(text, _bound)


def _ranges(text: str, side: Callable[[str], Any]) -> dict[str, tuple[Any, Any]]:
    found = {}
    try:
        for name, value in _pairs(text, "age=0:100,income=0:200000").items():
            low, high = map(side, value.split(":"))
            found[name] = (low, high)
    except ValueError:
        dates = "; dates are written 1965-01-01" if re.search(r"[0-9][./-][0-9]+[./-][0-9]", text) else ""
        raise argparse.ArgumentTypeError(f"must look like age=0:100,income=0:200000{dates}") from None
    return found


def _bound(text: str) -> float | str:
    """100, or 2024-12-31, or 2024-12, or a year"""
    return text if re.fullmatch(r"[0-9]{4}-[0-9]{2}(-[0-9]{2})?", text.strip()) else _number(text)


def _number(text: str) -> float:
    """100; four digits stay an integer, which is a year where the column has dates"""
    return int(text) if re.fullmatch(r"[0-9]{4}", text.strip()) else float(text)


def values(text: str) -> dict[str, float | str]:
    """age=40,mode=bus"""
    found: dict[str, float | str] = {}
    words = "; commas separate, so a value that has one goes into a table of points, in quotes"
    for name, value in _pairs(text, "age=40,mode=bus", words).items():
        try:
            found[name] = _number(value)
        except ValueError:
            found[name] = value
    return found


def choices(text: str) -> dict[str, list[str]]:
    """town=Ulm|Bonn,mode=bus|car"""
    return {name: value.split("|") for name, value in _pairs(text, "town=Ulm|Bonn,mode=bus|car").items()}


LISTS = (names, scale, bounds, ranges, values, choices)
"""What is written once, with commas: a second one would replace all of the first."""


# ---- groups of options ----


def source(parser: Parser, *, schema: bool = True) -> None:
    """Where the records come from; where `schema` is an option, it names the columns of a table."""
    not_with = "; not with --schema, which names them" if schema else ""
    group = parser.add_argument_group("what to read")
    group.add_argument(
        "source",
        nargs="*",
        help="files, a folder, a quoted glob, '-' for standard input, sqlite:///, duckdb:/// or postgresql://...",
    )
    group.add_argument("--columns", type=names, metavar="A,B", help=f"the columns, in order (default: all){not_with}")
    reading(group)
    group.add_argument("--query", help="a query to a database, instead of --table")
    group.add_argument(
        "--invalid",
        choices=["error", "drop"],
        help="rows with missing, infinite or unreadable cells: leave them out (default), or stop, which tells "
        "whoever learns of it that there are some (the default of --neighbors replace, whose number of rows is public)",
    )


def reading(parser: Any, *, table: str = "table") -> None:
    """How a file is read; `table` is what --table is called where that is the name of a file."""
    parser.add_argument(
        "--format", choices=["csv", "parquet", "arrow", "json", "excel"], help="if the file's name does not say"
    )
    parser.add_argument(
        "--table", dest=table, metavar="NAME", help="the table of a database, or the sheet of an Excel workbook"
    )
    parser.add_argument("--delimiter", help="what separates the cells of a CSV file; 'tab' is one")
    parser.add_argument(
        "--decimal", default=".", choices=[".", ","], help="what stands before the decimals in a CSV file (default: .)"
    )
    parser.add_argument("--encoding", default="utf8", help="of a CSV file, such as latin-1 (default: utf8)")


def kernel(parser: Parser) -> None:
    """The kernel and its columns."""
    group = parser.add_argument_group("what near means (all public)")
    group.add_argument("--kernel", metavar="NAME", help="euclidean (default), manhattan, angular, hamming or jaccard")
    group.add_argument("--bandwidth", type=real, help="the distance at which two records are no longer near")
    group.add_argument("--power", type=Whole(1, 10_000), help="how sharp: the kernel to that power (default: 1)")
    group.add_argument("--scale", type=scale, metavar="A=10,B=200", help="divide columns by these first")
    group.add_argument(
        "--categories", type=names, metavar="C,D", help="columns whose values are equal or not (Hamming)"
    )
    group.add_argument(
        "--tokens",
        type=names,
        metavar="E",
        help="a column of sets, or of text, split at blanks and nowhere else: a,b is one token (Jaccard)",
    )


def kinds(parser: Parser) -> None:
    """Columns of numbers that hold something else."""
    group = parser.add_argument_group("columns that the kernel reads as numbers (all public)")
    group.add_argument("--whole", type=names, metavar="A", help="whole numbers: so are cells and samples")
    group.add_argument("--dates", type=names, metavar="B", help="dates, as days since 1970-01-01")
    group.add_argument("--times", type=names, metavar="C", help="times, as days since 1970-01-01 with fractions")
    group.add_argument("--booleans", type=names, metavar="D", help="true or false, yes or no: 1 and 0")


def table(parser: Parser) -> None:
    """A whole table instead of a kernel."""
    group = parser.add_argument_group("a whole table, instead of a kernel (all public)")
    group.add_argument("--schema", metavar="FILE.toml", help="its columns; scumble schema drafts it")
    group.add_argument("--target", metavar="COLUMN", help="count every class of this column apart")
    group.add_argument("--levels", type=Whole(2, 2**16), help="levels of a column in pairs (default: as memory allows)")


def size(parser: Parser, *, n: bool = True) -> None:
    """The size of the sketch; `n`: whether the plan can heed how many records there will be."""
    group = parser.add_argument_group("size (left out: the plan chooses)")
    group.add_argument("--rows", type=Whole(), help="rows of counters")
    group.add_argument(
        "--buckets", type=cells, metavar="N", help="counters per row; of a grid also cells along each axis, 200,100"
    )
    group.add_argument(
        "--design",
        choices=["auto", "iid", "sobol", "orthogonal", "grid"],
        default="auto",
        help="who chooses the rows: the plan (auto), or you; grid needs --bounds",
    )
    group.add_argument(
        "--bounds", type=bounds, metavar="A=0:100", help="public bounds, for the grid; 0:100 for all columns"
    )
    if n:
        group.add_argument(
            "--n", type=Whole(1, 10**15), help="roughly how many records, if that is public: for the plan"
        )
    group.add_argument("--seed", type=SEED, default=0, help="of the hash functions; public (default: 0)")


def budget(parser: Parser, *, hint: bool = False, persons: bool = True) -> None:
    """The privacy budget and its unit; with `hint`, for a plan only; `persons`: whether a column can tell them."""
    held = (
        "; a person column enforces it, without one it is your word" if persons else ": your word, nothing enforces it"
    )
    group = parser.add_argument_group("budget, for the plan only" if hint else "what is promised")
    group.add_argument("--epsilon", type=real, default=1.0 if hint else None, help="the privacy budget, such as 1")
    group.add_argument("--delta", type=real, default=0.0, help="0 (default), or a tiny number such as 1e-6")
    if not hint:
        group.add_argument("--rho", type=real, help="instead of --epsilon: zero-concentrated privacy, such as 0.02")
        group.add_argument("--mu", type=real, help="instead of --epsilon: Gaussian differential privacy, such as 0.2")
    group.add_argument(
        "--neighbors",
        choices=["add-remove", "replace"],
        default="add-remove",
        help="hide whether a record is there (default), or only what it says",
    )
    group.add_argument(
        "--records-per-person",
        type=Whole(),
        metavar="M",
        help=f"the most that anybody has, who is then protected as a whole{held} (default: 1)",
    )


def ledger(parser: Parser) -> None:
    """Where to charge the budget."""
    group = parser.add_argument_group("the ledger (see scumble ledger --help)")
    group.add_argument("--ledger", metavar="FILE", help="charge this file before noise is drawn; refuse if it is spent")
    group.add_argument("--dataset", metavar="NAME", help="the dataset in the ledger")
    group.add_argument("--part", metavar="NAME", help="one of the dataset's disjoint parts")


def people(parser: Parser) -> None:
    """Whose record each row is."""
    parser.add_argument(
        "--person-column",
        metavar="COLUMN",
        help="whose record it is: of each person only --records-per-person, which must be given, are counted",
    )


def running(parser: Parser) -> None:
    """Threads, empty tables, checkpoints, options in a file."""
    group = parser.add_argument_group("running")
    group.add_argument("--threads", type=Whole(1, 65_536), help="cores to count with (default: all)")
    group.add_argument(
        "--allow-empty", action="store_true", help="with --invalid error: also release a table without rows"
    )
    group.add_argument("--checkpoint", metavar="FILE", help="a SECRET file to resume from if the build is killed")
    group.add_argument("--checkpoint-seconds", type=real, default=30.0, metavar="S", help="how often (default: 30)")
    group.add_argument("--config", metavar="FILE.toml", help="options in a file; those given here take precedence")


def cluster(parser: Parser) -> None:
    """Which engine counts, and where."""
    group = parser.add_argument_group("where to count")
    group.add_argument(
        "--engine",
        choices=["auto", "cpu", "gpu", "spark"],
        default="auto",
        help="this machine (auto: a GPU where it is worth it), or a Spark cluster",
    )
    group.add_argument(
        "--master",
        metavar="URL",
        help="of the cluster: local[4], spark://host:7077, yarn, k8s://... (default: its own)",
    )


def replace_flag(parser: Any) -> None:
    """Leave to replace a file."""
    parser.add_argument("--replace", action="store_true", help="the file to write may be there already")


def json_flag(parser: Any) -> None:
    """Output for programs."""
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table for people")


# ---- putting together ----


def require(args: argparse.Namespace, **options: str) -> None:
    """Refuse to go on without these options; the words say what for."""
    for name, why in options.items():
        if getattr(args, name) in (None, []):
            flag = "SOURCE" if name == "source" else f"--{name.replace('_', '-')}"
            raise ParameterError(f"Give {flag}: {why}.")


def promised(args: argparse.Namespace, why: str) -> dict[str, Any]:
    """The budget that was asked for, in one currency, and whom it protects."""
    currencies = {name: getattr(args, name, None) for name in ("epsilon", "rho", "mu")}
    given = [name for name, value in currencies.items() if value is not None]
    if not given:
        raise ParameterError(f"Give --epsilon: {why}.")
    if len(given) > 1:
        raise ParameterError(
            f"Give the budget in one currency, not in --{' and --'.join(given)}. Hint: --epsilon (with --delta), --rho "
            "(zero-concentrated) or --mu (Gaussian differential privacy); leave out the others."
        )
    money = {given[0]: currencies[given[0]], "delta": args.delta}
    return {**money, "neighbors": args.neighbors, "records_per_person": per_person(args)}


def per_person(args: argparse.Namespace) -> int:
    """The most records of a person; a column of persons needs it said: 1 would leave out most of a table of visits."""
    if args.records_per_person is None and getattr(args, "person_column", None) is not None:
        raise ParameterError(
            "Give --records-per-person beside --person-column: how many records of each person may count, such as 10."
        )
    return args.records_per_person or 1
