"""``scumble explore``: a web page to look at a released file and to ask it."""

from __future__ import annotations

import argparse
import os
import sys

from scumble.cli.inputs import load_release
from scumble.cli.options import Whole, take
from scumble.cli.output import check_out, say
from scumble.cli.terminal import waiting

EXAMPLE = """
scumble explore people.scumble --range age=0:100,income=0:120000 --export people.html
scumble explore town.scumble later.scumble --export changes.html
"""
NOTHING_PRIVATE = "reads a released file"
WORKING = "Preparing the page …"


def arguments(parser: argparse.ArgumentParser) -> None:
    take(parser, release="a released file, a model from scumble fit, or the folder of a stream")
    parser.add_argument("other", nargs="?", help="a second release of the same columns, to compare with")
    written = "write the page to a file that opens with a double-click"
    parser.add_argument("--export", "--out", dest="export", metavar="FILE.html", help=written)
    take(parser, "replace")
    parser.add_argument("--no-browser", action="store_true", help="serve the page, and open no browser")
    parser.add_argument("--api", action="store_true", help="serve programs: open no browser; see /openapi.json")
    group = parser.add_argument_group("what to draw (default: the bounds, or where a search finds the records)")
    take(group, "values units title", range={"dest": "ranges", "help": "of numbers"})
    group = parser.add_argument_group("serving")
    group.add_argument("--host", default="127.0.0.1", help="where to listen (default: 127.0.0.1, this machine alone)")
    group.add_argument("--port", type=Whole(0, 65_535), default=0, help="0, the default, takes a free one")
    group.add_argument(
        "--allow-host", action="append", default=[], metavar="NAME", help="a name under which others reach --host"
    )


def run(args: argparse.Namespace) -> None:
    from scumble.privacy.wording import human_bytes
    from scumble.show.opening import exhibit_of
    from scumble.show.pages import export

    if args.export:
        check_out(args.export, like=(".html", ".htm"), replace=args.replace, piped=False)
    units = None if args.units is None else {name: str(unit) for name, unit in args.units.items()}
    paths = [path for path in (args.release, args.other) if path]
    title = args.title or " and ".join(os.path.basename(os.path.normpath(path)) for path in paths)
    shown = _opened(args.release) if args.other is None else _side_by_side(*paths)
    exhibit = exhibit_of(shown, title, ranges=args.ranges, values=args.values, units=units)
    if args.export:
        with waiting(args.quiet, WORKING):
            size = export(exhibit, args.export)
        _tell_lost(args, exhibit)
        say(args, f"Wrote {args.export} ({human_bytes(size)}). It holds the release and needs nothing else.")
        return
    _serve(args, exhibit)


def _tell_lost(args: argparse.Namespace, exhibit: object) -> None:
    """Only the curator knows where to look if a search of the release does not find it."""
    lost = [column.name for column in getattr(exhibit, "columns", ()) if getattr(column, "lost", False)]
    if lost:
        example = ",".join(f"{name}=LOW:HIGH" for name in lost)
        say(args, f"Nothing stands out from the noise, so the page opens around zero. Hint: --range {example}.")


def _side_by_side(*paths: str) -> dict[str, object]:
    """Two releases by the names of their files, numbered where those are alike; a page holds no path."""
    names = [os.path.splitext(os.path.basename(path))[0] for path in paths]
    if len(set(names)) < len(names):
        names = [f"{name} ({number})" for number, name in enumerate(names, 1)]
    return {name: _opened(path) for name, path in zip(names, paths, strict=True)}


def _opened(path: str) -> object:
    """What can be shown; of a folder, the stream that published into it."""
    from scumble.streams.published import StreamRelease

    return StreamRelease(path) if os.path.isdir(path) else load_release(path, tables=True, models=True)


def _serve(args: argparse.Namespace, exhibit: object) -> None:
    """Until Ctrl-C."""
    import webbrowser

    from scumble.show.server import Server

    with Server(exhibit, args.host, args.port, args.allow_host) as server:  # type: ignore[arg-type]
        what = f"The API is described at {server.url}openapi.json" if args.api else f"The page is at {server.url}"
        print(server.url)
        sys.stdout.flush()
        say(args, f"{what}. Stop it with Ctrl-C.")
        if not args.api:
            with waiting(args.quiet, WORKING):
                server.html()  # made before anybody waits for it in a browser
            _tell_lost(args, exhibit)
            if not args.no_browser:
                webbrowser.open(server.url)
        try:
            server.serve_forever(poll_interval=0.2)
        except KeyboardInterrupt:
            say(args, "Stopped.")
