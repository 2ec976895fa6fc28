"""Make a golden file of a table: ``python -m tests.table.golden NAME``. Once made, it is never changed."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
from tests.table.people import SCHEMA, people

import scumble
from scumble import files

FOLDER = Path(__file__).parents[1] / "golden" / "tables"
CONDITIONS = ("age >= 65", "sex == 'Female' and smoker", "hours is missing", "seen >= '2024-07-01' and age < 40")


def about(release: scumble.TableRelease) -> dict:
    """What must stay so."""
    return {
        "records": release.count().value,
        "epsilon": release.privacy.epsilon,
        "delta": release.privacy.delta,
        "views": [list(view) for view in release.views],
        "counters": len(release.counts),
        "sum": int(release.counts.sum()),
        "variances": sum(release.variances),
        "counts": {where: release.count(where).value for where in CONDITIONS},
        **(
            {"words": list(column.values)}
            if isinstance(column := release.schema["sex"], scumble.Category) and column.discover
            else {}
        ),
        **({"towns": release.count(by="town")["value"].tolist()} if "town" in release.schema else {}),
        **{f"tokens {name}": release.count(by=name)["value"].tolist() for name in release.schema.tokens},
        **{f"distinct {name}": release.distinct(name).value for name in release.schema.distinct},
    }


if __name__ == "__main__":
    name, *target = sys.argv[1:]
    frame, schema = people(2000), SCHEMA
    if name.startswith("distinct"):
        frame["id"] = np.arange(2000) % 1500
        schema = scumble.Schema({**SCHEMA, "id": scumble.Distinct()})
    if name.startswith("words"):
        schema = scumble.Schema({**SCHEMA, "sex": scumble.Category(discover=True)})
    if name.startswith("tokens"):
        frame["tags"] = [["a", "b", "c"][: k % 4] for k in range(2000)]
        schema = scumble.Schema({**SCHEMA, "tags": scumble.Tokens(["a", "b"], 2)})
    if name.startswith("draws"):
        towns = [f"town {k}" for k in range(40)]
        frame["town"] = [towns[k % 7 * (k % 6)] for k in range(2000)]
        schema = scumble.Schema({**SCHEMA, "town": scumble.Category(towns)})
    sketch = scumble.TableSketch(schema, target=target[0] if target else None).update(frame)
    made = sketch.release(epsilon=2.0, delta=1e-6 if target or name.startswith("words") else 0.0)
    if name.startswith("draws"):  # a few draws of a few components: the file stays small
        box = files.from_bytes(made.to_bytes(draws=True), expect="table")
        cut = {key: array[:, :4, :8] for key, array in box.arrays.items() if key in ("draws.weights", "draws.tables")}
        cut |= {key: box.arrays[key][:, :4] for key in ("draws.totals", "draws.within")}
        made = scumble.TableRelease.from_bytes(files.to_bytes("table", box.metadata, box.arrays | cut))
    made.save(FOLDER / f"{name}.scumble")
    (FOLDER / f"{name}.json").write_text(json.dumps(about(made), indent=2) + "\n")
