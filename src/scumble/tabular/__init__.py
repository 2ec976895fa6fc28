"""Whole tables: one row of counters for each view, a view being a few columns and its counters their cross-table.

``spec.py`` says which views there are and where a record is counted in each; ``counting.py`` counts; ``sketch.py`` is
the secret sketch. ``release.py`` is what is published, ``evidence.py`` its counters as the model takes them,
``questions.py`` what can be asked and ``answers.py`` how it is answered.
"""
