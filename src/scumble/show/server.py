"""The page and the API over HTTP, on this machine alone by default.

A browser will send a request anywhere on behalf of any page it shows. So a request is answered only if its Host is one
of the server's own names, and its Origin, if it has one, is the server itself.
"""

from __future__ import annotations

import io
import json
import math
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, NoReturn
from urllib.parse import urlsplit

from scumble._version import __version__
from scumble.errors import ParameterError, ScumbleError
from scumble.show.claims import TOOLS, Tool
from scumble.show.exhibit import MOST_POINTS, Exhibit
from scumble.show.pages import AnyExhibit, page
from scumble.show.tableexhibit import TableExhibit
from scumble.show.usefulness import Facts

if TYPE_CHECKING:
    from typing_extensions import Buffer

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
MOST_DIGITS = 400
"""Of a whole number; the largest float has 309."""
MOST_BYTES = 8 << 20
MOST_CONNECTIONS = 128
PATIENCE = 30.0
"""Seconds that a request may take to arrive, from its first line (or the answer before it) to the end of its body, and
that its answer may take to be fetched. A client that sends a byte now and then does not keep one of the connections."""

_SAFE = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
}


Request = socket.socket | tuple[bytes, socket.socket]


class Refused(Exception):
    """A request that is answered with a status and a sentence."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Server(ThreadingHTTPServer):
    """Serves one exhibit on a host and a port, of which 0 takes a free one.

    `names` are further host names under which people reach it, where it does not listen on loopback alone.
    """

    allow_reuse_address = os.name == "posix"  # elsewhere it would let another program listen on the same port

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, exhibit: AnyExhibit, host: str = "127.0.0.1", port: int = 0, names: Iterable[str] = ()) -> None:
        self.exhibit = exhibit
        self._free = threading.BoundedSemaphore(MOST_CONNECTIONS)
        self._page: bytes | None = None
        self._making = threading.Lock()
        try:
            super().__init__((host, port), Handler)
        except (OSError, OverflowError) as problem:
            told = getattr(problem, "strerror", None) or str(problem)
            raise ParameterError(f"Cannot listen on {host}:{port}: {told}. Hint: without --port, a free one.") from None
        self.hosts = {f"{name}:{self.server_port}" for name in (*LOOPBACK, host, *names)}
        if self.server_port == 80:
            self.hosts |= {name.rsplit(":", 1)[0] for name in self.hosts}

    @property
    def url(self) -> str:
        """The address to open."""
        host = str(self.server_address[0])
        return f"http://{'127.0.0.1' if host in ('0.0.0.0', '') else host}:{self.server_port}/"

    def html(self) -> bytes:
        """The page, made when it is first asked for."""
        with self._making:
            if self._page is None:
                self._page = page(self.exhibit).encode("utf-8", "replace")
            return self._page

    def process_request(self, request: Request, client_address: object) -> None:
        self._free.acquire()
        super().process_request(request, client_address)

    def process_request_thread(self, request: Request, client_address: object) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up is no news."""


