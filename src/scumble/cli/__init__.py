"""The command line: one verb per file.

A verb is a module of this package with the same name, which `VERBS` lists. It has

``EXAMPLE``             command lines that run as they stand (tests run them all);
``arguments(parser)``   its options;
``run(args)``           the act; what it returns is the exit code, None is 0;
``NOTHING_PRIVATE``     why it handles no private table. A verb without it runs without core dumps, and the grey-box
                        audit asks for paths through it.

What verbs share is in ``options.py`` (each option once), ``parsing.py`` (from words to arguments), ``terminal.py``
(standard streams), ``inputs.py``, ``output.py`` and ``handover.py`` (from counters to a release on disk).

Exit codes: 0 done, 2 usage, 3 refused on privacy grounds, 4 bad or missing data, 5 a file damaged, not
scumble's or not to be written, 130 Ctrl-C, 143 SIGTERM, 129 SIGHUP, 141 a broken pipe, 1 a bug.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from importlib import import_module
from types import FrameType
from typing import TYPE_CHECKING

from scumble._version import __version__

if TYPE_CHECKING:
    from argparse import ArgumentParser

VERBS = {
    "plan": "plan rows, buckets and the expected error, before any data is touched",
    "schema": "draft a table's schema from the names and types of its columns",
    "check": "list what a schema cannot read in a table, for the curator only",
    "build": "turn a table into a released file, in one pass",
    "publish": "turn a table into a folder for a web server: release, page, card and a README",
    "sketch": "turn a table into a secret part, to be merged with others",
    "merge": "merge several parts, or several releases, into one",
    "release": "turn a secret part into a released file",
    "stream": "publish a release after each period, under one budget",
    "info": "show the privacy card of a released file",
    "count": "count the records that meet a condition, with an interval",
    "sql": "answer a SELECT from the release of a table, with intervals",
    "query": "estimate densities at points of your choice, with intervals",
    "compare": "show what differs between two releases, with p-values",
    "mcp": "serve released tables to an assistant, through the Model Context Protocol",
    "evidence": "collect what an assessor of a release needs",
    "verify": "recompute an answer of scumble mcp, or check evidence",
    "modes": "find where records are densest",
    "fit": "fit a model to a table",
    "predict": "predict for the records of a table with a fitted model",
    "sample": "draw synthetic records from a released file",
    "plot": "draw a released file",
    "explore": "view and query a released file in a web page",
    "ledger": "show what has been spent on each dataset, and what is left",
    "audit": "try to catch the release path, or a mechanism of your own, breaking its promise",
    "demo": "run all of the above on a synthetic table",
}
_ELSEWHERE = {"audit": "scumble.audit.verb", "evidence": "scumble.audit.evidence"}
"""Verbs that live above the command line: the auditor runs all the others."""

USAGE, REFUSED, BAD_DATA, DAMAGED, BROKEN_PIPE, BUG = 2, 3, 4, 5, 141, 1
Handler = Callable[[int, FrameType | None], object] | int
SIGNALED = 128
"""And the signal's number: 130 is Ctrl-C."""


def home(verb: str) -> str:
    """The module that a verb is in."""
    return _ELSEWHERE.get(verb, f"scumble.cli.{verb}")


LAST: list[Callable[[], object]] = []
"""What a command that ends well does last of all: a command that is killed before and run again pays once."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line; gives the exit code back."""
    LAST.clear()
    code = _command(argv)
    if code:
        LAST.clear()
    elif argv is not None:
        _do_last()
    return code


def _do_last() -> bool:
    """Whether there was anything to do."""
    done = bool(LAST)
    while LAST:
        LAST.pop()()
    return done


@atexit.register  # before all that the program imports, so its name is after theirs
def _leave() -> None:
    """In a program of its own: the last act, and no step after it that could be killed."""
    if _do_last():
        sys.stdout.flush()
        os._exit(0)


def _command(argv: Sequence[str] | None) -> int:
    from scumble.cli import terminal
    from scumble.files.interrupts import Unbroken
    from scumble.files.places import unfinished

    others, screen = unfinished(), (sys.stdout, sys.stderr)
    before = _stops_as_ctrl_c()
    try:
        terminal.mend()
        return _main(list(sys.argv[1:] if argv is None else argv))
    except KeyboardInterrupt as stop:
        return _stopped(stop)
    except OSError as problem:
        if not terminal.is_broken(problem):
            raise
        terminal.silence(sys.stdout)
        broken_pipe = isinstance(problem, BrokenPipeError)
        if broken_pipe and "Hint" not in str(problem.strerror):  # the reader closed it on purpose
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

        return _say(f"There is no verb {verb!r}.{did_you_mean(verb, VERBS)} Hint: scumble --help lists all.", USAGE)
    return _run(verb, rest)


