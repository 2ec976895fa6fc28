"""What people see: cards, plots, pictures of fitted models, and the explorer page.

Cards and plots::

    cards.py         the privacy card of a release, a bundle, a model, or moments
    tablecards.py    the privacy card of a table
    usefulness.py    the smallest group a release can show, and the sample it is worth
    nist.py          a release checked against NIST SP 800-226
    registry.py      a release as an entry of the public registry of deployments
    plots.py         pictures of densities
    shading.py       colors of maps, faded where noise could explain them
    tableplots.py    histograms of a table's columns
    overtime.py      pictures of a stream over time
    pictures.py      pictures of fitted estimators

The page, built from ``web/`` into ``page/``::

    opening.py         from a file to its page; `scumble.explore` itself
    exhibit.py         a release, a bundle or a model on the page
    coded.py           columns as the page shows them, also of models fitted with a schema
    ranges.py          what part of each column to draw
    payload.py         the data that the page computes with
    pairexhibit.py     two releases side by side
    tableexhibit.py    a table on the page
    streamexhibit.py   a stream on the page
    pages.py           the page as one HTML file
    server.py          the page and the API over HTTP
    openapi.py         the description of the API
"""
