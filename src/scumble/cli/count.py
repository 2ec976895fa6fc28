"""``scumble count``: how many records of a table's release meet a condition."""

from __future__ import annotations

import argparse

from scumble.cli.inputs import table_release
from scumble.cli.options import take
from scumble.cli.output import print_json, remark_on, remarked
from scumble.cli.terminal import waiting
from scumble.errors import readable

EXAMPLE = """
scumble count town.scumble --where "age >= 65 and mode == 'bus'"
scumble count town.scumble --by mode --json
"""
NOTHING_PRIVATE = "reads a released file"


def arguments(parser: argparse.ArgumentParser) -> None:
    take(parser, "where by confidence json", release="the release of a table; '-' for standard input")


def run(args: argparse.Namespace) -> None:
    from scumble.columns.containers import free

    release = table_release(args.release)
    with remarked() as remarks, waiting(args.quiet):
        found = release.count(args.where, by=args.by, confidence=args.confidence)
        remark_on(found, [release])
    if args.by is not None:
        value, low, high, _ = found.columns[len(args.by) :]
        if args.json:
            (extra,) = free(["remarks"], found.columns)
            print_json([row | {extra: remarks} for row in found.to_dict("records")])
        else:
            whole = dict.fromkeys((value, low, high), "{:,.0f}".format)
            for name in args.by:
                found[name] = [readable(one) if isinstance(one, str) else one for one in found[name].tolist()]
            shown = found.rename(columns=readable)
            print(shown.to_string(formatters=whole, float_format="{:,.1f}".format, index=False))
    elif args.json:
        print_json(found.to_dict() | {"remarks": remarks})
    else:
        print(f"{found.value:,.0f} ({found.low:,.0f} to {found.high:,.0f}, {100 * args.confidence:g} %)")
