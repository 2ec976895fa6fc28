"""What people see: cards, plots, pictures of fitted models, and the explorer page.

Cards and plots::

    cards.py         the privacy card of a release, a bundle, a model, or moments
    tablecards.py    the privacy card of a table
    usefulness.py    the smallest group a release can show, and the sample it is worth
    nist.py          a release checked against NIST SP 800-226, and as an entry of the registry of deployments
    plots.py         pictures of densities
    tableplots.py    histograms of a table's columns
    pictures.py      pictures of fitted estimators, and of a stream over time

Questions in JSON::

    expected.py      what analysts will see of a table at several budgets, and one picture of it
    claims.py        what an assistant asks of tables, and what `scumble verify` recomputes

The page, built from ``web/`` into ``page/``::

    opening.py         from a file to its page; `scumble.explore` itself
    exhibit.py         a release, a bundle or a model on the page
    ranges.py          columns as the page shows them, and what part of each to draw
    pairexhibit.py     two releases side by side
    tableexhibit.py    a table on the page
    streamexhibit.py   a stream on the page
    pages.py           the page as one HTML file, and its data
    server.py          the page and the API over HTTP, with its description
"""
