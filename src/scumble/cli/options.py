"""The options of all verbs, each declared once, and what verbs make of them.

An option is called like the library's parameter that it sets. A verb takes options by their names (`take`), hands their
values on (`given`), and may have a help text, a default or a type of its own for one of them.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from scumble.errors import ParameterError

if TYPE_CHECKING:
    from scumble.kernels import Kernel

Ends = tuple[float | str, float | str]
Parser = argparse.ArgumentParser
Value = TypeVar("Value")
Settings = dict[str, Any]
"""Values by the names of the parameters, or of the columns of JSON, that they are for."""

# ---- types of values ----


class Whole:
    """A whole number within limits."""

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
PERIODS = Whole(1, 10_000)


def cells(text: str) -> int | tuple[int, ...]:
    """256; or 200,100, one number for each axis of a grid"""
    whole = Whole()
    try:
        found = tuple(whole(part) for part in text.split(","))
    except argparse.ArgumentTypeError:
        raise argparse.ArgumentTypeError(
            f"must be a whole number from 1 to {whole.most}; for a grid with --bounds, also one per axis, as 200,100"
        ) from None
    return found[0] if len(found) == 1 else found


def not_empty(text: str) -> str:
    """age"""
    if not text:
        raise argparse.ArgumentTypeError("must not be empty")
    return text


def real(text: str) -> float:
    """0.95"""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a number, got {text[:40]!r}") from None


def names(text: str) -> list[str]:
    """age,income"""
    found = [part.strip() for part in text.split(",")]
    if not all(found):
        raise argparse.ArgumentTypeError("names must be separated by single commas, such as age,income")
    return found


def _by_column(text: str, example: str, read: Callable[[str], Value]) -> dict[str, Value]:
    """What stands behind each column's name."""
    found = {}
    for part in names(text):
        key, mark, value = part.rpartition("=")
        if not mark or not key:
            raise argparse.ArgumentTypeError(f"must look like {example}, with commas only between columns")
        if key in found:
            raise argparse.ArgumentTypeError(f"names {key!r} twice")
        try:
            found[key] = read(value)
        except ValueError:
            raise argparse.ArgumentTypeError(f"must look like {example}") from None
    return found


def _ends(text: str) -> Ends:
    """0:100, or 2024-01-01:2024-12-31"""
    low, high = (end if DAY.fullmatch(end.strip()) else _number(end) for end in text.split(":"))
    return low, high


DAY = re.compile(r"[0-9]{4}-[0-9]{2}(-[0-9]{2})?")


def _number(text: str) -> float:
    """100; four digits stay an integer, which is a year where the column has dates"""
    return int(text) if re.fullmatch(r"[0-9]{4}", text.strip()) else float(text)


def _cell(text: str) -> float | str:
    """40, or bus"""
    try:
        return _number(text)
    except ValueError:
        return text


def scale(text: str) -> float | dict[str, float]:
    """10, or age=10,income=20000"""
    return _by_column(text, "age=10,income=20000", float) if "=" in text else real(text)


def span(text: str) -> tuple[float, float]:
    """0:200000"""
    try:
        low, high = map(float, text.split(":"))
    except ValueError:
        raise argparse.ArgumentTypeError("must look like 0:200000") from None
    return low, high


def ranges(text: str) -> dict[str, Ends]:
    """age=0:100,seen=2024-01-01:2024-12-31"""
    return _by_column(text, "age=0:100,seen=2024-01-01:2024-12-31", _ends)


def bounds(text: str) -> dict[str, Ends] | Ends:
    """0:100 for all columns, or age=0:100,seen=2024-01-01:2024-12-31"""
    if "=" in text or ":" not in text:
        return ranges(text)
    from scumble.checks import LARGEST

    low, high = ends = ranges(f"all={text}")["all"]
    if not low < high:  # type: ignore[operator]
        raise argparse.ArgumentTypeError(f"must have low below high, got {text}")
    if not all(isinstance(side, str) or abs(side) <= LARGEST for side in (low, high)):
        raise argparse.ArgumentTypeError(f"must lie between -1e300 and 1e300, got {text}")
    return ends


def values(text: str) -> dict[str, float | str]:
    """age=40,mode=bus"""
    return _by_column(text, "age=40,mode=bus", _cell)


def choices(text: str) -> dict[str, list[str]]:
    """town=Ulm|Bonn,mode=bus|car"""
    return _by_column(text, "town=Ulm|Bonn,mode=bus|car", lambda value: value.split("|"))


# ---- the options ----


def _option(help: str, metavar: str | None = None, **settings: object) -> Settings:
    return {"help": help, **({} if metavar is None else {"metavar": metavar}), **settings}


