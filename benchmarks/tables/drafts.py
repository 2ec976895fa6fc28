"""A private draft and a release for one budget, next to a schema by people who know the columns.

    python -m benchmarks.tables.drafts --data FOLDER [--tables NAME ...]

Tables are written as text, with decimal commas, blanks behind words, and 3 % of the cells empty, "NA" or "-". They are
released with a draft for ε = 0.1 and 0.9, and with the registry's public bounds and vocabularies for ε = 1, both at
δ = 10⁻⁶ in all: the first six tables of the folder, synthetic ones if they are fewer. Counts are of random
ranges and words, and their errors relative to all records; means are of whole columns and of the records with a random
word, and their errors in standard deviations of the column. Where a release refuses, the count is taken to be 0, and
the mean that of the whole column. A table's ratio is the geometric mean of those of its two mean errors.
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import scumble
from benchmarks.tables.data import Number
from benchmarks.tables.registry import TABLES, path_of, read
from benchmarks.tables.synthetic import SYNTHETIC, synthetic
from scumble.errors import ParameterError
from scumble.table.fitting import one_thread

JUDGED, COUNTS, MEANS = 6, 200, 60
READING: dict[str, Any] = {"delimiter": ";", "decimal": ","}
Known = dict[str, Number | None]
Asked = tuple[str | None, dict[str, Any]]
"""The column of a mean, or None for a count; and for each column of the condition a range or a word."""


def clean(name: str, folder: Path | None, rows: int = 30_000) -> tuple[Any, Known]:
    """A table of numbers and words, and what is public of it."""
    if name in TABLES and folder is not None:
        frame, known = read(name, folder), TABLES[name][0]
    else:
        import pandas as pd

        table = synthetic(name, rows, 7)
        kinds = zip(table.names, table.columns, strict=True)
        known = {one: Number(0, column.levels, whole=True) if column.ordered else None for one, column in kinds}
        frame = pd.DataFrame(table.codes, columns=list(table.names))
    frame = frame[list(known)].astype({one: float for one, number in known.items() if number})
    for name in (name for name, number in known.items() if number is None):
        words = frame[name].map(lambda cell: f"{cell:g}" if isinstance(cell, float) else str(cell).strip())
        frame[name] = words.astype(object).where(frame[name].notna(), None)
    return frame, known


def messy(frame: Any, known: Known, generator: np.random.Generator) -> tuple[Any, Any]:
    """The table as text, and what is left of the clean one."""
    lost, written = generator.random(frame.shape) < 0.03, frame.copy()
    for place, (name, number) in enumerate(known.items()):
        blank = np.where(generator.random(len(frame)) < 0.05, " ", "")
        cells = frame[name].map(lambda cell: f"{cell:.15g}".replace(".", ",")) if number else frame[name] + blank
        gaps = generator.choice(["", "NA", "-"], len(frame))
        written[name] = cells.where(frame[name].notna(), "").mask(lost[:, place], gaps)
    return written, frame.mask(lost)


def by_people(left: Any, known: Known) -> scumble.Schema:
    """The schema of somebody who knows the columns and how missing cells are written."""

    def column(name: str, of: Number | None) -> Any:
        if of is None:
            return scumble.Category(sorted(left[name].dropna().unique()), missing_words=["-"])
        return scumble.Number(of.low, of.high, whole=of.whole, scale="log" if of.log else "linear", missing=True)

    return scumble.Schema({name: column(name, of) for name, of in known.items()})


def questions(left: Any, known: Known, generator: np.random.Generator) -> list[Asked]:
    """Counts with one and two conditions, and means."""

    def one(name: str) -> Any:
        cells = left[name].dropna()
        if known[name] is None:
            return str(generator.choice(cells.to_numpy()))
        return tuple(sorted(generator.uniform(*cells.quantile([0.01, 0.99]), 2).tolist()))

    numbers, words = ([name for name in known if bool(known[name]) == kind] for kind in (True, False))
    pairs = [(str(generator.choice(numbers)), str(generator.choice(words))) for _ in range(MEANS)]
    sets = [generator.choice([*known], 1 + k % 2, replace=False) for k in range(COUNTS)]
    means = [*((number, {}) for number in numbers), *((number, {word: one(word)}) for number, word in pairs)]
    return [*((None, {str(name): one(name) for name in names}) for names in sets), *means]


def errors(release: Any, left: Any, asked: list[Asked]) -> np.ndarray:
    """Mean errors of counts relative to all records, and of means in standard deviations of the column."""
    found: tuple[list[float], list[float]] = [], []
    for number, where in asked:
        held, terms = np.ones(len(left), bool), dict[str, Any]()
        for name, one in where.items():
            column, word = release.schema.declared[name], isinstance(one, str)
            held &= left[name] == one if word else left[name].between(*one)
            if column.kind == "boolean":  # a word of people may be a boolean or a number of a draft
                values = [one] if word else [value for value in (0, 1) if one[0] <= value <= one[1]]
                terms[name] = [bool(code) for code in column.encode(values).codes]
            else:
                terms[name] = (float(one),) * 2 if word and column.kind == "number" else one
        value = answer(release, number, terms)
        if number and value is None:
            value = answer(release, number, {})
        truth, unit = (left[number][held].mean(), left[number].std()) if number else (held.sum(), len(left))
        found[number is not None].append(abs((value or 0.0) - truth) / unit)
    return np.array([np.nanmean(one) for one in found])


def answer(release: Any, number: str | None, terms: dict[str, Any]) -> float | None:
    """The mean of a column, or the count; None where it is refused."""
    try:
        return float((release.mean(number, terms or None) if number else release.count(terms)).value)
    except ParameterError:
        return None


def judged(name: str, folder: Path | None) -> np.ndarray:
    """The errors of counts and of means, with a draft and with a schema by people."""
    generator, found = np.random.default_rng(3), []
    frame, known = clean(name, folder)
    written, left = messy(frame, known, generator)
    asked = questions(left, known, generator)
    with tempfile.TemporaryDirectory() as place, warnings.catch_warnings(), one_thread():
        warnings.simplefilter("ignore", UserWarning)  # numbers outside the bounds
        written.to_csv(path := Path(place, "table.csv"), sep=";", index=False)
        drafted = scumble.draft(path, epsilon=0.1, delta=1e-7, **READING)
        for schema, epsilon, delta in ((drafted, 0.9, 9e-7), (by_people(left, known), 1.0, 1e-6)):
            made = scumble.build(path, schema=schema, epsilon=epsilon, delta=delta, invalid="drop", **READING)
            found.append(errors(made, left, asked))
    return np.array(found)


def main() -> None:
    """All of it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tables.drafts", description=__doc__)
    parser.add_argument("--data", type=Path, help="folder of the tables")
    parser.add_argument("--tables", nargs="+", choices=(*TABLES, *SYNTHETIC))
    chosen, ratios = parser.parse_args(), []
    there = [name for name in TABLES if chosen.data and path_of(name, chosen.data).exists()]
    lines = ["| table | counts, draft | people | means, draft | people | ratio |", "|---" + "|---:" * 5 + "|"]
    for name in chosen.tables or [*there, *SYNTHETIC][:JUDGED]:
        found = judged(name, chosen.data)
        ratios.append(float(np.sqrt(np.prod(found[0] / found[1]))))
        lines.append(f"| {name} | {' | '.join(f'{error:.2%}' for error in found.T.flat)} | {ratios[-1]:.2f} |")
    lines.append(f"| geometric mean | | | | | {np.exp(np.log(ratios).mean()):.2f} |")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
