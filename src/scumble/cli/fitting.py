"""What a schema says of a fit: what to learn from, the classes or bounds of the target, and which records count."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from typing import Any

from scumble.cli.output import say
from scumble.cli.records import Records
from scumble.errors import ParameterError, PrivacyError, did_you_mean
from scumble.learn.telling import Curator
from scumble.machine.later import pa
from scumble.schema import Boolean, Category, Number, Schema
from scumble.schema.column import Column
from scumble.schema.spelling import numbers_read
from scumble.schema.told import NO_CLASS, left_out, many_unread, more_lines, private, repeated, undecoded


def features(args: argparse.Namespace, schema: Schema) -> Schema:
    """What the columns to learn from can hold: those of the schema, without the target."""
    names = args.columns or [name for name in schema if name != args.target]
    for name in names:
        if name not in schema:
            guess = did_you_mean(name, schema)
            raise ParameterError(f"{args.schema} has no column {name!r}.{guess} Hint: it has {', '.join(schema)}.")
    if not names:
        raise ParameterError(f"{args.schema} has no column but the target. Hint: declare what to learn from.")
    return Schema({name: schema[name] for name in names})


def require_number(args: argparse.Namespace, target: Column | None) -> None:
    """Refuse to regress words or dates."""
    if target is not None and not isinstance(target, (Number, Boolean)):
        other = "classify or separate" if isinstance(target, Category) else "classify, with --classes"
        raise ParameterError(
            f"--task {args.task} learns a number, and {args.schema} says that {args.target!r} is a {target.kind}. "
            f"Hint: --task {other}."
        )


def bounds_of(target: Column | None) -> tuple[float, float] | None:
    """The bounds of a target to regress, if a schema has them."""
    if isinstance(target, Number):
        assert target.low is not None and target.high is not None  # as every number has once it is made
        return target.low, target.high
    return None if target is None else target.limits


def classes_of(target: Column | None, labels: Any, given: list[str] | None = None) -> tuple[list[Any] | None, Any]:
    """The classes that a schema lists, which is public, and the labels in its words.

    They are its words for the target; other ones, and missing cells, are of no class. Of a boolean they are false and
    true, or what `given` calls these, however the cells write them.
    """
    if isinstance(target, Boolean):
        codes = target.encode(labels).codes
        classes = [False, True] if given is None else given
        sides = [int(code) for code in Boolean().encode(classes).codes]
        if sorted(sides) != [0, 1]:
            raise ParameterError(
                "--classes must be a word for yes and one for no: the schema says that the target is a boolean. "
                "Hint: leave it out."
            )
        words = [classes[sides.index(code)] for code in (0, 1)]
        return words, _in_words(words, codes)
    if given is not None:
        return given, labels
    if not isinstance(target, Category):
        return None, labels
    alike = len({type(word) for word in target.values}) == 1
    listed: list[Any] = list(target.values) if alike else [text.decode() for text in target.known]
    return listed, _in_words(listed, target.encode(labels).codes)


def _in_words(classes: list[Any], codes: Any) -> Any:
    """The words of these levels, and nothing for levels without one."""
    return pa.array(classes).take(pa.array(codes, mask=(codes < 0) | (codes >= len(classes))))


def require_drops(args: argparse.Namespace, columns: Iterable[Column]) -> None:
    """Refuse to leave records out for what they say where their number is public."""
    outside = any(map(drops, columns))
    if args.neighbors == "replace" and (outside or args.invalid == "drop"):
        what = "--invalid drop" if args.invalid == "drop" else 'a column with outside = "drop"'
        raise PrivacyError(
            f"{what} does not go with --neighbors replace: how many records are counted then depends on their cells, "
            "and that number would be public. Hint: use --neighbors add-remove, or correct such cells."
        )


def clipping(schema: Schema) -> Schema:
    """The schema for records that are within all bounds that leave others out: an estimator itself leaves none out."""

    return Schema(
        {
            name: Column.from_dict({**column.to_dict(), "outside": "clip"}, name) if drops(column) else column
            for name, column in schema.items()
        }
    )


def drops(column: Column) -> bool:
    """Whether records outside its bounds are left out."""
    return bool(getattr(column, "outside", "clip") == "drop")


class AtTerminal(Curator):
    """The curator whom the command line tells."""

    def __init__(self, args: argparse.Namespace, left_out: int = 0) -> None:
        """So many rows were left out before, for their cells."""
        self.target, self._args = args.target, args
        self._left_out = left_out
        self.decimal = args.decimal

    def tell(self, lines: Sequence[str]) -> None:
        """Lines that are as private as the records."""
        for line in lines:
            say(self._args, line)

    def look_at_classes(self, rows: int, lost: int, empty: Sequence[str]) -> None:
        """The classes alone: `tell_left_out` has told of the rows. Shares are of all rows, as those of a build."""
        self.tell(self.of_classes(rows + self._left_out, lost, empty))


def tell_left_out(args: argparse.Namespace, found: Records, classes: Any, schema: Schema | None) -> None:
    """How many rows are left out, and why: to the curator, before a budget is spent."""
    from scumble.learn.targets import of_no_class

    for_cells = found.causes.total
    if args.unknown == "drop" and classes is not None:
        found.causes.add(NO_CLASS, args.target, of_no_class(classes, found.y))
    rows = found.causes.total + found.skipped
    if rows:
        say(args, left_out(rows, list(found.causes.words(0, found.skipped))))
    of_cells = found.causes.columns(least=many_unread(len(found.y) + for_cells))
    why = [private(f"In {name!r}, {_written(name, schema, args.decimal)}") for name in of_cells]
    for line in (*why, *undecoded(found.undecoded), *repeated(found.repeated), *more_lines(found.more_lines)):
        say(args, line)


def _written(name: str, schema: Schema | None, decimal: str) -> str:
    """How the cells of a column are written."""
    if schema is None or name not in schema:
        return numbers_read(decimal)
    return f"a cell is left out that is {schema[name].refused(decimal) or 'missing'}"
