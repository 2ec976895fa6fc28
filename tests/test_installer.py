"""Installing: the environment is whole or begun anew, uv hears pip's settings and nothing else, and pip stands in."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = ("install.py", "pip_settings.py", "unfinished.py")
sys.path.insert(0, str(ROOT / "requirements"))
import unfinished  # noqa: E402

sys.path.pop(0)

SECRET = "http://me:secret@127.0.0.1:9/simple"
UV = """#!python
import json, os, pathlib, subprocess, sys
ours = {key: value for key, value in os.environ.items() if key.startswith("UV_")}
with open(os.environ["SEEN"], "a") as seen:
    seen.write(json.dumps([sys.argv[1:], ours]) + "\\n")
if "WORK" in os.environ:
    late = "import os, time; time.sleep(60); open(os.environ['SEEN'], 'a').write('built')"
    subprocess.run([sys.executable, "-c", late], close_fds=False)
if "FAIL" in os.environ:
    (half,) = pathlib.Path(".venv/lib").glob("python*/site-packages")
    (half / "one-1.dist-info").mkdir()
    (half / "one-1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\\nName: one\\nVersion: 1\\n")
    sys.exit(f"error: nothing at {os.environ['UV_DEFAULT_INDEX']}/one/")
"""
"""In uv's place: it records its arguments, and installs nothing, or half a package."""


def wheel(folder: Path, name: str, files: dict[str, str]) -> str:
    """Make one, with a line for a lock file."""
    path, info = folder / f"{name}-1-py3-none-any.whl", f"{name}-1.dist-info"
    files |= {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: us\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    digests = {key: base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()) for key, text in files.items()}
    record = "".join(f"{key},sha256={digest.decode().rstrip('=')},\n" for key, digest in digests.items())
    with zipfile.ZipFile(path, "w") as archive:
        for key, text in (files | {f"{info}/RECORD": f"{record}{info}/RECORD,,\n"}).items():
            entry = zipfile.ZipInfo(key)
            entry.external_attr = 0o100755 << 16
            archive.writestr(entry, text)
    return f"{name}==1 --hash=sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}\n"


class Place:
    """A project with one lock file, and an environment of its own; all packages lie in a folder."""

    def __init__(self, folder: Path) -> None:
        self.environment, self.seen = folder / ".venv", folder / "seen"
        for part in ("requirements", "wheels"):
            (folder / part).mkdir()
        for name in SOURCES:
            shutil.copy(ROOT / "requirements" / name, folder / "requirements")
        brought = wheel(folder / "wheels", "uv", {"uv-1.data/scripts/uv": UV})
        (folder / "requirements" / "installer.txt").write_text(brought)
        (folder / "requirements" / "things.txt").write_text(
            wheel(folder / "wheels", "one", {"one.py": "here = True\n"})
        )
        python = os.path.realpath(sys.executable)  # outside of any environment
        self.command = [python, "requirements/install.py", ".venv", "things"]
        ours = {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "t", "PIP_FIND_LINKS": str(folder / "wheels")}
        ours |= {"PIP_REQUIRE_VIRTUALENV": "y", "PIP_INDEX_URL": SECRET, "SEEN": str(self.seen)}
        ours |= {"UV_CONFIG_FILE": "/elsewhere.toml", "UV_TARGET": "/elsewhere"}
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("PIP_", "UV_", "PYTHON"))}
        self.called = {"cwd": folder, "env": kept | ours, "text": True}

    def run(self, **more: str) -> str:
        """What it says; it must go well."""
        called = self.called | {"env": self.called["env"] | more}
        ran = subprocess.run(self.command, **called, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        assert ran.returncode == 0, ran.stdout
        assert not (self.environment / unfinished.MARK).exists()
        return str(ran.stdout)

    def told(self) -> tuple[list[str], dict[str, str]]:
        """The arguments of uv's last run."""
        options, variables = json.loads(self.seen.read_text().splitlines()[-1])
        return options, variables


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """Its environment was begun by somebody who was interrupted, and then made."""
    place = Place(tmp_path_factory.mktemp("place"))
    half = place.environment / "lib" / "half"
    half.mkdir(parents=True)
    (place.environment / unfinished.MARK).write_text("begun")
    assert "made anew" in place.run()
    assert not half.exists()
    return place


def test_uv_hears_what_pip_was_told_and_nothing_else(place: Place) -> None:
    """Nothing of its own settings; and passwords not on a command line, which others see."""
    options, variables = place.told()
    assert options[:3] == ["--no-config", "pip", "install"] and "--require-hashes" in options
    assert ("--python", ".venv/bin/python") in pairwise(options) and "--no-index" in options
    assert variables == {"UV_DEFAULT_INDEX": SECRET, "UV_FIND_LINKS": place.called["env"]["PIP_FIND_LINKS"]}
    assert "secret" not in " ".join(options)


def test_what_is_at_work_is_left_alone_and_ends_when_told_to(place: Place) -> None:
    """A second one does not begin anew what the first is making. The first ends with what it has started, marked."""
    place.seen.unlink()
    brought = (place.environment / "uv" / "bin" / "uv").stat()
    slow = place.called | {"env": place.called["env"] | {"WORK": "1"}}
    with subprocess.Popen(place.command, **slow, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as first:
        while not (place.seen.exists() and place.seen.read_text().endswith("\n")):
            assert first.poll() is None
            time.sleep(0.02)
        second = subprocess.run(place.command, **place.called, capture_output=True, check=False)
        assert second.returncode == 1 and "being installed" in second.stderr
        first.send_signal(signal.SIGTERM)
        assert "begins anew" in first.communicate()[1]
    with (place.environment / unfinished.MARK).open() as mark:
        assert mark.read()
        import fcntl  # POSIX's: on Windows this test is left out with its reason (windows.py)

        fcntl.flock(mark, fcntl.LOCK_EX)  # once nobody has it any more
    (place.environment / unfinished.MARK).unlink()
    assert "built" not in place.seen.read_text()
    assert (place.environment / "uv" / "bin" / "uv").stat() == brought  # the same as the first time


def test_where_uv_fails_pip_says_why_and_does_it(place: Place) -> None:
    """What uv said is repeated, but for passwords; what it left half-made does not pass for a package."""
    said = place.run(FAIL="1")
    assert "error: nothing at <index-url>/one/" in said and "pip does it" in said
    assert "secret" not in said and "me:" not in said
    subprocess.run([place.environment / "bin" / "python", "-c", "import one; assert one.here"], check=True)


@pytest.mark.parametrize("touched", [False, True])
def test_a_failure_before_the_first_package_costs_nothing(tmp_path: Path, touched: bool) -> None:
    """An index may be out of reach for a while. Once a package was touched, it is begun anew."""
    packages = tmp_path / "lib" / "python3" / "site-packages"
    packages.mkdir(parents=True)
    (tmp_path / "pyvenv.cfg").touch()
    os.utime(packages, (0, 0))
    with pytest.raises(SystemExit, match="no index"), unfinished.whole(tmp_path):
        if touched:
            (packages / "half").mkdir()
        raise SystemExit("no index")
    assert (tmp_path / unfinished.MARK).exists() == touched
    with unfinished.whole(tmp_path):
        assert packages.exists() != touched


def test_a_folder_of_other_things_is_not_taken(tmp_path: Path) -> None:
    """It would be emptied after an interruption."""
    (tmp_path / "thesis.txt").touch()
    with pytest.raises(SystemExit, match="must be an environment"), unfinished.whole(tmp_path):
        pass
    assert [each.name for each in tmp_path.iterdir()] == ["thesis.txt"]
