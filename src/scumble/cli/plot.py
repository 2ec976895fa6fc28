"""``scumble plot``: pictures of a released file."""

from __future__ import annotations

import argparse

from scumble.cli.inputs import load_release, one_release
from scumble.cli.options import given, take
from scumble.cli.output import check_out, say
from scumble.cli.terminal import waiting
from scumble.errors import ParameterError

EXAMPLE = """
scumble plot people.scumble --range age=0:100,income=0:120000 --units age=years --out people.png
scumble plot town.scumble --out columns.png
scumble plot people.scumble --range age=0:100 --at income=50000 --out ages.svg
"""
NOTHING_PRIVATE = "reads a released file"


def arguments(parser: argparse.ArgumentParser) -> None:
    take(parser, "release range units log title class confidence replace")
    take(parser, out={"required": True, "help": "the picture: .png, .svg or .pdf"})
    take(parser, at={"metavar": "B=5", "help": "cut through the data here: fixes these columns"})


def run(args: argparse.Namespace) -> None:
    from scumble.show import plots

    check_out(args.out, like=plots.FORMATS, replace=args.replace, piped=False)
    found = load_release(args.release, tables=True)
    with waiting(args.quiet, "Drawing the picture …"):
        if hasattr(found, "views"):
            for name, value in given(args, "range at units title label log").items():
                if value:
                    flag = "class" if name == "label" else name
                    raise ParameterError(f"--{flag} goes with densities; a table's picture shows every column.")
            figure = found.plot()
        else:
            release = one_release(found, args.release, args.label)
            look = given(args, "at units confidence title log")
            figure = plots.density(release, ranges=args.range, **look)
        plots.save(figure, args.out)
    say(args, f"Drew {args.out}.")
