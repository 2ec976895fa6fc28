"""``scumble compare``: what differs between two releases, or between a release and a table at hand."""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import TYPE_CHECKING

from scumble.cli.inputs import load_release, opened
from scumble.cli.options import given, take
from scumble.cli.output import check_out, remarked, say
from scumble.cli.terminal import tell, waiting
from scumble.errors import ParameterError, readable, with_interval
from scumble.files.places import write_whole
from scumble.show.usefulness import as_json

if TYPE_CHECKING:
    import pandas as pd

EXAMPLE = """
scumble compare town.scumble later.scumble
scumble compare town.scumble later.scumble --of tables --json
scumble compare town.scumble later.scumble --plot changes.png
scumble compare --reference town.scumble people.csv --out drift.csv
scumble compare north.scumble south.scumble --at age=40,income=30000
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("release", help="the release of one table; with --reference, left out", nargs="?")
    parser.add_argument("source", help="the release of the other; with --reference, a table with the same columns")
    parser.add_argument(
        "--reference", metavar="OLD", help="compare a table at hand with this release: exact, and SECRET"
    )
    parser.add_argument(
        "--of",
        choices=["populations", "tables"],
        default="populations",
        help="what is claimed: something about the populations behind the tables, whose samples they are (default), or "
        "about the tables themselves, where noise is the only error",
    )
    take(parser.add_argument_group("how the table of --reference is read"), "READING query")
    take(parser, "confidence units replace")
    parser.add_argument("--plot", metavar="FILE", help="also draw the differences: .png, .svg or .pdf")
    take(parser.add_mutually_exclusive_group(), "csv json")
    take(parser, at={"action": "append", "help": "for densities: a point; more than once for several"})
    take(parser, out={"default": "-", "help": "a .csv or .json file, or '-' (default)"})


def run(args: argparse.Namespace) -> None:
    from scumble.show import plots
    from scumble.table.comparing import SECRET

    if (args.reference is None) == (args.release is None):
        raise ParameterError("Name two releases, or --reference OLD and one table.")
    secret = args.reference is not None
    check_out(args.out, like=(".csv", ".json"), replace=args.replace)
    if args.plot:
        check_out(args.plot, like=plots.FORMATS, replace=args.replace, piped=False)
    first = load_release(args.reference or args.release, tables=True)
    options: dict[str, object] = {"of": args.of, "confidence": args.confidence}
    if not hasattr(first, "schema"):
        if secret or not args.at:
            raise ParameterError("Densities are compared at points. Hint: two releases, and --at age=40,income=3e4.")
        options["at"] = {name: [point[name] for point in args.at] for name in args.at[0]}
    with remarked() as remarks, waiting(args.quiet):
        if secret:
            found = first.compare((piece.batch for piece in opened(args).pieces(first.schema.roles)), **options)
        else:
            found = first.compare(load_release(args.source, tables=True), **options)
    if args.plot:
        one, two = (os.path.basename(os.path.normpath(path)) for path in (args.reference or args.release, args.source))
        figure = found.plot(title=f"Difference: {two} minus {one}", units=given(args, "units").get("units"))
        plots.save(figure, args.plot, secret=secret)
    remarks = [*remarks, *found.attrs.pop("remarks", [])]
    for remark in {*remarks} - {SECRET}:
        say(args, f"Note: {remark}")
    in_json = args.json or args.out.lower().endswith(".json")
    if in_json:
        told = {**found.attrs, "secret": secret, "remarks": remarks, "rows": found.to_dict("records")}
        text = json.dumps(as_json(told), indent=2, ensure_ascii=False) + "\n"
    elif args.csv or args.out != "-":
        text = found.to_csv(index=False, lineterminator="\n")
    else:
        text = f"{SECRET}\n" * secret + _shown(found)
    if args.out != "-":
        write_whole(args.out, text.encode(errors="surrogatepass"), secret=secret)
    else:
        sys.stdout.write(text)
    if secret:
        tell(SECRET)
    say(args, f"The p-values are {found.attrs['claim']}. p_adjusted is corrected for all of them by Holm's method.")


def _shown(found: pd.DataFrame) -> str:
    """The rows for people: numbers to the digits that their intervals allow."""
    shown = found.copy()
    named = [name for name in ("column", "statistic", "level", "point") if name in shown]
    for name in named:
        shown[name] = ["" if cell is None or cell != cell else readable(str(cell)) for cell in found[name]]
    told = [with_interval(*three) for three in zip(found["difference"], found["low"], found["high"], strict=True)]
    for place, name in enumerate(("difference", "low", "high")):
        shown[name] = [one[place] for one in told]
    for name in ("first", "second"):
        shown[name] = [f"{cell:.6g}" for cell in found[name]]
    for name in ("p_value", "p_adjusted"):
        shown[name] = [f"{cell:.2g}" for cell in found[name]]
    return str(shown.to_string(index=False)) + "\n"
