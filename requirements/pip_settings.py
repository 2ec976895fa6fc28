"""What pip's settings mean to uv, so that an index, a proxy or a certificate set for pip need not be set twice.

Addresses may hold passwords. They go to uv by its environment, since a command line is for all users of the machine to
see, and they are taken out of whatever is printed.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Mapping
from typing import NamedTuple

YES = ("y", "yes", "t", "true", "on", "1")
NO = ("n", "no", "f", "false", "off", "0")
"""pip's words for a switch, in any case."""
SWITCHES = ("no-cache-dir", "no-index")
OPTIONS = {
    "trusted-host": "--allow-insecure-host",
    "no-binary": "--no-binary",
    "only-binary": "--only-binary",
}
"""Lists, with a space or a new line between their items, and uv's option for each item."""
ADDRESSES = {
    "index-url": ("UV_DEFAULT_INDEX", " "),
    "extra-index-url": ("UV_INDEX", " "),
    "find-links": ("UV_FIND_LINKS", ","),
}
"""Lists too: uv's variable for each, and what it has between the items."""
ELSEWHERE = ("prefix", "root", "target", "user")
"""Settings by which pip would leave the environment aside."""
HARMLESS = (
    *("break-system-packages", "compile", "config-file", "default-timeout", "disable-pip-version-check", "no-color"),
    *("no-compile", "no-input", "no-python-version-warning", "no-warn-script-location", "prefer-binary"),
    *("progress-bar", "quiet", "require-virtualenv", "retries", "root-user-action", "timeout", "verbose"),
)
"""Settings that say nothing of where packages come from, which, or where to."""
KNOWN = {*SWITCHES, *OPTIONS, *ADDRESSES, *ELSEWHERE, *HARMLESS, "cache-dir", "cert", "proxy"}
ALL_INDEXES = ("--index-strategy", "unsafe-best-match")
"""All indexes are asked for the one version, as pip does it. With hashes, it does not matter which of them answers."""


class Told(NamedTuple):
    """What to pass to uv: options, and variables of its environment."""

    options: list[str]
    environment: dict[str, str]


def settings(listed: str) -> dict[str, str]:
    """What `pip config list` says, as it holds for installing: the environment before `install` before all commands."""
    found: dict[str, dict[str, str]] = {"global": {}, "install": {}, ":env:": {}}
    for line in listed.splitlines():
        name, _, value = line.partition("=")
        section, _, key = name.rpartition(".")
        said = str(ast.literal_eval(value)).strip() if section in found else ""
        if said:  # an empty value says nothing, not even that a weaker one does not hold
            found[section][key] = said
    return found["global"] | found["install"] | found[":env:"]


def elsewhere(pip: Mapping[str, str]) -> list[str]:
    """The settings by which pip would install somewhere else."""
    return [key for key in ELSEWHERE if pip.get(key, "no").lower() not in NO]


def unknown(pip: Mapping[str, str]) -> list[str]:
    """The settings that are not known here, or not in such words."""
    unclear = {key for key in SWITCHES if pip.get(key, "no").lower() not in YES + NO}
    listed = {"find-links"} if "," in pip.get("find-links", "") else set()
    return sorted(set(pip) - KNOWN | unclear | listed)


def told(pip: Mapping[str, str], environment: Mapping[str, str]) -> Told:
    """uv's words for pip's settings, all of them known, and for what pip heeds in the environment."""
    options = [*ALL_INDEXES]
    certificates = pip.get("cert") or environment.get("REQUESTS_CA_BUNDLE") or environment.get("CURL_CA_BUNDLE")
    options += ["--cert", os.path.expanduser(certificates)] if certificates else ["--system-certs"]
    if "no-cache-dir" in pip:  # whatever it says: to pip, "false" means the same
        options.append("--no-cache")
    elif "cache-dir" in pip:
        options += ["--cache-dir", os.path.join(os.path.expanduser(pip["cache-dir"]), "uv")]
    if pip.get("no-index", "no").lower() in YES:
        options.append("--no-index")
    for key, option in OPTIONS.items():
        options += [word for item in pip.get(key, "").split() for word in (option, item)]
    ours = {
        name: between.join(map(os.path.expanduser, pip[key].split()))
        for key, (name, between) in ADDRESSES.items()
        if key in pip
    }
    if "proxy" in pip:
        ours |= dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), pip["proxy"])
    return Told(options, ours)


def masked(text: str, pip: Mapping[str, str]) -> str:
    """A text without the addresses in pip's settings, and without what might be a password in any other."""
    for key in (*ADDRESSES, "proxy"):
        for address in pip.get(key, "").split():
            bare = re.sub(r"://\S*@", "://", address)
            if "://" in address or "@" in address:
                text = text.replace(address, f"<{key}>").replace(bare, f"<{key}>")
    return re.sub(r"\S+@", "***@", text)
