"""Write a bill of materials (CycloneDX, JSON): what scumble and its tests are made of, with licenses and hashes.

    make sbom

The Python packages are those of an environment that the lock files made. `scope` says what each is there for:
`required` by every installation, `optional` with one of the extras, `excluded` from what users install (tests,
documentation). The hashes are the lock's: a package's file on any platform has one of them. The explorer's page comes
built with its libraries inside; they are listed from the lock file of its sources, as `required`.
"""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
UNLOCKED = {"cupy-cuda12x"}
"""Installed by who has the hardware; no lock file holds it."""
_SAY = """
import json
from importlib import metadata
print(json.dumps({each.name: each.requires or [] for each in metadata.distributions()}))
"""
_PIN = re.compile(r"^(?P<name>[a-z0-9._-]+)==(?P<version>[^ ;\\]+)")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


def canonical(name: str) -> str:
    """One spelling per package."""
    return re.sub(r"[-_.]+", "-", name).lower()


def locked_hashes(lock: str) -> dict[tuple[str, str], list[str]]:
    """(name, version) → the SHA-256 of each of its files."""
    found: dict[tuple[str, str], list[str]] = {}
    current: list[str] = []
    for line in lock.splitlines():
        if pin := _PIN.match(line):
            current = found.setdefault((canonical(pin["name"]), pin["version"]), [])
        current += _HASH.findall(line)
    return found


def page_components(lock: dict[str, Any]) -> list[dict[str, Any]]:
    """What the built page holds: the packages of its lock file, without the tools that build it."""
    components = []
    for place, about in lock["packages"].items():
        if not place or about.get("dev"):
            continue
        name, version = place.rpartition("node_modules/")[2], about["version"]
        kind, _, digest = about["integrity"].partition("-")
        components.append(
            {
                "type": "library",
                "bom-ref": f"page:{name}@{version}",
                "name": name,
                "version": version,
                "purl": f"pkg:npm/{name.replace('@', '%40')}@{version}",
                "scope": "required",
                "licenses": [{"expression": about["license"]}],
                "hashes": [{"alg": kind.upper().replace("SHA", "SHA-"), "content": base64.b64decode(digest).hex()}],
            }
        )
    return components


def needed(requirements: list[str], metadata: dict[str, list[str]]) -> set[str]:
    """The names of all that these requirements lead to on this platform, by what each package says of itself."""
    ahead = [Requirement(each) for each in requirements]
    seen: set[tuple[str, str]] = set()
    while ahead:
        this = ahead.pop()
        for extra in {"", *this.extras}:
            if (key := (canonical(this.name), extra)) not in seen:
                seen.add(key)
                leads = map(Requirement, metadata.get(key[0], []))
                ahead += [each for each in leads if not each.marker or each.marker.evaluate({"extra": extra})]
    return {name for name, _ in seen}


def complete(
    bom: dict[str, Any], project: dict[str, Any], metadata: dict[str, list[str]], lock: str, page: dict[str, Any]
) -> None:
    """Add to the packages of an environment what only this repository knows."""
    extras = [each for extra in project["optional-dependencies"].values() for each in extra]
    required = needed(project["dependencies"], metadata)
    optional = needed(extras, metadata)
    hashes = locked_hashes(lock)
    for each in bom["components"]:
        name = canonical(each["name"])
        each["scope"] = "required" if name in required else "optional" if name in optional else "excluded"
        files = hashes.get((name, each["version"]), [])
        each.setdefault("properties", []).extend({"name": "scumble:lock:sha256", "value": digest} for digest in files)
    root = bom["metadata"]["component"]
    root["version"] = project["version"]
    root["purl"] = f"pkg:pypi/{root['name']}@{root['version']}"
    libraries = page_components(page)
    bom["components"] += libraries
    for each in bom["dependencies"]:
        if each["ref"] == root["bom-ref"]:
            each["dependsOn"] = [*each.get("dependsOn", []), *(library["bom-ref"] for library in libraries)]
    named = {canonical(Requirement(each).name) for each in [*project["dependencies"], *extras]} - UNLOCKED
    missing = named - {canonical(each["name"]) for each in bom["components"]}
    if missing:
        raise SystemExit(f"The environment lacks {', '.join(sorted(missing))}. Hint: `make setup` first.")


def main(python: str, out: str) -> None:
    """`python` is the interpreter of the environment to describe; `out` the file to write."""
    generate = [sys.executable, "-m", "cyclonedx_py", "environment", "--output-reproducible", "--mc-type", "library"]
    told = subprocess.run(
        [*generate, "--spec-version", "1.6", "--pyproject", str(ROOT / "pyproject.toml"), python],
        check=True,
        stdout=subprocess.PIPE,
    )
    said = subprocess.run([python, "-c", _SAY], check=True, stdout=subprocess.PIPE).stdout
    metadata = {canonical(name): requires for name, requires in json.loads(said).items()}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    project["version"] = re.findall(r'__version__ = "(.+)"', (ROOT / "src/scumble/_version.py").read_text("utf-8"))[0]
    lock = "".join((ROOT / "requirements" / f"{name}.txt").read_text("utf-8") for name in ("build", "test"))
    bom = json.loads(told.stdout)
    complete(bom, project, metadata, lock, json.loads((ROOT / "web" / "package-lock.json").read_text("utf-8")))
    Path(out).parent.mkdir(parents=True, exist_ok=True)
    Path(out).write_text(json.dumps(bom, indent=1, sort_keys=True) + "\n", "utf-8")
    count = {scope: sum(each["scope"] == scope for each in bom["components"]) for scope in ("required", "optional")}
    print(f"{out}: {len(bom['components'])} components, {count['required']} required, {count['optional']} optional")


if __name__ == "__main__":
    main(*sys.argv[1:])
