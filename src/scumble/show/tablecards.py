"""The privacy card of a table's release."""

from __future__ import annotations

import math
from statistics import median
from typing import TYPE_CHECKING

from scumble.columns.category import Category
from scumble.columns.column import MISSING, OTHER, Column
from scumble.columns.curator import SHARE_UNREAD
from scumble.errors import many, plain_number
from scumble.privacy.exact import show
from scumble.privacy.laws import LAWS
from scumble.privacy.wording import promise, promised, protected
from scumble.show.usefulness import Facts, group, noises, too_few

if TYPE_CHECKING:
    from scumble.table.release import TableRelease

LETTERS = 60
"""Letters of a vocabulary that a card shows."""
LISTED = 12
"""Pairs or columns that a card lists."""


def facts(release: TableRelease) -> Facts:
    """Everything on the card, as JSON values."""
    claim, total = release.privacy, release._answers.total
    deviations = [math.sqrt(release.variances[row]) for row in release._grouped.crosstabs]
    alone = 1 + (release.target is not None)
    together: list[Facts] = [
        {"columns": list(view), "noise": deviation}
        for view, deviation in zip(release.views, deviations, strict=True)
        if len(view) > alone
    ]
    pairs = [one for one in together if len(one["columns"]) == alone + 1]
    singles = [noise for view, noise in zip(release.views, deviations, strict=True) if len(view) <= alone]
    levels = [median(release._answers.of_levels(place).tolist()) for place in range(len(release.columns))]
    return {
        "kind": "table",
        **promised(claim),
        "mechanism": claim.noise,
        "columns": list(release.columns),
        "schema": release.schema.to_dict(),
        "target": release.target,
        "views": len(release.views),
        "counters": len(release.counts),
        "pairs": pairs,
        "sets": [one for one in together if len(one["columns"]) > alone + 1],
        "pairs_not_measured": math.comb(len(release.columns) - (release.target is not None), 2) - len(pairs),
        "noise": {
            "least": min(deviations),
            "most": max(deviations),
            "single": median(singles),
            "level": math.sqrt(median(levels)),
            "pair": median(pair["noise"] for pair in pairs) if pairs else None,
        },
        "distinct": {name: release.distinct(name).to_dict() for name in release.schema.distinct},
        "tokens": {name: _of_tokens(release, name) for name in release.schema.tokens},
        "count": total.value,
        "count_standard_error": math.sqrt(total.variance),
        "identity": release.identity,
    }


def _of_tokens(release: TableRelease, name: str) -> Facts:
    most = release.schema.tokens[name].most
    deviations = [release._tokens(name, pairs=pairs).deviation for pairs in (False, True)[:most]]
    return {"most": most, **dict(zip(("noise", "noise_of_pairs"), deviations, strict=False))}


RARE = ", its words of too few records to be found privately"
"""Why other words of a column whose words were found are counted together."""


def strange(release: TableRelease) -> list[str]:
    """Which of the levels "other" and "missing" hold a large share of a column, according to the noisy counts."""
    found, alone = [], 1 + (release.target is not None)
    total = release._answers.total.value
    tables = release._grouped.tables(release.counts)
    for view, row in zip(release.views, release._grouped.crosstabs, strict=True):
        table, variance = tables[row], release.variances[row]
        if len(view) > alone:
            continue
        counts = table.reshape(-1, table.shape[-1]).sum(axis=0)  # the classes of a target come first
        noise = math.sqrt(variance * table.size / len(counts))
        name = next((one for one in view if one != release.target), view[0])
        column = release.schema[name]
        for level, place in ((OTHER, column.unforeseen), (MISSING, column.size - 1 if column.missing else None)):
            if place is not None and counts[place] - 2 * noise > SHARE_UNREAD * total > 0:
                share = min(100.0, 100 * counts[place] / total)
                rare = level == OTHER and isinstance(column, Category) and column.discover
                found.append(f"'{level}' holds about {share:.0f} % of {name!r}{RARE * rare}")
    return found


def _worth(noise: dict[str, float], left: int, inferred: str) -> str:
    """How large a group must be to be visible, and what is inferred if pairs are left unmeasured."""
    (where, most), *others = noise.items()
    visible = f"Groups of about {group(most)} records are visible {where}"
    visible += "".join(f", of about {group(less)} {where}" for where, less in others)
    return f"{visible}. {inferred}; intervals are too narrow if these are unusually strong." if left else f"{visible}."


