"""``scumble count``: how many records of a table's release meet a condition."""

from __future__ import annotations

import argparse
import math
import re
from typing import Any

EXAMPLE = """
scumble count town.scumble --where "age >= 65 and mode == 'bus'"
scumble count town.scumble --by mode --json
"""
NOTHING_PRIVATE = "reads a released file"
_RANGE = re.compile(r"([\[(])(\S+), (\S+)([\])])")


def arguments(parser: argparse.ArgumentParser) -> None:
    """What the verb takes."""
    from scumble.cli.arguments import json_flag, names, real

    parser.add_argument("release", help="the release of a table; '-' for standard input")
    parser.add_argument("--where", metavar="CONDITION", help="which records, such as \"age >= 65 and sex == 'Female'\"")
    parser.add_argument("--by", type=names, metavar="A,B", help="a number for each level of these columns")
    parser.add_argument("--confidence", type=real, default=0.95, help="of the interval (default: 0.95)")
    json_flag(parser)


def run(args: argparse.Namespace) -> None:
    """Do what the verb says."""
    from scumble.cli.output import print_json, remark_on, remarked, table_release
    from scumble.cli.progress import waiting
    from scumble.errors import readable
    from scumble.tables.beside import free

    release = table_release(args.release)
    with remarked() as remarks, waiting(args.quiet):
        found = release.count(args.where, by=args.by, confidence=args.confidence)
        remark_on(found, [release])
    if args.by is not None:
        value, low, high, _ = found.columns[len(args.by) :]
        whole = dict.fromkeys((value, low, high), "{:,.0f}".format)  # as of a single number, below
        as_text = {"formatters": whole, "float_format": "{:,.1f}".format, "index": False}
        if args.json:
            (extra,) = free(["remarks"], found.columns)
            print_json([row | {extra: remarks} for row in found.to_dict("records")])
        else:
            for name in args.by:
                found[name] = [readable(one) if isinstance(one, str) else one for one in _short(found[name].tolist())]
            print(found.rename(columns=readable).to_string(**as_text))
    elif args.json:
        print_json(found.numbers() | {"remarks": remarks})
    else:
        print(f"{found.value:,.0f} ({found.low:,.0f} to {found.high:,.0f}, {args.confidence:.0%})")


def _short(names: list[Any]) -> list[Any]:
    """Ranges for people: their ends to three digits of the narrowest.

    >>> _short(["[0, 1.42857142857)", "[1.42857142857, 2.85714285714]", "(missing)"])
    ['[0, 1.43)', '[1.43, 2.86]', '(missing)']
    """
    found = [_RANGE.fullmatch(name) if isinstance(name, str) else None for name in names]
    try:
        ends = [tuple(map(float, one.group(2, 3))) for one in found if one]
    except ValueError:  # words that look like ranges
        return names
    least = min((high - low for low, high in ends if high > low), default=1.0)
    places = max(0, 2 - math.floor(math.log10(least)))

    def told(end: str) -> str:
        return f"{round(float(end), places) + 0.0:.15g}"

    return [
        f"{one[1]}{told(one[2])}, {told(one[3])}{one[4]}" if one else name
        for one, name in zip(found, names, strict=True)
    ]
