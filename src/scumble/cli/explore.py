"""``scumble explore``: a web page to look at a released file and to ask it."""

from __future__ import annotations

import argparse
from typing import Any

EXAMPLE = """
scumble explore people.scumble --range age=0:100,income=0:120000 --export people.html
"""
NOTHING_PRIVATE = "reads a released file"


def arguments(parser: argparse.ArgumentParser) -> None:
    """What the verb takes."""
    from scumble.cli import arguments as shared

    parser.add_argument(
        "release",
        help="a released file: of densities, of a table, a bundle of classes, or a model from scumble fit; "
        "or the folder of a stream",
    )
    parser.add_argument("other", nargs="?", help="a second release of the same columns, to stand beside it")
    parser.add_argument("--export", metavar="FILE.html", help="write the page to a file that opens with a double-click")
    shared.replace_flag(parser)
    parser.add_argument("--no-browser", action="store_true", help="serve the page, and open no browser")
    parser.add_argument("--api", action="store_true", help="serve programs: open no browser; /openapi.json says how")
    group = parser.add_argument_group("what to draw (left out: bounds, or where a search finds the records)")
    group.add_argument("--range", dest="ranges", type=shared.ranges, metavar="A=0:100", help="of numbers")
    group.add_argument("--values", type=shared.choices, metavar="B=bus|car", help="of categories, to choose from")
    group.add_argument("--units", type=shared.values, metavar="A=years", help="for the axes")
    group.add_argument("--title", help="above the page (default: the file's name)")
    group = parser.add_argument_group("serving")
    group.add_argument("--host", default="127.0.0.1", help="where to listen (default: 127.0.0.1, this machine alone)")
    group.add_argument("--port", type=shared.Whole(0, 65_535), default=0, help="0, the default, takes a free one")
    group.add_argument(
        "--allow-host", action="append", default=[], metavar="NAME", help="a name under which others reach --host"
    )


def run(args: argparse.Namespace) -> None:
    """Do what the verb says."""
    import os

    from scumble.cli.output import check_out, say
    from scumble.cli.progress import waiting
    from scumble.explore import exhibit_of, export
    from scumble.show.wording import human_bytes

    if args.export:
        check_out(args.export, like=(".html", ".htm"), replace=args.replace)
    units = None if args.units is None else {name: str(unit) for name, unit in args.units.items()}
    exhibit = exhibit_of(
        opened(args.release) if args.other is None else side_by_side(args.release, args.other),
        args.title
        or " and ".join(os.path.basename(os.path.normpath(one)) for one in (args.release, args.other) if one),
        ranges=args.ranges,
        values=args.values,
        units=units,
    )
    if args.export:
        with waiting(args.quiet, WORKING):
            size = export(exhibit, args.export)
        tell_lost(args, exhibit)
        say(args, f"Wrote {args.export} ({human_bytes(size)}). It holds the release and needs nothing else.")
        return
    serve(args, exhibit)


WORKING = "Working out the page …"


def tell_lost(args: argparse.Namespace, exhibit: Any) -> None:
    """Whoever has the table knows where to look, if a search of the release does not find it."""
    from scumble.cli.output import say

    lost = [column.name for column in getattr(exhibit, "columns", ()) if getattr(column, "lost", False)]
    if lost:
        example = ",".join(f"{name}=LOW:HIGH" for name in lost)
        say(
            args,
            "A search has found no place that stands out of the noise, so the page opens around zero, where it knows "
            f"of nothing. Hint: --range {example}.",
        )


def side_by_side(*paths: str) -> dict[str, object]:
    """Two releases under the names of their files; where those are alike, by their numbers: a page tells no path."""
    import os

    names = [os.path.splitext(os.path.basename(path))[0] for path in paths]
    if len(set(names)) < len(names):
        names = [f"{name} ({number})" for number, name in enumerate(names, 1)]
    return {name: opened(path) for name, path in zip(names, paths, strict=True)}


def opened(path: str) -> Any:
    """What can be shown; or an error that says what the file is instead."""
    import os

    from scumble.cli.output import for_another_verb
    from scumble.errors import ForeignFileError
    from scumble.explore import read

    try:
        return read(path)
    except ForeignFileError as problem:
        raise problem if os.path.isdir(path) else for_another_verb(path) or problem from None


def serve(args: argparse.Namespace, exhibit: object) -> None:
    """Until Ctrl-C."""
    import sys
    import webbrowser

    from scumble.cli.output import say
    from scumble.cli.progress import waiting
    from scumble.explore import Server

    with Server(exhibit, args.host, args.port, args.allow_host) as server:  # type: ignore[arg-type]
        what = "The API is described at " + server.url + "openapi.json" if args.api else "The page is at " + server.url
        print(server.url)
        sys.stdout.flush()
        say(args, f"{what}. Stop it with Ctrl-C.")
        if not args.api:
            with waiting(args.quiet, WORKING):
                server.html()  # made before anybody waits for it in a browser
            tell_lost(args, exhibit)
            if not args.no_browser:
                webbrowser.open(server.url)
        try:
            server.serve_forever(poll_interval=0.2)
        except KeyboardInterrupt:
            say(args, "Stopped.")
