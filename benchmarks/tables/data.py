"""The tables: what is publicly known of their columns, and their rows as integer codes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from scumble.views.grouping import Column

CELLS = 64
"""Fine cells of a number, unless whole numbers are fewer."""


@dataclass(frozen=True)
class Number:
    """A number between public bounds: equal cells, or equal ratios with a cell for zero and below."""

    low: float
    high: float
    whole: bool = False
    log: bool = False

    @property
    def edges(self) -> np.ndarray:
        if self.log:
            start = 1.0 if self.low <= 0 else self.low
            grown = np.geomspace(start, self.high * (1 + 1e-9), CELLS + 1)
            grown = np.unique(np.round(grown)) if self.whole else grown
            return np.concatenate([[min(self.low, 0.0)], grown]) if self.low <= 0 else grown
        if self.whole and self.high - self.low < 128:
            return np.arange(self.low, self.high + 2) - 0.5
        return np.linspace(self.low, self.high * (1 + 1e-9), CELLS + 1)

    @property
    def values(self) -> np.ndarray:
        """The middle of each cell."""
        edges = self.edges
        middles = (edges[1:] + edges[:-1]) / 2
        if self.log and self.low == 0:
            middles[0] = 0.0
        return middles

    def encode(self, cells: Any) -> np.ndarray:
        numbers = np.asarray(cells, float)
        codes = np.searchsorted(self.edges, numbers, side="right") - 1
        return np.clip(codes, 0, len(self.edges) - 2)


@dataclass(frozen=True)
class Table:
    """A table of integer codes, and what its columns are."""

    name: str
    names: tuple[str, ...]
    columns: tuple[Column, ...]
    values: tuple[np.ndarray | None, ...]
    """For numbers the middle of each cell; None for categories."""
    codes: np.ndarray
    target: int

    def split(self, test: float = 0.2) -> tuple[Table, Table]:
        """Private and test rows, the same for everybody."""
        order = np.random.default_rng(0).permutation(len(self.codes))
        cut = round(len(order) * (1 - test))
        parts = (order[:cut], order[cut:])
        private, tested = (
            Table(self.name, self.names, self.columns, self.values, self.codes[p], self.target) for p in parts
        )
        return private, tested


ADULT: dict[str, Number | None] = {
    "age": Number(17, 90, whole=True),
    "workclass": None,
    "fnlwgt": Number(10_000, 1_500_000, log=True),
    "education": None,
    "education_num": Number(1, 16, whole=True),
    "marital_status": None,
    "occupation": None,
    "relationship": None,
    "race": None,
    "sex": None,
    "capital_gain": Number(0, 99_999, whole=True, log=True),
    "capital_loss": Number(0, 5_000, whole=True, log=True),
    "hours_per_week": Number(1, 99, whole=True),
    "native_country": None,
    "income": None,
}
DIAMONDS: dict[str, Number | None] = {
    "carat": Number(0.2, 5.1, log=True),
    "cut": None,
    "color": None,
    "clarity": None,
    "depth": Number(50, 75),
    "table": Number(50, 75),
    "price": Number(300, 20_000, log=True),
    "x": Number(3, 11),
    "y": Number(3, 11),
    "z": Number(1.5, 7.5),
}
BANK: dict[str, Number | None] = {
    "age": Number(18, 95, whole=True),
    "job": None,
    "marital": None,
    "education": None,
    "default": None,
    "balance": Number(-2_000, 20_000),
    "housing": None,
    "loan": None,
    "contact": None,
    "day": Number(1, 31, whole=True),
    "month": None,
    "duration": Number(0, 5_000, whole=True, log=True),
    "campaign": Number(1, 64, whole=True),
    "pdays": Number(-1, 900, whole=True, log=True),
    "previous": Number(0, 60, whole=True),
    "poutcome": None,
    "y": None,
}
CREDIT: dict[str, Number | None] = {
    "LIMIT_BAL": Number(10_000, 1_000_000, log=True),
    "SEX": None,
    "EDUCATION": None,
    "MARRIAGE": None,
    "AGE": Number(21, 80, whole=True),
    **{f"PAY_{i}": Number(-2, 8, whole=True) for i in (0, 2, 3, 4, 5, 6)},
    **{f"BILL_AMT{i}": Number(0, 1_000_000, whole=True, log=True) for i in range(1, 7)},
    **{f"PAY_AMT{i}": Number(0, 1_000_000, whole=True, log=True) for i in range(1, 7)},
    "default.payment.next.month": None,
}
COMPAS: dict[str, Number | None] = {
    "sex": None,
    "age": Number(18, 96, whole=True),
    "age_cat": None,
    "race": None,
    "juv_fel_count": Number(0, 20, whole=True),
    "juv_misd_count": Number(0, 20, whole=True),
    "juv_other_count": Number(0, 20, whole=True),
    "priors_count": Number(0, 40, whole=True),
    "days_b_screening_arrest": Number(-30, 30, whole=True),
    "c_charge_degree": None,
    "decile_score": Number(1, 10, whole=True),
    "score_text": None,
    "v_decile_score": Number(1, 10, whole=True),
    "v_score_text": None,
    "two_year_recid": None,
}
STORMS: dict[str, Number | None] = {
    "year": Number(1975, 2025, whole=True),
    "month": Number(1, 12, whole=True),
    "hour": Number(0, 23, whole=True),
    "lat": Number(0, 80),
    "long": Number(-140, 20),
    "status": None,
    "wind": Number(0, 200, whole=True),
    "pressure": Number(850, 1050, whole=True),
}
HEALTH: dict[str, Number | None] = {
    "health": None,
    "age": Number(18, 65, whole=True),
    "limit": None,
    "gender": None,
    "insurance": None,
    "married": None,
    "selfemp": None,
    "family": Number(1, 15, whole=True),
    "region": None,
    "ethnicity": None,
    "education": None,
}
CPS: dict[str, Number | None] = {
    "wage": Number(10, 20_000, log=True),
    "education": Number(0, 20, whole=True),
    "experience": Number(-5, 70, whole=True),
    "ethnicity": None,
    "smsa": None,
    "region": None,
    "parttime": None,
}
VIETNAM: dict[str, Number | None] = {
    "pharvis": Number(0, 40, whole=True),
    "lnhhexp": Number(0, 7),
    "age": Number(0, 5),
    "sex": None,
    "married": None,
    "educ": Number(0, 20),
    "illness": Number(0, 10, whole=True),
    "injury": None,
    "illdays": Number(0, 31, whole=True),
    "actdays": Number(0, 31, whole=True),
    "insurance": None,
}
CHAINS: dict[str, Number | None] = {
    "age": Number(50, 110, whole=True),
    "sex": None,
    "sample.yr": Number(1995, 2003, whole=True),
    "kappa": Number(0.01, 25, log=True),
    "lambda": Number(0.01, 30, log=True),
    "flc.grp": Number(1, 10, whole=True),
    "creatinine": Number(0.3, 15, log=True),
    "mgus": None,
    "futime": Number(0, 6_000, whole=True),
    "death": None,
    "chapter": None,
}
SMOKERS: dict[str, Number | None] = {
    "smoker": None,
    "ban": None,
    "age": Number(18, 90, whole=True),
    "education": None,
    "afam": None,
    "hispanic": None,
    "gender": None,
}
DOCTORS: dict[str, Number | None] = {
    "visits": Number(0, 20, whole=True),
    "gender": None,
    "age": Number(0, 1),
    "income": Number(0, 2),
    "illness": Number(0, 10, whole=True),
    "reduced": Number(0, 14, whole=True),
    "health": Number(0, 12, whole=True),
    "private": None,
    "freepoor": None,
    "freerepat": None,
    "nchronic": None,
    "lchronic": None,
}
COMPUTERS: dict[str, Number | None] = {
    "price": Number(500, 8_000, log=True),
    "speed": Number(0, 200, whole=True),
    "hd": Number(10, 5_000, log=True),
    "ram": Number(1, 64, whole=True),
    "screen": Number(10, 20, whole=True),
    "cd": None,
    "multi": None,
    "premium": None,
    "ads": Number(0, 500, whole=True),
    "trend": Number(1, 40, whole=True),
}
CRASHES: dict[str, Number | None] = {
    "dvcat": None,
    "weight": Number(0.1, 60_000, log=True),
    "dead": None,
    "airbag": None,
    "seatbelt": None,
    "frontal": None,
    "sex": None,
    "ageOFocc": Number(15, 100, whole=True),
    "yearacc": None,
    "yearVeh": Number(1950, 2004, whole=True),
    "abcat": None,
    "occRole": None,
    "deploy": None,
    "injSeverity": None,
}
YOUTH: dict[str, Number | None] = {
    "age": Number(12, 18, whole=True),
    "gender": None,
    "grade": None,
    "hispanic": None,
    "race": None,
    "height": Number(1.2, 2.2),
    "weight": Number(25, 200),
    "helmet_12m": None,
    "text_while_driving_30d": None,
    "physically_active_7d": Number(0, 7, whole=True),
    "hours_tv_per_school_day": None,
    "strength_training_7d": Number(0, 7, whole=True),
    "school_night_hours_sleep": None,
}
WIVES: dict[str, Number | None] = {
    "whrswk": Number(0, 99, whole=True),
    "hhi": None,
    "whi": None,
    "hhi2": None,
    "education": None,
    "race": None,
    "hispanic": None,
    "experience": Number(0, 60),
    "kidslt6": Number(0, 8, whole=True),
    "kids618": Number(0, 10, whole=True),
    "husby": Number(0, 200),
    "region": None,
    "wght": Number(10_000, 2_000_000, log=True),
}
LENDING: dict[str, Number | None] = {
    "Status": None,
    "Seniority": Number(0, 60, whole=True),
    "Home": None,
    "Time": Number(6, 72, whole=True),
    "Age": Number(18, 70, whole=True),
    "Marital": None,
    "Records": None,
    "Job": None,
    "Expenses": Number(20, 200, whole=True),
    "Income": Number(0, 1_000, whole=True),
    "Assets": Number(0, 300_000, whole=True, log=True),
    "Debt": Number(0, 30_000, whole=True, log=True),
    "Amount": Number(100, 5_000, whole=True),
    "Price": Number(100, 12_000, whole=True),
}
SOCIAL: dict[str, Number | None] = {
    "kids": Number(0, 8, whole=True),
    "age": Number(18, 89, whole=True),
    "education": Number(0, 20, whole=True),
    "year": None,
    "siblings": Number(0, 40, whole=True),
    "agefirstbirth": Number(9, 60, whole=True),
    "ethnicity": None,
    "city16": None,
    "lowincome16": None,
    "immigrant": None,
}
JOBLESS: dict[str, Number | None] = {
    "stateur": Number(0, 20),
    "statemb": Number(50, 400, whole=True),
    "age": Number(16, 70, whole=True),
    "tenure": Number(0, 50, whole=True),
    **dict.fromkeys(("joblost", "nwhite", "school12", "sex", "bluecol", "smsa", "married", "dkids", "dykids")),
    "yrdispl": Number(1, 10, whole=True),
    "rr": Number(0, 1),
    "head": None,
    "ui": None,
}
DISTANCES: dict[str, Number | None] = {
    **dict.fromkeys(("gender", "ethnicity", "fcollege", "mcollege", "home", "urban", "income", "region")),
    "score": Number(20, 80),
    "unemp": Number(0, 25),
    "wage": Number(5, 15),
    "distance": Number(0, 20),
    "tuition": Number(0, 2),
    "education": Number(12, 18, whole=True),
}
HEARTS: dict[str, Number | None] = {
    "age": Number(35, 70, whole=True),
    "yronset": Number(85, 93, whole=True),
    **dict.fromkeys(("outcome", "sex", "premi", "smstat", "diabetes", "highbp", "hichol", "angina", "stroke", "hosp")),
}
ARRESTS: dict[str, Number | None] = {
    **dict.fromkeys(("released", "colour", "sex", "employed", "citizen")),
    "year": Number(1997, 2002, whole=True),
    "age": Number(12, 80, whole=True),
    "checks": Number(0, 6, whole=True),
}
MOTHERS: dict[str, Number | None] = {
    **dict.fromkeys(("morekids", "gender1", "gender2", "afam", "hispanic", "other")),
    "age": Number(21, 35, whole=True),
    "work": Number(0, 52, whole=True),
}
KNOWN: dict[str, tuple[dict[str, Number | None], str]] = {
    "adult": (ADULT, "income"),
    "diamonds": (DIAMONDS, "cut"),
    "bank": (BANK, "y"),
    "credit": (CREDIT, "default.payment.next.month"),
    "compas": (COMPAS, "two_year_recid"),
    "SmokeBan": (SMOKERS, "smoker"),
    "storms": (STORMS, "status"),
    "HealthInsurance": (HEALTH, "insurance"),
    "CPS1988": (CPS, "parttime"),
    "VietNamI": (VIETNAM, "insurance"),
    "flchain": (CHAINS, "death"),
    "DoctorVisits": (DOCTORS, "private"),
    "Computers": (COMPUTERS, "premium"),
    "nassCDS": (CRASHES, "dead"),
    "yrbss": (YOUTH, "gender"),
    "HI": (WIVES, "hhi"),
    "credit_data": (LENDING, "Status"),
    "GSS7402": (SOCIAL, "lowincome16"),
    "Benefits": (JOBLESS, "ui"),
    "CollegeDistance": (DISTANCES, "income"),
    "monica": (HEARTS, "outcome"),
    "Arrests": (ARRESTS, "released"),
    "Fertility2": (MOTHERS, "morekids"),
}
"""Tables that rules and constants were chosen on; the last seventeen, of dplyr, AER, Ecdat, survival, DAAG, openintro,
modeldata and carData, those of intervals alone."""


def load(name: str, folder: Path, tables: Mapping[str, tuple[dict[str, Number | None], str]] | None = None) -> Table:
    """A table from `folder`/name.parquet or .csv; `tables` says what is known of it, if this file does not."""
    import pandas as pd

    from benchmarks.tables.unseen import UNSEEN

    known, target = (tables or {**KNOWN, **UNSEEN})[name]
    path = folder / f"{name}.parquet"
    frame = pd.read_parquet(path) if path.exists() else pd.read_csv(folder / f"{name}.csv", sep=None, engine="python")
    return encoded(name, frame, known, target)


def encoded(name: str, frame: Any, known: dict[str, Number | None], target: str) -> Table:
    """Codes of a frame. The vocabularies of these public tables are taken as known, with a level for missing cells."""
    columns: list[Column] = []
    values: list[np.ndarray | None] = []
    codes = []
    for column, number in known.items():
        cells = frame[column]
        missing = cells.isna().to_numpy()
        if number is None:
            words, code = np.unique(cells.astype(str).where(~missing, "missing").to_numpy(str), return_inverse=True)
            columns.append(Column(len(words)))
            values.append(None)
            codes.append(code)
            continue
        code = number.encode(np.where(missing, number.low, cells.to_numpy(float)))
        levels = len(number.values)
        if missing.any():
            code = np.where(missing, levels, code)
        columns.append(Column(levels + bool(missing.any()), levels))
        values.append(np.append(number.values, number.values.mean()) if missing.any() else number.values)
        codes.append(code)
    names = tuple(known)
    return Table(name, names, tuple(columns), tuple(values), np.stack(codes, 1).astype(np.int64), names.index(target))


SYNTHETIC = ("chain", "interactions", "curved", "independent")
KINDS = (2, 5, 12, 40, -60, -60, -30, 8, 3, -99)


def synthetic(name: str, rows: int, seed: int, kinds: Sequence[int] = KINDS) -> Table:
    """A synthetic mixed table; negative kinds are numbers. Structures differ on purpose from mixtures of products."""
    generator = np.random.default_rng(seed)
    hidden = generator.standard_normal((rows, 3))
    if name == "chain":  # each column depends on the one before
        signals = [generator.standard_normal(rows)]
        for _ in kinds[1:]:
            signals.append(0.8 * signals[-1] + 0.6 * generator.standard_normal(rows))
    elif name == "interactions":  # third-order structure: products of hidden signs
        signs = np.sign(hidden)
        signals = [
            signs[:, i % 3] * signs[:, (i + 1) % 3] * np.abs(generator.standard_normal(rows))
            if i % 2
            else hidden[:, i % 3] + 0.3 * generator.standard_normal(rows)
            for i in range(len(kinds))
        ]
    elif name == "curved":  # functions of few factors, little noise
        signals = [
            np.sin((1 + i % 3) * hidden[:, i % 3])
            + hidden[:, (i + 1) % 3] ** 2 * (i % 2)
            + 0.1 * generator.standard_normal(rows)
            for i in range(len(kinds))
        ]
    else:  # "independent"
        signals = [generator.standard_normal(rows) for _ in kinds]
    columns, codes = [], []
    for kind, signal in zip(kinds, signals, strict=True):
        levels = abs(kind)
        if kind < 0:
            code = np.clip(((signal + 4) / 8 * levels).astype(int), 0, levels - 1)
        else:
            bounds = np.quantile(signal, np.cumsum(generator.dirichlet(np.full(levels, 0.7)))[:-1])
            code = generator.permutation(levels)[np.searchsorted(bounds, signal)]
        columns.append(Column(levels, levels if kind < 0 else 0))
        codes.append(code)
    values = tuple(np.arange(c.levels, dtype=float) if c.ordered else None for c in columns)
    names = tuple(f"c{i}" for i in range(len(kinds)))
    return Table(name, names, tuple(columns), values, np.stack(codes, 1).astype(np.int64), 0)
