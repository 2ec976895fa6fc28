"""What ``scumble schema`` asks at a terminal. Each answer is written as its option would be, and is checked at once."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from scumble.cli.options import per_person
from scumble.cli.terminal import tell
from scumble.errors import ParameterError, ScumbleError


class Question(NamedTuple):
    """A decision: the option that it sets, what to know for it, and an example."""

    option: str
    why: str
    example: str


QUESTIONS = (
    Question(
        "person_column",
        "Who is protected? If a column tells whose record it is, name it: then persons are protected, not single "
        "records. The column itself is not published.",
        "customer",
    ),
    Question(
        "records_per_person",
        "How many records of a person count at most? Others are left out. Noise grows with this number.",
        "5",
    ),
    Question(
        "leave_out",
        "Which columns will nobody ask about, such as names and addresses? Each column takes a part of the budget.",
        "name,street",
    ),
    Question(
        "whole",
        "Which columns hold whole numbers, and between which bounds that anybody could know? Numbers outside count at "
        "the nearest bound; wide bounds cost little.",
        "age=0:120,children=0:10",
    ),
    Question("numbers", "Which columns hold other numbers, and between which bounds?", "income=0:200000"),
    Question("decimal", "Which mark stands before decimals: 1,234.50 or 1.234,50?", "."),
    Question("dates", "Which columns hold dates or times, and of which years?", "born=1900:2029,visit=2020:2024"),
    Question(
        "date_format",
        "How are dates written, if not as 2024-12-31? Write the last day of 2024 as the table does.",
        "31.12.2024",
    ),
    Question(
        "categories",
        "Which columns hold words that anybody could know? List them, or name a file with one word per line. Words of "
        "the other columns are found privately: one takes a tenth of ε, nine take a quarter, and δ is above 0.",
        "sex=f|m,town=@towns.txt",
    ),
    Question("missing_words", "Which words or values stand for an empty cell?", "-,k.A.,999"),
)
"""In their order: ten decisions at most."""
Check = Callable[[argparse.Namespace], object]
"""Refuses, with an error, options that do not fit the table."""


def at_terminal(args: argparse.Namespace) -> bool:
    """Whether somebody is there to answer."""
    return not args.quiet and args.source != ["-"] and sys.stdin.isatty() and sys.stderr.isatty()


def _asked(args: argparse.Namespace, typed: bool) -> Iterator[Question]:
    """The questions that no option has answered and that matter, by the answers so far."""
    for question in QUESTIONS:
        needs = {
            "records_per_person": args.person_column,
            "decimal": (args.whole or args.numbers) and not typed,
            "date_format": args.dates and not typed,
        }
        if getattr(args, question.option) in (None, ".") and needs.get(question.option, True):
            yield question


def ask(
    args: argparse.Namespace,
    types: Mapping[str, Callable[[str], object]],
    usual: Callable[[str], str],
    check: Check,
    left: Callable[[], list[str]],
    *,
    typed: bool,
) -> None:
    """Set the options that were not given; `types` read the answers, and `usual` ones are taken by Enter.

    `left` are the columns of which nothing is known so far.
    """
    tell("Enter takes what stands in brackets. scumble schema --help has the same as options.")
    for place, question in enumerate(_asked(args, typed), 1):
        option, before = question.option, getattr(args, question.option)
        offered = usual(option) or before
        while True:
            tell("")
            tell(f"{place}. {question.why}")
            if option in ("person_column", "leave_out", "whole", "numbers", "dates", "categories"):
                tell(f"   Columns: {', '.join(left())}")
            tell(f"   For example: {question.example}")
            print(f"   [{offered or 'none'}] ", end="", file=sys.stderr, flush=True)
            line = sys.stdin.readline()
            if not line:
                raise ParameterError("The questions were left unanswered. Hint: --quiet drafts without them.")
            try:
                setattr(args, option, _read(line.strip() or offered, types[option]) or before)
                if option == "records_per_person":
                    per_person(args)
                check(args)
                break
            except (ScumbleError, argparse.ArgumentTypeError) as problem:
                setattr(args, option, before)
                tell(f"   {problem}")


def _read(text: str | None, read: Callable[[str], object]) -> object:
    return read(text) if text and text != "none" else None
