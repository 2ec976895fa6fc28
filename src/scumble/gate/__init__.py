"""The one gate where counters meet noise: who may release, when it is paid for, and what leaves.

`gate.py` checks, charges, draws and adds (gate.proof.md); `rows.py` does so for rows with noise of their own.
`secret.py` holds exact counters under lock; `spending.py` says who may release, and when; `selection.py` chooses
privately from a public list; `pledges.py` is what a secret file says about its release (pledges.proof.md);
`words.py` finds words that nobody declared (words.proof.md).
"""
