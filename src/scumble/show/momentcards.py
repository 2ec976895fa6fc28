"""The privacy card of released moments."""

from __future__ import annotations

from typing import Any

from scumble.errors import many
from scumble.privacy.laws import LAWS
from scumble.show.shown import ShownMoments
from scumble.show.wording import promise, promised, protected


def facts(release: ShownMoments) -> dict[str, Any]:
    """Everything on the card, as JSON values."""
    claim, spec = release.privacy, release.spec
    return {
        "kind": "moments",
        **promised(claim),
        "mechanism": claim.mechanism,
        "columns": None if release.columns is None else list(release.columns),
        "moments": spec.to_dict(),
        "dimensions": spec.dimensions,
        "sums": len(release.counts),
        "count": release.count,
        "identity": release.identity,
    }


def lines(release: ShownMoments) -> list[tuple[str, str]]:
    """The card, line by line: a name, and what there is to say."""
    data = facts(release)
    named = "column" if len(data["columns"] or ()) == 1 else "columns"
    columns = f"the {named} {', '.join(data['columns'])}" if data["columns"] else many(data["dimensions"], "column")
    law = LAWS.get(data["mechanism"])
    noise = "several releases, merged" if law is None else law.title
    return [
        ("Released", f"Noisy sums of products of {columns} and a target. No record is in the file."),
        ("Promise", promise(data["epsilon"], data["delta"])),
        ("Protects", protected(data["neighbors"], data["unit"], data["records_per_person"])),
        ("Meaning", data["meaning"]),
        ("Mechanism", f"{noise} on every sum; exact, from the system's entropy"),
        ("Size", size(data["moments"]["moments"], data["sums"])),
        ("Records", f"about {max(data['count'], 0.0):,.0f}"),
        ("Use", "Learn from it as often as you like: models cost no further privacy."),
    ]


def size(kind: str, sums: int) -> str:
    """What it is, and how large."""
    return f"{sums:,} sums of products of the columns ({kind} moments)"
