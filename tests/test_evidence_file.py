"""What an assessor gets: every part is there, and a change of any of them is found."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.table.people import SCHEMA, people

import scumble
from scumble.audit.evidence import packed
from scumble.cli import main

NAMES = {"index.html", "claim.json", "ledger.json", "schema.toml", "versions.json", "sbom.cdx.json"}
NAMES |= {"sampler.json", "greybox.json", "release.scumble", "manifest.json", "card.txt"}
WITH_IDS = scumble.Schema({**SCHEMA, "id": scumble.Distinct()})


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("evidence")
    ledger = scumble.Ledger.create(folder / "book")
    ledger.open_dataset("other", epsilon=1)
    ledger.open_dataset("people", epsilon=3)
    for name in ("people", "again"):
        sketch = scumble.TableSketch(WITH_IDS).update(people(500).assign(id=range(500)))
        sketch.release(epsilon=1.0, ledger=ledger, dataset="people").save(folder / f"{name}.scumble")
    charged = ["--ledger", str(folder / "book"), "--out", str(folder / "evidence.zip")]
    assert main(["evidence", str(folder / "people.scumble"), *charged, "--quiet"]) == 0
    return folder


@pytest.fixture
def parts(made: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(made / "evidence.zip") as file:
        return {name: file.read(name) for name in file.namelist()}


def verified(parts: dict[str, bytes], folder: Path) -> int:
    path = folder / "changed.zip"
    path.write_bytes(packed({name: data for name, data in parts.items() if name != "manifest.json"}))
    return main(["verify", str(path)])


def test_all_parts_are_there_and_agree(made: Path, parts: dict[str, bytes], tmp_path: Path) -> None:
    release = scumble.load(made / "people.scumble")
    assert {name for name in parts if not name.startswith("proofs/")} == NAMES
    assert main(["verify", str(made / "evidence.zip")]) == 0 == verified(parts, tmp_path)
    (tmp_path / "s.toml").write_bytes(parts["schema.toml"])
    assert scumble.Schema.load(tmp_path / "s.toml") == WITH_IDS
    ledger = json.loads(parts["ledger.json"])
    assert ledger["dataset"] == "people" and len(ledger["charges"]) == 2
    assert json.loads(parts["claim.json"])["claim"] == release.privacy.to_dict()
    listed = {one["name"]: one for one in json.loads(parts["sbom.cdx.json"])["components"]}
    assert {"scumble", "numpy", "scipy", "numba", "pyarrow"} <= listed.keys() and "pytest" not in listed
    assert "unknown" not in str(listed["numpy"])
    assert json.loads(parts["sampler.json"])["passed"] and json.loads(parts["greybox.json"])["passed"]
    assert all(
        f"href='{name}'" in parts["index.html"].decode()
        for name in parts
        if name not in ("manifest.json", "index.html")
    )
    assert b"noise.proof.md" in parts["index.html"] and parts["proofs/noise.proof.md"]


def test_the_same_parts_give_the_same_bytes(made: Path, parts: dict[str, bytes]) -> None:
    assert (
        packed({name: parts[name] for name in parts if name != "manifest.json"}) == (made / "evidence.zip").read_bytes()
    )


@pytest.mark.parametrize("name", sorted(NAMES | {"proofs/noise.proof.md"}))
def test_a_changed_part_is_found(parts: dict[str, bytes], name: str, tmp_path: Path) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for each, data in parts.items():
            file.writestr(each, data.replace(b"e", b"a", 1) if each == name else data)
    path = tmp_path / "changed.zip"
    path.write_bytes(out.getvalue())
    assert main(["verify", str(path)]) == 4


def smaller(claim: bytes) -> bytes:
    found = json.loads(claim)
    found["claim"]["epsilon"] /= 2
    return json.dumps(found).encode()


def failed(report: bytes) -> bytes:
    return json.dumps(json.loads(report) | {"passed": False}).encode()


FALSE = {
    "claim.json": smaller,
    "ledger.json": lambda ledger: ledger.replace(b'"exact_epsilon": "1"', b'"exact_epsilon": "1/2"'),
    "sampler.json": failed,
    "greybox.json": failed,
    "schema.toml": lambda schema: schema.replace(b'kind = "distinct"', b'kind = "boolean"'),
}


@pytest.mark.parametrize("name", FALSE)
def test_a_false_claim_with_right_hashes_is_found(parts: dict[str, bytes], name: str, tmp_path: Path) -> None:
    changed = FALSE[name](parts[name])
    assert changed != parts[name]
    assert verified(parts | {name: changed}, tmp_path) == 4


def test_another_release_is_found_or_refused(made: Path, parts: dict[str, bytes], tmp_path: Path) -> None:
    """In the place of the right one, or where the ledger does not hold it."""
    other = scumble.TableSketch(SCHEMA).update(people(500)).release(epsilon=0.5)
    assert verified(parts | {"release.scumble": other.to_bytes()}, tmp_path) == 4
    other.save(tmp_path / "free.scumble")
    charged = ["--ledger", str(made / "book"), "--out", str(tmp_path / "e.zip")]
    assert main(["evidence", str(tmp_path / "free.scumble"), *charged]) == 2


def test_a_density_has_evidence(tmp_path: Path) -> None:
    sketch = scumble.Sketch(scumble.EuclideanKernel(1.0), dimensions=1, rows=8, buckets=16).update([[1.0]] * 50)
    sketch.release(epsilon=1.0, delta=1e-6).save(tmp_path / "d.scumble")
    out = str(tmp_path / "e.zip")
    assert main(["evidence", str(tmp_path / "d.scumble"), "--out", out]) == 0 == main(["verify", out])


def of_claim(**changes: object) -> Callable[[bytes], bytes]:
    return lambda claim: json.dumps({"claim": json.loads(claim)["claim"] | changes}).encode()


HOSTILE = {
    "no float": of_claim(epsilon=10**400),
    "no number": of_claim(rho=[]),
    "deep": lambda _: b"[" * 200_000,
    "no object": lambda _: b"5",
    "no text": lambda _: b"\xff\xfe",
}


@pytest.mark.parametrize("change", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("name", ["claim.json", "ledger.json", "sampler.json"])
def test_hostile_parts_with_right_hashes_are_refused(
    parts: dict[str, bytes], name: str, change: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    assert verified(parts | {name: change(parts["claim.json"])}, tmp_path) in (2, 4)
