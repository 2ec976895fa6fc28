"""``scumble sample``: synthetic records from a released file."""

from __future__ import annotations

import argparse
from typing import Any

EXAMPLE = """
scumble sample people.scumble --n 1000 --bounds age=0:100,income=0:200000 --out synthetic.csv
scumble sample town.scumble --n 1000 --where "age >= 65" --out synthetic.parquet --report
scumble sample people.scumble --n 3 --bounds age=0:100,income=0:200000 --seed 7 --json
"""
NOTHING_PRIVATE = "reads a released file"


def arguments(parser: argparse.ArgumentParser) -> None:
    """What the verb takes."""
    from scumble.cli.arguments import SEED, Whole, bounds, json_flag, replace_flag

    parser.add_argument("release", help="a released file, or one with a release per class; '-' for standard input")
    parser.add_argument("--n", type=Whole(1, 10**9), default=1000, help="how many records (default: 1000)")
    parser.add_argument("--bounds", type=bounds, metavar="A=0:100", help="draw within these; a grid knows its own")
    parser.add_argument("--seed", type=SEED, help="of the draw (default: a fresh one)")
    parser.add_argument("--out", metavar="FILE", help=".csv, .parquet, .arrow, .json or '-' (default)")
    replace_flag(parser)
    parser.add_argument("--where", metavar="CONDITION", help="of a table: records that meet this condition")
    parser.add_argument(
        "--report", action="store_true", help="of a table: say how faithful the records are; without --out, that alone"
    )
    json_flag(parser)


def _table_rows(args: argparse.Namespace, release: Any, *, alone: bool) -> None:
    """Rows of a table, and the report on them, if there is to be one; or the report `alone`."""
    from scumble.cli.output import TableWriter, remarked, say
    from scumble.cli.progress import waiting
    from scumble.cli.streams import tell
    from scumble.errors import ParameterError

    if args.bounds is not None:
        raise ParameterError("--bounds goes with releases of kernels: a table's schema has them.")
    with remarked(), waiting(args.quiet):
        drawn = release.sample_batches(args.n, args.seed, where=args.where)
    if alone:
        with waiting(args.quiet):
            report = str(release.faithfulness())
        print(report)
        return
    with TableWriter(args.out, args.json) as writer:
        for table in drawn:
            for batch in table.to_batches():
                writer.write(batch)
    if args.out != "-":
        say(args, f"Wrote {args.out}: {args.n:,} synthetic records.")
    if args.report:
        with waiting(args.quiet):
            report = str(release.faithfulness())
        tell(report)


def run(args: argparse.Namespace) -> None:
    """Do what the verb says."""
    from scumble.bundle import Bundle
    from scumble.checks import by_column
    from scumble.cli.modes import column_names
    from scumble.cli.output import TABLES, TableWriter, check_out, load_release, say
    from scumble.errors import ParameterError
    from scumble.learn import sample
    from scumble.machine.later import pa
    from scumble.schema.kinds import bounds_by, values
    from scumble.tables.beside import free

    alone = args.report and args.out is None and not args.json
    args.out = "-" if args.out is None else args.out
    check_out(args.out, like=tuple(TABLES), replace=args.replace)
    found = load_release(args.release, tables=True)
    if hasattr(found, "views"):
        _table_rows(args, found, alone=alone)
        return
    if args.where is not None or args.report:
        which = "--where" if args.where is not None else "--report"
        raise ParameterError(f"{which} goes with the release of a table. Hint: scumble build --schema makes one.")
    names = column_names(found.spec)
    kinds = (next(iter(found.values())) if isinstance(found, Bundle) else found).kinds
    drawn = sample(found, args.n, args.seed, bounds=by_column(bounds_by(kinds, args.bounds), names))
    X = drawn[0] if isinstance(found, Bundle) else drawn
    columns = [values(column, kinds.get(name)) for name, column in zip(names, X.T, strict=True)]
    if isinstance(found, Bundle):
        columns.append(pa.array(drawn[1].tolist()))
        names = [*names, *free([found.label or "class"], names)]
    with TableWriter(args.out, args.json) as writer:
        writer.write(pa.RecordBatch.from_arrays(columns, names=names))
    if args.out != "-":
        say(args, f"Wrote {args.out}: {args.n:,} synthetic records.")
