"""``scumble publish``: a table to a folder for any web server. Run again, it continues, and never pays twice."""

from __future__ import annotations

import argparse
import datetime
import math
import os
import re
from typing import TYPE_CHECKING

from scumble.cli.build import made
from scumble.cli.info import write_card
from scumble.cli.options import promised, require, take
from scumble.cli.output import say, tell_doubts
from scumble.errors import MissingFileError, ParameterError

if TYPE_CHECKING:
    from scumble.columns.schema import Schema
    from scumble.table.release import TableRelease

EXAMPLE = """
scumble publish people.csv --schema town.toml --epsilon 1 --folder site
scumble publish people.csv --schema town.toml --epsilon 1 --folder town --title "The commuters" --publisher Ulm
"""
CLOSE = 0.001
"""Noise on a grid of fractions costs at most this share less than the budget that was asked for."""
README = """# {title}

{promise}. {meaning}

| File | Is |
|---|---|
| [index.html](index.html) | A page to look at and to ask; it works offline |
| [{file}]({file}) | The release, for `scumble` |
| [card.html](card.html) | What is promised to the persons in it, and how to verify that |
| [schema.toml](schema.toml) | What each column can hold |

Ask as often as you like: answers cost no further privacy, and each comes with an interval.

```console
$ pip install 'scumble[sql]'
$ scumble info {file}
$ scumble count {file}{by}
$ scumble sample {file} --n 1000 --out synthetic.csv
```

```python
import scumble

release = scumble.load("{file}")
print(release.count())
```
{contact}"""


def arguments(parser: argparse.ArgumentParser) -> None:
    take(parser.add_argument_group("what to read"), "source READING query invalid")
    take(parser, "WHOLE_TABLE BUDGET person_column noise_first LEDGER n threads title CARD")
    parser.add_argument("--folder", metavar="FOLDER", help="the folder to write; created if it does not exist")
    take(parser, checkpoint="a SECRET file to resume from if the run is killed (default: FOLDER.secret)")


def run(args: argparse.Namespace) -> None:
    from scumble.cli.handover import tidy
    from scumble.columns.schema import Schema

    require(
        args,
        source="the table to read, such as people.csv",
        schema="a file that says what its columns can hold; scumble schema drafts it",
        folder="where everything goes, such as site",
    )
    promised(args)
    schema = Schema.load(args.schema)
    _make_folder(args.folder, args.source)
    stem = os.path.splitext(os.path.basename(args.source[0].rstrip("/")))[0]
    name = re.sub(r"[^\w-]+", "-", stem).strip("-") or "release"
    args.title, args.date = args.title or name, args.date or datetime.date.today().isoformat()
    args.out = os.path.join(args.folder, f"{name}.scumble")
    if args.checkpoint is None and args.source != ["-"] and not any("://" in one for one in args.source):
        args.checkpoint = f"{os.path.abspath(args.folder)}.secret"  # next to what a web server shows
    args.checkpoint_seconds, args.allow_empty = 30.0, False
    for path in filter(None, (args.out, args.checkpoint)):
        for line in tidy(path, takes=True):
            say(args, f"scumble: {line}")
    release = None if args.checkpoint and os.path.exists(args.checkpoint) else _published(args, schema)
    if release is None:
        found, _ = made(args)
        release = found  # type: ignore[assignment]  # of a schema
        tell_doubts(args, found)
    else:
        say(args, f"{args.out} already exists: nothing was counted or charged. Hint: new records need a new --folder.")
    _write_rest(args, release)  # type: ignore[arg-type]
    say(args, f"Published {args.folder}: {release.privacy}. Put the folder on any web server.")  # type: ignore[union-attr]


def _make_folder(folder: str, sources: list[str]) -> None:
    here = os.path.realpath(folder)
    for one in sources:
        if one != "-" and "://" not in one and f"{os.path.realpath(one)}{os.sep}".startswith(os.path.join(here, "")):
            raise ParameterError(f"The table {one!r} lies in the folder to be published. Hint: name another --folder.")
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as problem:
        raise MissingFileError(f"Cannot make the folder {folder!r}: {(problem.strerror or '').lower()}.") from None


def _published(args: argparse.Namespace, schema: Schema) -> TableRelease | None:
    """The release that an earlier run of this command has published; another one in its place is an error."""
    from scumble.cli.inputs import table_release

    if not os.path.exists(args.out):
        return None
    found = table_release(args.out)
    asked = promised(args)
    same = [*found.schema] == [*schema] and found.target == args.target
    for name, value in asked.items():
        had = getattr(found.privacy, name)
        same &= math.isclose(had, value, rel_tol=CLOSE) if isinstance(value, float) else had == value
    if not same:
        raise ParameterError(f"{args.out!r} is another release. Hint: name another --folder; budgets would add up.")
    return found


def _write_rest(args: argparse.Namespace, release: TableRelease) -> None:
    """What stands next to the release: all of it is post-processing."""
    from scumble.files.places import write_whole
    from scumble.privacy.wording import promise
    from scumble.show.opening import exhibit_of
    from scumble.show.pages import export

    release.save(args.out, draws=True)  # the paid release is whole; with draws, readers compute nothing
    export(exhibit_of(release, args.title), os.path.join(args.folder, "index.html"))
    args.dataset = args.title
    write_card(release, args, args.out, os.path.join(args.folder, "card.html"))
    release.schema.save(os.path.join(args.folder, "schema.toml"))
    word = next((name for name, column in release.schema.items() if not column.ordered and name.isidentifier()), None)
    claim = release.privacy
    text = README.format(
        title=args.title,
        promise=promise(claim.epsilon, claim.delta),
        meaning=claim.sentence(),
        file=os.path.basename(args.out),
        by="" if word is None else f" --by {word}",
        contact="" if args.contact is None else f"\nQuestions: {args.contact}\n",
    )
    write_whole(os.path.join(args.folder, "README.md"), text.encode("utf-8", "replace"))