def _columns(release: TableRelease) -> str:
    """The public bounds and vocabularies of the columns."""
    listed = [
        f"{name}: {'whole ' * getattr(column, 'whole', False)}{column.kind}, {_public(column)}"
        for name, column in release.schema.declared.items()
    ]
    more = [f"and {len(listed) - LISTED:,} more (--json lists them)"] if len(listed) > LISTED else []
    clipped = any(getattr(column, "outside", "drop") == "clip" for column in release.schema.values())
    public = (
        "; ".join([*listed[:LISTED], *more]) + "." + " Values outside the bounds count at the nearest bound." * clipped
    )
    return f"{public}{''.join(f' {line}.' for line in strange(release)[:LISTED])}"


def _public(column: Column) -> str:
    if not isinstance(column, Category):
        return column.words().replace("; ", ", ")
    words, letters = [*map(repr, column.values)], 0
    shown = [word for word in words if (letters := letters + len(word) + 2) <= LETTERS]
    shown = shown or [f"{word[:LETTERS]}…" for word in words[:1]]
    more = ["…"] if len(shown) < len(words) else []
    return ", ".join([*shown, *more, *column.besides])


def lines(release: TableRelease) -> list[tuple[str, str]]:
    """The card, line by line: a name and a text."""
    data = facts(release)
    pairs, left = data["pairs"], data["pairs_not_measured"]
    columns = ", ".join(data["columns"])
    several = f"columns {columns}, each alone" if len(data["columns"]) > 1 else f"column {columns}"
    more = f" and {len(pairs):,} {'pair' if len(pairs) == 1 else 'pairs'} of them" if pairs else ""
    released = f"Noisy counts of the {several}{more}. No record is in the file."
    out = [("Released", released), ("Columns", _columns(release))]
    if pairs and left:
        names = [" × ".join(name for name in pair["columns"] if name != release.target) for pair in pairs]
        more = f", and {len(names) - LISTED:,} more (--json lists them)" if len(names) > LISTED else ""
        others = "1 other is" if left == 1 else f"{left:,} others are"
        out.append(("Pairs", f"measured: {', '.join(names[:LISTED])}{more}; {others} not."))
    if data["sets"]:
        sets = [" × ".join(name for name in one["columns"] if name != release.target) for one in data["sets"]]
        out.append(("Sets", f"measured together: {', '.join(sets)}. Other sets of three are inferred from pairs."))
    apart = "in other pairs" if pairs else "between columns" if release.target is None else "within a class"
    inferred = f"Relationships {apart} are inferred" + ", as no pairs were counted" * (not pairs)
    if release.target is not None:
        out.append(("Classes", f"Counted for each level of {release.target!r}; each record is in one only."))
    for claim in release.privacy.parts:
        if claim.threshold is not None:
            own = [name for name, one in release.schema.items() if isinstance(one, Category) and one.discover]
            cost = f"ε = {show(claim.epsilon)}, δ = {show(claim.delta)}"
            found = (
                f"those of {', '.join(own)} were found privately, from about {claim.threshold:,} records on ({cost})"
            )
            out.append(("Words", found))
    counted = [f"{name}: about {release.distinct(name)} (95 %)" for name in release.schema.distinct]
    tokens = [
        f"{name}: words of each record, at most {own['most']}; standard deviation {plain_number(own['noise'], 3)}"
        + (f", of pairs {plain_number(own['noise_of_pairs'], 3)}" if "noise_of_pairs" in own else "")
        for name, own in data["tokens"].items()
    ]
    noise, error = data["noise"], data["count_standard_error"]
    law = LAWS[data["mechanism"]].title
    ends = (plain_number(noise[end], 3) for end in ("least", "most"))
    deviation = " to ".join(dict.fromkeys(ends))  # one, if they are alike
    sure = f" ± {1.96 * error:,.0f} (95 %)" if release.count_variance or release.noisy_count is None else " (public)"
    return [
        *out,
        ("Promise", promise(data["epsilon"], data["delta"])),
        ("Protects", protected(data["neighbors"], data["unit"], data["records_per_person"])),
        ("Meaning", data["meaning"]),
        (
            "Mechanism",
            f"{law}, standard deviation {deviation} on a counter; exact, from the system's entropy",
        ),
        ("Size", f"{many(data['views'], 'view')}, {data['counters']:,} counters"),
        ("Records", f"about {data['count']:,.0f}{sure}"),
        *([("Distinct", "; ".join(counted))] if counted else []),
        *([("Tokens", "; ".join(tokens))] if tokens else []),
        ("Worth", _worth(noises(data), left, inferred) + (f" {few}." if (few := too_few(data)) else "")),
        ("Use", "Ask as often as you like: answers cost no further privacy, and each has its own interval."),
        ("Rows", "To check synthetic rows, use `faithfulness()` or `scumble sample FILE --report`."),
    ]
