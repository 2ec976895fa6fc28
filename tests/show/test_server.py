"""The server and its API: whom it answers, what it refuses, and how it bears many at once."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.table.people import SCHEMA, people

import scumble
from scumble.density.bundle import Bundle
from scumble.errors import DataError, ParameterError
from scumble.learn import PrivateKDE, PrivateOutlierDetector
from scumble.show.exhibit import Exhibit
from scumble.show.pages import page
from scumble.show.server import Server
from scumble.show.tableexhibit import TableExhibit


@pytest.fixture(scope="module")
def ages() -> Bundle:
    """Two classes over a number and a category."""
    rng = np.random.default_rng(1)
    kernel = scumble.EuclideanKernel(5.0, columns=["age"]) * scumble.HammingKernel(columns=["town"])
    parts = {}
    for name, center in (("young", 20.0), ("old", 70.0)):
        sketch = scumble.Sketch(kernel, columns=["age", "town"], rows=50, buckets=128, design="iid")
        table = {"age": rng.normal(center, 5.0, 3000), "town": rng.choice(["Ulm", "5"], 3000)}
        parts[name] = sketch.update(table).release(epsilon=1.0)
    return Bundle(parts)


@pytest.fixture(scope="module")
def plane() -> Bundle:
    """Two classes over two numbers."""
    rng = np.random.default_rng(2)
    parts = {}
    for k in (1, 0):
        sketch = scumble.Sketch(scumble.EuclideanKernel(1.0), 2, rows=50, buckets=128, design="sobol")
        parts[k] = sketch.update(rng.normal(4.0 * k, 1.0, (3000, 2))).release(epsilon=1.0)
    return Bundle(parts)


@pytest.fixture
def served(ages: Bundle) -> Iterator[Server]:
    with Server(Exhibit(ages, "ages", ranges={"age": (0.0, 100.0)})) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield server
        server.shutdown()


def ask(
    server: Server, method: str, path: str, body: Any = None, **headers: str
) -> tuple[int, Any, http.client.HTTPMessage]:
    """One request; a body that is no bytes goes as JSON."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)
    data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
    given = {"Content-Type": "application/json"} if data is not None else {}
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, data, {**given, **names})
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    kind = answer.headers["Content-Type"]
    return answer.status, json.loads(content) if "json" in kind and content else content, answer.headers


def test_densities_are_those_of_python(served: Server, ages: Bundle) -> None:
    points = [[20, "Ulm"], {"town": 5, "age": 71.5}]
    status, found, _ = ask(served, "POST", "/api/density", {"points": points, "class": "old", "confidence": 0.8})
    table = {"age": [20, 71.5], "town": ["Ulm", "5"]}
    lower, upper = ages["old"].interval(table, 0.8)
    assert status == 200
    assert found == {
        "kernel_sum": ages["old"].kernel_sum(table).tolist(),
        "density": ages["old"].density(table).tolist(),
        "lower": lower.tolist(),
        "upper": upper.tolist(),
    }


