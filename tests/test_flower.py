"""Shares of a table's release pass through Flower's own SecAgg+, as docs/howto/flower.md shows, to the integer.

A SuperLink, three SuperNodes and the app run as processes on this machine, in the environment that `make flower` makes.
"""

from __future__ import annotations

import contextlib
import os
import re
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import scumble

ROOT = Path(__file__).parent.parent
BIN = ROOT / ".venv-flower" / "bin"
SCHEMA = scumble.Schema(ward=scumble.Category(["a", "b", "c"]), died=scumble.Boolean())
CUSTODIANS, RECORDS, SECONDS = 3, 2_000, 600

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Flower's servers are started as on Linux and macOS.")


def free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


@contextlib.contextmanager
def started(*command: str, folder: Path, log: str) -> Iterator[subprocess.Popen[bytes]]:
    """A program of Flower's, which ends with the block."""
    environment = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "FLWR_HOME": str(folder / "home")}
    environment |= {"FLWR_TELEMETRY_ENABLED": "0", "OMP_NUM_THREADS": "1"}
    with (folder / log).open("wb") as output:
        process = subprocess.Popen(
            [str(BIN / command[0]), *command[1:]],
            cwd=folder,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(20)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, 9)
        process.wait()


def test_the_sum_under_secure_aggregation_is_the_sum_of_shares_to_the_integer(tmp_path: Path) -> None:
    assert BIN.is_dir(), "`make flower` makes the environment of this test"
    page = (ROOT / "docs/howto/flower.md").read_text("utf-8")
    for name, content in re.findall(r'```\w+ title="(.*?)"\n(.*?)```', page, re.DOTALL):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content, "utf-8")
    (tmp_path / "hospitals/__init__.py").touch()
    rng = np.random.default_rng(1)
    payloads = []
    for each in range(CUSTODIANS):
        people = {"ward": rng.choice(["a", "b", "c"], RECORDS), "died": rng.random(RECORDS) < 0.2}
        sketch = scumble.TableSketch(SCHEMA, pairs=[("ward", "died")]).update(people)
        share = sketch.release_share(epsilon=1.0, custodians=CUSTODIANS)
        payloads.append(share.payload)
        share.save(tmp_path / f"{each}.share")
    link, *nodes = map(str, free_ports(1 + CUSTODIANS))
    (tmp_path / "home").mkdir()
    here = f'[superlink]\ndefault = "here"\n\n[superlink.here]\naddress = "127.0.0.1:{link}"\ninsecure = true\n'
    (tmp_path / "home/config.toml").write_text(here, "utf-8")
    at, written = f"127.0.0.1:{link}", tmp_path / "sum.npy"
    server = ("flower-superlink", "--insecure", "--port", link, "--disable-runtime-dependency-installation")
    with contextlib.ExitStack() as stack:
        stack.enter_context(started(*server, folder=tmp_path, log="link.log"))
        for each, port in enumerate(nodes):
            mine = f'share="{tmp_path / f"{each}.share"}"'
            node = ("flower-supernode", "--insecure", "--superlink", at, "--port", port, "--node-config", mine)
            stack.enter_context(started(*node, folder=tmp_path, log=f"{each}.log"))
        end = time.monotonic() + SECONDS
        while not written.exists() and time.monotonic() < end:
            with started("flwr", "run", ".", "here", "--stream", folder=tmp_path, log="run.log") as run:
                while run.poll() is None and not written.exists() and time.monotonic() < end:
                    time.sleep(0.2)
        logs = "\n".join(path.read_text("utf-8", "replace") for path in sorted(tmp_path.glob("*.log")))
    assert written.exists(), logs
    total = np.load(written)
    assert np.array_equal(total, np.sum(payloads, axis=0, dtype=np.uint64))
    release = scumble.load_share(tmp_path / "0.share").from_sum(total, arrived=CUSTODIANS)
    assert np.array_equal(release.counts, total.view(np.int64)[: release.counts.size]) and release.count("died").low > 0