def overview() -> str:
    """What ``scumble --help`` prints."""
    width = max(map(len, VERBS))
    lines = "\n".join(f"  {verb:<{width}}  {what}" for verb, what in VERBS.items())
    return (
        "scumble: turn a private table into a small, shareable, differentially private sketch in one pass.\n\n"
        f"usage: scumble VERB ...\n\n{lines}\n\n"
        "scumble VERB --help shows the options of a verb, with examples. Try `scumble demo` first.\n\n"
        "exit codes: 0 done, 2 usage, 3 refused on privacy grounds, 4 bad data, 5 a file that is damaged, not "
        "scumble's, or cannot be written, 130 interrupted"
    )


def _run(verb: str, words: list[str]) -> int:
    debug, parser = "--debug" in words, None
    try:
        from scumble.cli.parsing import guard, parse

        module = import_module(home(verb))
        args, parser = parse(verb, VERBS[verb], module, words)
        _quiet_warnings()
        guard(args, parser)
        if not hasattr(module, "NOTHING_PRIVATE"):
            no_core_dumps()
        code = module.run(args)
        sys.stdout.flush()
        return code or 0
    except SystemExit as leaving:  # argparse: --help or a usage error, already said
        sys.stdout.flush()
        return leaving.code if isinstance(leaving.code, int) else USAGE
    except Exception as problem:
        from scumble.cli.terminal import is_broken, tell

        if is_broken(problem):
            raise
        if debug:
            for line in _where(problem).splitlines():
                tell(line)
        return _explain(problem, parser)


def _stops_as_ctrl_c() -> dict[int, Handler]:
    """SIGTERM and SIGHUP end a command as Ctrl-C does; gives what each signal did before."""
    if threading.current_thread() is not threading.main_thread():
        return {}
    from scumble.files.interrupts import STOPS, Stopped

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
    return _say(f"{how}. {stop}".strip(), 0 if getattr(stop, "done", False) else SIGNALED + number)


def _where(problem: BaseException | None) -> str:
    """The traceback, without words: another library's may quote cells of the table, and ours come last."""
    import traceback

    traces, seen = [], set()
    while problem is not None and id(problem) not in seen:
        seen.add(id(problem))
        calls = "".join(traceback.format_tb(problem.__traceback__))
        traces.append(f"{type(problem).__name__} (most recent call last):\n{calls}")
        problem = problem.__cause__ or (None if problem.__suppress_context__ else problem.__context__)
    return "\nwhich led to\n\n".join(reversed(traces))


NEEDED = ("pyarrow", "scipy", "threadpoolctl")
"""What pip installs with scumble, and who only reads may leave out."""


def _explain(problem: Exception, parser: ArgumentParser | None) -> int:
    from scumble import errors
    from scumble.files.lazy_modules import lacking

    if isinstance(problem, errors.ScumbleError):
        from scumble.cli.parsing import as_options

        codes: dict[int, tuple[type, ...]] = {
            REFUSED: (errors.PrivacyError,),
            BAD_DATA: (errors.DataError, errors.MergeError, errors.MissingFileError),
            DAMAGED: (errors.FileError,),
        }
        code = next((code for code, kinds in codes.items() if isinstance(problem, kinds)), USAGE)
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
        return _say("A number among the options is too large or too small to calculate with.", USAGE)
    # Another library's words may quote cells of the table: the type must do.
    return _say(
        f"Unexpected {type(problem).__name__}: this is a bug. Hint: --debug shows where; please report it.", BUG
    )


def _say(message: str, code: int) -> int:
    from scumble.cli.terminal import tell

    tell("scumble: " + " ".join(message.split()))
    return code


def no_core_dumps() -> None:
    """For this process, for good: memory holds exact counters, and a core file would keep them on the disk."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_CORE)
        resource.setrlimit(resource.RLIMIT_CORE, (0, most))
    if sys.platform == "linux":
        # A handler that the kernel pipes cores to (systemd-coredump) ignores the limit, but not this. It also keeps
        # other processes of the same user from reading the memory.
        import ctypes

        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE


def _quiet_warnings() -> None:
    """Warnings are also one line on standard error."""
    import warnings

    def show(message: object, *_: object, **__: object) -> None:
        from scumble.cli.terminal import tell

        tell(f"scumble: warning: {' '.join(str(message).split())}")

    warnings.showwarning = show
