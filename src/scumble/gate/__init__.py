"""The one gate where counters meet noise: who may release, when it is paid for, and what leaves.

The files::

    gate.py        check everything, charge, draw, add: the gate, also of streams (gate.proof.md)
    secret.py      exact counters under lock, and what decides whether they may be released
    spending.py    who may release, and when: once, or as often as an account allows
    selection.py   the best of a public list, chosen privately
    rows.py        rows with noise of their own, with fixed shares or as a plan asks for them
    pledges.py     what a secret file says about the release being made of it (pledges.proof.md)
"""
