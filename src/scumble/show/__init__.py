"""What people see: cards, plots, pictures of fitted models, and the explorer page.

Cards: ``cards.py`` (the privacy card), ``usefulness.py`` (how large a group is visible), ``nist.py`` (NIST SP 800-226,
and the registry of deployments). Plots: ``plots.py`` (densities), ``tableplots.py``,
``comparison.py``, ``pictures.py`` (estimators, and streams over time), ``expected.py`` (a table at several budgets).
``claims.py`` answers questions in JSON.

The page, built from ``web/`` into ``page/``: ``opening.py`` goes from a file to its page, ``exhibit.py`` and
``tableexhibit.py`` say what it shows, ``ranges.py`` what part of each column, ``pages.py`` makes it one HTML file, and
``server.py`` serves it with the API.
"""
