"""``scumble count``: how many records of a table's release meet a condition."""

from __future__ import annotations

import argparse

EXAMPLE = """
scumble count town.scumble --where "age >= 65 and mode == 'bus'"
scumble count town.scumble --by mode --json
"""
NOTHING_PRIVATE = "reads a released file"


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
    from scumble.cli.output import print_json, remark_on_pairs, remarked, table_release
    from scumble.cli.progress import waiting

    release = table_release(args.release)
    with remarked() as remarks, waiting(args.quiet):
        found = release.count(args.where, by=args.by, confidence=args.confidence)
        remark_on_pairs([release])
    if args.by is not None:
        whole = dict.fromkeys(("value", "low", "high"), "{:,.0f}".format)  # as of a single number, below
        as_text = {"formatters": whole, "float_format": "{:,.1f}".format, "index": False}
        rows = [row | {"remarks": remarks} for row in found.to_dict("records")]
        print_json(rows) if args.json else print(found.to_string(**as_text))
    elif args.json:
        print_json(vars(found) | {"remarks": remarks})
    else:
        print(f"{found.value:,.0f} ({found.low:,.0f} to {found.high:,.0f}, {args.confidence:.0%})")