class _Punctual(io.RawIOBase):
    """What a connection receives, up to a deadline for all of it together."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self.start()

    def start(self) -> None:
        self._deadline = time.monotonic() + PATIENCE

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Buffer) -> int:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._connection.settimeout(left)
        return self._connection.recv_into(buffer)


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    server: Server
    protocol_version = "HTTP/1.1"
    server_version = f"scumble/{__version__}"
    sys_version = ""

    def setup(self) -> None:
        """Read from the client within the time that a request may take."""
        super().setup()
        self._incoming = _Punctual(self.connection)
        self.rfile = io.BufferedReader(self._incoming)

    def handle_one_request(self) -> None:
        self._incoming.start()
        super().handle_one_request()

    def do_GET(self) -> None:
        """The page, and what describes it."""
        exhibit = self.server.exhibit
        info, described = (lambda: self._json(200, exhibit.info)), (lambda: self._json(200, description(exhibit)))
        self._answer({"/": self._page, "/api/info": info, "/openapi.json": described})

    do_HEAD = do_GET

    def do_POST(self) -> None:
        """Answers to questions."""
        self._answer({path: partial(self._ask, path) for path in self.server.exhibit.questions})

    # ---- what can be asked ----

    def _page(self) -> None:
        self._send(200, self.server.html(), "text/html; charset=utf-8")

    def _ask(self, path: str) -> None:
        known, answer = self.server.exhibit.questions[path]
        self._json(200, answer(self._question(known)))

    # ---- asking and answering ----

    def _answer(self, routes: dict[str, Callable[[], None]]) -> None:
        try:
            self._check()
            path = urlsplit(self.path).path
            if path not in routes:
                self._unknown(path)
            routes[path]()
        except Refused as refusal:
            self._refuse(refusal.status, str(refusal))
        except ScumbleError as problem:
            self._refuse(400, str(problem))
        except (BrokenPipeError, ConnectionError, TimeoutError):
            self.close_connection = True
        except Exception as problem:  # a bug: the client learns no more than that
            self._refuse(500, f"Unexpected {type(problem).__name__}: this is a bug.")

    def _check(self) -> None:
        """Only our own names, only our own pages."""
        host = (self.headers.get("Host") or "").lower()
        if host not in self.server.hosts:
            raise Refused(403, f"The host {host!r} is not served here. Hint: open {self.server.url}, or --allow-host.")
        origin = self.headers.get("Origin")
        if origin is not None and origin.lower() not in {f"http://{name}" for name in self.server.hosts}:
            raise Refused(403, f"Requests from pages of {origin!r} are not answered.")

    def _unknown(self, path: str) -> None:
        gets, posts = ("/", "/api/info", "/openapi.json"), tuple(self.server.exhibit.questions)
        if path in (*gets, *posts):
            raise Refused(405, f"{path} is asked with {'GET' if path in gets else 'POST'}.")
        raise Refused(404, f"There is no {path[:80]!r}. Hint: /openapi.json lists what there is.")

    def _question(self, known: set[str]) -> Facts:
        """The body: a JSON object with these keys."""
        kind = (self.headers.get("Content-Type") or "").split(";")[0].strip().lower()
        if kind != "application/json":
            raise Refused(415, "Send JSON, with the header Content-Type: application/json.")
        if self.headers.get("Transfer-Encoding"):
            raise Refused(411, "Send the body in one piece, with its Content-Length.")
        try:
            length = int(self.headers.get("Content-Length") or "")
        except ValueError:
            raise Refused(411, "The header Content-Length is missing.") from None
        if not 0 <= length <= MOST_BYTES:
            raise Refused(413, f"A question may have {MOST_BYTES >> 20} MB, got {length} bytes. Hint: ask in parts.")
        body = self.rfile.read(length)
        try:
            found = json.loads(body, parse_constant=_no_number, parse_int=_whole)
            if b"\\" in body:
                json.dumps(found, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise Refused(400, "The body spells half a character: after \\ud83d, its other half must follow.") from None
        except (ValueError, RecursionError) as problem:
            raise Refused(400, f"The body is no JSON: {problem}.") from None
        if not isinstance(found, dict):
            raise Refused(400, "The body must be a JSON object. Hint: /openapi.json describes it.")
        unknown = sorted(set(found) - known)
        if unknown:
            raise Refused(400, f"{unknown[0]!r} is not known here. Known: {', '.join(sorted(known))}.")
        return found

    def _json(self, status: int, value: object) -> None:
        body = json.dumps(value, ensure_ascii=False, allow_nan=False, default=str).encode("utf-8", "replace")
        self._send(status, body, "application/json; charset=utf-8")

    def _refuse(self, status: int, message: str) -> None:
        self.close_connection = True  # what is left of the body is not read
        self._json(status, {"error": message})

    def _send(self, status: int, body: bytes, kind: str) -> None:
        self.connection.settimeout(PATIENCE)  # for all that is sent
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in _SAFE.items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What the standard library finds wrong is also reported as JSON."""
        if not hasattr(self, "headers"):
            self.requestline, self.command = "", ""
            self.request_version = "HTTP/1.1"
        self.close_connection = True
        self._json(code, {"error": message or explain or "The request cannot be read."})

    def log_message(self, format: str, *args: object) -> None:
        """Questions are nobody's business."""


def _whole(digits: str) -> int | float:
    """A whole number; one that is too large for 64 bits, as a float, which all numbers are in the end."""
    number = int(digits) if len(digits) <= MOST_DIGITS else math.inf
    if abs(number) > sys.float_info.max:
        raise ValueError(f"a whole number of {len(digits):,} digits is too large; 1e308 is the largest of all")
    return int(number) if abs(number) < 1 << 63 else float(number)


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a number in JSON")


# ---- the API in words that programs read: OpenAPI 3.1 ----


