"""The privacy card: what a release is and what it promises, for readers who do not program.

One set of facts and lines: `facts` for programs, `card` for terminals, `html` for notebooks. A card is post-processing
of a release and may be published.
"""

from __future__ import annotations

import html as markup
import math
import textwrap
from collections.abc import Mapping
from statistics import median
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from scumble.columns.category import Category
from scumble.columns.column import Column
from scumble.columns.kinds import shown
from scumble.density.bundle import Bundle
from scumble.errors import many, number_with_error, plain_number, readable
from scumble.privacy.exact import show
from scumble.privacy.laws import LAWS
from scumble.privacy.wording import noise_of_law, promise, promised, protected
from scumble.show.usefulness import Facts, Model, group, noises, records_for, too_few, words

if TYPE_CHECKING:
    from typing_extensions import TypeIs

    from scumble.density.release import Release
    from scumble.learn.moment_release import MomentRelease
    from scumble.table.release import TableRelease

AnyRelease: TypeAlias = "Release | Bundle | TableRelease | MomentRelease"

WIDTH = 100
MANY = 1 << 16
"""With more counters than this, the error takes a while to compute, and is mostly noise."""
LISTED = 6
"""Values of a kernel's parameter, one per column, that a card lists."""


def facts(found: AnyRelease) -> Facts:
    """Everything on the card, as JSON values."""
    if _is_table(found):
        return table_facts(found)
    if _is_moments(found):
        return _moment_facts(found)
    if isinstance(found, Bundle):
        one = next(iter(found.values()))
        out = {"kind": "bundle", **_shared(one), "label": found.label, "classes": list(found.classes)}
        out["count"] = sum(release.count for release in found.values())
        out["count_standard_error"] = float(np.sqrt(sum(r.count_standard_error**2 for r in found.values())))
        out["counts"] = [
            {"class": name, "count": release.count, "count_standard_error": release.count_standard_error}
            for name, release in found.items()
        ]
        return out
    release = found
    span = getattr(release, "stream", None)
    stream = {}
    if span is not None:
        noise = float(np.sqrt(release.counter_variance))
        stream = {"stream": {"identity": span.identity, "first": span.first, "last": span.last, "noise": noise}}
    return {
        **stream,
        "kind": "release",
        **_shared(release),
        "count": release.count,
        "count_standard_error": release.count_standard_error,
        "identity": release.identity,
    }


def _shared(release: Release) -> Facts:
    claim, spec = release.privacy, release.spec
    out: Facts = {
        **promised(claim),
        "mechanism": claim.noise,
        "scale": claim.scale,
        "count_scale": claim.count_scale,
        "equivalent": {"delta": 1e-6, "epsilon": claim.equivalent(1e-6)} if claim.delta <= 1e-6 else None,
        "columns": None if spec.columns is None else list(spec.columns),
        **({"kinds": dict(spec.kinds)} if spec.kinds else {}),
        "dimensions": spec.dimensions,
        "kernel": spec.kernel.to_dict(),
        "rows": spec.rows,
        "buckets": spec.buckets,
        "design": spec.design,
        "seed": spec.seed,
        "bounds": spec.bounds,
        "shape": spec.shape,
    }
    if (summed := getattr(release, "_summed", 1)) > 1:
        out["summed"] = summed
    return {**out, "expected_error": expected_error(release)}


def few(found: AnyRelease) -> str | None:
    """The card's warning about a table that is too small for its noise, without the rest of the card."""
    if _is_table(found):
        return too_few(table_facts(found))
    if isinstance(found, Bundle) or _is_moments(found):
        return None
    release = found
    layout, count = release.spec.layout, release.count
    if release.counts.size > MANY and count >= records_for(layout.most_noise(release.counter_variance)):
        return None
    noise, _ = layout.expected_error(release, max(1, round(count)))
    return too_few({"kind": "release", "count": count, "expected_error": {"noise": noise}})


