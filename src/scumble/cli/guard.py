"""Before a verb begins: no output is an input, and what killed runs have left for its outputs is cleared away.

Every verb goes through here, by the names of its arguments: a test holds that each path of each verb is in one list.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

INPUTS = (
    "source",
    "stream",
    "files",
    "release",
    "other",
    "query",
    "points",
    "model",
    "table",
    "schema",
    "secret",
    "file",
    "ledger",
    "config",
)
OUTPUTS = ("out", "checkpoint", "plot", "export")


def paths_of(parser: argparse.ArgumentParser) -> dict[str, argparse.Action]:
    """The arguments that are files: all positional ones but fixed words, and the options whose help says so."""
    return {
        action.dest: action
        for action in parser._actions
        if (not action.option_strings and not action.choices) or str(action.metavar).startswith("FILE")
    }


def guard(args: argparse.Namespace, parser: argparse.ArgumentParser) -> None:
    """Refuse what would destroy something; tell what an earlier run has left."""
    paths = paths_of(parser)
    given = {name: getattr(args, name) for name in paths if getattr(args, name) not in (None, [])}
    outputs = {paths[name].option_strings[0]: given[name] for name in given if name in OUTPUTS}
    if not outputs:
        return
    from scumble.cli.streams import tell
    from scumble.sources.apart import JOURNALS, require_apart, require_file

    inputs: dict[str, list[str]] = {}
    for name in given.keys() - set(OUTPUTS):
        words = given[name] if isinstance(given[name], list) else [given[name]]
        if name == "ledger":
            words = [words[0], *(words[0] + end for end in JOURNALS)]
        inputs[(paths[name].option_strings or [name.upper()])[0]] = words
    for flag, path in outputs.items():
        if path != "-":
            require_file(flag, path)
    require_apart(outputs, inputs, every=getattr(args, "format", None) is not None)
    takes = hasattr(args, "secret") or getattr(args, "checkpoint", None) is not None
    for path in outputs.values():
        if path != "-":
            for line in tidy(path, takes=takes):
                tell(f"scumble: {line}")


def tidy(target: str, *, takes: bool = False) -> Iterator[str]:
    """Clear what killed runs have left for a file; says what. `takes`: the verb will look after whole releases."""
    from scumble import files
    from scumble.errors import FileError
    from scumble.machine import places

    removed = 0
    for left in places.leftovers(target):
        if left.ready:
            try:
                files.read(left.path, expect=files.RELEASES)
            except FileError:
                pass
            else:
                if not takes:
                    yield f"A run that was killed left its release, whole, in {left.path!r}; run again, it takes it."
                continue
        removed += places.clear(left.path)
    if removed:
        files_ = "an unfinished file" if removed == 1 else f"{removed} unfinished files"
        yield f"Removed {files_} that a run that was killed had left for {target!r}."
