"""The one gate where counters meet noise: who may release, when it is paid for, and what leaves.

The files::

    gate.py         look at everything, charge, draw, add: the gate (gate.proof.md)
    secret.py       exact counters under lock, and all that decides whether they may be released
    holder.py       what every secret sketch does with its counters: merge, save, keep them to itself
    spending.py     who may release, and when: once, or as often as an account allows
    share.py        one custodian's share of a release, and how shares are combined
    selection.py    the best of a public list, chosen privately
    steps.py        rows that are published one after the other, each with noise of its own
    periods.py      a stream at the gate: noise for each node, once
    planned.py      rows that are chosen after counting, by a few noisy facts
    adaptive.py     rows of which what is public by then decides: which, how finely, at what share
    pledges.py      what a secret file says about the release that is being made of it (pledges.proof.md)
"""