def expected_error(release: Release) -> dict[str, float | None]:
    """The expected standard error of a kernel sum, the part due to noise, and the plan's relative error.

    `relative` is for queries distributed like the records, at the layout's typical density. `crowded` is the largest
    standard error in and around the fullest cell, where the layout knows it.
    """
    records = max(1, round(release.count))
    layout = release.spec.layout
    noise, error = layout.expected_error(release, records)
    density = layout.typical_density
    relative = layout.relative_error(release.counter_variance, records)
    places = layout.densest(release)
    crowded = None if places is None else max(error, float(np.max(release.standard_error(places))))
    return {"noise": noise, "kernel_sum": error, "crowded": crowded, "density": density, "relative": relative}


def card(found: AnyRelease, title: str) -> str:
    """The card as text."""
    return _as_text(f"{title}: a private release", lines(found))


def estimator_card(model: Model, title: str) -> str:
    """The card of a fitted estimator as text."""
    return _as_text(f"{title}: a fitted model; it holds no record", estimator_lines(model))


def _as_text(title: str, rows: list[tuple[str, str]]) -> str:
    out = [readable(title), "─" * WIDTH]
    for name, text in rows:
        wrapped = textwrap.wrap(readable(text), WIDTH - 16) or [""]
        out.extend(f"{readable(name) if k == 0 else '':<14}  {part}" for k, part in enumerate(wrapped))
    return "\n".join([*out, "─" * WIDTH])


HELD = {"whole": "whole numbers", "date": "dates, in days", "time": "times, in days", "boolean": "true or false"}
"""What columns of a declared kind hold."""

_STYLE = (
    "border:1px solid #8aa1ad;border-radius:6px;padding:.6em .9em;margin:.3em 0;max-width:52em;font-size:.92em;"
    "line-height:1.35"
)


def html(title: str, rows: list[tuple[str, str]]) -> str:
    """A card for notebooks. Every text is escaped, since names come from files of unknown origin."""
    cells = "".join(
        f'<div style="font-weight:600;white-space:nowrap">{_escaped(name)}</div><div>{_escaped(text)}</div>'
        for name, text in rows
    )
    return (
        f'<div class="scumble-card" style="{_STYLE}"><div style="font-weight:700;margin-bottom:.4em">'
        f'{_escaped(title)}</div><div style="display:grid;grid-template-columns:auto 1fr;gap:.15em 1em;'
        f'text-align:left">{cells}</div></div>'
    )


