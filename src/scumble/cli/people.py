"""The table that the README speaks of, made up: ages, incomes, how people travel, and where they live."""

from __future__ import annotations

import os

PEOPLE = 40_000
POINTS = "points.csv"


def write(path: str) -> None:
    """Write the table to `path` (.parquet or .csv), and a few points to ask about beside it.

    Parameters
    ----------
    path : str
        Where the table goes; nothing that is there is replaced.
    """
    import numpy as np
    import pyarrow.csv as pacsv
    import pyarrow.parquet as pq

    from scumble.cli.output import check_out
    from scumble.errors import ParameterError
    from scumble.machine.later import pa
    from scumble.machine.places import write_whole

    check_out(path, like=(".parquet", ".csv"))
    points = os.path.join(os.path.dirname(path), POINTS)
    for file in (path, points):
        if os.path.lexists(file):
            raise ParameterError(f"{file!r} is there already. Hint: name another file, or an empty folder.")
    rng = np.random.default_rng(2020)  # synthetic people: seeded, so everybody sees the same ones
    age = np.clip(rng.gamma(9.0, 4.8, PEOPLE), 16, 90).round()
    income = np.minimum(np.exp(rng.normal(10.2, 0.35, PEOPLE) + 0.012 * np.minimum(age - 16, 35)).round(-2), 200_000)
    town = rng.choice(["Ulm", "Köln", "Jena"], PEOPLE, p=[0.5, 0.3, 0.2])
    mode = np.where(rng.random(PEOPLE) < 0.25 + 0.3 * (town == "Köln"), "bus", np.where(age < 30, "bike", "car"))
    table = pa.table({"age": age, "income": income, "mode": mode, "town": town})
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink) if path.lower().endswith(".parquet") else pacsv.write_csv(table, sink)
    write_whole(path, sink.getvalue().to_pybytes())
    write_whole(points, b"age,income\n45,50000\n20,20000\n70,120000\n")
    print(f"Made up {PEOPLE:,} people: {path}. Points to ask about: {points}.")
