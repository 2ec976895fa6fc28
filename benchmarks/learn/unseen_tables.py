"""The tables of :mod:`benchmarks.learn.unseen`: which file, which target, and how cells become what methods take."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

TABLES: dict[str, tuple[str, str | int, Any]] = {
    "diamonds": ("ggplot2_diamonds.csv", "price", None),
    "computers": ("Ecdat_Computers.csv", "price", None),
    "abalone": ("abalone.csv", 8, None),
    "white wine": ("winequality-white.csv", 11, None),
    "wages 1988": ("AER_CPS1988.csv", "wage", None),
    "earnings 1978": ("DAAG_cps1.csv", "re78", None),
    "ridership": ("modeldata_Chicago.csv", "ridership", None),
    "houses": ("ggplot2_txhousing.csv", "median", None),
    "mammography": ("mammography.csv", 6, "'1'"),
    "phoneme": ("phoneme.csv", 5, 1),
    "lending": ("modeldata_lending_club.csv", "Class", "bad"),
    "churn": ("modeldata_mlc_churn.csv", "churn", "yes"),
    "telephone": ("modeldata_wa_churn.csv", "churn", "Yes"),
    "light chains": ("survival_flchain.csv", "death", 1),
    "spam": ("DAAG_spam7.csv", "yesno", "y"),
    "caravan": ("ISLR_Caravan.csv", "Purchase", "Yes"),
}
"""File, target (a name, or a place where there are none), and the label of class 1: None for a regression."""
LATER: dict[str, tuple[str, str | int, Any]] = {
    "hotel rates": ("modeldata_hotel_rates.csv", "avg_price_per_room", None),
    "young women": ("sampleSelection_nlswork.csv", "ln_wage", None),
    "vocabulary": ("carData_GSSvocab.csv", "vocab", None),
    "chemistry": ("mlmRev_Chem97.csv", "score", None),
    "incomes": ("COUNT_rwm5yr.csv", "hhninc", None),
    "exhaust": ("robustbase_NOxEmissions.csv", "LNOx", None),
    "insurance": ("Ecdat_HI.csv", "whi", "yes"),
    "pensions": ("wooldridge_k401ksubs.csv", "e401k", 1),
    "crashes": ("DAAG_nassCDS.csv", "dead", "dead"),
    "default": ("ISLR_Default.csv", "default", "Yes"),
    "cells": ("modeldata_cells.csv", "class", "PS"),
    "livers": ("survival_nafld1.csv", "status", 1),
}
"""Chosen when the others had been looked at."""
LEFT_OUT = ("rownames", "futime", "chapter")
LEFT_OUT_LATER = ("rownames", "futime", "id", "idcode", "caseid", "case.id", "case", "p401k", "injSeverity")
"""Numbers of rows and persons, and what is only known after the target is."""
LEVELS = 8


class Table(NamedTuple):
    """A table in the two forms that methods take."""

    frame: pd.DataFrame
    """Numbers within [−1, 1], and words."""
    categories: dict[str, list[str]]
    """The words of each column that has any."""
    numbers: np.ndarray
    """The same with a column of −1 and 1 for each word."""
    y: np.ndarray
    """Within [−1, 1]; labels: 0 and 1."""
    classify: bool


def table(folder: Path, name: str) -> Table:
    """Numbers, and words of up to eight levels, a missing one being another; rows without a number are left out."""
    file, target, positive = {**TABLES, **LATER}[name]
    frame = pd.read_csv(folder / file, header=None if isinstance(target, int) else 0, low_memory=False)
    left_out = LEFT_OUT if name in TABLES else LEFT_OUT_LATER
    frame = frame.drop(columns=[one for one in left_out if one in frame.columns])
    y = frame.pop(target)
    frame.columns = [str(one) for one in frame.columns]
    words = frame.select_dtypes(exclude=["number", "bool"])
    plain = frame.drop(columns=list(words)).astype(float)
    plain = plain.loc[:, plain.isna().mean() < 0.2]
    known = (plain.notna().all(axis=1) & y.notna()).to_numpy()
    plain, words, aim = plain[known].reset_index(drop=True), words[known].reset_index(drop=True), y[known].to_numpy()
    low, wide = plain.min(), (plain.max() - plain.min()).replace(0.0, 1.0)
    plain = 2.0 * (plain - low) / wide - 1.0
    few = [one for one in words if words[one].nunique() <= LEVELS]
    spelled = words[few].astype(object).where(words[few].notna(), "missing").astype(str)
    each = [2.0 * pd.get_dummies(spelled[one], dtype=float) - 1.0 for one in few]
    numbers = pd.concat([plain, *each], axis=1).to_numpy(float)
    categories = {one: sorted(spelled[one].unique()) for one in few}
    whole = pd.concat([plain, spelled], axis=1)
    if positive is not None:
        return Table(whole, categories, numbers, (aim == positive).astype(int), True)
    aim = aim.astype(float)
    return Table(whole, categories, numbers, 2.0 * (aim - aim.min()) / (aim.max() - aim.min()) - 1.0, False)
