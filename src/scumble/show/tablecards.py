"""The privacy card of a table's release, for people who do not program."""

from __future__ import annotations

import math
from typing import Any

from scumble.privacy.laws import LAWS
from scumble.show.shown import ShownTable
from scumble.show.usefulness import smallest_group
from scumble.show.wording import promise, protected


def facts(release: ShownTable) -> dict[str, Any]:
    """Everything on the card, as JSON values."""
    claim, total = release.privacy, release._answers.total
    deviations = [math.sqrt(variance) for variance in release.variances]
    return {
        "kind": "table",
        "epsilon": claim.epsilon,
        "delta": claim.delta,
        "rho": claim.rho,
        "neighbors": claim.neighbors,
        "unit": claim.unit,
        "records_per_person": claim.records_per_person,
        "mechanism": claim.mechanism,
        "meaning": claim.sentence(),
        "columns": list(release.columns),
        "schema": release.schema.to_dict(),
        "target": release.target,
        "views": len(release.views),
        "counters": len(release.counts),
        "noise": {"least": min(deviations), "most": max(deviations)},
        "count": total.value,
        "count_standard_error": math.sqrt(total.variance),
        "identity": release.identity,
    }


def lines(release: ShownTable) -> list[tuple[str, str]]:
    """The card, line by line: a name, and what there is to say."""
    data = facts(release)
    pairs = sum(len(view) > 1 + (release.target is not None) for view in release.views)
    columns = ", ".join(data["columns"])
    told = f"Noisy counts of the columns {columns}, each alone and {pairs:,} pairs of them. No record is in the file."
    out = [("Released", told)]
    if release.target is not None:
        out.append(("Classes", f"Counted for each level of {release.target!r}; each record is in one only."))
    noise, error = data["noise"], data["count_standard_error"]
    law = LAWS[data["mechanism"]].title
    sure = f" ± {1.96 * error:,.0f} (95 %)" if release.count_variance or release.noisy_count is None else " (public)"
    return [
        *out,
        ("Promise", promise(data["epsilon"], data["delta"])),
        ("Protects", protected(data["neighbors"], data["unit"], data["records_per_person"])),
        ("Meaning", data["meaning"]),
        (
            "Mechanism",
            f"{law}, standard deviation {noise['least']:,.3g} to {noise['most']:,.3g} on a counter; exact, from the "
            "system's entropy",
        ),
        ("Size", f"{data['views']:,} views, {data['counters']:,} counters"),
        ("Records", f"about {data['count']:,.0f}{sure}"),
        ("Worth", f"in a cross-table, groups of about {smallest_group(noise['most']):,.0f} records stand out."),
        ("Use", "Ask as often as you like: answers cost no further privacy, and each has its own interval."),
        ("Rows", "`faithfulness()`, or `scumble sample FILE --report`, tells how faithful synthetic rows are."),
    ]
