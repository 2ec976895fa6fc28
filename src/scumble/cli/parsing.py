"""From the words of a command line to the arguments of a verb, and what is said of words that it does not know."""

from __future__ import annotations

import argparse
import itertools
import re
from collections.abc import Sequence
from types import ModuleType
from typing import Any, NoReturn

from scumble.cli.arguments import LISTS, Parser
from scumble.cli.streams import tell
from scumble.errors import nearest

ELSEWHERE = {
    ("scumble fit", "--person-column"): "fit has no --person-column, so --records-per-person is your word: who has "
    "more is protected less. Leave further records out of the table beforehand",
    ("scumble stream", "--n"): "a stream's size is fixed before its records, and heeds no --n: leave it out, or give "
    "--rows and --buckets",
}
"""What to do about options that a verb lacks and others have."""
ALIKE = (
    {"label", "target"},
    {"invalid", "unknown"},
    {"seed", "random-state", "random_state"},
    {"n", "size", "count"},
    {"out", "output"},
    {"replace", "force", "overwrite"},
    {"delimiter", "sep", "separator"},
)
"""Options that verbs, or other programs, call by other names: who gives one that a verb lacks is told of its own."""


class _Parser(argparse.ArgumentParser):
    _words: Sequence[str] = ()

    def parse_args(self, words: Any = None, namespace: Any = None) -> Any:
        self._words = words or ()
        found, rest = self.parse_known_args(words, namespace)
        if rest:
            odd = next((word for word in rest if word.startswith("--")), "").partition("=")[0]
            if (self.prog, odd) in ELSEWHERE:
                self.error(ELSEWHERE[self.prog, odd])
            if "where" in self._flags and not any(word.startswith("-") for word in rest):
                self.error(f'a condition goes after --where: --where "{" ".join(rest)}"')
            close = self._also_called(odd) or (nearest(odd[2:], self._flags) if odd else None)
            self.error(f"unrecognized arguments: {' '.join(rest)}" + (f". Did you mean --{close}?" * bool(close)))
        return found

    @property
    def _flags(self) -> list[str]:
        return [flag[2:] for action in self._actions for flag in action.option_strings if flag.startswith("--")]

    def _also_called(self, odd: str) -> str | None:
        """What this verb calls an option that others call so; None if it has that option, or none like it."""
        alike = {name for names in ALIKE if odd[2:] in names for name in names}
        return None if odd[2:] in self._flags else next((flag for flag in self._flags if flag in alike), None)

    def _print_message(self, message: str, file: Any = None) -> None:
        print(message, end="", file=file)  # argparse's own keeps quiet about a full disk

    def error(self, message: str) -> NoReturn:
        if message.startswith("the following arguments are required"):  # perhaps given by another verb's name
            given = (word.partition("=")[0] for word in self._words if word.startswith("--"))
            meant = ((odd, close) for odd in given if (close := self._also_called(odd)) and f"--{close}" in message)
            message += "".join(f". Did you mean --{close} by {odd}?" for odd, close in itertools.islice(meant, 1))
        tell(f"{self.prog}: {message}{'' if message.endswith('?') else '.'} Hint: {self.prog} --help")
        raise SystemExit(2)


def parse(verb: str, summary: str, module: ModuleType, words: list[str]) -> tuple[argparse.Namespace, Parser]:
    """The arguments of a verb, those of its configuration file included; and its parser."""
    parser = parser_of(verb, summary, module)
    args = parser.parse_args(words)
    _require_once(parser, words)
    if getattr(args, "config", None):
        from scumble.cli.config import read_config

        known = {action.dest: action for action in parser._actions if action.dest not in ("help", "config")}
        parser.set_defaults(**read_config(args.config, known))
        args = parser.parse_args(words)
    for action in parser._actions:
        if "\0" in str(getattr(args, action.dest, "")):
            parser.error(f"{(action.option_strings or [action.dest.upper()])[0]} holds a null character: leave it out")
    return args, parser


def as_options(message: str, parser: Parser) -> str:
    """A message with arguments called as the command line calls them: `records_per_person` is --records-per-person."""
    for action in parser._actions:
        flag = next((flag for flag in action.option_strings if flag.startswith("--")), None)
        if flag is not None:
            message = re.sub(rf"(?<![\w'\"])`{action.dest}`", flag, message)
            message = re.sub(rf"(?<![\w(]){action.dest}='([\w-]+)'", rf"{flag} \1", message)
    return message.replace(", got None.", ", got nothing.")


def _require_once(parser: Parser, words: list[str]) -> None:
    """Refuse a second value for an option that takes one."""
    given = [word.partition("=")[0] for word in itertools.takewhile(lambda word: word != "--", words)]
    for action in parser._actions:
        takes_one = isinstance(action, argparse._StoreAction)  # switches may be repeated, and some options add up
        if takes_one and sum(word in action.option_strings for word in given) > 1:
            flag, how = action.option_strings[0], "with commas" if action.type in LISTS else "the one that you mean"
            parser.error(f"{flag} is given twice, and the second would replace the first: write one, {how}")


def parser_of(verb: str, summary: str, module: ModuleType) -> Parser:
    """What a verb understands."""
    examples = "\n".join(f"  {line}" for line in module.EXAMPLE.strip().splitlines())
    parser = _Parser(
        prog=f"scumble {verb}",
        description=summary[0].upper() + summary[1:] + ".",
        epilog=f"example:\n{examples}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    module.arguments(parser)
    parser.add_argument("--quiet", action="store_true", help="say nothing but errors on standard error")
    parser.add_argument("--debug", action="store_true", help="show where something went wrong: a traceback")
    return parser
