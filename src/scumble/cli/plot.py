"""``scumble plot``: pictures of a released file."""

from __future__ import annotations

import argparse

EXAMPLE = """
scumble plot people.scumble --range age=0:100,income=0:120000 --units age=years --out people.png
scumble plot town.scumble --out columns.png
scumble plot people.scumble --range age=0:100 --at income=50000 --out ages.svg
"""
NOTHING_PRIVATE = "reads a released file"


def arguments(parser: argparse.ArgumentParser) -> None:
    """What the verb takes."""
    from scumble.cli import arguments as shared

    parser.add_argument("release", help="a released file; '-' for standard input")
    parser.add_argument("--out", metavar="FILE", required=True, help="the picture: .png, .svg or .pdf")
    shared.replace_flag(parser)
    parser.add_argument("--range", type=shared.ranges, metavar="A=0:100", help="what to draw (default: the bounds)")
    parser.add_argument(
        "--at", type=shared.values, metavar="B=5", help="cut through the data here: fixes these columns"
    )
    parser.add_argument("--units", type=shared.values, metavar="A=years", help="units for the axes")
    parser.add_argument("--log", action="store_true", help="colours by the logarithm: for data crowded in one corner")
    parser.add_argument("--title", help="above the picture")
    parser.add_argument("--class", dest="label", metavar="X", help="of a file with classes, the one to draw")
    parser.add_argument("--confidence", type=shared.real, default=0.95, help="of the band (default: 0.95)")


def run(args: argparse.Namespace) -> None:
    """Do what the verb says."""
    from scumble.cli.output import check_out, load_release, one_release, say
    from scumble.cli.progress import waiting
    from scumble.show import plots

    check_out(args.out, like=plots.FORMATS, replace=args.replace)
    found = load_release(args.release, tables=True)
    if hasattr(found, "views"):
        _require_none(args)
        with waiting(args.quiet):
            plots.save(found.plot(), args.out)
        say(args, f"Drew {args.out}.")
        return
    release = one_release(found, args.release, args.label)
    with waiting(args.quiet, "Drawing the picture …"):
        figure = plots.density(
            release,
            ranges=args.range,
            at=args.at,
            units=args.units,
            confidence=args.confidence,
            title=args.title,
            log=args.log,
        )
        plots.save(figure, args.out)
    say(args, f"Drew {args.out}.")


def _require_none(args: argparse.Namespace) -> None:
    """Refuse what the picture of a table would not heed."""
    from scumble.errors import ParameterError

    for name in ("range", "at", "units", "title", "label", "log"):
        if getattr(args, name):
            flag = "class" if name == "label" else name
            raise ParameterError(
                f"--{flag} goes with densities: a table's picture has every column by itself. Hint: leave it out, or "
                "draw columns of your choice by `release.plot(columns=[...])`."
            )
