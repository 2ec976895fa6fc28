"""``scumble sql``: the answer to a SELECT from the release of a table, with an interval for each number."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import Any

from scumble.cli.inputs import table_release
from scumble.cli.options import Settings, take
from scumble.cli.output import aligned, print_json, remark_on, remarked
from scumble.cli.terminal import waiting
from scumble.columns.hashing import missing
from scumble.errors import MissingFileError, ParameterError, plain_number, with_interval

EXAMPLE = """
scumble sql town.scumble "select mode, count(*) as n, avg(income) as income from town where age < 65 group by mode"
scumble sql people=town.scumble "select count(*) from people" --json
scumble sql town.scumble "select mode, count(*) from town group by mode" --csv
"""
NOTHING_PRIVATE = "reads a released file"
_NAMED = re.compile(r"([^\W0-9]\w*)=(.+)", re.DOTALL)
_SELECT = re.compile(r"\s*(select|from)\s", re.IGNORECASE)
_MOST = 1_000_000
"""The most bytes of a file with a statement."""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "release",
        nargs="+",
        help="the release of a table, called after FROM as its file without the ending, or by name=file; '-' for "
        "standard input, which is called stdin",
    )
    parser.add_argument("query", help="a SELECT; a file whose name ends in .sql; '-' for standard input")
    take(parser, "confidence")
    take(parser.add_mutually_exclusive_group(), "csv json")


def run(args: argparse.Namespace) -> None:
    from scumble.columns.containers import free
    from scumble.sql.asking import sql

    if any(_SELECT.match(word) for word in args.release) and not _SELECT.match(args.query):
        raise ParameterError('The statement comes last. Hint: scumble sql town.scumble "select count(*) from town".')
    paths = _by_name(args.release)
    if args.query == "-" and "-" in paths.values():
        raise ParameterError("Standard input holds the release or the statement, not both.")
    query = _statement(args.query)
    releases: Settings = {name: table_release(path) for name, path in paths.items()}
    with remarked() as remarks, waiting(args.quiet):
        found = sql(query, releases, confidence=args.confidence)
        remark_on(found, releases.values())
    if args.json:
        (extra,) = free(["remarks"], [*found.columns])
        print_json([row | {extra: remarks} for row in found.to_dict("records")])
    elif args.csv:
        sys.stdout.buffer.write(found.to_csv(index=False, lineterminator="\n").encode(errors="surrogatepass"))
    else:
        names = [*found.columns]
        columns = [[*found[name]] for name in names]
        written: list[list[str]] = []
        for place, is_key in enumerate(_are_keys(names)):
            if is_key:
                written.append([_written(cell) for cell in columns[place]])
            elif len(written) == place:  # a number, whose interval comes with it
                written += _told(*columns[place : place + 3])
        print(aligned([names, *zip(*written, strict=True)]))


def _by_name(words: list[str]) -> dict[str, str]:
    """Releases by the names that they have in the statement."""
    found: dict[str, str] = {}
    for word in words:
        named = _NAMED.fullmatch(word)
        name, path = (named[1], named[2]) if named else ("stdin" if word == "-" else Path(word).stem, word)
        if name in found:
            raise ParameterError(f"Two releases are called {name!r}. Hint: name them, as in a={word}.")
        found[name] = path
    return found


def _statement(text: str) -> str:
    """The statement itself, or what the file says."""
    if text != "-" and not text.lower().endswith(".sql"):
        return text
    try:
        if text == "-":
            return sys.stdin.buffer.read(_MOST).decode()
        with Path(text).open("rb") as file:
            return file.read(_MOST).decode()
    except FileNotFoundError:
        raise MissingFileError(f"There is no file {text!r}. Hint: put a statement in quotes.") from None
    except (OSError, UnicodeDecodeError):
        raise ParameterError(f"{text!r} cannot be read as a statement. Hint: it must be text in UTF-8.") from None


def _are_keys(names: list[str]) -> list[bool]:
    """Which columns are grouped by: those without an interval.

    >>> _are_keys(["year", "n", "n_low", "n_high", "town"])
    [True, False, False, False, True]
    """
    found: list[bool] = []
    while len(found) < len(names):
        name, *rest = names[len(found) : len(found) + 3]
        found += [False] * 3 if rest == [f"{name}_low", f"{name}_high"] else [True]
    return found


def _told(values: list[Any], lows: list[Any], highs: list[Any]) -> list[list[str]]:
    """Numbers and their intervals for people: to the digits that tell the three apart, NULL where there is none.

    Commas come with numbers of five digits and more, so that a mean of years looks like a year.

    >>> _told([1969.65], [1969.56], [1969.74]), _told([12751.9], [12701.2], [12802.6])
    ([['1969.65'], ['1969.56'], ['1969.74']], [['12,752'], ['12,701'], ['12,803']])
    """
    rows = [*zip(values, lows, highs, strict=True)]
    large = any(isinstance(cell, float) and abs(cell) >= 10_000 for row in rows for cell in row)
    found: list[list[str]] = []
    for row in rows:
        if any(missing(cell) or not isinstance(cell, float) for cell in row):
            found.append([_written(cell) for cell in row])
        elif row[1] == row[2]:  # known, as what is computed of constants
            found.append([plain_number(cell, 10) if large else f"{cell:.10g}" for cell in row])
        else:
            found.append([cell if large else cell.replace(",", "") for cell in with_interval(*row)])
    return [[*column] for column in zip(*found, strict=True)] or [[], [], []]


def _written(cell: object) -> str:
    """A cell as it is, without commas, since it may be a year; NULL where there is none."""
    if missing(cell):
        return "NULL"
    return f"{cell:.15g}" if isinstance(cell, float) else str(cell)
