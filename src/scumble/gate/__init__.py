"""The one gate where counters meet noise: who may release, when it is paid for, and what leaves.

The files::

    gate.py        check everything, charge, draw, add: the gate (gate.proof.md)
    secret.py      exact counters under lock, and what decides whether they may be released
    holder.py      what every secret sketch does with its counters: merge, save, protect them
    spending.py    who may release, and when: once, or as often as an account allows
    selection.py   the best of a public list, chosen privately
    steps.py       rows published in two steps, each with noise of its own
    periods.py     a stream at the gate: noise for each node, once
    adaptive.py    rows whose choice, grouping and share of the budget depend on what is public by then
    pledges.py     what a secret file says about the release being made of it (pledges.proof.md)
"""