def _columns(help: str, metavar: str | None = "A,B", **settings: object) -> Settings:
    return _option(help, metavar, type=names, **settings)


def _switch(help: str) -> Settings:
    return _option(help, action="store_true")


def _one_of(words: str, help: str, **settings: Any) -> Settings:
    return _option(help, choices=words.split(), **settings)


POSITIONAL = ("release", "source")
"""Those without a flag."""
OPTIONS: dict[str, Settings] = {
    # what to read
    "release": _option("a released file; '-' for standard input"),
    "source": _option(
        "files, a folder, a quoted glob, '-' for standard input, or sqlite:///, duckdb:/// or postgresql://...",
        nargs="*",
    ),
    "columns": _columns("the columns, in order (default: all)"),
    "format": _one_of("csv parquet arrow json excel", "if the file's name does not say"),
    "table": _option("the table of a database, or the sheet of an Excel workbook", "NAME"),
    "query": _option("a query to a database, instead of --table"),
    "delimiter": _option("what separates the cells of a CSV file; 'tab' is allowed"),
    "decimal": _one_of(". ,", "the decimal mark of a CSV file (default: .)", default="."),
    "encoding": _option("of a CSV file, such as latin-1 (default: utf8)", default="utf8"),
    "invalid": _one_of(
        "error drop",
        "records with missing, infinite or unreadable values: leave them out (default), or stop, which reveals that "
        "there are some (default with --neighbors replace)",
    ),
    "person_column": _option("the person that each record belongs to; needs --records-per-person", "COLUMN"),
    # classes
    "label": _option("the column that holds the class: makes one release per class", "COLUMN"),
    "classes": _columns("all classes; public", "X,Y"),
    "class": _option("for a file with classes: the one to use", "NAME", dest="label"),
    # what near means
    "kernel": _option("euclidean (default), manhattan, angular, hamming or jaccard", "NAME"),
    "bandwidth": _option("the distance at which two records are no longer near", type=real),
    "power": _option("how sharp: the kernel to this power (default: 1)", type=Whole(1, 10_000)),
    "scale": _option("divide columns by these first", "A=10,B=200", type=scale),
    "categories": _columns("columns whose values are equal or not (Hamming)", "C,D"),
    "tokens": _columns("a column of sets, or of text split at blanks (Jaccard)", "E"),
    # columns of numbers that hold something else
    "whole": _columns("whole numbers", "A"),
    "dates": _columns("dates, as days since 1970-01-01", "B"),
    "times": _columns("times, as days since 1970-01-01 with fractions", "C"),
    "booleans": _columns("true or false, yes or no: 1 and 0", "D"),
    # a whole table
    "schema": _option("what its columns can hold; scumble schema drafts it", "FILE.toml"),
    "target": _option("count each class of this column separately", "COLUMN"),
    "levels": _option("levels of a column in pairs (default: as memory allows)", type=Whole(2, 2**16)),
    "together": _columns("columns to measure together; more than once for several sets", "A,B,C", action="append"),
    "important": _columns("a column or a pair that gets more of the budget; repeatable", "A,B", action="append"),
    # size
    "rows": _option("rows of counters", type=Whole()),
    "buckets": _option("counters per row; for a grid, also cells along each axis, 200,100", "N", type=cells),
    "design": _one_of(
        "auto iid sobol orthogonal grid",
        "how rows are made (default: the plan chooses); grid needs --bounds",
        default="auto",
    ),
    "bounds": _option("public bounds, for a grid; 0:100 for all columns", "A=0:100", type=bounds),
    "n": _option("roughly how many records, if that is public", type=Whole(1, 10**15)),
    "seed": _option("of the hash functions; public (default: 0)", type=SEED, default=0),
    # what is promised
    "epsilon": _option("the privacy budget, such as 1", type=real),
    "delta": _option("0 (default), or a tiny number such as 1e-6", type=real, default=0.0),
    "rho": _option("instead of --epsilon: zero-concentrated privacy, such as 0.02", type=real),
    "mu": _option("instead of --epsilon: Gaussian differential privacy, such as 0.2", type=real),
    "neighbors": _one_of(
        "add-remove replace", "hide whether a record is there (default), or only what it says", default="add-remove"
    ),
    "records_per_person": _option(
        "the most records of a person, who is then protected as a whole; enforced with a person column (default: 1)",
        "M",
        type=Whole(),
    ),
    "noise_first": _switch("draw the noise before the first record, so that raw counters never exist"),
    # the ledger
    "ledger": _option("charge this file before noise is drawn; refuse if the budget is spent", "FILE"),
    "dataset": _option("the dataset in the ledger", "NAME"),
    "part": _option("one of the dataset's disjoint parts", "NAME"),
    # running
    "threads": _option("cores to count with (default: all)", type=Whole(1, 65_536)),
    "allow_empty": _switch("with --invalid error: also release a table without records"),
    "checkpoint": _option("a SECRET file to resume from if the build is killed", "FILE"),
    "checkpoint_seconds": _option("how often (default: 30)", "S", type=real, default=30.0),
    "config": _option("options in a file; those given here take precedence", "FILE.toml"),
    "engine": _one_of(
        "auto cpu gpu spark", "this machine (auto: a GPU where it pays), or a Spark cluster", default="auto"
    ),
    "master": _option("of the cluster: local[4], spark://host:7077, yarn, k8s://... (default: its own)", "URL"),
    "draws": _switch("for a --schema: store the posterior draws, so that readers need not compute them"),
    "keep_secret": _switch("do not empty the part; each further release is charged, so this needs a --ledger"),
    # questions
    "where": _option("which records, such as \"age >= 65 and sex == 'Female'\"", "CONDITION"),
    "by": _columns("one number for each level of these columns"),
    "confidence": _option("of the intervals (default: 0.95)", type=real, default=0.95),
    "at": _option("one point, instead of a table of them", "A=1,B=5", type=values),
    "range": _option("what to draw (default: the bounds)", "A=0:100", type=ranges),
    "values": _option("categories to choose from", "B=bus|car", type=choices),
    "units": _option("units for the axes", "A=years", type=values),
    "title": _option("the title above it"),
    "log": _switch("color by the logarithm: for data crowded in one corner"),
    "starts": _option("how many places to start from (default: 100)", type=Whole(1, 10**6), default=100),
    "significance": _option("how far above the noise, in standard errors (default: 5)", type=real, default=5.0),
    "report": _switch("for a table: report how faithful the records are; without --out, only that"),
    # what to write
    "publisher": _option("who publishes it, for the card", "NAME"),
    "contact": _option("where questions go, for the card", "ADDRESS"),
    "date": _option("when it is published, for the card", "DAY"),
    "out": _option("the released file, such as people.scumble; '-' for standard output", "FILE"),
    "replace": _switch("replace the file if it exists"),
    "json": _switch("print JSON"),
    "csv": _switch("print CSV"),
    "quiet": _switch("print nothing but errors on standard error"),
    "debug": _switch("show a traceback if something goes wrong"),
}
TABLE_OUT = _option(".csv, .parquet, .arrow, .json or '-' (default)", "FILE", default="-")
"""Where a table of answers goes."""


