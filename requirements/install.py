"""Install lock files into an environment of their own, exact versions checked by hash, and scumble beside them.

    python requirements/install.py .venv build demo --editable

uv does it, several times as fast as pip: it fetches and unpacks many packages at once, and leaves compiling to the
first import. pip brings uv, by its own lock file (`installer`), and what pip's configuration says of indexes,
certificates and proxies is told to uv. Where uv has no file for this machine, where it fails, or where that
configuration holds something that is not known here, pip does all of it. The bytes installed are the same: the hashes
see to that.

What comes as source is built with tools that are locked as well (`build`, which must come first), so nothing is fetched
unseen.
"""

from __future__ import annotations

import argparse
import ast
import os
import subprocess
import sys
import venv
from collections.abc import Iterable, Mapping
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


def quietly(command: list[str], environment: Mapping[str, str] | None = None) -> str | None:
    """What it prints; None if it fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, check=False)
    return done.stdout.decode(errors="replace") if done.returncode == 0 else None


def pip_for(folder: Path) -> list[str]:
    """pip for an environment: the one of the Python that runs this, if it has one, else the environment's own."""
    python = python_of(folder)
    outside = [sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check"]
    if quietly([*outside, "--version"]) is not None:
        return outside
    if quietly([python, "-m", "pip", "--version"]) is None:
        subprocess.run([python, "-m", "ensurepip", "--default-pip"], check=True, stdout=subprocess.DEVNULL)
    return [python, "-m", "pip", "--disable-pip-version-check"]


def hashed(names: Iterable[str]) -> list[list[str]]:
    """One call's words for each lock file, in their order: a later one may be built with what an earlier one brought."""
    return [["--require-hashes", "--requirement", str(HERE / f"{name}.txt")] for name in names]


def by_uv(folder: Path, pip: list[str], calls: list[list[str]]) -> bool:
    """Whether uv did it."""
    listed = quietly([*pip, "config", "list"])
    options = None if listed is None else told(settings(listed), os.environ)
    if options is None or listed is None:
        return False
    proxy = settings(listed).get("proxy")
    environment = {**os.environ, **({"ALL_PROXY": proxy} if proxy else {})}
    ours = [python_of(folder), "-m", "uv"]
    if quietly([*ours, "--version"]) is None:
        bring = [*pip, "install", "--quiet", "--no-compile", "--only-binary", ":all:", *hashed([LOCK])[0]]
        if quietly(bring) is None:
            return False
    install = [*ours, "pip", "install", "--quiet", "--python", python_of(folder), "--no-build-isolation", *options]
    return all(quietly([*install, *words], environment) is not None for words in calls)


def by_pip(pip: list[str], calls: list[list[str]]) -> None:
    for words in calls:
        subprocess.run([*pip, "install", "--quiet", "--no-build-isolation", *words], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="install.py", description=__doc__)
    parser.add_argument("folder", type=Path, help="of the environment; made if it is not there")
    parser.add_argument("names", nargs="*", help="of lock files")
    parser.add_argument("--editable", action="store_true", help="scumble itself too")
    given = parser.parse_args()
    if not Path(python_of(given.folder)).exists():
        venv.create(given.folder, symlinks=os.name != "nt", with_pip=False)
    print(f"Installing into {given.folder}: {', '.join(given.names)} ...", flush=True)
    calls = hashed(given.names)
    if given.editable:
        calls.append(["--no-deps", "--editable", str(HERE.parent)])
    pip = pip_for(given.folder)
    if not by_uv(given.folder, pip, calls):
        print("pip does it, which takes longer than uv would ...", flush=True)
        by_pip(pip, calls)


if __name__ == "__main__":
    main()
