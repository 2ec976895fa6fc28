"""The privacy card: what a release is and what it promises, for people who do not program."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np

from scumble.bundle import Bundle
from scumble.release import Release

WIDTH = 100
_NOISE = {
    "discrete-laplace": "discrete Laplace noise",
    "discrete-gaussian": "discrete Gaussian noise",
    "merged": "several releases, merged",
}


def facts(found: Release | Bundle) -> dict[str, Any]:
    """Everything on the card, as JSON values."""
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
    return {
        "kind": "release",
        **_shared(found),
        "count": found.count,
        "count_standard_error": found.count_standard_error,
        "identity": found.identity,
    }


def _shared(release: Release) -> dict[str, Any]:
    claim, spec = release.privacy, release.spec
    out: dict[str, Any] = {
        "epsilon": claim.epsilon,
        "delta": claim.delta,
        "rho": claim.rho,
        "neighbors": claim.neighbors,
        "unit": claim.unit,
        "records_per_person": claim.records_per_person,
        "mechanism": claim.mechanism,
        "scale": claim.scale,
        "count_scale": claim.count_scale,
        "meaning": claim.sentence(),
        "equivalent": {"delta": 1e-6, "epsilon": claim.equivalent(1e-6)} if claim.delta <= 1e-6 else None,
        "columns": None if spec.columns is None else list(spec.columns),
        "dimensions": spec.dimensions,
        "kernel": spec.kernel.to_dict(),
        "rows": spec.rows,
        "buckets": spec.buckets,
        "design": spec.design,
        "seed": spec.seed,
        "bounds": spec.bounds,
        "shape": spec.shape,
    }
    return {**out, "expected_error": expected_error(release)}


def expected_error(release: Release) -> dict[str, float]:
    """The standard error to expect of a kernel sum: the noise's share alone, and all of it for a density of 0.1."""
    from scumble.planning import plan

    spec, records = release.spec, max(1, round(release.count))
    if spec.design == "grid":
        assert spec.bounds is not None
        low, high = (np.array(side) for side in spec.bounds)
        steps = np.random.Generator(np.random.PCG64(1)).random((64, spec.dimensions))
        error = float(np.median(release.standard_error(low + steps * (high - low))))
        return {"noise": error, "kernel_sum": error, "relative_at_density_0.1": error / (0.1 * records)}
    noise = float(np.sqrt(release._counter_variance / spec.rows))
    hashing = plan(
        records,
        spec.dimensions,
        1.0,
        kernel=spec.kernel,
        columns=spec.columns,
        design=spec.design,
        rows=spec.rows,
        buckets=spec.buckets,
    )
    # The plan's error without its noise, and this release's own noise instead.
    from scumble.privacy.calibration import calibrate

    planned_noise = calibrate(spec.rows, epsilon=1.0).counter_variance / spec.rows
    error = float(np.sqrt(max(hashing.standard_error**2 - planned_noise, 0.0) + noise**2))
    return {"noise": noise, "kernel_sum": error, "relative_at_density_0.1": error / (0.1 * records)}


def card(found: Release | Bundle, title: str) -> str:
    """The card as text."""
    data = facts(found)
    lines = [f"{title}: a private release", "─" * WIDTH]

    def line(name: str, text: str) -> None:
        wrapped = textwrap.wrap(text, WIDTH - 16) or [""]
        lines.extend(f"{name if k == 0 else '':<14}  {part}" for k, part in enumerate(wrapped))

    columns = ", ".join(data["columns"]) if data["columns"] else f"{data['dimensions']} columns"
    line("Released", f"Noisy counts made from the columns {columns}. No record is in the file.")
    if data["kind"] == "bundle":
        line("Classes", f"{', '.join(map(str, data['classes']))}: each has its own part; each record is in one only.")
    delta = f"δ = {data['delta']:.3g}" if data["delta"] else "δ = 0 (no exceptions)"
    line("Promise", f"ε = {data['epsilon']:.6g}, {delta}")
    equivalent = data["equivalent"]
    if equivalent is not None and equivalent["epsilon"] < 0.95 * data["epsilon"]:
        line("", f"also: ε = {equivalent['epsilon']:.3g} at δ = 1e-6")
    hidden = "whether it is in the table at all" if data["neighbors"] == "add-remove" else "what it says"
    people = data["records_per_person"]
    unit = "every record" if data["unit"] == "record" else f"every person with up to {people} records"
    line("Protects", f"{unit}: {hidden} (neighbors: {data['neighbors']}; unit: {data['unit']})")
    line("Meaning", data["meaning"])
    scale = f", scale {data['scale']:,.4g} on every counter" if data["scale"] else ""
    count = f", {data['count_scale']:,.4g} on the count" if data["count_scale"] else ""
    line(
        "Mechanism",
        f"{_NOISE.get(data['mechanism'], data['mechanism'])}{scale}{count}; exact, from the system's entropy",
    )
    shape = f", cells {' × '.join(map(str, data['shape']))}" if data["shape"] else ""
    rows = "1 row" if data["rows"] == 1 else f"{data['rows']:,} rows"
    line("Size", f"{rows} × {data['buckets']:,} buckets ({data['design']}{shape}), seed {data['seed']}")
    line("Kernel", _kernel_text(data["kernel"]))
    error = data["count_standard_error"]
    line("Records", f"about {data['count']:,.0f}" + (f" ± {1.96 * error:,.0f} (95 %)" if error else " (public)"))
    expected = data["expected_error"]
    line(
        "Queries",
        f"a kernel sum comes out with a standard error of about {expected['kernel_sum']:,.3g} records; "
        f"for a density of 0.1 that is {expected['relative_at_density_0.1']:.1%}. Each answer has its own error bar.",
    )
    line("Use", "Ask as often as you like: answers cost no further privacy.")
    return "\n".join([*lines, "─" * WIDTH])


def _kernel_text(kernel: dict[str, Any]) -> str:
    if kernel["kernel"] == "product":
        return " × ".join(_kernel_text(factor) for factor in kernel["factors"])
    settings = {key: value for key, value in kernel.items() if key != "kernel"}
    return f"{kernel['kernel']} ({', '.join(f'{key} {_value(value)}' for key, value in settings.items())})"


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(f"{key}={_value(inner)}" for key, inner in value.items())
    if isinstance(value, list):
        return "+".join(_value(inner) for inner in value)
    return f"{value:,.6g}" if isinstance(value, float) else str(value)
