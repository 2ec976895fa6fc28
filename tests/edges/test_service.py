"""The server under attack, and the memory of verbs that hold secrets."""

from __future__ import annotations

import http.client
import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator

import numpy as np
import pytest

import scumble
from scumble.show import server
from scumble.show.exhibit import Exhibit
from scumble.show.server import Server

SLOTS = 4


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(server, "MOST_CONNECTIONS", SLOTS)
    monkeypatch.setattr(server, "PATIENCE", 0.4)
    sketch = scumble.Sketch(scumble.EuclideanKernel(1.0), columns=["age"], rows=8, buckets=16, design="iid")
    release = sketch.update(np.ones((50, 1))).release(epsilon=1.0)
    with Server(Exhibit(release, "ages", ranges={"age": (0.0, 100.0)})) as running:
        threading.Thread(target=running.serve_forever, args=(0.02,), daemon=True).start()
        yield running
        running.shutdown()


def asked(running: Server, **question: object) -> tuple[int, dict]:
    connection = http.client.HTTPConnection("127.0.0.1", running.server_port, timeout=60)
    body = json.dumps({"points": [[1.0]], **question})
    connection.request("POST", "/api/density", body, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    found = answer.status, json.loads(answer.read())
    connection.close()
    return found


HEAD = b"GET / HTTP/1.1\r\nHost: x\r\nX: "
BODY = b"POST /api/density HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n"


@pytest.mark.parametrize("where", ["the request line", "the headers", "the body"])
def test_those_who_send_a_byte_now_and_then_shut_nobody_out(served: Server, where: str) -> None:
    start = {
        "the request line": b"G",
        "the headers": HEAD,
        "the body": BODY % f"127.0.0.1:{served.server_port}".encode(),
    }
    done = threading.Event()
    slow = [socket.create_connection(("127.0.0.1", served.server_port)) for _ in range(SLOTS)]

    def drip() -> None:
        for one in slow:
            one.sendall(start[where])
        while not done.wait(0.1):
            for one in slow:
                try:
                    one.sendall(b" ")
                except OSError:
                    continue

    thread = threading.Thread(target=drip)
    thread.start()
    try:
        assert asked(served)[0] == 200
    finally:
        done.set()
        thread.join()
        for one in slow:
            one.close()


FIT = ["--task", "classify", "--target", "x", "--classes", "0,1", "--bounds", "a=0:1"]
VERBS = {
    "build": ["nothing.csv", "--bandwidth", "1", "--epsilon", "1"],
    "sketch": ["nothing.csv", "--bandwidth", "1"],
    "merge": ["nothing.secret"],
    "release": ["nothing.secret", "--epsilon", "1"],
    "fit": ["nothing.csv", *FIT, "--epsilon", "1"],
}
WATCH = """
import ctypes, json, os, resource, sys
import scumble, scumble.learn
from scumble.cli import main
loaded = [getattr(room, name) for room in (scumble, scumble.learn) for name in room.__all__]  # once for all
for words in json.loads(sys.argv[1]):
    if not os.fork():  # each verb in a process that no other has changed
        main(words)
        print(words[0], resource.getrlimit(resource.RLIMIT_CORE)[0], ctypes.CDLL(None).prctl(3, 0, 0, 0, 0), flush=True)
        os._exit(0)
    os.wait()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="asks the Linux kernel")
def test_verbs_with_secrets_leave_no_core_and_others_leave_all_as_it_was() -> None:
    asked = [[verb, *words, "--out", "o.scumble"] for verb, words in VERBS.items()]
    asked.append(["info", "nothing"])
    ran = subprocess.run([sys.executable, "-c", WATCH, json.dumps(asked)], capture_output=True, text=True, timeout=300)
    *found, (verb, _, dumped) = (line.split() for line in ran.stdout.splitlines())
    assert found == [[verb, "0", "0"] for verb in VERBS], ran.stderr
    assert (verb, dumped) == ("info", "1"), "no secret is read"
