"""What every secret sketch does with its counters: merge, save, and protect them."""

from __future__ import annotations

import os
from typing import NoReturn, Self

import numpy as np

from scumble import files
from scumble.checks import Json
from scumble.errors import PrivacyError, parameter
from scumble.gate import gate
from scumble.gate.secret import Secret


class Holder:
    """The part of a sketch that holds its secret."""

    secret: Secret
    dropped: int

    def _hold(self, secret: Secret) -> None:
        self.secret = secret
        """The exact counters, for the gate alone (:mod:`scumble.gate.gate`)."""
        self.dropped = 0
        """Rows dropped as invalid so far: for the curator only."""

    @property
    def count(self) -> int:
        """The exact number of records: secret."""
        with self.secret.lock:
            self._require_exact("count")
            return self.secret.total

    def merge(self, other: Self) -> Self:
        """Add another sketch's counters to this one's: exactly the sketch of both tables together."""
        if not isinstance(other, type(self)):
            kind = type(self).__name__
            raise parameter("other", f"a {kind}", type(other).__name__, "two releases merge with Release.merge.")
        self.secret.merge(other.secret)
        self.dropped += other.dropped
        return self

    @property
    def noisy(self) -> bool:
        """Whether `start_with_noise` has added the noise already."""
        return self.secret.noise is not None

    def _require_exact(self, verb: str) -> None:
        self.secret.require_open(verb)
        self.secret.require_exact()

    # ---- files ----

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the exact counters to a secret file, mode 0600, to merge them elsewhere. By convention ``.secret``."""
        secret = self.secret
        with secret.lock:
            if secret.home not in (None, os.path.realpath(path)):
                raise PrivacyError(
                    f"This sketch began with noise and is kept in {secret.home!r}; a second file could reveal exact "
                    "counters. Hint: save it there."
                )
            if secret.home is not None:
                gate.keep_noise(secret, secret.home)
                return
            files.write(path, "secret", *secret.contents(), secret=True, bound=self.noisy)
            if self.noisy:
                secret.home = os.path.realpath(path)

    def to_bytes(self) -> bytes:
        """The bytes that `save` would write: secret."""
        if self.noisy:
            raise PrivacyError("This sketch began with noise, so it is kept in one file. Hint: call save().")
        return files.to_bytes("secret", *self.contents())

    def contents(self) -> tuple[Json, dict[str, np.ndarray]]:
        """What a secret file holds, metadata and arrays: for `save` and for checkpoints."""
        return self.secret.contents()

    # ---- keeping the secret ----

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise PrivacyError(
            f"A {type(self).__name__} cannot be pickled or copied, as it holds exact counters. "
            "Hint: `sketch.save('part.secret')` writes a secret file; `sketch.release(epsilon=...)` makes it public."
        )
