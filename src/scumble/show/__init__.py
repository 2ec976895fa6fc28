"""What people see: cards in notebooks and terminals, plots, pictures of fitted models.

The files::

    cards.py        the privacy card of a release, a bundle, a model
    plots.py        pictures of releases and plans
    mesh.py         where a density is looked at for a picture: as fine as the cells, and on the peaks
    shading.py      colours of maps: even or by logarithm, faded where noise could explain them
    demoplots.py    the demo's pictures
    pictures.py     pictures of fitted estimators
    shapes.py       pictures of additive models: a curve for each column
    momentcards.py  the privacy card of moments
    tablecards.py   the privacy card of a table
    momentcards.py  the privacy card of moments
    tableplots.py   pictures of a table: its columns at a glance
    barticks.py     round numbers and years along the bars of such a picture
    usefulness.py   the smallest group a release can show, and the sample it is worth
    nist.py         a release held against NIST SP 800-226
    registry.py     a release as an entry of the public registry of deployments
    overtime.py     pictures of a stream over time
    shapes.py       the shape functions of an additive model
    wording.py      words that all cards have in common
    shown.py        what cards and plots need to know of what they show
"""
