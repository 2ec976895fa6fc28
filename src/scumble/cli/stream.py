"""``scumble stream``: records that arrive day by day, a release after each day, all of them for one budget."""

from __future__ import annotations

import argparse
import contextlib
import os
from typing import TYPE_CHECKING

from scumble.cli.options import PERIODS, Settings, given, kernel_from, not_empty, promised, require, take
from scumble.cli.output import check_release_out, print_json, say, secret_out, tell_weak, write_release
from scumble.cli.terminal import ProgressLine, waiting
from scumble.errors import ParameterError

if TYPE_CHECKING:
    from scumble.density.spec import Spec
    from scumble.streams.stream import Stream

EXAMPLE = """
scumble stream plan --periods 365 --rows 1000 --epsilon 1 --delta 1e-6
scumble stream plan --columns age --bandwidth 5 --bounds age=0:100 --periods 52 --epsilon 1
scumble stream start trips.secret --columns age --bandwidth 5 --rows 64 --buckets 256 --periods 365 --epsilon 1 \
--delta 1e-6 --folder trips
scumble stream append trips.secret people.csv --period 1
scumble stream append trips.secret people.csv --period 1
scumble stream publish trips.secret --period 1
scumble stream append trips.secret more.csv --period 2
scumble stream publish trips.secret --period 2 --json
scumble stream window trips --width 2 --out week.scumble
"""

ACTS = {
    "plan": "what to expect, before any data is touched",
    "start": "begin a stream: charge its budget, and write its secret file",
    "append": "count records in the open period",
    "publish": "close the open period, and write its release into the folder",
    "window": "some periods of what is published, as one release",
}


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("act", choices=list(ACTS), help="; ".join(f"{act}: {what}" for act, what in ACTS.items()))
    parser.add_argument("stream", nargs="?", help="the stream's SECRET file; for window, the folder it publishes into")
    take(parser, "SOURCE")
    periods = parser.add_argument_group("periods (public)")
    periods.add_argument("--periods", type=PERIODS, help="start, plan: the most there will ever be")
    periods.add_argument("--period", type=PERIODS, help="append, publish: which period")
    periods.add_argument("--batch", type=not_empty, help="append: a name for these records (default: a file's digest)")
    periods.add_argument("--folder", help="start: where the releases go")
    periods.add_argument(
        "--method",
        choices=["auto", "toeplitz", "bridge", "daily"],
        default="auto",
        help="start: how periods share the noise",
    )
    periods.add_argument("--width", type=PERIODS, help="window: so many periods")
    periods.add_argument("--first", type=PERIODS, help="window: from this period on")
    periods.add_argument("--last", type=PERIODS, help="window: up to this period (default: the last)")
    take(parser, "KERNEL KINDS SIZE BUDGET person_column LEDGER threads json")
    take(parser, out="window: the released file, such as week.scumble")


def run(args: argparse.Namespace) -> None:
    if args.act != "plan" and args.stream is None:
        what = "the folder of its releases" if args.act == "window" else "its secret file, such as trips.secret"
        raise ParameterError(f"Name the stream: {what}.")
    if args.source and args.act != "append":
        raise ParameterError(f"`stream {args.act}` reads no records. Hint: scumble stream append STREAM SOURCE.")
    {"plan": _plan, "start": _start, "append": _append, "publish": _publish, "window": _window}[args.act](args)


def _plan(args: argparse.Namespace) -> None:
    from scumble.show.cards import size_words
    from scumble.streams.choosing import compare

    asked = promised(args, "the budget of all releases together, such as 1")
    require(args, periods="the most that there will be, such as 365")
    planned = None if args.columns is None else _planned(args, asked)
    if planned is None:
        require(args, rows="the rows of the sketch, such as 1000; or --columns and the other options of `stream start`")
    found = compare(args.periods, args.rows if planned is None else planned.rows, **asked)
    if args.json:
        size = {} if planned is None else {name: planned.to_dict()[name] for name in ("rows", "buckets", "design")}
        shape = {"shape": planned.shape} if planned is not None and planned.shape else {}
        print_json({**size, **shape, "methods": [one.to_dict() for one in found]})
        return
    if planned is not None:
        print(f"each period: {size_words(planned.to_dict())}\n")
    print(f"{'':<22}times the noise of a single release")
    print(f"{'method':<10}{'noise':<12}{'running total':>13}{'window of 7':>13}{'one period':>12}")
    for one in found:
        total, week, period = one.times
        of_week, family = "" if week is None else f"{week:.2f}", one.calibration.law.family
        print(f"{one.method.name:<10}{family:<12}{total:>13.2f}{of_week:>13}{period:>12.2f}")


