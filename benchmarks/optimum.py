"""The quietest triangle that is known, dense and with Gaussian noise: jax-privacy's, for `benchmarks.streams`.

It needs an environment of its own (``pip install jax-privacy``), and minutes for a year of days::

    path/to/that/python benchmarks/optimum.py 365 optimum-365.npy
"""

from __future__ import annotations

import sys

import jax
import numpy as np
from jax_privacy.matrix_factorization import dense

jax.config.update("jax_enable_x64", True)
np.save(sys.argv[2], np.asarray(dense.optimize(int(sys.argv[1]))))
