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
import install  # noqa: E402
import pip_settings  # noqa: E402
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
"""In uv's place: it says what it was told, and installs nothing, or half a package."""


INHERITED = """
import os, sys
mark = os.stat(sys.argv[1])
def is_mark(number):
    try:
        return os.path.samestat(os.fstat(number), mark)
    except OSError:
        return False
sys.exit(not any(map(is_mark, range(64))))
"""
"""Whether a process has the mark open."""


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
        """What uv was told the last time."""
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
        fcntl = pytest.importorskip("fcntl")
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


def test_who_outlives_the_installer_still_holds_the_mark(tmp_path: Path) -> None:
    """As when only the installer is killed: nobody empties the folder while packages still come into it."""
    wait = [sys.executable, "-c", "input()"]
    with pytest.raises(KeyboardInterrupt), unfinished.whole(tmp_path):
        assert install.failure([sys.executable, "-c", INHERITED, str(tmp_path / unfinished.MARK)], os.environ) is None
        child = subprocess.Popen(wait, stdin=subprocess.PIPE, close_fds=False)
        raise KeyboardInterrupt
    with pytest.raises(SystemExit, match="being installed"), unfinished.whole(tmp_path):
        pass
    child.communicate(b"\n")
    with unfinished.whole(tmp_path):
        assert not [*tmp_path.glob("lib")]
    assert not [*tmp_path.iterdir()]


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


def test_uv_is_brought_again_when_its_lock_changes_or_it_did_not_arrive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, answers, calls = tmp_path / "installer.txt", iter([None, "no file", None]), []
    lock.write_text("uv==1")
    monkeypatch.setattr(install, "LOCK", lock)
    monkeypatch.setattr(
        install, "failure", lambda words, _: (tmp_path / "uv").mkdir() or calls.append(words) or next(answers)
    )
    assert install.bring_uv(tmp_path / "uv", ["pip"]) is install.bring_uv(tmp_path / "uv", ["pip"]) is None
    assert len(calls) == 1
    lock.write_text("uv==2")
    assert install.bring_uv(tmp_path / "uv", ["pip"]) == "no file"
    assert install.bring_uv(tmp_path / "uv", ["pip"]) is None and len(calls) == 3


def test_an_old_pip_is_left_for_one_of_the_environments_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before 22.3, pip worked for its own Python alone."""
    assert install.pip_inside(tmp_path)[1].endswith("__pip-runner__.py")
    (tmp_path / "pip").mkdir()
    (tmp_path / "pip" / "__init__.py").touch()
    monkeypatch.delitem(sys.modules, "pip", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(install, "failure", lambda words, _: None if "ensurepip" in words else "?")
    assert install.pip_inside(tmp_path)[1:3] == ["-m", "pip"]
    monkeypatch.setattr(install, "failure", lambda *_: "No module named ensurepip")
    with pytest.raises(SystemExit, match=r"(?s)22\.3.*Hint"):
        install.pip_inside(tmp_path)


@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make to ask")
def test_make_installs_when_something_of_the_installer_is_newer_or_the_mark_is_there(tmp_path: Path) -> None:
    def due(target: str, *words: str) -> bool:
        here = [f"VENV={tmp_path}", f"TOOLS={tmp_path / 'tools'}", "PYTHON=python"]
        asked = ["make", "--question", *words, *here, str(tmp_path / target)]
        return subprocess.run(asked, cwd=ROOT, capture_output=True, check=False).returncode == 1

    (tmp_path / "tools").mkdir()
    for stamp in (".installed", ".demo", "tools/.installed"):
        (tmp_path / stamp).touch()
        assert not due(stamp)
        assert all(due(stamp, "-W", f"requirements/{name}") for name in (*SOURCES, "installer.txt"))
        mark = (tmp_path / stamp).with_name(unfinished.MARK)
        mark.touch()
        os.utime(mark, (time.time() + 1,) * 2)
        assert due(stamp)
        mark.unlink()


LISTED = """:env:.cert=''
:env:.no-cache-dir='false'
:env:.index-url='https://mirror.example/simple'
download.index-url='https://other.example/simple'
global.cert='/etc/our own.pem'
global.extra-index-url='\\nhttps://one.example/simple\\nfile:///two/simple'
global.index-url='https://ours.example/simple'
global.timeout='60'
install.no-index='false'
install.trusted-host='one.example'
"""


def test_what_pip_is_told_is_told_to_its_faster_twin() -> None:
    """By the strongest of pip's sources, list by list; a path may hold a space, a switch be off, a value be empty."""
    options, variables = pip_settings.told(pip_settings.settings(LISTED), {"REQUESTS_CA_BUNDLE": "/weaker.pem"})
    assert variables == {
        "UV_DEFAULT_INDEX": "https://mirror.example/simple",
        "UV_INDEX": "https://one.example/simple file:///two/simple",
    }
    assert ("--cert", "/etc/our own.pem") in pairwise(options)
    assert ("--allow-insecure-host", "one.example") in pairwise(options)
    assert "--no-cache" in options and "--no-index" not in options
    assert not [word for word in options if "example/" in word or "weaker" in word]
    assert "--system-certs" not in options and "--system-certs" in pip_settings.told({}, {}).options
    assert ("--cert", "/b.pem") in pairwise(pip_settings.told({}, {"CURL_CA_BUNDLE": "/b.pem"}).options)


def test_switches_folders_and_proxies() -> None:
    """Switches in pip's own words; uv's files in a folder of pip's cache; a proxy for either protocol."""
    for word in ("y", "Yes", "t", "TRUE", "on", "1"):
        assert "--no-index" in pip_settings.told({"no-index": word}, {}).options
    assert "--no-index" not in pip_settings.told({"no-index": "f"}, {}).options
    cache = os.path.join(os.path.expanduser("~"), "cache", "uv")
    assert ("--cache-dir", cache) in pairwise(pip_settings.told({"cache-dir": "~/cache"}, {}).options)
    variables = pip_settings.told({"proxy": "http://proxy.example", "find-links": "/a /b"}, {}).environment
    assert variables["HTTPS_PROXY"] == variables["HTTP_PROXY"] == "http://proxy.example"
    assert variables["UV_FIND_LINKS"] == "/a,/b"


def test_what_is_not_known_of_pips_settings_is_left_to_pip() -> None:
    known = {"timeout": "9", "proxy": "http://proxy.example", "config-file": "/a", "user": "no", "no-index": "T"}
    assert pip_settings.unknown(known) == pip_settings.elsewhere(known) == []
    strange = {"client-cert": "/me.pem", "no-index": "perhaps", "find-links": "/a,b"}
    assert pip_settings.unknown(strange) == sorted(strange)
    assert pip_settings.elsewhere({"user": "Yes", "target": "/a"}) == ["target", "user"]


def test_no_address_of_the_settings_is_printed() -> None:
    """With or without its password; and no password of any other."""
    pip = {"extra-index-url": "https://a:b@one.example/token/ https://two.example", "proxy": "c:d@proxy.example"}
    text = "at https://one.example/token/x, https://two.example, c:d@proxy.example, ftp://e:f@g"
    assert pip_settings.masked(text, pip) == "at <extra-index-url>x, <extra-index-url>, <proxy>, ***@g"
