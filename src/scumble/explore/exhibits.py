"""All that can be shown: of a release or a model, of a table, of a stream, of two releases."""

from __future__ import annotations

from scumble.explore.exhibit import Exhibit
from scumble.explore.pairexhibit import PairExhibit
from scumble.explore.streamexhibit import StreamExhibit
from scumble.explore.tableexhibit import TableExhibit

AnyExhibit = Exhibit | TableExhibit | StreamExhibit | PairExhibit
