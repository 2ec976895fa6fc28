"""``scumble sample``: synthetic records from a released file."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from scumble.cli.inputs import load_release
from scumble.cli.options import TABLE_OUT, Whole, take
from scumble.cli.output import TableWriter, check_table, remarked
from scumble.cli.terminal import tell, waiting
from scumble.errors import ParameterError
from scumble.files.lazy_modules import pa

if TYPE_CHECKING:
    from scumble.density.bundle import Bundle
    from scumble.density.release import Release

EXAMPLE = """
scumble sample people.scumble --n 1000 --bounds age=0:100,income=0:200000 --out synthetic.csv
scumble sample town.scumble --n 1000 --where "age >= 65" --out synthetic.parquet --report
scumble sample people.scumble --n 3 --bounds age=0:100,income=0:200000 --seed 7 --json
"""
NOTHING_PRIVATE = "reads a released file"


def arguments(parser: argparse.ArgumentParser) -> None:
    take(parser, "release where report replace json", out=TABLE_OUT | {"default": None})
    take(parser, n={"type": Whole(1, 10**9), "default": 1000, "help": "how many records (default: 1000)"})
    take(parser, bounds="draw within these; a grid knows its own")
    take(parser, seed={"default": None, "help": "of the draw (default: a fresh one)"})


def run(args: argparse.Namespace) -> None:
    alone = args.report and args.out is None and not args.json
    args.out = "-" if args.out is None else args.out
    check_table(args)
    found = load_release(args.release, tables=True)
    of_table = hasattr(found, "views")
    for flag, of_tables in (("where", True), ("report", True), ("bounds", False)):
        if getattr(args, flag) and of_tables != of_table:
            what = "the release of a table" if of_tables else "a release of densities: a table's schema has them"
            raise ParameterError(f"--{flag} goes with {what}.")
    if of_table:
        with remarked(), waiting(args.quiet):
            drawn = found.sample_batches(args.n, args.seed, where=args.where)
        batches: Iterator[pa.RecordBatch] = (batch for table in drawn for batch in table.to_batches())
    else:
        batches = iter([_records(args, found)])
    if not alone:
        with TableWriter(args, holds=f": {args.n:,} synthetic records") as writer:
            for batch in batches:
                writer.write(batch)
    if args.report:
        with waiting(args.quiet):
            report = str(found.faithfulness())
        if alone:
            print(report)
        else:
            for line in report.splitlines():
                tell(line)


def _records(args: argparse.Namespace, found: Release | Bundle) -> pa.RecordBatch:
    """Records from a release of densities; from a bundle, with their classes."""
    from scumble.checks import by_column
    from scumble.columns.containers import free
    from scumble.columns.kinds import bounds_by, values
    from scumble.density.bundle import Bundle
    from scumble.learn import sample
    from scumble.show.ranges import column_names

    names = column_names(found.spec)
    kinds = (next(iter(found.values())) if isinstance(found, Bundle) else found).kinds
    drawn = sample(found, args.n, args.seed, bounds=by_column(bounds_by(kinds, args.bounds), names))
    X = drawn[0] if isinstance(found, Bundle) else drawn
    columns = [values(column, kinds.get(name)) for name, column in zip(names, X.T, strict=True)]
    if isinstance(found, Bundle):
        columns.append(pa.array(drawn[1].tolist()))
        names = [*names, *free([found.label or "class"], names)]
    return pa.RecordBatch.from_arrays(columns, names=names)
