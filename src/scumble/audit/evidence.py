"""``scumble evidence``: what an assessor examines, in one file (NIST SP 800-53 SI-19(6), SP 800-226).

The release, its claim, the ledger's extract, versions and hashes, a bill of materials, a test of the sampler, the
grey-box audit of the path taken, and the proofs. `scumble verify` checks the hashes and recomputes the claim.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import platform
import re
import zipfile
from html import escape
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import scumble
from scumble._version import __version__
from scumble.cli.inputs import load_release
from scumble.cli.options import take
from scumble.cli.output import check_out, say
from scumble.cli.terminal import waiting
from scumble.cli.verify import EVIDENCE, MANIFEST, RELEASE
from scumble.columns.schema import as_toml
from scumble.errors import ParameterError
from scumble.files.places import write_whole
from scumble.show import cards
from scumble.show.usefulness import Facts

if TYPE_CHECKING:
    from scumble.privacy.claim import PrivacyClaim

EXAMPLE = "scumble evidence town.scumble --out evidence.zip"
NOTHING_PRIVATE = "reads a released file, and a ledger, which is public"
DRAWN = (4, 64, 256)
"""Draws of the sampler that are tested: releases, rows and buckets."""
PARTS = {
    RELEASE: "The release itself: what was published.",
    "claim.json": "What it promises, with the exact scales of its noise; the card in numbers.",
    "card.txt": "The privacy card, in words.",
    "ledger.json": "The dataset's budget and everything charged to it, this release included.",
    "schema.toml": "What the columns can hold. It was fixed before the first record was read.",
    "versions.json": "The program that wrote this file, and the SHA-256 of each of its sources.",
    "sbom.cdx.json": "The packages that the program needs, with versions and licenses (CycloneDX).",
    "sampler.json": "A test of the program's sampler: fresh draws against the law of the claim.",
    "greybox.json": "An audit of the path that this kind of release takes, on neighboring synthetic tables.",
}


def arguments(parser: argparse.ArgumentParser) -> None:
    """What the verb takes."""
    take(parser, "release replace", out={"help": "the file to write, such as evidence.zip"})
    take(parser, ledger="the ledger that the release was charged to", dataset="default: the one that holds the release")


def run(args: argparse.Namespace) -> None:
    """Do what the verb says."""
    if not args.out:
        raise ParameterError("Give --out: the file to write, such as evidence.zip.")
    check_out(args.out, like=(".zip",), replace=args.replace, piped=False)
    with waiting(args.quiet):
        parts = evidence(load_release(args.release, tables=True, moments=True), args.ledger, args.dataset)
    write_whole(args.out, packed(parts))
    say(args, f"Wrote {args.out}: {len(parts)} parts. Hint: scumble verify {args.out} checks them.")


def evidence(release: Any, ledger: str | None = None, dataset: str | None = None) -> dict[str, bytes]:
    """All parts by name, the index first."""
    if not hasattr(release, "identity"):
        raise ParameterError("Evidence is about one release, and this file holds several. Hint: name one of them.")
    claim = release.privacy
    parts: dict[str, bytes] = {RELEASE: release.to_bytes()}
    parts["claim.json"] = _json({"claim": claim.to_dict(), "card": cards.facts(release)})
    parts["card.txt"] = (cards.card(release, RELEASE) + "\n").encode()
    if ledger is not None:
        parts["ledger.json"] = _json(_extract(release.identity, ledger, dataset))
    if hasattr(release, "schema"):
        schema = release.schema
        columns = {name: one.to_dict() for name, one in schema.declared.items()}
        parts["schema.toml"] = as_toml(columns, schema.rules).encode()
    parts["versions.json"] = _json(_versions())
    parts["sbom.cdx.json"] = _json(_bill())
    parts["sampler.json"] = _json(_sampler(claim))
    if name := _path(release):
        from scumble.audit.greybox import audit_paths

        parts["greybox.json"] = _json(audit_paths(name).to_dict())
    home = Path(scumble.__file__).parent
    proofs = {f"proofs/{one.name}": one.read_bytes() for one in sorted(home.rglob("*.proof.md"))}
    return {"index.html": _index(release, parts, proofs), **parts, **proofs}


def packed(parts: dict[str, bytes]) -> bytes:
    """A ZIP file: the same parts give the same bytes."""
    hashes = {name: hashlib.sha256(data).hexdigest() for name, data in parts.items()}
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in {**parts, MANIFEST: _json({"format": EVIDENCE, "sha256": hashes})}.items():
            entry = zipfile.ZipInfo(name)  # of 1980, by default
            entry.compress_type = zipfile.ZIP_DEFLATED
            file.writestr(entry, data)
    return out.getvalue()


# ---- the parts ----


def _json(value: object) -> bytes:
    return (json.dumps(value, indent=1, ensure_ascii=False, default=str) + "\n").encode()


def _extract(identity: str, path: str, dataset: str | None) -> Facts:
    """The account that the release was charged to."""
    from scumble.privacy.ledger import Ledger

    book = Ledger(path)
    accounts = [book.account(dataset)] if dataset is not None else [*book.accounts().values()]
    for account in accounts:
        if any(charge.identity == identity for charge in account.charges):
            return dict(account.to_dict())
    raise ParameterError(f"Release {identity} was not charged to this ledger. Hint: name its own, or none.")


def _versions() -> Facts:
    home = Path(scumble.__file__).parent
    sources = {
        str(file.relative_to(home)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(home.rglob("*.py"))
    }
    return {
        "scumble": __version__,
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "sources": sources,
    }


def _bill() -> Facts:
    """What scumble requires or counts with, and what that requires, as far as it is installed."""
    found: dict[str, metadata.Distribution] = {}
    wanted = ["scumble"]
    while wanted:
        name = re.sub(r"[-_.]+", "-", wanted.pop()).lower()
        try:
            one = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue
        if name not in found:
            found[name] = one
            needed = [text for text in one.requires or () if "extra ==" not in text.replace("extra == 'fast'", "")]
            wanted += [re.split(r"[^\w.-]", text, maxsplit=1)[0] for text in needed]
    components = [
        {"type": "library", "name": name, "version": one.version, "licenses": [{"license": {"name": _license(one)}}]}
        for name, one in sorted(found.items())
    ]
    return {"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1, "components": components}


def _license(one: metadata.Distribution) -> str:
    told = one.metadata.json
    listed = told.get("classifier", [])
    classified = [str(text).rpartition(" :: ")[2] for text in listed if str(text).startswith("License")]
    text = told.get("license_expression") or ", ".join(classified) or told.get("license") or "unknown"
    return str(text).strip().splitlines()[0][:100]


def _sampler(claim: PrivacyClaim) -> Facts:
    """Fresh draws of the claim's law, at the scale of its first counters, against the law's definition."""
    from scumble.audit import FALSE_ALARM
    from scumble.audit.law import Law, law_findings
    from scumble.audit.report import Report

    while claim.parts:
        claim = claim.parts[0]
    scale = claim.scales.counters
    noise = claim.law.draw(scale, DRAWN)
    law = Law(claim.mechanism, float(scale))
    found = law_findings(noise, law, alpha=FALSE_ALARM, where=f"scale {float(scale):.6g}", full_size=True)
    return Report(f"the sampler of {claim.mechanism} noise", FALSE_ALARM, tuple(found)).to_dict()


def _path(release: Any) -> str | None:
    """The grey-box path of a release of this kind; None if its kind has several."""
    claim: PrivacyClaim = release.privacy
    table, density = hasattr(release, "views"), hasattr(release, "kernel_sum")
    if not table and (not density or claim.parts or claim.custodians or claim.column):
        return None
    kind = "Sketch" if density else "TableSketch" if release.target is None else "TableSketch(target)"
    gaussian = ["gaussian"] if "gaussian" in claim.noise else []
    whom = ["persons"] if claim.records_per_person > 1 else ["replace"] if claim.neighbors == "replace" else []
    return f"{kind}.release, {' '.join([*gaussian, *whom]) or 'pure'}"


def _index(release: Any, parts: dict[str, bytes], proofs: dict[str, bytes]) -> bytes:
    """One page in plain words."""
    claim: PrivacyClaim = release.privacy
    rows = [f"<li><a href='{name}'>{name}</a>: {escape(PARTS[name])}</li>" for name in parts]
    named = [f"<li><a href='{name}'>{escape(_title(text))}</a></li>" for name, text in proofs.items()]
    checks = [json.loads(parts[name])["passed"] for name in ("sampler.json", "greybox.json") if name in parts]
    said = "found no violation" if all(checks) else "FOUND A VIOLATION"
    page = f"""<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Evidence for a private release</title>
<style>body {{ font: 1em/1.5 sans-serif; max-width: 45em; margin: 2em auto; padding: 0 1em }}</style>
<h1>Evidence for release {escape(release.identity)}</h1>
<p>{escape(claim.sentence())}</p>
<p>In full: {escape(str(claim))}.</p>
<h2>What is here</h2><ul>{"".join(rows)}</ul>
<h2>Proofs that the program's design rests on</h2><ul>{"".join(named)}</ul>
<h2>What was checked</h2>
<p>The tests of the sampler and of the path {said}. A correct program is accused in at most one of 1,000,000 tests.
Tests can convict and cannot acquit: that the cost is at most what is claimed is for the proofs to show.</p>
<p><code>scumble verify evidence.zip</code> checks every file against its SHA-256 in {MANIFEST}, recomputes the claim
from the exact scales of the noise, and compares it with the ledger. The hashes show damage; they are no signature.</p>
<h2>What this cannot show</h2>
<p>That the release was made by this program, that the machine was not tampered with, that the bounds in the schema were
chosen without looking at the records, and that no other release of them exists outside the ledger.</p>
</html>
"""
    return page.encode()


def _title(text: bytes) -> str:
    return text.decode().splitlines()[0].lstrip("# ").strip()