def _escaped(text: str) -> str:
    return markup.escape(readable(text))


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title><style>
body {{ font: 16px/1.5 system-ui, sans-serif; color: #1b2b34; max-width: 50rem; margin: 2rem auto; padding: 0 1rem }}
h1 {{ font-size: 1.6rem; margin: 0 0 .5rem; overflow-wrap: anywhere }} h2 {{ font-size: 1.15rem }}
.level {{ font-size: 1.15rem; border-left: 4px solid #0f5c7a; padding-left: .8rem }}
dl {{ display: grid; grid-template-columns: minmax(6rem, auto) 1fr; gap: .3rem 1.2rem }}
dt {{ font-weight: 600 }} dd {{ margin: 0; overflow-wrap: anywhere }} code {{ overflow-wrap: anywhere }}
@media print {{ body {{ margin: 0; font-size: 11pt }} }}
</style></head><body><p class="level">{level}</p><h1>{title}</h1><dl>{lines}</dl>
<h2>How to verify it</h2><ol>{steps}</ol></body></html>
"""


def document(found: AnyRelease, file: str, digest: str, about: Mapping[str, str]) -> str:
    """The card as a page to send or to print; `about` holds what only the curator knows, such as the publisher."""
    data = facts(found)
    whom = protected(data["neighbors"], data["unit"], data["records_per_person"])
    level = (
        "Person level" if data["unit"] == "person" else "Record level: a person with several records is protected less"
    )
    steps = [
        f"The SHA-256 of {file} is {digest}.",
        f"scumble info {file} prints this card from the file; pip install scumble installs the program.",
        *(
            [f"The release's identity is {data.get('identity', 'in each class')}: the curator's ledger lists it."]
            if "identity" in data
            else []
        ),
        "scumble audit --grey-box replays the program's releases and tests its noise.",
    ]
    rows = "".join(
        f"<dt>{_escaped(name)}</dt><dd>{_escaped(text)}</dd>" for name, text in [*about.items(), *lines(found)]
    )
    return _PAGE.format(
        title=_escaped(about.get("Dataset", file)),
        level=f"<strong>{level}.</strong> {_escaped(whom)}",
        lines=rows,
        steps="".join(f"<li>{_escaped(step)}</li>" for step in steps),
    )


def release_html(found: AnyRelease) -> str:
    """The card of a release or a bundle."""
    return html("Private releases, one per class" if isinstance(found, Bundle) else "A private release", lines(found))


def estimator_html(model: Model) -> str:
    """The card of a fitted estimator."""
    return html(f"{type(model).__name__}: fitted; it holds no record", estimator_lines(model))


def estimator_facts(model: Model) -> Facts:
    """The facts of a fitted estimator's card, as JSON values."""
    claim, held = model.privacy_, vars(model)
    return {
        "kind": "model",
        "estimator": type(model).__name__,
        **promised(claim),
        "columns": held["feature_names_in_"].tolist() if "feature_names_in_" in held else None,
        "dimensions": model.n_features_in_,
        **({"classes": held["classes_"].tolist()} if "classes_" in held else {}),
    }


def estimator_lines(model: Model) -> list[tuple[str, str]]:
    """The card of a fitted estimator, line by line."""
    claim, first = model.privacy_, model._learnt_from
    each = f" of each of {len(first)} classes" if isinstance(first, Bundle) else ""
    names = vars(model).get("feature_names_in_")
    rows = [
        ("Model", type(model).__name__),
        ("Columns", f"{model.n_features_in_}, without names" if names is None else ", ".join(map(str, names))),
        ("Promise", promise(claim.epsilon, claim.delta) + ", the whole fit"),
        ("Protects", protected(claim.neighbors, claim.unit, claim.records_per_person)),
        ("Meaning", claim.sentence()),
        ("Learnt from", f"noisy counters{each}: {_about(first)}"),
    ]
    kernel = getattr(first.spec, "kernel", None)  # tables and moments have none
    if kernel is not None:
        rows.append(("Kernel", _kernel_text(kernel.to_dict(), None if names is None else [*map(str, names)])))
    if "classes_" in vars(model):
        rows.append(("Classes", ", ".join(map(str, model.classes_))))
    return rows


def lines(found: AnyRelease) -> list[tuple[str, str]]:
    """The card, line by line: a name and a text."""
    if _is_table(found):
        return table_lines(found)
    if _is_moments(found):
        return _moment_lines(found)
    data = facts(found)
    kinds = {name: f" ({HELD[kind]})" for name, kind in data.get("kinds", {}).items()}
    named = [f"{name}{kinds.get(name, '')}" for name in data["columns"] or ()]
    columns = ", ".join(named) or many(data["dimensions"], "column")
    out = [("Released", f"Noisy counts made from the columns {columns}. No record is in the file.")]
    if data["kind"] == "bundle":
        classes = ", ".join(map(str, data["classes"]))
        out.append(("Classes", f"{classes}: each has its own part; each record is in one only."))
    out.append(("Promise", promise(data["epsilon"], data["delta"])))
    if "stream" in data:
        out.append(("", "all releases of its stream together, including future ones"))
    if data["mu"] is not None:
        out.append(("", f"in other forms: ρ = {show(data['rho'], digits=4)}, μ = {show(data['mu'], digits=4)}"))
    equivalent = data["equivalent"]
    if equivalent is not None and equivalent["epsilon"] < 0.95 * data["epsilon"]:
        out.append(("", f"also: ε = {show(equivalent['epsilon'], digits=3)} at δ = 1e-6"))
    if "stream" in data:
        first, last = data["stream"]["first"], data["stream"]["last"]
        out.append(("Periods", f"{first} to {last} of a stream: windows and single periods are differences of totals"))
    out.append(("Protects", protected(data["neighbors"], data["unit"], data["records_per_person"])))
    out.append(("Meaning", data["meaning"]))
    out.append(("Mechanism", _mechanism(data)))
    out.append(("Size", size_words(data)))
    if data["bounds"] is not None:
        out.append(("Bounds", _bounds(data)))
    out.append(("Kernel", _kernel_text(data["kernel"], data["columns"])))
    out.append(("Records", _records(data)))
    expected = data["expected_error"]
    first = f"of {data['classes'][0]}, " if data["kind"] == "bundle" else ""
    queries = (
        f"{first}at a density of {expected['density']:.3g}, answers are off by {expected['relative']:.2%} on average"
        f"{_where_asked(expected)}. Each has its own error bar."
    )
    worth = words(expected["kernel_sum"], data["count"]) + (f". {few}" if (few := too_few(data)) else "")
    return [
        *out,
        ("Queries", queries),
        ("Worth", f"{worth}."),
        ("Use", "Ask as often as you like: answers cost no further privacy."),
    ]


def _records(data: Facts) -> str:
    """The number of records, and of each class if there are few."""
    error = data["count_standard_error"]
    count = f"about {number_with_error(data['count'], error)} {'(95 %)' if error else '(public)'}"
    if 0 < len(each := data.get("counts", ())) <= LISTED:
        parts = [f"{one['class']} {number_with_error(one['count'], one['count_standard_error'])}" for one in each]
        count += f": {', '.join(parts)}"
    return count + (f"; {twice(data['summed'])}" if "summed" in data else "")


def twice(releases: int) -> str:
    """What numbers of merged releases mean if the releases may share records."""
    what, often = ("both", "twice") if releases == 2 else (f"all {releases}", f"{releases} times")
    return f"all numbers are sums over {releases} releases, and a record that is in {what} counts {often}"


def _where_asked(expected: Facts) -> str:
    """The standard error of a kernel sum, and where it applies."""
    error = f"a standard error of about {many(expected['kernel_sum'], 'record', digits=3)}"
    if expected["crowded"] is None:
        return f", and a kernel sum has {error} there, more at denser places"
    fullest = f"up to {plain_number(expected['crowded'], 3)} in and around the fullest cell"
    return f"; a kernel sum has {error} at a random place within the bounds, {fullest}"


def _is_table(found: object) -> TypeIs[TableRelease]:
    return hasattr(found, "views")


def _is_moments(found: object) -> TypeIs[MomentRelease]:
    return hasattr(found, "errors")  # its class needs scikit-learn


def _mechanism(data: Facts) -> str:
    scale = f", scale {plain_number(data['scale'], 4)} on every counter" if data["scale"] else ""
    count = f", {plain_number(data['count_scale'], 4)} on the count" if data["count_scale"] else ""
    if "stream" in data:
        scale, count = f", standard deviation {plain_number(data['stream']['noise'], 4)} on every counter", ""
    return f"{noise_of_law(data['mechanism'])}{scale}{count}; exact, from the system's entropy"


def size_words(data: Facts) -> str:
    """The size of a sketch, from its spec as a dict."""
    shape = f", cells {' × '.join(map(str, data['shape']))}" if data["shape"] else ""
    rows = "1 row" if data["rows"] == 1 else f"{data['rows']:,} rows"
    return f"{rows} × {data['buckets']:,} buckets ({data['design']}{shape}), seed {data['seed']}"


def _bounds(data: Facts) -> str:
    names = data["columns"] or [f"column {j}" for j in range(data["dimensions"])]
    kinds = data.get("kinds", {})
    ends = zip(names, *data["bounds"], strict=True)
    ranges = [f"{name} {' to '.join(shown(end, kinds.get(name), 12) for end in pair)}" for name, *pair in ends]
    return f"{', '.join(ranges)}; values outside are counted at the edge"


def _about(release: AnyRelease) -> str:
    if _is_moments(release):
        return _moment_size(release.spec.kind, len(release.counts))
    if _is_table(release):
        return f"{many(len(release.views), 'view')} of {many(len(release.columns), 'column')}"
    return size_words(release.spec.to_dict())


def _kernel_text(kernel: Facts, names: list[str] | None) -> str:
    """A kernel and its settings, by column where there is one value per column."""
    if kernel["kernel"] == "product":
        return " × ".join(_kernel_text(factor, names) for factor in kernel["factors"])
    settings = {key: value for key, value in kernel.items() if key != "kernel"}
    if "origin" in settings:  # steps are shares of the bounds, whose ends and widths `origin` and `scale` repeat
        settings = {key: value for key, value in settings.items() if key not in ("origin", "scale")}
        settings["bandwidth"] = f"{_value(settings['bandwidth'])} of the bounds of each column"
    of = settings.get("columns") or names or ()
    for key, value in settings.items():
        if key != "columns" and isinstance(value, list) and len(value) == len(of):
            settings[key] = dict(zip(map(str, of), value, strict=True))
        elif isinstance(value, dict):  # by name: in the order of the columns
            settings[key] = dict(
                sorted(value.items(), key=lambda one: [*of].index(one[0]) if one[0] in of else len(of))
            )
    return f"{kernel['kernel']} ({', '.join(f'{key} {_value(value)}' for key, value in settings.items())})"


def _value(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}={_value(inner)}" for key, inner in value.items())
    if isinstance(value, list):
        return f"({', '.join(map(_value, value))})" if len(value) <= LISTED else f"of {many(len(value), 'column')}"
    return plain_number(value) if isinstance(value, float) else str(value)


def _moment_facts(release: MomentRelease) -> Facts:
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


def _moment_lines(release: MomentRelease) -> list[tuple[str, str]]:
    """The card, line by line: a name and a text."""
    data = _moment_facts(release)
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
        ("Size", _moment_size(data["moments"]["moments"], data["sums"])),
        ("Records", f"about {max(data['count'], 0.0):,.0f}"),
        ("Use", "Learn from it as often as you like: models cost no further privacy."),
    ]


def _moment_size(kind: str, sums: int) -> str:
    """What it is, and how large."""
    return f"{sums:,} sums of products of the columns ({kind} moments)"


# ---- the release of a table ----


LETTERS = 60
"""Letters of a vocabulary that a card shows."""
NAMED = 12
"""Pairs or columns that a card lists."""


def table_facts(release: TableRelease) -> Facts:
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
    more = [f"and {len(listed) - NAMED:,} more (--json lists them)"] if len(listed) > NAMED else []
    clipped = any(getattr(column, "outside", "drop") == "clip" for column in release.schema.values())
    public = (
        "; ".join([*listed[:NAMED], *more]) + "." + " Values outside the bounds count at the nearest bound." * clipped
    )
    remarks = [remark for each in release._large_shares.values() for remark in each]
    return " ".join([public, *remarks[:NAMED]])


def _public(column: Column) -> str:
    if not isinstance(column, Category):
        return column.words().replace("; ", ", ")
    words, letters = [*map(repr, column.values)], 0
    shown = [word for word in words if (letters := letters + len(word) + 2) <= LETTERS]
    shown = shown or [f"{word[:LETTERS]}…" for word in words[:1]]
    more = ["…"] if len(shown) < len(words) else []
    return ", ".join([*shown, *more, *column.besides])


def table_lines(release: TableRelease) -> list[tuple[str, str]]:
    """The card, line by line: a name and a text."""
    data = table_facts(release)
    pairs, left = data["pairs"], data["pairs_not_measured"]
    columns = ", ".join(data["columns"])
    several = f"columns {columns}, each alone" if len(data["columns"]) > 1 else f"column {columns}"
    more = f" and {len(pairs):,} {'pair' if len(pairs) == 1 else 'pairs'} of them" if pairs else ""
    released = f"Noisy counts of the {several}{more}. No record is in the file."
    out = [("Released", released), ("Columns", _columns(release))]
    if pairs and left:
        names = [" × ".join(name for name in pair["columns"] if name != release.target) for pair in pairs]
        more = f", and {len(names) - NAMED:,} more (--json lists them)" if len(names) > NAMED else ""
        others = "1 other is" if left == 1 else f"{left:,} others are"
        out.append(("Pairs", f"measured: {', '.join(names[:NAMED])}{more}; {others} not."))
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
        ("Mechanism", f"{law}, standard deviation {deviation} on a counter; exact, from the system's entropy"),
        ("Size", f"{many(data['views'], 'view')}, {data['counters']:,} counters"),
        ("Records", f"about {data['count']:,.0f}{sure}"),
        *([("Distinct", "; ".join(counted))] if counted else []),
        *([("Tokens", "; ".join(tokens))] if tokens else []),
        ("Worth", _worth(noises(data), left, inferred) + (f" {few}." if (few := too_few(data)) else "")),
        ("Use", "Ask as often as you like: answers cost no further privacy, and each has its own interval."),
        ("Rows", "To check synthetic rows, use `faithfulness()` or `scumble sample FILE --report`."),
    ]
