"""What `build` and `sketch` have in common: from options to a pass that is ready to run."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from scumble.cli.arguments import promised
from scumble.cli.kernels import kernel_from
from scumble.cli.output import check_out, say
from scumble.cli.progress import ProgressLine
from scumble.errors import ParameterError
from scumble.machine.owned import followed
from scumble.schema import Schema
from scumble.schema.declarations import KINDS, Declarations
from scumble.schema.kinds import roles_by
from scumble.sources import Build, Source, open_source
from scumble.sources.settings import Groups
from scumble.tables.roles import roles_of


def prepare(args: argparse.Namespace, **options: Any) -> Build:
    """The source opened, the kernel made, everything looked at."""
    running = _running(args)
    if args.checkpoint is not None:
        check_out(followed(args.checkpoint), ours=True, secret=True)
    reading = {name: getattr(args, name) for name in ("table", "query", "format", "delimiter", "decimal", "encoding")}
    make: Callable[..., Build]
    if getattr(args, "engine", "auto") == "spark":
        source, make = _on_spark(args, reading)
    else:
        source = open_source(args.source, **reading)
        make = partial(Build, source, engine=getattr(args, "engine", "auto"))
    try:
        if args.schema is not None:
            return make(**_table(args), **running, **options)
        label = options.get("label")
        columns = source.columns(args.columns or None, besides=(label, args.person_column))
        source.require(columns)
        kernel = kernel_from(args, columns)
        return make(
            kernel,
            columns,
            rows=args.rows,
            buckets=args.buckets,
            design=args.design,
            bounds=args.bounds,
            target=args.target,
            levels=args.levels,
            **{name: getattr(args, name) for name in KINDS if getattr(args, name, None) is not None},
            **running,
            **options,
        )
    except BaseException:
        source.close()
        raise


_RUNNING = (
    *("n", "seed", "invalid", "threads", "allow_empty"),
    *("checkpoint", "checkpoint_seconds", "person_column", "noise_first", "ledger", "dataset", "part"),
)


def _running(args: argparse.Namespace) -> dict[str, Any]:
    """The options that all builds have."""
    running = {name: getattr(args, name) for name in _RUNNING if hasattr(args, name)}
    return {**running, **promised(args, "the privacy budget, such as 1")}


def _table(args: argparse.Namespace) -> dict[str, Any]:
    """The options of a whole table; those of kernels are refused."""
    for name in ("columns", "kernel", "bandwidth", "power", "scale", "categories", "tokens", "bounds", *KINDS):
        if getattr(args, name, None) is not None:
            fewer = ", or take other columns out of the schema file" if name == "columns" else ""
            raise ParameterError(
                f"--{name} goes with kernels, and --schema describes a whole table. Hint: leave it out{fewer}."
            )
    size = {"rows": args.rows, "buckets": args.buckets, "design": args.design}
    return {"schema": Schema.load(args.schema), "target": args.target, "levels": args.levels, **size}


def _on_spark(args: argparse.Namespace, reading: dict[str, Any]) -> tuple[Source, Callable[..., Build]]:
    from scumble.cluster.spark import session
    from scumble.cluster.spark.building import ClusterBuild, columns_of
    from scumble.cluster.spark.reading import read

    others = Groups(label=args.label, person_column=args.person_column).roles
    columns = args.columns
    roles = None
    if args.schema is not None:
        schema = Schema.load(args.schema)
        columns = list(schema)
        roles = schema.roles | others
    elif args.columns:
        kinds = Declarations(**{name: getattr(args, name, None) for name in KINDS}).kinds
        roles = roles_by(kinds, roles_of(kernel_from(args, args.columns), args.columns))
        roles |= others
    df, text = read(session(args.master), args.source, roles=roles, **reading)
    wanted = [*columns, *others] if columns else None
    return open_source(columns_of(df, wanted)), partial(ClusterBuild, df, file=True, text=text)


def count(args: argparse.Namespace, job: Build) -> None:
    """Run the pass, with progress; say what was left out."""
    line = ProgressLine(args.quiet)
    try:
        job.count(line)
    except KeyboardInterrupt as stop:
        line.close()
        if args.checkpoint is None:
            stop.args = ("Nothing was written. Hint: with --checkpoint a build can go on later.",)
        elif os.path.exists(args.checkpoint):
            stop.args = (f"The state is in {args.checkpoint} (secret). Run the same command again to go on.",)
        raise
    finally:
        line.close()
    for told in job.tally.told(job.source):  # to the curator, on standard error: as private as the table
        say(args, told)
    sys.stderr.flush()