_CELLS: dict[str, Facts] = {
    "number": {"type": "number"},
    "category": {"type": ["string", "number", "boolean"]},
    "tokens": {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
    "any": {},
}
_CONFIDENCE: Facts = {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1, "default": 0.95}
_NUMBERS: Facts = {"type": "array", "items": {"type": "number"}}
_ERROR: Facts = {"error": {"type": "string", "description": "what is wrong and what to do"}}


def description(exhibit: AnyExhibit) -> Facts:
    """What can be asked of this exhibit, with its own columns and classes."""
    asked: Facts = {}
    if isinstance(exhibit, TableExhibit):
        asked = _of_a_table()
    elif isinstance(exhibit, Exhibit):
        asked = _of_points(exhibit)
    facts = _operation("The facts on the privacy card.", {"type": "object"})
    posts = {path: {"post": {"operationId": path.removeprefix("/api/"), **asked[path]}} for path in asked}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": f"scumble: {exhibit.title}",
            "version": __version__,
            "description": "Questions to a private release. They cost no privacy, however many are asked.",
        },
        "paths": {"/api/info": {"get": {"operationId": "info", **facts}}, **posts},
    }


def _of_points(exhibit: Exhibit) -> Facts:
    answer = _object(dict.fromkeys(("kernel_sum", "density", "lower", "upper"), _NUMBERS))
    density: Facts = {"confidence": {**_CONFIDENCE, "description": "of lower and upper, which bound kernel_sum"}}
    classes = [str(name) for name in exhibit.releases if name is not None]
    if classes:
        density["class"] = {"type": "string", "enum": classes}
    dated = {name for name, kind in exhibit.kinds.items() if kind != "whole"}
    question = _points(exhibit, dated, **density)
    question["required"] += ["class"] if classes else []
    paths: Facts = {"/api/density": _operation("Densities with intervals.", answer, question)}
    if exhibit.predicts:
        answer = _object({"prediction": {"type": "array"}})
        answer["properties"] |= {"classes": {"type": "array"}, "probability": {"type": "array", "items": _NUMBERS}}
        paths["/api/predict"] = _operation("A class or a number for each point.", answer, _points(exhibit))
    return paths


def _points(exhibit: Exhibit, dated: set[str] | None = None, **more: Facts) -> Facts:
    """A question about points: lists in the order of the columns, or objects by their names."""
    columns = {
        name: _CELLS["category" if name in (dated or ()) else role]
        for name, role in zip(exhibit.names, exhibit.roles, strict=True)
    }
    size = {"minItems": len(columns), "maxItems": len(columns)}
    in_order = {"type": "array", "prefixItems": list(columns.values()), **size}
    point = {"oneOf": [in_order, _object(columns) | {"additionalProperties": False}]}
    points = {"type": "array", "items": point, "minItems": 1, "maxItems": MOST_POINTS}
    found = _object({"points": points}) | {"additionalProperties": False}
    found["properties"] |= more
    return found


def _of_a_table() -> Facts:
    remarks: Facts = {"remarks": {"type": "array", "items": {"type": "string"}}}
    ends = {key: {"type": ["number", "string", "null"]} for key in ("value", "low", "high", "standard_error")}
    rows = _object({"rows": {"type": "array", "items": {"type": "object"}}} | remarks)
    answer = {"oneOf": [_object(ends | remarks), rows]}

    shared = ("where", "by", "confidence")
    count, mean = Tool("", shared).schema, Tool("", ("column", *shared), ("column",)).schema
    quantile = Tool("", ("column", "q", *shared), ("column",)).schema
    return {
        "/api/count": _operation("How many records, with an interval.", answer, count),
        "/api/mean": _operation("The mean of a column, with an interval.", answer, mean),
        "/api/quantile": _operation("The value below which a share of the records lies.", answer, quantile),
        "/api/sql": _operation("A SELECT from data, with intervals.", rows, TOOLS["sql"].schema),
    }


def _object(properties: Facts) -> Facts:
    """An object that has all of these."""
    return {"type": "object", "required": list(properties), "properties": dict(properties)}


def _operation(summary: str, answer: Facts, question: Facts | None = None) -> Facts:
    def content(schema: Facts) -> Facts:
        return {"content": {"application/json": {"schema": schema}}}

    responses = {"200": {"description": "the answer", **content(answer)}}
    responses["4XX"] = {"description": "a wrong question", **content(_object(_ERROR))}
    asked = {} if question is None else {"requestBody": {"required": True, **content(question)}}
    return {"summary": summary, "responses": responses, **asked}
