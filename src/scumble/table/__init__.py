"""Sketches and releases of tables: one row of counters for each view, the posterior, the answers.

What is counted and published::

    spec.py           which views there are, and where a record is counted in each
    counting.py       the counting
    sketch.py         the secret sketch, and how it is published
    planner.py        what is published next: which views, how finely, at what share of the budget
    budgeting.py      how the budget goes to views, and how fine they are
    grouping.py       fine cells put together, by noisy single columns
    release.py        what is published

What is computed of it, all of it post-processing::

    evidence.py       the measured views, for a release and class by class
    prior.py          the prior over tables: every constant of answers
    mixture.py        a mixture of products, with answers in closed form; rules as its factors
    fitting.py        the mixture that agrees with noisy views and prior
    margins.py        draws of a single column
    posterior.py      draws of whole tables, and how files store them
    answers.py        answers out of the draws
    questions.py      conditions by position, and parts of a column
    asking.py         the questions, in the words of people who ask them
    estimate.py       a number that is known up to noise
    distinct.py       the number of distinct values
    tokens.py         counts of words that records have several of
    discovery.py      words that nobody declared, found in the pass
    rows.py           synthetic rows, their containers and weights; any statistic, by rows of every draw
    comparing.py      what differs between two releases
    faithfulness.py   how faithful synthetic rows are
    remarks.py        columns not counted together, cells that a question cuts, values counted as one
"""
