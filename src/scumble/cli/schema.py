"""``scumble schema``: a draft of a table's schema. Records are read with --look or --epsilon alone."""

from __future__ import annotations

import argparse
import fnmatch
import shlex
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from scumble.cli.inputs import opened
from scumble.cli.options import Settings, Whole, names, per_person, take
from scumble.cli.output import check_out, say
from scumble.cli.terminal import tell
from scumble.errors import MissingFileError, ParameterError, ScumbleError
from scumble.files.lazy_modules import pa

if TYPE_CHECKING:
    from scumble.sources import Source

EXAMPLE = """
scumble schema people.parquet --out draft.toml
scumble schema people.csv
scumble schema people.csv --look --out look.toml
scumble schema people.csv --epsilon 0.1 --delta 1e-6
scumble schema people.csv --whole age=0:120 --numbers income=0:200000 --categories mode='bus|car' --out mine.toml
"""
LOOKED = (
    "SECRET: the comments of this draft tell what the records hold, for you alone. "
    "No budget covers what you copy from them: write what is known in advance."
)
HOLDS = {
    "numbers": ("numbers, with their bounds", "A=0:200000,B"),
    "whole": ("whole numbers, with their bounds", "A=0:120,B"),
    "dates": ("dates or times, with their bounds", "A=1900:2029,B"),
    "booleans": ("true or false, yes or no", "A,B"),
    "categories": ("words, perhaps with a list of them, or a file with one per line", "A=f|m,B=@FILE"),
}
"""What each option says of columns, and how."""


def arguments(parser: argparse.ArgumentParser) -> None:
    take(parser.add_argument_group("what to read"), "source columns READING query", source={"nargs": "+"})
    take(parser, leave_out={"type": names, "metavar": "A,B", "help": "columns that nobody will ask about"})
    group = parser.add_argument_group("what columns hold, if known; 'q*' for all that begin with q")
    for option, (what, how) in HOLDS.items():
        group.add_argument(f"--{option}", type=names, metavar=how, help=what)
    group.add_argument("--date-format", type=_dated, metavar="31.12.2024", help="how the last day of 2024 is written")
    group.add_argument("--missing-words", type=names, metavar="A,B", help="what else stands for an empty cell")
    parser.add_argument("--look", action="store_true", help="read the table, for your eyes only: see what it holds")
    take(parser, person_column="the person that each record belongs to: left out, and named for the build")
    private = parser.add_argument_group("a private draft, with bounds and kinds found for a budget")
    take(private, "delta records_per_person ledger dataset", epsilon="what the draft may cost, such as 0.1")
    take(parser, "replace", out={"default": "-", "help": "the schema to write, or '-' (default)"})


def _dated(text: str) -> str:
    from scumble.columns.draft import format_of

    try:
        return format_of(text) or "iso"
    except ParameterError as problem:
        raise argparse.ArgumentTypeError(str(problem)) from None


def _decimal(text: str) -> str:
    if text not in (".", ","):
        raise argparse.ArgumentTypeError("must be . or ,")
    return text


def _declared(args: argparse.Namespace, names: Sequence[str], source: Source) -> dict[str, Settings]:
    """What the options say of columns; a full name takes precedence over a pattern."""
    words = []
    for option in HOLDS:
        for word in getattr(args, option) or ():
            name, mark, value = word.rpartition("=")
            words.append((option, name, value) if mark and word not in names else (option, word, ""))
    found: dict[str, tuple[str, str]] = {}
    for pattern in (False, True):
        named = {*found}
        for option, word, value in words:
            if (word not in names and "*" in word) is not pattern:
                continue
            meant = fnmatch.filter(names, word) if pattern else [word]
            if not meant or meant[0] not in names:
                source.require([word])
                raise ParameterError(f"--{option} names {word!r}, which is not among the columns of the draft.")
            for name in (name for name in meant if name not in named):
                if found.setdefault(name, (option, value))[0] != option:
                    both = f"--{found[name][0]} and --{option}"
                    raise ParameterError(f"{both} both name {name!r}. Hint: keep one of them.")
    settings = {name: _settings(args, name, *said) for name, said in found.items()}
    if args.missing_words:
        gaps = {"missing": True, "missing_words": [*args.missing_words]}
        settings = {name: settings.get(name, {}) | gaps for name in names}
    return settings


