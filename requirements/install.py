"""Install lock files into an environment of their own, exact versions checked by hash, and scumble beside them.

    python requirements/install.py .venv build demo --editable

uv does it, several times as fast as pip: it fetches and unpacks many packages at once, and leaves compiling to the
first import. pip brings uv, by a lock file of its own (`installer`), and what pip's configuration says of indexes,
certificates and proxies is told to uv. Where uv has no file for this machine, where it fails, or where that
configuration holds something that is not known here, pip does all of it. What is installed is the same: the hashes see
to that.

What comes as source is built with tools that are locked as well (`build`, which must come first), so nothing is fetched
unseen.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import os
import subprocess
import sys
import venv
from collections.abc import Mapping
from pathlib import Path

HERE = Path(__file__).parent
LOCK = "installer"
TOLD = {
    "index-url": "--default-index",
    "extra-index-url": "--index",
    "find-links": "--find-links",
    "trusted-host": "--allow-insecure-host",
    "cert": "--cert",
    "no-binary": "--no-binary",
    "only-binary": "--only-binary",
    "no-index": "--no-index",
    "no-cache-dir": "--no-cache",
}
"""What pip's settings are called in uv. Some are lists, with a space or a new line between their items."""
SWITCHES = ("no-index", "no-cache-dir")
HARMLESS = {
    *("cache-dir", "compile", "default-timeout", "disable-pip-version-check", "no-color", "no-compile", "no-input"),
    *("no-warn-script-location", "prefer-binary", "progress-bar", "quiet", "require-virtualenv", "retries"),
    *("root-user-action", "timeout", "verbose"),
}
"""Settings that say nothing of where packages come from, or which."""
ALL_INDEXES = ["--index-strategy", "unsafe-best-match"]
"""All indexes are asked for the one version, as pip does it. With hashes, it does not matter which of them answers."""


def settings(listed: str) -> dict[str, str]:
    """What `pip config list` says, as it holds for installing: the environment before `install` before all commands."""
    found: dict[str, dict[str, str]] = {"global": {}, "install": {}, ":env:": {}}
    for line in listed.splitlines():
        name, _, value = line.partition("=")
        section, _, key = name.rpartition(".")
        if section in found:
            found[section][key] = str(ast.literal_eval(value))
    return found["global"] | found["install"] | found[":env:"]


def told(pip: Mapping[str, str], environment: Mapping[str, str]) -> list[str] | None:
    """uv's options for pip's settings, or None where they ask for something that is not known here."""
    if set(pip) - set(TOLD) - HARMLESS - {"proxy"}:
        return None
    options = [*ALL_INDEXES]
    certificates = environment.get("REQUESTS_CA_BUNDLE") or environment.get("CURL_CA_BUNDLE")
    pip = ({"cert": certificates} if certificates else {}) | dict(pip)
    if "cert" not in pip:
        options.append("--system-certs")
    for key, option in TOLD.items():
        if key in SWITCHES:
            options += [option] if pip.get(key, "").lower() in ("1", "true", "yes", "on") else []
        else:
            items = [pip[key]] if key == "cert" and pip.get(key) else pip.get(key, "").split()
            options += [word for item in items for word in (option, item)]
    return options


def python_of(folder: Path) -> str:
    return str(folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))


def done(command: list[str]) -> bool:
    """Whether it went well. Who tries something else next need not hear why it did not."""
    return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0


def bring_pip(folder: Path) -> list[str]:
    """Some pip: that of the Python which runs this, or else one of the environment's own."""
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    subprocess.run([python_of(folder), "-m", "ensurepip", "--default-pip"], check=True, stdout=subprocess.DEVNULL)
    return [python_of(folder), "-m", "pip", "--disable-pip-version-check"]


def bring_uv(folder: Path, pip: list[str]) -> list[str] | None:
    """uv, with what pip's settings mean to it; None where it is not to be had, or they are not known here."""
    asked = subprocess.Popen([*pip, "config", "list"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    place = folder / "uv"  # not among the environment's packages: they have no use for it
    uv = place / "bin" / ("uv.exe" if os.name == "nt" else "uv")
    alone = ["--target", str(place), "--upgrade", "--no-compile", "--only-binary", ":all:"]
    there = uv.exists() or done([*pip, "install", *alone, *hashed(LOCK)])
    listed = asked.communicate()[0]
    if not there or asked.returncode != 0:
        return None
    found = settings(listed)
    options = told(found, os.environ)
    if options is not None and "proxy" in found:
        os.environ["ALL_PROXY"] = found["proxy"]
    return None if options is None else [str(uv), "pip", "install", "--python", python_of(folder), *options]


def hashed(name: str) -> list[str]:
    return ["--require-hashes", "--requirement", str(HERE / f"{name}.txt")]


def main() -> None:
    parser = argparse.ArgumentParser(prog="install.py", description=__doc__)
    parser.add_argument("folder", type=Path, help="of the environment; made if it is not there")
    parser.add_argument("names", nargs="*", help="of lock files")
    parser.add_argument("--editable", action="store_true", help="scumble itself too")
    given = parser.parse_args()
    print(f"Installing into {given.folder}: {', '.join(given.names)} ...", flush=True)
    if not Path(python_of(given.folder)).exists():
        venv.create(given.folder, symlinks=os.name != "nt", with_pip=False)
    calls = [["--no-build-isolation", *hashed(name)] for name in given.names]
    if given.editable:
        calls.append(["--no-build-isolation", "--no-deps", "--editable", str(HERE.parent)])
    pip = bring_pip(given.folder)
    uv = bring_uv(given.folder, pip)
    if uv is not None and all(done([*uv, *words]) for words in calls):
        return
    print("pip does it, which takes longer than uv would ...", flush=True)
    for words in calls:
        subprocess.run([*pip, "--python", python_of(given.folder), "install", "--quiet", *words], check=True)


if __name__ == "__main__":
    main()
