"""What a fitted estimator looks like: pictures, its card in a notebook, and the names that it shows."""

from __future__ import annotations

from typing import Any

from scumble.errors import ParameterError
from scumble.learn.levels import Levels
from scumble.learn.scikit import BaseEstimator, check_is_fitted
from scumble.schema import Schema

CURATORS = ("clipped_",)
"""Fitted attributes that are for the curator only: neither saved, nor pickled, nor shown."""


class LooksLike(BaseEstimator):
    """How a `PrivateEstimator` is shown."""

    schema_: Schema | None = None

    def __dir__(self) -> list[str]:
        # scikit-learn's card lists every fitted attribute that is found here, and a notebook keeps the card.
        return [name for name in super().__dir__() if name not in CURATORS]

    def _levels(self) -> Levels | None:
        """How records are read, where the release is that of a table."""
        return None

    def plot(self, **options: Any) -> Any:
        """A picture of what was learnt, a matplotlib Figure: densities, classes or predictions over the columns.

        Options: `ranges`, `at`, `units`, `title`; see :func:`scumble.show.pictures.draw`. Needs
        ``pip install 'scumble[plot]'``.
        """
        from scumble.show import pictures

        check_is_fitted(self)
        if self._levels() is not None or self.schema_ is not None:
            raise ParameterError("There is no picture of a model of a table. Hint: release.plot() draws its columns.")
        return pictures.draw(self, **options)

    def _repr_html_inner(self) -> str:
        return super()._repr_html_inner() + self._card()

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        out = super()._repr_mimebundle_(**options)
        if "text/html" in out:
            out["text/html"] += self._card()
        return out

    def _card(self) -> str:
        from scumble.show import cards

        return cards.estimator_html(self) if self.__sklearn_is_fitted__() else ""
