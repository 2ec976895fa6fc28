"""Sketches and releases of tables: one row of counters for each view, the posterior, the answers.

Sketches, releases and questions::

    spec.py               which views there are, and where a record is counted in each
    counting.py           the counting
    sketch.py             the secret sketch
    planner.py            what is published next: which views, how finely, at what share of the budget
    publishing.py         from the exact views to a release
    release.py            what is published
    storage.py            draws from the posterior in 16 bits, as files and pages hold them
    asking.py             the questions, in the words of people who ask them
    frames.py             frames of answers: histograms, cross-tables, groups
    questions.py          conditions by position, and parts of a column
    release_evidence.py   a release's counters as the model takes them
    answers.py            draws from the release's posterior, and answers out of them
    comparing.py          what differs between two releases
    statistic.py          any statistic, by rows of every draw
    drawing.py            synthetic rows that meet a condition
    weighing.py           their weights, and both for DuckDB
    rows.py               synthetic rows in pandas, polars and Arrow
    faithfulness.py       how faithful they are, by the release's own knowledge
    heaps.py              records at a bound, more than beside it
    remarks.py            columns not counted together, cells that a question cuts, values counted as one
    estimate.py           a number that is known up to noise
    single_thread.py      linear algebra in one thread, for small products

Views after the noise, all of it post-processing::

    budgeting.py   how the budget goes to views, and how fine they are
    grouping.py    fine cells put together, by noisy single columns
    evidence.py    the measured views, and the shapes within groups
    mixture.py     a mixture of products, with answers in closed form
    prior.py       the prior over tables: every constant of answers
    fitting.py     the mixture that agrees with noisy views and prior
    margins.py     draws of a single column
    posterior.py   draws of whole tables
    obeying.py     rules as factors of a mixture
"""