def _settings(args: argparse.Namespace, name: str, option: str, value: str) -> Settings:
    """The settings of a column by an option and what it says of it; a ParameterError if they do not fit."""
    from scumble.columns.column import Column

    if option == "booleans":
        return {"kind": "boolean"}
    if option == "categories":
        words = _words(value[1:]) if value.startswith("@") else value.split("|")
        found: Settings = {"kind": "category", **({"values": words} if value else {})}
    else:
        found = {"kind": "date" if option == "dates" else "number"}
        low, mark, high = value.partition(":")
        if value and not mark:
            raise ParameterError(f"--{option} has no bounds for {name!r}. Hint: {HOLDS[option][1].partition(',')[0]}.")
        if option == "dates":
            found |= {"format": args.date_format} if args.date_format not in (None, "iso") else {}
            ends: list[object] = [low, high]
        else:
            found |= {"whole": True} if option == "whole" else {}
            found |= {"decimal": ","} if args.decimal == "," else {}
            try:
                ends = [int(float(end)) if float(end).is_integer() else float(end) for end in (low, high) if value]
            except (ValueError, OverflowError):
                raise ParameterError(f"--{option} must have numbers as bounds of {name!r}. Hint: 0:120.") from None
        found |= dict(zip(("low", "high"), ends, strict=True)) if value else {}
    if value:
        Column.from_dict(found, name)
    return found