def _planned(args: argparse.Namespace, asked: Settings) -> Spec:
    """The specification of the sketch that `start` makes of the same options."""
    from scumble.density.sketch import Sketch
    from scumble.privacy.budget import Budget

    sketch = Sketch(kernel_from(args, args.columns), **given(args, "columns SIZE KINDS"))
    sketch._decide(Budget.of(**asked))
    found: Spec = sketch.spec
    return found


def _start(args: argparse.Namespace) -> None:
    from scumble.files.interrupts import Unbroken
    from scumble.privacy.budget import Budget
    from scumble.privacy.exact import show
    from scumble.streams.stream import Stream

    asked = promised(args, "the budget of all releases together; 1 is a good start")
    require(
        args,
        periods="the most periods that there will be, such as 365",
        columns="the columns of every batch, such as x,y",
        folder="the folder that releases are published into, such as trips",
    )
    secret_out(args.stream)
    tell_weak(args, Budget.of(**asked))
    options = given(args, "periods method columns SIZE KINDS invalid person_column folder LEDGER")
    kernel = kernel_from(args, args.columns)
    with Unbroken() as steps, waiting(args.quiet, "Drawing the noise of the first period …"):
        stream = Stream(kernel, file=args.stream, **options, **asked)
        stream.close()
        steps.finish(f"{args.stream} was already written and is complete.")
    if args.json:
        print_json(
            {"stream": stream.identity, "epsilon": float(show(stream.privacy.epsilon)), **stream.expected.to_dict()}
        )
    say(args, f"Started {args.stream}, which is SECRET. What to expect: {stream.expected}.")


def _append(args: argparse.Namespace) -> None:
    require(args, source="the records, such as monday.csv")
    batch = args.batch or _digest(args.source)
    with contextlib.closing(_open(args)) as stream:
        opened = stream.periods + 1
        if args.period is not None and args.period < opened:
            if not stream.knows(batch):
                raise ParameterError(f"Period {args.period} is closed, without this batch. Hint: --period {opened}.")
            say(args, f"Period {args.period} is closed, and this batch was counted before; nothing was done.")
            return
        if args.period is not None and args.period > opened:
            raise ParameterError(f"Period {opened} is open, not {args.period}. Hint: publish it first.")
        reading = given(args, "READING query")
        with contextlib.closing(ProgressLine(args.quiet)) as line:
            counted = stream.update(args.source, batch=batch, invalid=args.invalid, progress=line, **reading)
        if not counted:
            say(args, "This batch was counted before; nothing was done.")
            return
        stream.save()
        for told in stream.told:
            say(args, told)
        say(args, f"Counted in period {opened}.")


def _publish(args: argparse.Namespace) -> None:
    from scumble.files.interrupts import Unbroken
    from scumble.show.cards import facts
    from scumble.streams.published import name_of

    with contextlib.closing(_open(args)) as stream:
        opened = stream.periods + 1
        with Unbroken() as steps, waiting(args.quiet, "Publishing the period, and drawing the noise of the next …"):
            release = stream.close_period(args.period)
            assert release.stream is not None
            path = os.path.join(str(stream.folder), name_of(release.stream.last))
            steps.finish(f"{path} was already written and is complete.")
        again = args.period is not None and args.period < opened
        if args.json:
            print_json({"out": path, "period": release.stream.last, **facts(release)})
        if again:
            say(args, f"Period {args.period} was published before, as {path}; nothing was done.")
        elif not args.json:
            say(args, f"Wrote {path}: periods 1 to {release.stream.last}, {release.privacy}.")
        for line in stream.told:
            say(args, line)


def _window(args: argparse.Namespace) -> None:
    from scumble.cli.handover import replacing
    from scumble.show.cards import facts
    from scumble.streams.published import StreamRelease

    check_release_out(args)
    found = StreamRelease(args.stream)
    if args.width is None and args.first is None:
        release = found.total(args.last)
    else:
        release = found.window(args.width, first=args.first, last=args.last)
    with replacing(args.out, release.to_bytes()):
        write_release(release, args.out)
    if args.json:
        print_json({"out": args.out, **facts(release)})
    elif args.out != "-":
        assert release.stream is not None
        say(args, f"Wrote {args.out}: periods {release.stream.first} to {release.stream.last}.")


def _open(args: argparse.Namespace) -> Stream:
    from scumble.streams.stream import load_stream

    return load_stream(args.stream, folder=args.folder, threads=args.threads)


def _digest(source: list[str]) -> str:
    """What identifies a batch: the bytes of its one file."""
    import hashlib

    from scumble.sources.paths import find_files

    if not any("://" in one for one in source):
        find_files(source)  # refuses what is not there
    if len(source) != 1 or not os.path.isfile(source[0]):
        raise ParameterError("Give --batch, a name for these records, to count them once. A single file needs none.")
    with open(source[0], "rb") as file:
        return f"sha256 {hashlib.file_digest(file, 'sha256').hexdigest()}"
