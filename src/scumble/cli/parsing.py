"""From the words of a command line to the arguments of a verb, checked before the verb begins.

``--config FILE.toml`` holds options by the names of their flags, with lists and tables where the command line has
commas: ``columns = ["age", "income"]``, ``[bounds] age = [0, 100]``. A kernel is a name, a ``[kernel]`` table with
`name` and its settings, or several ``[[kernel]]``, whose product it is.
"""

from __future__ import annotations

import argparse
import itertools
import re
import tomllib
from types import ModuleType
from typing import Any, NoReturn

from scumble.cli.options import Parser, Settings, bounds, cells, names, ranges, scale, take, values
from scumble.cli.terminal import tell
from scumble.errors import ParameterError, did_you_mean, nearest

OUTPUTS = ("out", "checkpoint", "export", "html", "plot")
"""The arguments that are files to write; all other files are read."""


class _Parser(argparse.ArgumentParser):
    def parse_args(self, words: Any = None, namespace: Any = None) -> Any:
        found, rest = self.parse_known_args(words, namespace)
        if rest:
            odd = next((word for word in rest if word.startswith("--")), "").partition("=")[0]
            flags = [flag[2:] for action in self._actions for flag in action.option_strings if flag.startswith("--")]
            close = nearest(odd[2:], flags) if odd else None
            self.error(f"unrecognized arguments: {' '.join(rest)}{f'. Did you mean --{close}?' if close else ''}")
        return found

    def _print_message(self, message: str, file: Any = None) -> None:
        print(message, end="", file=file)  # argparse ignores a full disk

    def error(self, message: str) -> NoReturn:
        tell(f"{self.prog}: {message}{'' if message.endswith('?') else '.'} Hint: {self.prog} --help")
        raise SystemExit(2)


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
    take(parser, "quiet debug")
    return parser


def parse(verb: str, summary: str, module: ModuleType, words: list[str]) -> tuple[argparse.Namespace, Parser]:
    """The arguments of a verb, those of its configuration file included; and its parser."""
    parser = parser_of(verb, summary, module)
    args = parser.parse_args(words)
    _require_once(parser, words)
    if getattr(args, "config", None):
        known = {action.dest: action for action in parser._actions if action.dest not in ("help", "config")}
        parser.set_defaults(**_read_config(args.config, known))
        args = parser.parse_args(words)
    for action in parser._actions:
        value = getattr(args, action.dest, "")
        if any("\0" in str(one) for one in (value if isinstance(value, list) else [value])):
            parser.error(f"{(action.option_strings or [action.dest.upper()])[0]} holds a null character")
    return args, parser


def _require_once(parser: Parser, words: list[str]) -> None:
    """Refuse a second value for an option that takes one."""
    written = [word.partition("=")[0] for word in itertools.takewhile(lambda word: word != "--", words)]
    for action in parser._actions:
        takes_one = isinstance(action, argparse._StoreAction)
        if takes_one and sum(word in action.option_strings for word in written) > 1:
            parser.error(f"{action.option_strings[0]} is given twice, and the second would replace the first")


def as_options(message: str, parser: Parser) -> str:
    """A message with parameters called as the command line calls them: `records_per_person` is --records-per-person."""
    for action in parser._actions:
        flag = next((flag for flag in action.option_strings if flag.startswith("--")), None)
        if flag is not None:
            message = re.sub(rf"(?<![\w'\"])`{action.dest}`", flag, message)
            message = re.sub(rf"(?<![\w(]){action.dest}='([\w-]+)'", rf"{flag} \1", message)
    return message.replace(", got None.", ", got nothing.")


# ---- a configuration file ----


def _read_config(path: str, known: dict[str, argparse.Action]) -> Settings:
    """The file's options by the names that the parser uses."""
    try:
        with open(path, "rb") as file:
            data = tomllib.load(file)
    except FileNotFoundError:
        raise ParameterError(f"There is no configuration file {path!r}. Hint: check the path.") from None
    except OSError as error:
        raise ParameterError(f"Cannot read {path!r}: {(error.strerror or '').lower()}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise ParameterError(f"{path} is not TOML: {problem}.") from None
    out = {}
    for key, value in data.items():
        option = key.replace("-", "_")
        if option not in known:
            guess = did_you_mean(option, known)
            raise ParameterError(f"{path} has an option {key!r} that this verb does not know.{guess}")
        out[option] = _value(f"{path}: {option}", value, known[option])
    return out


def _value(where: str, value: Any, action: argparse.Action) -> Any:
    if action.dest == "kernel" and isinstance(value, (dict, list)):
        return value
    if action.type is cells and isinstance(value, list):
        value = ",".join(map(str, value))
    if action.nargs in ("*", "+"):
        words = value if isinstance(value, list) else [value]
        if all(isinstance(word, str) and word for word in words):
            return words
        raise ParameterError(f"{where} must be the name of a file, or a list of them.")
    if action.type is names and isinstance(value, list):
        return value
    if isinstance(value, dict) and action.type in (bounds, ranges):
        pairs = {key: tuple(side) for key, side in value.items() if isinstance(side, list) and len(side) == 2}
        if len(pairs) < len(value):
            raise ParameterError(f"{where} must give two numbers per column, such as age = [0, 100].")
        return pairs
    if isinstance(value, dict) and action.type in (scale, values):
        return value
    if action.const is True:
        if isinstance(value, bool):
            return value
        raise ParameterError(f"{where} must be true or false.")
    if action.choices is not None and value not in action.choices:
        raise ParameterError(f"{where} must be one of {', '.join(map(str, action.choices))}.")
    kinds = (str, int, float) if callable(action.type) else (str,)
    if isinstance(value, bool) or not isinstance(value, kinds) or value == "":
        raise ParameterError(f"{where} has a value that it cannot have.")
    try:
        return action.type(str(value)) if callable(action.type) else value
    except (ValueError, argparse.ArgumentTypeError) as problem:
        raise ParameterError(f"{where}: {problem}.") from None


# ---- files ----


def paths_of(parser: Parser) -> dict[str, argparse.Action]:
    """The arguments that are files: positional ones without fixed words, and the options whose metavar says so."""
    return {
        action.dest: action
        for action in parser._actions
        if (not action.option_strings and not action.choices) or str(action.metavar).startswith("FILE")
    }


def guard(args: argparse.Namespace, parser: Parser) -> None:
    """Refuse an output that is an input; clear away what killed runs left for the outputs."""
    paths = paths_of(parser)
    used = {name: getattr(args, name) for name in paths if getattr(args, name) not in (None, [])}
    outputs = {paths[name].option_strings[0]: used[name] for name in used if name in OUTPUTS}
    if not outputs:
        return
    from scumble.sources.paths import JOURNALS, require_apart, require_file

    inputs: dict[str, list[str]] = {}
    for name in used.keys() - set(OUTPUTS):
        words = used[name] if isinstance(used[name], list) else [used[name]]
        if name == "ledger":
            words = [words[0], *(words[0] + end for end in JOURNALS)]
        inputs[(paths[name].option_strings or [name.upper()])[0]] = words
    files = [(flag, path) for flag, path in outputs.items() if path != "-"]
    for flag, path in files:
        require_file(flag, path)
    require_apart(outputs, inputs, every=getattr(args, "format", None) is not None)
    if files:
        from scumble.cli.handover import tidy

        takes = hasattr(args, "secret") or getattr(args, "checkpoint", None) is not None
        for line in (line for _, path in files for line in tidy(path, takes=takes)):
            tell(f"scumble: {line}")
