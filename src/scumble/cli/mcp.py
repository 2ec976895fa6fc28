"""``scumble mcp``: released tables as tools of an assistant, by the Model Context Protocol. Imports its SDK, alone."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scumble._version import __version__
from scumble.cli.inputs import table_release
from scumble.errors import ParameterError
from scumble.show.claims import TOOLS, Desk

if TYPE_CHECKING:
    from mcp.server import Server

EXAMPLE = "scumble mcp town.scumble later.scumble < /dev/null"
NOTHING_PRIVATE = "reads released files"
INSTRUCTIONS = (
    "Differentially private releases of tables. Ask `describe` first. Every number has an interval: report both. "
    "No single person can be looked up. An error suggests a valid question under `try`."
)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("releases", nargs="+", metavar="RELEASE", help="releases of tables, each named after its file")


def run(args: argparse.Namespace) -> None:
    try:
        import anyio
        from mcp.server.stdio import stdio_server
    except ImportError:
        raise ParameterError("A server for assistants needs its SDK. Hint: pip install 'scumble[mcp]'.") from None
    served = server(desk_of(args.releases))

    async def serve() -> None:
        async with stdio_server() as (reading, writing):
            await served.run(reading, writing, served.create_initialization_options())

    anyio.run(serve)


def desk_of(paths: list[str]) -> Desk:
    """The releases by the names of their files, ready to answer."""
    names = [Path(path).stem for path in paths]
    if twice := {name for name in names if names.count(name) > 1}:
        raise ParameterError(f"Two releases are called {min(twice)!r}. Hint: rename one of the files.")
    desk = Desk({name: table_release(path) for name, path in zip(names, paths, strict=True)})
    for name in names:
        desk.answer("sql", desk._example("sql", name))  # loads all that a first answer needs
    return desk


def server(desk: Desk) -> Server[Any]:
    """The tools of a desk as a server."""
    from mcp.server import Server
    from mcp.types import CallToolResult, ListToolsResult, TextContent, Tool, ToolAnnotations

    async def listed(*_: object) -> ListToolsResult:
        hints = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
        return ListToolsResult(
            tools=[
                Tool(name=name, description=tool.description, input_schema=tool.schema, annotations=hints)
                for name, tool in TOOLS.items()
            ]
        )

    async def called(_: object, asked: Any) -> CallToolResult:
        found = desk.ask(asked.name, asked.arguments or {})
        text = json.dumps(found, ensure_ascii=False)
        return CallToolResult(
            content=[TextContent(type="text", text=text)], structured_content=found, is_error="error" in found
        )

    return Server("scumble", version=__version__, instructions=INSTRUCTIONS, on_list_tools=listed, on_call_tool=called)
