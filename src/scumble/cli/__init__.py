"""The command line: one thin verb for each act, one verb per file.

A verb is a module of this package with the same name. It has

``EXAMPLE``             command lines that run as they stand (tests run them all, beside people.csv and friends);
``arguments(parser)``   its options;
``run(args)``           the act; what it returns is the exit code, None is 0;
``NOTHING_PRIVATE``     why it has no private table in its hands. A verb without it runs without core dumps, and the
                        grey-box audit asks for paths through it.

To add a verb, write its module and name it in `VERBS`. Nothing is imported before it is needed, so
``scumble --help`` is quick. What the verbs share::

    arguments.py    options, by topic
    parsing.py      from words to arguments, and what is said of words that a verb does not know
    config.py       options in a TOML file
    digits.py       how many digits of an answer its interval allows
    kernels.py      from options to a kernel
    preparing.py    from options to a pass that is ready to run
    records.py      the records that a model learns from or answers for
    fitting.py      what a schema says of a fit
    handover.py     from counters to a release on disk: at every moment, one of them exists whole
    guard.py        before a verb begins: no output is an input
    coredumps.py    no exact counters in core files
    output.py       where results go
    people.py       the table that the README speaks of
    progress.py     how far a pass is, on a terminal
    replacing.py    what an output's name holds already, before a budget is spent
    streams.py      standard streams: nothing but plain text leaves; those that are closed, full or broken
    trips.py        the story that `demo --stream` tells

Exit codes: 0 done, 2 usage, 3 refused on privacy grounds, 4 bad or missing data, 5 a file damaged, not
scumble's or not to be written, 130 Ctrl-C, 143 SIGTERM, 129 SIGHUP, 141 a broken pipe, 1 a bug.
"""

from __future__ import annotations

import re
import signal
import sys
import threading
from collections.abc import Sequence
from decimal import Decimal
from importlib import import_module
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from scumble._version import __version__

if TYPE_CHECKING:
    from argparse import ArgumentParser

VERBS = {
    "plan": "rows, buckets and the error to expect, before any data is touched",
    "schema": "a draft of a table's schema, from the names and types of its columns alone",
    "check": "what of a table its schema cannot read or match: for the curator's eyes alone",
    "build": "a table to a released file, in one pass",
    "sketch": "a table to a secret part, to be merged with others",
    "merge": "several parts or releases into one",
    "release": "a secret part to a released file",
    "stream": "records that arrive in periods: a release after each, all for one budget",
    "info": "the privacy card of a released file",
    "count": "how many records meet a condition, with an interval",
    "sql": "the answer to a SELECT from the release of a table, with intervals",
    "query": "densities with error bars at points of your choice",
    "modes": "where records are densest",
    "fit": "a table to a fitted model",
    "predict": "a fitted model's answers for the rows of a table",
    "sample": "synthetic records from a released file",
    "plot": "pictures of a released file",
    "explore": "a web page to view and query a released file",
    "ledger": "what has been spent on each dataset, and what is left",
    "audit": "tries to catch the release path, or a mechanism of your own, breaking its promise",
    "demo": "all of the above, on a synthetic town",
}
_BY_SQL = 'scumble sql town.scumble "select avg(age), median(age) from town where age >= 18".'
_BY_LEVEL = "scumble count town.scumble --by age."
_BY_PAGE = "scumble explore town.scumble --export town.html."
OTHER_NAMES = {
    **dict.fromkeys(("mean", "avg", "average", "sum", "median", "quantile", "quantiles", "select", "ask"), _BY_SQL),
    **dict.fromkeys(("histogram", "hist", "crosstab", "groupby"), _BY_LEVEL),
    **dict.fromkeys(("serve", "open", "view"), _BY_PAGE),
    **dict.fromkeys(("describe", "card", "show"), "scumble info town.scumble."),
    **dict.fromkeys(("synthesize", "generate"), "scumble sample town.scumble --n 1000 --out synthetic.csv."),
    **dict.fromkeys(("density", "kde"), "scumble query people.scumble --at age=40,income=50000."),
    "train": "scumble fit.",
}
"""What people call by other names, and the line that does it here."""

_ELSEWHERE = {"audit": "scumble.audit.verb"}
"""Verbs that live above the command line: the auditor runs all the others."""

