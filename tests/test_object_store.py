"""Tables in an object store, through pyarrow's file systems: against a stand-in for S3 on this machine.

The stand-in knows what reading needs: HEAD, GET with a range, and the list of a folder.
"""

from __future__ import annotations

import io
import threading
import urllib.parse
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyarrow.fs import S3FileSystem

import scumble
from scumble.sources import Build

ENTRY = (
    "<Contents><Key>{}</Key><Size>{}</Size><LastModified>2024-05-01T00:00:00.000Z</LastModified><ETag>1</ETag>"
    "</Contents>"
)
LIST = (
    '<?xml version="1.0"?><ListBucketResult><Name>town</Name><KeyCount>{}</KeyCount><IsTruncated>false</IsTruncated>{}'
    "</ListBucketResult>"
)


class Store(BaseHTTPRequestHandler):
    """One bucket, read-only."""

    protocol_version = "HTTP/1.1"
    held: ClassVar[dict[str, bytes]] = {}

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def _answer(self, *, body: bool) -> None:
        url = urllib.parse.urlsplit(self.path)
        key = urllib.parse.unquote(url.path).removeprefix("/town").strip("/")
        asked = urllib.parse.parse_qs(url.query)
        if not key and "list-type" in asked:
            prefix = asked.get("prefix", [""])[0]
            found = [ENTRY.format(name, len(data)) for name, data in self.held.items() if name.startswith(prefix)]
            self._send(200, LIST.format(len(found), "".join(found)).encode(), body)
        elif key not in self.held:
            self._send(404, b"", body)
        elif (span := self.headers.get("Range")) is not None:
            first, last = span.removeprefix("bytes=").split("-")
            data, end = self.held[key], min(int(last), len(self.held[key]) - 1) + 1
            self._send(206, data[int(first) : end], body, f"bytes {first}-{end - 1}/{len(data)}")
        else:
            self._send(200, self.held[key], body)

    def _send(self, code: int, data: bytes, body: bool, span: str | None = None) -> None:
        self.send_response(code)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Last-Modified", "Wed, 01 May 2024 00:00:00 GMT")
        self.send_header("ETag", '"1"')
        if span is not None:
            self.send_header("Content-Range", span)
        self.end_headers()
        if body:
            self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def store() -> Iterator[S3FileSystem]:
    for k in range(2):
        sink = io.BytesIO()
        pq.write_table(pa.table({"age": np.arange(k, 100.0, 2.0), "name": ["nobody"] * 50}), sink)
        Store.held[f"people/{k}.parquet"] = sink.getvalue()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Store)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield S3FileSystem(
            endpoint_override=f"127.0.0.1:{server.server_port}",
            scheme="http",
            access_key="nobody",
            secret_key="nothing",
            region="here",
            connect_timeout=5,
            request_timeout=5,
        )
    finally:
        server.shutdown()
        server.server_close()


def test_a_folder_in_an_object_store_is_read_as_the_same_table_is(store: S3FileSystem) -> None:
    kernel, ages = scumble.EuclideanKernel(5.0), np.arange(100.0)
    dataset = ds.dataset("town/people", filesystem=store, format="parquet")
    found = []
    for source in (dataset.scanner(columns=["age"]).to_reader(), pa.table({"age": ages})):
        job = Build(source, kernel, ["age"], bounds=(0, 100), whole=["age"], buckets=(101,))
        found.append(job.count().sketches[0].kernel_sum(ages[:, None]))
    assert np.array_equal(*found) and found[0].min() > 0
