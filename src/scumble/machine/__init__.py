"""What scumble needs of the machine under it: places on a disk, signals that interrupt, a compiler for loops.

The files::

    places.py       a place on disk: reserved first, filled later, named at the end
    onebyone.py     saves to one name take turns
    owned.py        a file that one process goes on from
    mark.py         which file an open file is, whatever it is called
    interrupts.py   signals that ask a program to stop, and when they may
    cores.py        how many cores there are to use
    onethread.py    linear algebra in one thread, for small products
    room.py         arrays that a thread works in, step after step
    compiling.py    loops compiled on first use, and kept on disk
    patience.py     when compiled loops are worth the wait
    steps.py        steps of long work that somebody may watch
    later.py        packages that are loaded when first used
    functions.py    gamma, erfcx, minima and roots, by NumPy alone
"""