USAGE, REFUSED, BAD_DATA, DAMAGED, BROKEN_PIPE, BUG = 2, 3, 4, 5, 141, 1
SIGNALLED = 128
"""And the signal's number: 130 is Ctrl-C."""


def home(verb: str) -> str:
    """The module that a verb is in."""
    return _ELSEWHERE.get(verb, f"scumble.cli.{verb}")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line; gives the exit code back."""
    from scumble.cli import streams
    from scumble.machine.interrupts import Unbroken
    from scumble.machine.places import unfinished

    others, screen = unfinished(), (sys.stdout, sys.stderr)
    before = _stops_as_ctrl_c()
    try:
        streams.mend()
        return _main(list(sys.argv[1:] if argv is None else argv))
    except KeyboardInterrupt as stop:
        return _stopped(stop)
    except OSError as problem:
        if not streams.is_broken(problem):
            raise
        streams.silence(sys.stdout)
        broken_pipe = isinstance(problem, BrokenPipeError)
        if broken_pipe and "Hint" not in str(problem.strerror):  # whoever closed it knows
            return BROKEN_PIPE
        return _say(f"Cannot write standard output: {problem.strerror}.", BROKEN_PIPE if broken_pipe else DAMAGED)
    finally:
        with Unbroken():
            for draft in unfinished() - others:  # wherever a signal struck
                draft.close()
        for number, handler in before.items():  # after the block, which puts back what it found
            # A program of its own has only to leave: how it ended is decided.
            signal.signal(number, signal.SIG_IGN if argv is None else handler)
        sys.stdout, sys.stderr = screen


def _main(words: list[str]) -> int:
    if not words or words[0] in ("-h", "--help", "help"):
        if len(words) > 1 and words[0] == "help" and words[1] in VERBS:
            words = [words[1], "--help"]
        else:
            print(overview())
            sys.stdout.flush()
            return 0 if words else USAGE
    if words[0] == "--version":
        print(f"scumble {__version__}")
        sys.stdout.flush()
        return 0
    verb, *rest = words
    if verb not in VERBS:
        from scumble.errors import did_you_mean

        hint = f" Hint: {OTHER_NAMES[verb.lower()]}" if verb.lower() in OTHER_NAMES else did_you_mean(verb, VERBS)
        return _say(f"There is no verb {verb!r}.{hint} scumble --help lists all verbs.", USAGE)
    return _run(verb, rest)


def overview() -> str:
    """What ``scumble --help`` prints."""
    width = max(map(len, VERBS))
    lines = "\n".join(f"  {verb:<{width}}  {what}" for verb, what in VERBS.items())
    return (
        "scumble: turn a private table into a small, shareable, differentially private sketch in one pass.\n\n"
        f"usage: scumble VERB ...\n\n{lines}\n\n"
        "scumble VERB --help says more, with examples. Try `scumble demo` first.\n\n"
        "exit codes: 0 done, 2 usage, 3 refused on privacy grounds, 4 bad data, 5 a file damaged, not "
        "scumble's or not to be written, 130 interrupted"
    )


def _run(verb: str, words: list[str]) -> int:
    debug, parser = "--debug" in words, None
    try:
        from scumble.cli import coredumps
        from scumble.cli.guard import guard
        from scumble.cli.parsing import parse

        module = import_module(home(verb))
        args, parser = parse(verb, VERBS[verb], module, words)
        _quiet_warnings()
        if not getattr(args, "rehearse", False):  # which writes nothing, and leaves what is there alone
            guard(args, parser)
        if not hasattr(module, "NOTHING_PRIVATE"):
            coredumps.switch_off()
        code = module.run(args)
        sys.stdout.flush()
        return code or 0
    except SystemExit as leaving:  # argparse: --help or a usage error, already said
        sys.stdout.flush()
        return leaving.code if isinstance(leaving.code, int) else USAGE
    except Exception as problem:
        from scumble.cli.streams import is_broken, tell

        if is_broken(problem):
            raise
        if debug:
            for line in _where(problem).splitlines():
                tell(line)
        return _explain(problem, parser, words)


def _stops_as_ctrl_c() -> dict[int, Any]:
    """SIGTERM and SIGHUP end a command as Ctrl-C does; gives what each signal did before."""
    if threading.current_thread() is not threading.main_thread():
        return {}
    from scumble.machine.interrupts import STOPS, Stopped

    before = {number: handler for number in STOPS if (handler := signal.getsignal(number)) is not None}
    for number, handler in before.items():
        if handler is signal.SIG_DFL:
            signal.signal(number, Stopped.handler)
    return before


def _stopped(stop: KeyboardInterrupt) -> int:
    number = getattr(stop, "number", signal.SIGINT)
    how = {signal.SIGINT: "Interrupted"}.get(number, f"Stopped by {signal.Signals(number).name}")
    if sys.stderr.isatty():
        print(file=sys.stderr)
    return _say(f"{how}. {stop}".strip(), 0 if getattr(stop, "done", False) else SIGNALLED + number)


def _where(problem: BaseException | None) -> str:
    """The traceback, without words: another library's may quote cells of the table, and ours come last."""
    import traceback

    told, seen = [], set()
    while problem is not None and id(problem) not in seen:
        seen.add(id(problem))
        calls = "".join(traceback.format_tb(problem.__traceback__))
        told.append(f"{type(problem).__name__} (most recent call last):\n{calls}")
        problem = problem.__cause__ or (None if problem.__suppress_context__ else problem.__context__)
    return "\nwhich led to\n\n".join(reversed(told))


