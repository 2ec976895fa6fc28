"""Records that arrive in periods, published after each of them, for one budget: the secret side.

What is published, and why it costs one budget, is :mod:`scumble.continual`.

The files::

    stream.py    `Stream`: count, close a period, publish
    arriving.py  records that arrive, all of them counted or none
    state.py     its secret file, for one process at a time
    keeping.py   what the file says, and what is refused
"""
