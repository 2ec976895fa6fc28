"""Install lock files into an environment of their own, exact versions checked by hash, and scumble with them.

    python requirements/install.py .venv build demo --editable

uv does it, several times as fast as pip: it fetches and unpacks many packages at once, and leaves compiling to the
first import. pip brings uv, by a lock file of its own (`installer`), and what pip's settings say of indexes,
certificates and proxies is passed to uv (`pip_settings.py`); settings of uv's own are left aside, as the environment's
folder and the lock files say all there is to say. Where uv has no file for this machine, where it fails, or where pip's
settings hold something that is not known here, pip does all of it. What is installed is the same: the hashes see to
that.

What comes as source is built with tools that are locked as well (`build`, which must come first), so nothing is fetched
unseen. What was interrupted is begun anew (`unfinished.py`).
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import venv
from collections.abc import Mapping
from pathlib import Path
from textwrap import indent

from pip_settings import elsewhere, masked, settings, told, unknown
from unfinished import empty, packages, whole

HERE = Path(__file__).parent
LOCK = HERE / "installer.txt"
LAST = 8
"""Lines of what a program said before it failed: enough to know why."""


def python_of(folder: Path) -> str:
    return str(folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))


def make(folder: Path) -> None:
    if not Path(python_of(folder)).exists():
        venv.create(folder, symlinks=os.name != "nt", with_pip=False)


def hashed(lock: Path) -> list[str]:
    return ["--require-hashes", "--requirement", str(lock)]


def failure(command: list[str], environment: Mapping[str, str]) -> str | None:
    """Run it: what it said last, if it failed.

    It ends with this process, and so does all that it has started, such as builds. Where this process cannot see to
    that, being killed, they hold on to the mark, a file that they inherit. It cannot ask for a password: nobody would
    see.
    """
    try:
        process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            close_fds=False,
            process_group=0,
        )
    except OSError as error:
        return str(error)
    with process:
        try:
            said = process.communicate()[0]
        except BaseException:
            if os.name == "nt":
                process.kill()
            else:
                os.killpg(process.pid, signal.SIGKILL)
            raise
    return None if process.returncode == 0 else "\n".join(said.strip().splitlines()[-LAST:]) or "It said nothing."


def any_pip(folder: Path) -> list[str]:
    """The pip of the Python that runs this, or else one of the environment's own."""
    there = importlib.util.find_spec("pip") is not None
    return [sys.executable, "-m", "pip", "--disable-pip-version-check"] if there else pip_inside(folder)


def pip_inside(folder: Path) -> list[str]:
    """A pip that works in the environment: by the file that `pip --python` starts, or, before pip 22.3, its own."""
    spec = importlib.util.find_spec("pip")
    runner = Path(spec.origin).with_name("__pip-runner__.py") if spec and spec.origin else None
    if runner and runner.exists():
        return [python_of(folder), str(runner), "--disable-pip-version-check"]
    why = failure([python_of(folder), "-m", "ensurepip", "--default-pip"], os.environ)
    if why is not None:
        raise SystemExit(
            f"pip must be 22.3 or newer, or Python must hold one of its own (ensurepip): {why}\n"
            f"Hint: `{sys.executable} -m pip install --upgrade pip`; on Debian, install python3-pip or python3-venv."
        )
    return [python_of(folder), "-m", "pip", "--disable-pip-version-check"]


def bring_uv(folder: Path, pip: list[str]) -> str | None:
    """Have pip install the uv that is locked, unless it is there, or say why it could not."""
    copy = folder / LOCK.name  # of the lock file that this uv came by, and written last
    if copy.exists() and copy.read_bytes() == LOCK.read_bytes():
        return None
    shutil.rmtree(folder, ignore_errors=True)
    alone = ["--target", str(folder), "--no-compile", "--only-binary", ":all:"]
    outside = os.environ | {"PIP_REQUIRE_VIRTUALENV": "no"}  # which is not where it goes
    why = failure([*pip, "install", *alone, *hashed(LOCK)], outside)
    if why is None:
        shutil.copyfile(LOCK, copy)
    return why


def by_uv(folder: Path, calls: list[list[str]]) -> str | None:
    """Install with uv, or say why it could not."""
    pip = any_pip(folder)
    asked = subprocess.run([*pip, "config", "list"], stdout=subprocess.PIPE, encoding="utf-8", check=False)
    if asked.returncode != 0:
        return "pip does not say what its settings are."
    found = settings(asked.stdout)
    if away := elsewhere(found):
        raise SystemExit(
            f"pip's settings must leave it to {folder} where packages go, but {', '.join(away)} is set.\n"
            "Hint: `pip config debug` says where; PIP_CONFIG_FILE, set to the name of an empty file, overrides files."
        )
    if strange := unknown(found):
        return f"What pip's settings say of {', '.join(strange)} cannot be passed on to it."
    place = folder / "uv"  # not among the environment's packages: they have no use for it
    why = bring_uv(place, pip)
    if why is not None:
        return masked(f"pip could not bring it:\n{why}", found)
    options, ours = told(found, os.environ)
    environment = {key: value for key, value in os.environ.items() if not key.upper().startswith("UV_")} | ours
    uv = str(place / "bin" / ("uv.exe" if os.name == "nt" else "uv"))
    for words in calls:
        why = failure(
            [uv, "--no-config", "pip", "install", "--python", python_of(folder), *options, *words], environment
        )
        if why is not None:
            return masked(why, found)
    return None


def main() -> None:
    parser = argparse.ArgumentParser(prog="install.py", description=__doc__)
    parser.add_argument("folder", type=Path, help="of the environment; made if it is not there")
    parser.add_argument("names", nargs="*", help="of lock files")
    parser.add_argument("--editable", action="store_true", help="scumble itself too")
    given = parser.parse_args()
    print(f"Installing into {given.folder}: {', '.join(given.names)} ...", flush=True)
    calls = [["--no-build-isolation", *hashed(HERE / f"{name}.txt")] for name in given.names]
    if given.editable:
        calls.append(["--no-build-isolation", "--no-deps", "--editable", str(HERE.parent)])
    with whole(given.folder):
        make(given.folder)
        before = packages(given.folder)
        why = by_uv(given.folder, calls)
        if why is None:
            return
        print(f"uv did not do it:\n{indent(why, '  ')}\npip does it, which takes longer ...", flush=True)
        if packages(given.folder) != before:  # to pip, a package that uv left half-made would look installed
            empty(given.folder)
            make(given.folder)
        pip = pip_inside(given.folder)
        for words in calls:
            if subprocess.run([*pip, "install", "--quiet", *words], close_fds=False, check=False).returncode != 0:
                raise SystemExit("pip could not install what the lock files name; see above.")


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that what it has started ends with it
    try:
        main()
    except KeyboardInterrupt:
        raise SystemExit("Interrupted. The next time, it begins anew.") from None