GROUPS: dict[str, tuple[str, str]] = {
    "READING": ("", "format table delimiter decimal encoding"),
    "SOURCE": ("what to read", "source columns READING query invalid"),
    "KERNEL": ("what near means (all public)", "kernel bandwidth power scale categories tokens"),
    "KINDS": ("columns that the kernel reads as numbers (all public)", "whole dates times booleans"),
    "WHOLE_TABLE": ("a whole table, instead of a kernel (all public)", "schema target levels together important"),
    "SIZE": ("size (default: the plan chooses)", "rows buckets design bounds seed"),
    "BUDGET": ("what is promised", "epsilon delta rho mu neighbors records_per_person"),
    "LEDGER": ("the ledger (see scumble ledger --help)", "ledger dataset part"),
    "RUNNING": ("running", "threads allow_empty checkpoint checkpoint_seconds config"),
    "CARD": ("for the card: what only the curator knows", "publisher contact date"),
    "CLUSTER": ("where to count", "engine master"),
}
"""Options that belong together: a title, and their names; those without a title stand among the others."""


def _listed(names: str) -> list[str]:
    """The options that these names mean, those of groups included."""
    return [one for name in names.split() for one in (_listed(GROUPS[name][1]) if name in GROUPS else [name])]


def take(parser: argparse._ActionsContainer, names: str = "", **changed: str | Settings) -> None:
    """Give a verb these options and groups of them; `changed` have a help text or other settings of their own."""
    more = [name for name in changed if name not in _listed(names)]
    for name in (*names.split(), *more):
        title = GROUPS[name][0] if name in GROUPS else ""
        place = parser.add_argument_group(title) if title else parser
        for option in _listed(name):
            own = changed.get(option, {})
            settings = {**OPTIONS.get(option, {}), **({"help": own} if isinstance(own, str) else own)}
            place.add_argument(option if option in POSITIONAL else f"--{option.replace('_', '-')}", **settings)