def _words(path: str) -> list[str]:
    """The words of a file, one per line."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            return list(dict.fromkeys(word for line in file if (word := line.strip())))
    except (OSError, UnicodeDecodeError):
        raise MissingFileError(f"Cannot read the words in {path!r}. Hint: one per line, in UTF-8.") from None


def run(args: argparse.Namespace) -> None:
    from scumble.columns.cells import is_text
    from scumble.columns.draft import draft, look, suggested
    from scumble.sources.source import numbers_rows

    check_out(args.out, replace=args.replace)
    source = opened(args)
    try:
        numbers = [] if args.columns else [name for name in source.names if numbers_rows(name)]
        columns = source.columns(args.columns or None, besides=numbers)
        source.require(columns)
        if args.epsilon is not None:
            _private(args, source, _kept(args, columns, source))
            return
        if args.ledger is not None or args.dataset is not None or args.delta:
            raise ParameterError("A ledger and --delta are for private drafts. Hint: add --epsilon 0.1.")
        types, seen, hints = source.types(columns), None, dict[str, list[str]]()
        if args.look:
            pieces = source.pieces(dict.fromkeys(columns, "any"), invalid="drop")
            seen = look((piece.batch for piece in pieces), columns)
            hints = {name: suggested(seen[name], types[name], source.decimal) for name in columns}
            say(args, LOOKED)
            _warn(args, source)
            if args.person_column is None and (persons := _persons(hints)):
                which = ", ".join(map(repr, persons))
                hint = f"Hint: --person-column {shlex.quote(persons[0])} --records-per-person M protects persons."
                say(args, f"Values repeat as persons do in {which}. {hint}")
        guided = not args.quiet and args.source != ["-"] and sys.stdin.isatty() and sys.stderr.isatty()
        if guided:
            _guide(args, columns, source, types, hints)
        kept = _kept(args, columns, source)
        known = _declared(args, kept, source)
        kinds = {name: ARROW[_kind(known, name)]() if _kind(known, name) in ARROW else types[name] for name in kept}
        for name in kept if guided else ():
            textual = types[name] is None or is_text(types[name])
            boolean = hints.get(name, [""])[0] == 'kind = "boolean"'
            if textual and not boolean and known.get(name, {}).get("kind", "category") == "category":
                known[name] = {"kind": "category", "discover": True, **known.get(name, {})}
                if "values" in known[name]:
                    del known[name]["discover"]
        text = draft(kinds, seen, decimal=source.decimal, known=known)
    finally:
        source.close()
    if numbers:
        say(args, "Left out: a column that seems to hold the numbers of the rows, as pandas and R write them.")
    _write(args, text, "check")


ARROW: dict[str, Callable[[], pa.DataType]] = {
    "number": lambda: pa.float64(),
    "date": lambda: pa.date32(),
    "boolean": lambda: pa.bool_(),
    "category": lambda: pa.string(),
}


def _kept(args: argparse.Namespace, columns: Sequence[str], source: Source) -> list[str]:
    """The columns of the draft."""
    out = [*(args.leave_out or ()), *([] if args.person_column is None else [args.person_column])]
    source.require(out)
    kept = [name for name in columns if name not in out]
    if not kept:
        raise ParameterError("No column is left for the draft. Hint: leave out fewer.")
    return kept


def _kind(known: Mapping[str, Settings], name: str) -> str:
    return str(known.get(name, {}).get("kind"))


def _private(args: argparse.Namespace, source: Source, columns: Sequence[str]) -> None:
    """A draft that is complete, for a budget."""
    from scumble.privacy.account import Account
    from scumble.privacy.budget import Budget
    from scumble.sources.drafting import drafted

    if args.look or any(getattr(args, option) for option in (*HOLDS, "date_format", "missing_words")):
        raise ParameterError("A private draft finds kinds by itself. Hint: leave out --look and declarations.")
    budget = Budget.of(args.epsilon, args.delta, "add-remove", per_person(args), 0)
    found = drafted(source, columns, budget, Account.of(args.ledger, args.dataset, None), args.person_column)
    _warn(args, source)
    for line in found.told:
        say(args, line)
    _write(args, found.toml(), "build")


def _warn(args: argparse.Namespace, source: Source) -> None:
    """Tell the curator what was odd in the files that were read."""
    for line in source.oddities.words():
        say(args, line)


def _write(args: argparse.Namespace, text: str, verb: str) -> None:
    """Write the draft, and name the verb that comes next."""
    from scumble.columns.column import BLANK
    from scumble.files.places import write_whole

    people = ""
    if args.person_column is not None:
        people = f" --person-column {shlex.quote(args.person_column)} --records-per-person {per_person(args)}"
        text = f"# Protects persons, if check, build and publish have{people}\n{text}"
    if args.out == "-":
        print(text, end="")
        return
    write_whole(args.out, text.encode())
    blanks = " Fill in its blanks with what is known beforehand." if BLANK in text.partition("[columns.")[2] else ""
    then = f"{shlex.join(args.source)} --schema {shlex.quote(args.out)}{people}"
    say(args, f"Wrote {args.out}.{blanks} Next: scumble {verb} {then}")


# ---- questions at a terminal: each answer is written as its option would be, and is checked at once ----


class Question(NamedTuple):
    """A decision: the option that it sets, what reads its answer, what to know for it, and an example."""

    option: str
    read: Callable[[str], object]
    why: str
    example: str


QUESTIONS = (
    Question(
        "person_column",
        str,
        "Who is protected? If a column tells whose record it is, name it: then persons are protected, not single "
        "records. The column itself is not published.",
        "customer",
    ),
    Question(
        "records_per_person",
        Whole(),
        "How many records of a person count at most? Others are left out. Noise grows with this number.",
        "5",
    ),
    Question(
        "leave_out",
        names,
        "Which columns will nobody ask about, such as names and addresses? Each column takes a part of the budget.",
        "name,street",
    ),
    Question(
        "whole",
        names,
        "Which columns hold whole numbers, and between which bounds that anybody could know? Numbers outside count at "
        "the nearest bound; wide bounds cost little.",
        "age=0:120,children=0:10",
    ),
    Question("numbers", names, "Which columns hold other numbers, and between which bounds?", "income=0:200000"),
    Question("decimal", _decimal, "Which mark stands before decimals: 1,234.50 or 1.234,50?", "."),
    Question(
        "dates", names, "Which columns hold dates or times, and of which years?", "born=1900:2029,visit=2020:2024"
    ),
    Question(
        "date_format",
        _dated,
        "How are dates written, if not as 2024-12-31? Write the last day of 2024 as the table does.",
        "31.12.2024",
    ),
    Question(
        "categories",
        names,
        "Which columns hold words that anybody could know? List them, or name a file with one word per line. Words of "
        "the other columns are found privately: one takes a tenth of ε, nine take a quarter, and δ is above 0.",
        "sex=f|m,town=@towns.txt",
    ),
    Question("missing_words", names, "Which words or values stand for an empty cell?", "-,k.A.,999"),
)
"""In their order: ten decisions at most."""
OF_COLUMNS = ("person_column", "leave_out", "whole", "numbers", "dates", "categories")
"""Questions below which the columns stand of which nothing is known so far."""


def _guide(
    args: argparse.Namespace,
    columns: Sequence[str],
    source: Source,
    types: Mapping[str, pa.DataType | None],
    hints: Mapping[str, Sequence[str]],
) -> None:
    """Set the options that were not given. What a look at the table suggests is taken by Enter."""
    suggestions = _suggestions(hints)

    def known() -> dict[str, Settings]:
        return _declared(args, _kept(args, columns, source), source)

    tell("Enter takes what stands in brackets. scumble schema --help has the same as options.")
    for place, question in enumerate(_asked(args, all(types[name] is not None for name in columns)), 1):
        option, before = question.option, getattr(args, question.option)
        out = [*(args.leave_out or ()), args.person_column]
        words = dict.fromkeys(suggestions.get(option, ()))
        usual = ",".join(word for word in words if word.rpartition("=")[0] not in out or "=" not in word) or before
        while True:
            tell("")
            tell(f"{place}. {question.why}")
            if option in OF_COLUMNS:
                told = known()
                left = (name for name in _kept(args, columns, source) if "kind" not in told.get(name, {}))
                tell(f"   Columns: {', '.join(left)}")
            tell(f"   For example: {question.example}")
            print(f"   [{usual or 'none'}] ", end="", file=sys.stderr, flush=True)
            line = sys.stdin.readline()
            if not line:
                raise ParameterError("The questions were left unanswered. Hint: --quiet drafts without them.")
            text = line.strip() or usual
            try:
                setattr(args, option, (question.read(text) if text and text != "none" else None) or before)
                if option == "records_per_person":
                    per_person(args)
                for name, settings in known().items():
                    if settings.get("kind") in ("number", "date") and "low" not in settings:
                        raise ParameterError(
                            f"{name!r} needs bounds. Hint: {name}=0:100, or {name}=1900:2029 for dates."
                        )
                break
            except (ScumbleError, argparse.ArgumentTypeError) as problem:
                setattr(args, option, before)
                tell(f"   {problem}")


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


def _persons(hints: Mapping[str, Sequence[str]]) -> list[str]:
    """The columns that a look takes for the numbers or names of persons."""
    from scumble.columns.draft import PERSONS

    return [name for name, lines in hints.items() if any(PERSONS in line for line in lines)]


def _suggestions(hints: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Answers by option, as a look at the columns suggests them."""
    from scumble.columns.draft import answer_seen

    persons = _persons(hints)
    found = {"person_column": persons} if len(persons) == 1 else {}
    for name, lines in hints.items():
        if (answer := answer_seen(lines)) is not None:
            found.setdefault(answer[0], []).append(f"{name}={answer[1]}")
        for line in lines:
            key = line.partition(" = ")[0]
            if key in ("decimal", "format", "missing_words"):
                value = tomllib.loads(line)[key]
                option = "date_format" if key == "format" else key
                found[option] = [*found.get(option, ()), *value] if isinstance(value, list) else [value]
    return found