def test_the_description_is_of_this_release(served: Server) -> None:
    status, found, headers = ask(served, "GET", "/api/info")
    assert status == 200 and headers["X-Content-Type-Options"] == "nosniff"
    assert found["epsilon"] == 1.0 and found["classes"] == ["young", "old"] and found["columns"] == ["age", "town"]
    status, found, _ = ask(served, "GET", "/openapi.json")
    assert status == 200 and found["openapi"].startswith("3.")
    assert set(found["paths"]) == {"/api/info", "/api/density"}  # categories: nothing to predict from
    schema = found["paths"]["/api/density"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert schema["properties"]["class"]["enum"] == ["young", "old"] and "class" in schema["required"]
    assert schema["properties"]["points"]["items"]["oneOf"][1]["required"] == ["age", "town"]


def test_predictions_are_those_of_python(plane: Bundle) -> None:
    exhibit = Exhibit(plane, "plane")
    assert exhibit.predicts
    found = exhibit.predict([[0.0, 0.0], {"x0": 4.0, "x1": 4.0}])
    assert found["prediction"] == [0, 1] and found["classes"] == [0, 1]
    assert np.allclose(np.sum(found["probability"], axis=1), 1.0)
    X = np.random.default_rng(3).uniform(-1, 1, (2000, 2))
    model = PrivateOutlierDetector(epsilon=10.0, rows=64, buckets=64, bounds=(-1, 1)).fit(X)
    fitted = Exhibit(model, "outliers")
    assert fitted.predict([[0.5, 0.5]])["prediction"] == model.predict([[0.5, 0.5]]).tolist()
    assert page(fitted).startswith("<!doctype html>")
    assert Exhibit(PrivateKDE(bounds=(-1, 1), rows=30, buckets=64).fit(X), "density").drawable
    with pytest.raises(DataError, match="densities alone"):
        Exhibit(plane[0], "alone").predict([[0.0, 0.0]])


RIGHT: dict[str, Any] = {"points": [[20, "Ulm"]], "class": "old"}
WRONG: list[tuple[Any, str]] = [
    ({"points": RIGHT["points"]}, "one of young, old"),
    ({**RIGHT, "class": "middle"}, "one of young, old"),
    ({**RIGHT, "points": []}, "list of points"),
    ({**RIGHT, "points": RIGHT["points"] * 100_001}, "ask in parts"),
    *(({**RIGHT, "points": [[age, "Ulm"]]}, "must be a finite number") for age in ("x", True)),
    *(({**RIGHT, "points": [one]}, "") for one in ([20], [20, None], {"age": 1}, {"age": 1, "town": "Ulm", "x": 1})),
    *(({**RIGHT, name: 1}, name) for name in ("confidence", "color")),
    *((body, "JSON") for body in (b'{"points": [[NaN, "Ulm"]]}', b"[" * 100_000, b"\xff\xfe", b"[1]", b"")),
]


@pytest.mark.parametrize(("body", "words"), WRONG)
def test_wrong_questions_get_helpful_answers(served: Server, body: Any, words: str) -> None:
    status, answer, _ = ask(served, "POST", "/api/density", body)
    assert status == 400 and answer["error"] and words in answer["error"]


def test_wrong_requests_get_helpful_answers(served: Server) -> None:
    assert ask(served, "GET", "/api/nothing")[0] == 404
    assert ask(served, "GET", "/api/density")[0] == 405
    assert ask(served, "POST", "/", {})[0] == 405
    status, answer, _ = ask(served, "PUT", "/api/density", {})
    assert status == 501 and answer["error"]
    status, answer, _ = ask(served, "POST", "/api/density", b"points=1", Content_Type="text/plain")
    assert status == 415 and "application/json" in answer["error"]
    status, answer, _ = ask(served, "POST", "/api/density", b"{}", Content_Length="99999999999")
    assert status == 413 and "ask in parts" in answer["error"]
    assert ask(served, "POST", "/api/density", b"{}", Content_Length="some")[0] == 411
    status, answer, _ = ask(served, "POST", "/api/predict", {"points": [[1, "Ulm"]]})
    assert status == 400 and "Nothing to predict" in answer["error"]
    with socket.create_connection(("127.0.0.1", served.server_port), timeout=60) as plain:
        plain.sendall(b"nonsense\r\n\r\n")
        assert b'"error"' in plain.makefile("rb").read()


def test_only_its_own_names_and_pages_are_answered(served: Server) -> None:
    port = served.server_port
    for host in (f"127.0.0.1:{port}", f"localhost:{port}"):
        assert ask(served, "GET", "/api/info", Host=host, Origin=f"http://{host}")[0] == 200
    for host in ("evil.example", f"evil.example:{port}", f"127.0.0.1:{port + 1}", "127.0.0.1", ""):
        status, answer, _ = ask(served, "GET", "/api/info", Host=host)
        assert status == 403 and "not served" in answer["error"], host
    for origin in ("http://evil.example", "null", f"https://127.0.0.1:{port}", f"http://localhost:{port + 1}"):
        assert ask(served, "POST", "/api/density", {"points": []}, Origin=origin)[0] == 403, origin


def test_it_listens_on_loopback_unless_told(ages: Bundle) -> None:
    with Server(Exhibit(ages, "ages")) as server:
        assert server.server_address[0] == "127.0.0.1"
    with Server(Exhibit(ages, "ages"), "127.0.0.2", names=["explorer.example"]) as server:
        assert {f"127.0.0.2:{server.server_port}", f"explorer.example:{server.server_port}"} <= server.hosts
        with pytest.raises(ParameterError, match="free one"):
            Server(Exhibit(ages, "ages"), "127.0.0.2", server.server_port)


def test_the_verb_opens_a_browser(ages: Bundle, tmp_path: Path) -> None:
    ages.save(tmp_path / "ages.scumble")
    (tmp_path / "browser").write_text(f'#!/bin/sh\nprintf %s "$1" > {tmp_path / "opened"}\n')
    (tmp_path / "browser").chmod(0o755)
    command = [sys.executable, "-m", "scumble", "explore", str(tmp_path / "ages.scumble"), "--range", "age=0:100"]
    environment = {**os.environ, "BROWSER": str(tmp_path / "browser")}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        connection = http.client.HTTPConnection(url.removeprefix("http://").rstrip("/"), timeout=120)
        connection.request("GET", "/")
        assert connection.getresponse().read().startswith(b"<!doctype html>")
        connection.close()
        while not (tmp_path / "opened").exists():
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    assert (tmp_path / "opened").read_text() == url


def test_numbers_and_letters_that_nobody_can_hold_are_refused(served: Server) -> None:
    """Whole numbers beyond 64 bits are numbers; beyond all floats they are none; half a character is no text."""

    def density(point: str, **more: Any) -> tuple[int, Any]:
        extra = "".join(f', "{name}": {value}' for name, value in more.items())
        status, found, _ = ask(
            served, "POST", "/api/density", f'{{"points": [{point}], "class": "old"{extra}}}'.encode()
        )
        return status, found

    assert density('[45, "Ulm"]')[0] == 200
    for digits in ("9" * 19, "-" + "9" * 30, "9" * 299):
        assert density(f'[{digits}, "Ulm"]')[0] == 200 and density(f"[45, {digits}]")[0] == 200
    for digits, more in (("9" * 309, {}), ("9" * 5000, {}), ("45", {"confidence": "9" * 400})):
        status, found = density(f'[{digits}, "Ulm"]', **more)
        assert status == 400 and "digits is too large" in found["error"]
    for half in (r"\ud83d", r"\udc00", r"x\ud83dy"):
        for body in (f'[45, "{half}"]', f'{{"age": 45, "{half}": 1}}'):
            status, found = density(body)
            assert status == 400 and "half a character" in found["error"]
        status, found = density('[45, "Ulm"]', confidence=f'"{half}"')
        assert status == 400
    assert density(r'[45, "\ud83d\ude00"]')[0] == 200  # both halves


def test_a_table_is_asked_as_described() -> None:
    release = scumble.TableSketch(SCHEMA).update(people(2000)).release(epsilon=2.0)
    exhibit = TableExhibit(release, "people")
    with Server(exhibit) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()

        def post(verb: str, **asked: Any) -> Any:
            status, found, _ = ask(server, "POST", f"/api/{verb}", asked)
            return found if status == 200 else status

        described = ask(server, "GET", "/openapi.json")[1]["paths"]
        assert ask(server, "GET", "/api/info")[1]["identity"] == release.identity
        for path, (known, _) in exhibit.questions.items():
            schema = described[path]["post"]["requestBody"]["content"]["application/json"]["schema"]
            assert {*schema["properties"]} - {"release"} == known
        assert post("count", where="age >= 65")["value"] == release.count("age >= 65").value
        found = post("count", by=["sex"], confidence=0.9)["rows"]
        assert [row["sex"] for row in found] == release.count(by="sex")["sex"].tolist()
        assert post("mean", column="hours").items() >= release.mean("hours").to_dict().items()
        assert post("mean", column="hours", by=["sex", "smoker"])["rows"][0].keys() >= {"sex", "smoker", "value", "low"}
        assert post("quantile", column="age", q=0.9)["value"] == release.quantile("age", 0.9).value
        assert post("quantile", column="seen")["value"] == str(release.quantile("seen").value)
        rows = post("sql", query="select sex, count(*) as n from data group by sex")["rows"]
        assert [*rows[0]] == ["sex", "n", "n_low", "n_high"] and len(rows) == len(found)
        for wrong in ({"by": ["town"]}, {"by": 3}, {"where": 3}, {"where": "age >"}, {"confidence": True}):
            assert post("count", **wrong) == 400
        assert post("mean", column="sex") == post("quantile", q=0.5) == post("sql", query="select * from data") == 400
        server.shutdown()
