"""Small products take one thread of BLAS, whatever other threads do."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pytest
import threadpoolctl

from scumble.table.evidence import Evidence, View
from scumble.table.fitting import Fits, one_thread
from scumble.table.grouping import Column
from scumble.table.posterior import drawn_by_class


def threads() -> set[int]:
    return {one["num_threads"] for one in threadpoolctl.threadpool_info() if one["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def _two() -> Iterator[None]:
    with threadpoolctl.threadpool_limits(2, "blas"):
        if threads() != {2}:
            pytest.skip("this BLAS has no two threads")
        yield


def test_who_sets_the_limit_lifts_it() -> None:
    inside, leave = threading.Event(), threading.Event()

    def other() -> None:
        with one_thread():
            inside.set()
            leave.wait(60)

    with one_thread():
        thread = threading.Thread(target=other)
        thread.start()
        assert inside.wait(60) and threads() == {1}
    leave.set()
    thread.join()
    assert threads() == {2}
    with pytest.raises(ZeroDivisionError), one_thread():
        raise ZeroDivisionError
    assert threads() == {2}


def test_fits_take_one_thread_each(monkeypatch: pytest.MonkeyPatch) -> None:
    views = tuple(View((j,), np.array([60.0, 40.0]), 1.0) for j in (0, 1))
    found, fit = list[set[int]](), Fits.fit
    monkeypatch.setattr(Fits, "fit", lambda *given: found.append(threads()) or fit(*given))
    drawn_by_class([Evidence((Column(2),) * 2, (np.arange(2),) * 2, views)], "laplace", 1)
    assert found and all(one == {1} for one in found) and threads() == {2}
