"""What a log has lost by being cut: copies that groups may have read before, and that are not there any more."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from offset_sync.translate.index.origin_positions import NO_LIMIT, OriginPositions
from offset_sync.translate.index.runs import Runs


class LostCopies:
    """Copies of one log; nothing is added once somebody asks for positions."""

    def __init__(self) -> None:
        self._lost: list[Runs] = []

    def __iter__(self) -> Iterator[Runs]:
        """Yield what was added."""
        return iter(self._lost)

    def add(self, copies: Runs) -> None:
        """Add what the log had."""
        self._lost.append(copies)

    def positions(self, origin: int) -> OriginPositions:
        """Return the positions of what was lost of *origin*: beyond any that the log may have."""
        positions = OriginPositions()
        for copies in self._lost:
            of_origin = copies.take(np.asarray(copies.origin == origin))
            positions.extend(replace(of_origin, start=np.full(len(of_origin), NO_LIMIT)))
        return positions

    def lowest(self, origin: int) -> int:
        """Return the lowest offset of *origin* that was lost; NO_LIMIT: none."""
        return min(
            (int(c.origin_start[c.origin == origin].min(initial=NO_LIMIT)) for c in self._lost), default=NO_LIMIT
        )
