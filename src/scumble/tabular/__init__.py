"""Whole tables: one row of counters for each view, a view being a few columns and its counters their cross-table.

The files::

    spec.py         which views there are, and where a record is counted in each
    counting.py     the counting
    sketch.py       the secret sketch
    planner.py      what is published next: which views, how finely, at what share of the budget
    publishing.py   from the exact views to a release
    release.py      what is published
    storage.py      draws from the posterior in 16 bits, as files and pages hold them
    asking.py       the questions, in the words of people who ask them
    frames.py       frames of answers: histograms, cross-tables, groups
    questions.py    conditions by position, and parts of a column
    evidence.py     a release's counters as the model takes them
    answers.py      draws from the release's posterior, and answers out of them
    statistic.py    any statistic, by rows of every draw
    drawing.py      synthetic rows that meet a condition
    weighing.py     their weights, and both for DuckDB
    rows.py         synthetic rows in pandas, polars and Arrow
    faithfulness.py how faithful they are, by the release's own knowledge
    heaps.py        records at a bound, more than beside it
    apart.py        columns that were not counted together, and what to say of them
    within.py       values within cells that were counted as one, and what to say of them
    pooled.py       values that pairs counted as one, and what to say of them
    estimate.py     a number that is known up to noise
"""