def given(args: argparse.Namespace, names: str) -> Settings:
    """The values of these options, by the names of the library's parameters."""
    return {name: getattr(args, name) for name in _listed(names) if hasattr(args, name)}


def require(args: argparse.Namespace, **options: str) -> None:
    """Refuse to go on without these options; the texts say what they are."""
    for option, why in options.items():
        if getattr(args, option) in (None, []):
            flag = option.upper() if option in POSITIONAL else f"--{option.replace('_', '-')}"
            raise ParameterError(f"Give {flag}: {why}.")


def promised(args: argparse.Namespace, why: str = "the privacy budget; typical are 0.1 to 3") -> Settings:
    """The budget that was asked for, in one form, and whom it protects."""
    currencies = {name: value for name, value in given(args, "epsilon rho mu").items() if value is not None}
    if not currencies:
        raise ParameterError(f"Give --epsilon: {why}.")
    if len(currencies) > 1:
        raise ParameterError(f"Give the budget in one form, not in --{' and --'.join(currencies)}. Hint: --epsilon.")
    return {**currencies, **given(args, "delta neighbors"), "records_per_person": per_person(args)}


def per_person(args: argparse.Namespace) -> int:
    """The most records of a person; with a column of persons it must be given."""
    if args.records_per_person is None and getattr(args, "person_column", None) is not None:
        raise ParameterError("Give --records-per-person with --person-column: how many of each may count.")
    return args.records_per_person or 1


# ---- kernels ----


def kernel_from(args: argparse.Namespace, columns: list[str]) -> Kernel:
    """The kernel that the options describe, over these columns.

    The columns in --categories get a Hamming kernel, the one in --tokens a Jaccard kernel, all others the --kernel; the
    result is their product.
    """
    if isinstance(args.kernel, (dict, list)):
        return _product(
            [_from_toml(table) for table in ([args.kernel] if isinstance(args.kernel, dict) else args.kernel)]
        )
    categories, tokens = args.categories or [], args.tokens or []
    for column in [*categories, *tokens]:
        if column not in columns:
            raise ParameterError(f"{column!r} is none of the columns {', '.join(columns)}. Hint: add it to --columns.")
    rest = [column for column in columns if column not in categories and column not in tokens]
    if not rest and (args.bandwidth is not None or args.scale is not None):
        raise ParameterError("--bandwidth and --scale are for numbers, and no column has any. Hint: leave them out.")
    found = []
    if rest:
        found.append((args.kernel or "euclidean", rest, _settings(args)))
    found += [(kind, part, {}) for kind, part in (("hamming", categories), ("jaccard", tokens)) if part]
    alone = len(found) == 1
    return _product([kernel_named(kind, {**more, "columns": None if alone else part}) for kind, part, more in found])


def _settings(args: argparse.Namespace) -> Settings:
    """What the kernel for columns of numbers is made with."""
    kind = args.kernel or "euclidean"
    if kind in ("euclidean", "manhattan") and args.bandwidth is None:
        table = "Give --schema for a whole table; or, for a density, " if hasattr(args, "schema") else ""
        raise ParameterError(
            f"{table or 'Give '}{'give ' if table else ''}--bandwidth: how far apart two records are that are near. "
            "Hint: --scale age=10,income=20000 --bandwidth 1."
        )
    if kind in ("angular", "hamming", "jaccard") and args.bandwidth is not None:
        raise ParameterError(f"The {kind} kernel has no bandwidth. Hint: --power makes it sharper.")
    found = {name: value for name, value in given(args, "bandwidth scale").items() if value is not None}
    return {"power": args.power or 1, **found}


def kernel_named(kind: str, settings: Settings) -> Kernel:
    """A kernel by its name."""
    from scumble.kernels import Kernel

    if kind not in Kernel.registry or kind == "product":
        raise ParameterError(f"There is no kernel {kind!r}. Hint: euclidean, manhattan, angular, hamming, jaccard.")
    try:
        return Kernel.registry[kind](**settings)
    except TypeError:
        raise ParameterError(f"The {kind} kernel does not take all of {', '.join(sorted(settings))}.") from None


def _from_toml(table: object) -> Kernel:
    if not isinstance(table, dict) or not isinstance(table.get("name"), str):
        raise ParameterError('Each [[kernel]] of a configuration needs a name, such as name = "euclidean".')
    return kernel_named(table["name"], {key: value for key, value in table.items() if key != "name"})


def _product(factors: list[Kernel]) -> Kernel:
    if not factors:
        raise ParameterError("The configuration's kernel is an empty list. Hint: leave it out.")
    kernel = factors[0]
    for factor in factors[1:]:
        kernel = kernel * factor
    return kernel