NEEDED = ("numba", "pyarrow", "scipy", "threadpoolctl")
"""What pip installs with scumble, and who only reads may leave out."""


def _explain(problem: Exception, parser: ArgumentParser | None, words: list[str]) -> int:
    from scumble import errors
    from scumble.machine.later import lacking

    if isinstance(problem, errors.ScumbleError):
        if isinstance(problem, errors.PrivacyError):
            code = REFUSED
        elif isinstance(problem, (errors.DataError, errors.MergeError, errors.MissingFileError)):
            code = BAD_DATA
        elif isinstance(problem, errors.FileError):
            code = DAMAGED
        else:
            code = USAGE
        from scumble.cli.parsing import as_options

        return _say(str(problem) if parser is None else as_options(str(problem), parser), code)
    if isinstance(problem, ImportError) and "Hint: pip install " in str(problem):  # our own words
        return _say(str(problem), USAGE)
    if isinstance(problem, ModuleNotFoundError) and str(problem.name).partition(".")[0] in NEEDED:
        return _say(lacking(str(problem.name).partition(".")[0]), USAGE)
    if isinstance(problem, OSError) and problem.strerror:
        where = f" {problem.filename!r}" if problem.filename else ""
        return _say(f"Cannot use{where}: {problem.strerror.lower()}.", BAD_DATA)
    if isinstance(problem, MemoryError):
        return _say("There is not enough memory. Hint: choose fewer rows or buckets.", BAD_DATA)
    if isinstance(problem, (OverflowError, ZeroDivisionError)):
        return _say(f"A number is too large or too small to calculate with. Hint: look at {_farthest(words)}.", USAGE)
    # Another library's words may quote cells of the table: the type must do.
    return _say(
        f"Unexpected {type(problem).__name__}: this is a bug. Hint: --debug shows where; please report it.", BUG
    )


def _farthest(words: list[str]) -> str:
    """The option whose number is farthest from 1: probably the one that cannot be calculated with."""

    def size(given: tuple[str, str]) -> int:
        numbers = re.findall(r"\d+\.?\d*(?:[eE][-+]?\d+)?", given[1])
        return max((abs(Decimal(number).adjusted()) for number in numbers), default=-1)

    every = [*pairwise(words), *(word.partition("=")[::2] for word in words)]
    return max((one for one in every if one[0].startswith("--")), key=size, default=("the options", ""))[0]


def _say(message: str, code: int) -> int:
    from scumble.cli.streams import tell

    tell("scumble: " + " ".join(message.split()))
    return code


def _quiet_warnings() -> None:
    """Warnings are also one line on standard error."""
    import warnings

    def show(message: object, *_: object, **__: object) -> None:
        from scumble.cli.streams import tell

        tell(f"scumble: warning: {' '.join(str(message).split())}")

    warnings.showwarning = show
