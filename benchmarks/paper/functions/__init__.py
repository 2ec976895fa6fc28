"""Every method that releases a kernel density, one per file; `METHODS` lists them in the order of the report."""

from benchmarks.paper.functions import (
    bernstein,
    exact_kde,
    fourier,
    kernel_mean,
    lsq_fourier,
    lsq_gauss,
    mwem,
    pfda,
    race_paper,
    race_plain,
    race_published,
    scumble_gaussian,
    scumble_pure,
    trigonometric,
)
from benchmarks.paper.functions.method import Method

METHODS: tuple[Method, ...] = (
    scumble_pure.METHOD,
    scumble_gaussian.METHOD,
    race_paper.METHOD,
    bernstein.METHOD,
    fourier.METHOD,
    trigonometric.METHOD,
    pfda.METHOD,
    kernel_mean.METHOD,
    mwem.METHOD,
    lsq_fourier.METHOD,
    lsq_gauss.METHOD,
    race_published.METHOD,
    race_plain.METHOD,
    exact_kde.METHOD,
)

__all__ = ["METHODS", "Method"]
