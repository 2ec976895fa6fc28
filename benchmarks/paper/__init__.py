"""The paper's experiments with every rival, all at the same, true privacy: ``make paper``.

`data` finds the tables, `experiments/` says what is run, `runner` runs it and can be stopped at any time, and `report`
turns ``results.json`` into ``REPORT.md``. Each rival is one file in `functions/`, `classification/` or `regression/`.
"""
