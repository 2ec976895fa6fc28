"""``scumble build``: a table to a released file, in one pass. The exact counters never touch the disk."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any

from scumble import files
from scumble.cli import LAST
from scumble.cli.inputs import opened
from scumble.cli.options import given, kernel_from, promised, require, take
from scumble.cli.output import check_out, check_release_out, say, tell_release, tell_weak
from scumble.cli.terminal import ProgressLine
from scumble.errors import ParameterError

if TYPE_CHECKING:
    from scumble.show.cards import AnyRelease
    from scumble.sources import Build, Source

EXAMPLE = """
scumble build people.parquet --columns age,income --scale age=10,income=20000 --bandwidth 1 --epsilon 1 --out p.scumble
scumble build people.csv --columns age,mode --categories mode --bandwidth 10 --epsilon 1 --out modes.scumble
scumble build people.csv --columns age --bandwidth 5 --label mode --classes bus,car,bike --epsilon 1 --out c.scumble
scumble build sqlite:///people.db --table people --columns age --bandwidth 5 --epsilon 1 --out ages.scumble
scumble build people.csv --columns age --whole age --bounds age=0:100 --bandwidth 5 --epsilon 1 --out whole.scumble
scumble build people.parquet --schema town.toml --epsilon 1 --out town.scumble
scumble build --config people.toml
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    take(parser, "SOURCE label classes KERNEL KINDS WHOLE_TABLE BUDGET person_column noise_first draws LEDGER")
    take(parser, "SIZE n RUNNING CLUSTER out json")


def run(args: argparse.Namespace) -> None:
    if args.engine != "spark" or not (args.table or args.query):
        require(args, source="the table to read, such as people.parquet")
    if args.master is not None and args.engine != "spark":
        raise ParameterError("--master goes with --engine spark.")
    promised(args)
    check_release_out(args)
    if args.draws and (args.schema is None or args.out == "-"):
        raise ParameterError("--draws is for tables in files. Hint: give --schema, and --out with a file's name.")
    release, size = made(args)
    if args.draws:  # the release is safe without them
        release.save(args.out, draws=True)  # type: ignore[call-arg]
        size = os.path.getsize(args.out)
    tell_release(args, release, size, f" Next: scumble info {args.out}")
    sys.stdout.flush()


def made(args: argparse.Namespace) -> tuple[AnyRelease, int]:
    """The release at --out, and its size: that of a run that was killed, if there is one; else counted and paid for."""
    from scumble.cli.handover import Handover, Left, finished, room, set_apart
    from scumble.density.advice import advice
    from scumble.density.spec import Spec

    job = prepare(args, **given(args, "label classes"))
    kept = job.checkpoint
    said = (None if kept is None else kept.left()) or {}
    there = finished(said, args.out)
    left = None if kept is None else Left.of(said, kept.path, kept.note)
    if there is not None or left is not None:
        job.source.close()
    if there is None and left is not None:
        there = left.take(args.out)
    if there is not None:
        release, size = there
        say(args, "A killed run had made this release; nothing was counted, drawn or charged again.")
    else:
        sketches = job.tally.sketches
        needs = room(sketches[0].spec, len(sketches))
        secret, note = (None, None) if kept is None else (kept.path, kept.note)
        with closing(Handover(args.out, needs, secret=secret, note=note)) as handover, set_apart(args, "build"):
            tell_weak(args, job.budget)
            spec = sketches[0].spec
            if sys.stderr.isatty() and isinstance(spec, Spec):  # a script wants one line, about what went wrong
                for line in advice(spec.kernel, spec.columns or (), job.asked.bounds):
                    say(args, f"Advice: {line}")
            count(args, job)
            release, size = handover.make(job.release)
    # While its note is there, the same command finds what it has written, and is not charged again.
    LAST.extend([] if kept is None else [job.discard_checkpoint])
    return release, size


def prepare(args: argparse.Namespace, **options: Any) -> Build:
    """The source opened, the kernel made, everything checked: a pass that is ready to run."""
    from scumble.columns.schema import Schema
    from scumble.files.places import followed
    from scumble.sources import Build

    running = {
        **given(args, "n seed invalid threads allow_empty checkpoint checkpoint_seconds person_column noise_first"),
        **given(args, "LEDGER target levels together important rows buckets design"),
        **promised(args),
        **options,
    }
    if args.checkpoint is not None and files.kind_at(followed(args.checkpoint)) != "checkpoint":
        check_out(followed(args.checkpoint), ours=True, secret=True)
    make: Callable[..., Build]
    if getattr(args, "engine", "auto") == "spark":
        source, make = _on_spark(args)
    else:
        source = opened(args)
        make = partial(Build, source, engine=getattr(args, "engine", "auto"))
    try:
        if args.schema is not None:
            of_kernels = given(args, "columns KERNEL bounds KINDS")
            for name in (name for name, value in of_kernels.items() if value is not None):
                raise ParameterError(f"--{name} goes with kernels, not with --schema. Hint: leave it out.")
            return make(schema=Schema.load(args.schema), **running)
        columns = source.columns(args.columns or None, besides=(options.get("label"), args.person_column))
        source.require(columns)
        kinds = {name: value for name, value in given(args, "KINDS").items() if value is not None}
        return make(kernel_from(args, columns), columns, bounds=args.bounds, **kinds, **running)
    except BaseException:
        source.close()
        raise


def _on_spark(args: argparse.Namespace) -> tuple[Source, Callable[..., Build]]:
    from scumble.columns.kinds import declared, roles_by, roles_of
    from scumble.columns.schema import Schema
    from scumble.sources import open_source
    from scumble.sources.building import Options
    from scumble.sources.spark import ClusterBuild, columns_of, read
    from scumble.sources.spark.engine import session

    others = Options(label=args.label, person_column=args.person_column).others
    columns, roles = args.columns, None
    if args.schema is not None:
        schema = Schema.load(args.schema)
        columns, roles = list(schema.declared), schema.roles | others
    elif args.columns:
        kinds = declared(**given(args, "KINDS"))
        roles = roles_by(kinds, roles_of(kernel_from(args, args.columns), args.columns)) | others
    df, text = read(session(args.master), args.source, roles=roles, **given(args, "READING query"))
    wanted = [*columns, *others] if columns else None
    return open_source(columns_of(df, wanted)), partial(ClusterBuild, df, file=True, text=text)


def count(args: argparse.Namespace, job: Build) -> None:
    """Run the pass, with progress; say what was left out."""
    line = ProgressLine(args.quiet)
    try:
        job.count(line)
    except KeyboardInterrupt as stop:
        if args.checkpoint is None:
            stop.args = ("Nothing was written. Hint: with --checkpoint, a build can be resumed.",)
        elif os.path.exists(args.checkpoint):
            stop.args = (f"The state is in {args.checkpoint} (secret). Run the same command again to resume.",)
        raise
    finally:
        line.close()
    for note in job.tally.told(job.source):  # to the curator, on standard error: as private as the table
        say(args, note)
    sys.stderr.flush()
