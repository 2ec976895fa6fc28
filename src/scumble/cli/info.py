"""``scumble info``: a privacy card that a lawyer can read."""

from __future__ import annotations

import argparse
import os

EXAMPLE = """
scumble info people.scumble
scumble info people.scumble --json
"""
NOTHING_PRIVATE = "reads a released file"


def arguments(parser: argparse.ArgumentParser) -> None:
    """What the verb takes."""
    from scumble.cli.arguments import json_flag

    parser.add_argument("release", help="a released file; '-' for standard input")
    json_flag(parser)


def run(args: argparse.Namespace) -> None:
    """Do what the verb says."""
    from scumble.cli.output import load_release, print_json
    from scumble.show.cards import card, facts

    found = load_release(args.release, tables=True, moments=True)
    if args.json:
        print_json(facts(found))
    else:
        print(card(found, "Standard input" if args.release == "-" else os.path.basename(args.release)))
