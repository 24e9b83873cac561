"""What a group would read twice or skip at its present position at the target, compared with an answer.

Everything below t(c) is read, so a position *below* it costs the records between. Above t(c) some are unread, and a
group that resumed there would never see them::

    t(c) = 5         3   4 | 5   6   7   8          position 3: reads 3 and 4 again
    read             yes yes no  yes no  yes        position 8: skips 5 and 7, and does not repeat 6
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from offset_sync.translate.index.runs import Int64s
from offset_sync.translate.partition_log import PartitionLog
from offset_sync.translate.pieces import Pieces, cut_pieces
from offset_sync.translate.read_heights import count_read


@dataclass(frozen=True)
class PositionCost:
    """What a position other than t(c) changes, in records; arrays of shape (commits,).

    *repeats* is the difference to the duplicates at t(c), so it may be negative; *skipped* are never read.
    """

    repeats: Int64s
    skipped: Int64s


def position_cost(
    committed: Int64s,
    answer: Int64s,
    position: Int64s,
    source: PartitionLog,
    target: PartitionLog,
    young_since_ms: int,
) -> PositionCost:
    """Compare each group's *position* at the target with the *answer* to what it *committed* at the source.

    The records between are cut into pieces page by page, no more than a page at a time. All shapes are (commits,). The
    answer is t(c) or, where that is deleted, the log start; no position is below the log start either. Errs to too many
    skipped: records not known to be read count as unread.
    """
    repeats, skipped = np.zeros(len(committed), np.int64), np.zeros(len(committed), np.int64)
    differs = np.flatnonzero(position != answer)
    if len(differs) == 0:
        return PositionCost(repeats, skipped)
    low, high = np.minimum(answer, position), np.maximum(answer, position)
    lowest, highest = int(low[differs].min()), int(high[differs].max())
    is_behind, ahead = position < answer, np.flatnonzero(position > answer)
    for runs in target.index.paged.parts(lowest, highest):
        pieces = cut_pieces(runs, source, young_since_ms).below(highest)
        if len(pieces):
            between = pieces.records_below(high) - pieces.records_below(low)
            repeats[is_behind] += between[is_behind]
            read = _read_of_part(pieces, committed[ahead], low[ahead], high[ahead])
            repeats[ahead] -= read
            skipped[ahead] += between[ahead] - read
    return PositionCost(repeats, skipped)


def _read_of_part(pieces: Pieces, committed: Int64s, low: Int64s, high: Int64s) -> Int64s:
    """Return how many records of ``[low, high)`` each group has read among those of *pieces*, a part of the log.

    It has read everything below *low*, as far as it is known to have read anything. All groups whose *high* is the
    same, or above the part, are counted together.
    """
    read, end = np.zeros(len(committed), np.int64), pieces.start[-1] + pieces.length[-1]
    border = np.minimum(high, end)
    for each in np.unique(border[low < border]).tolist():
        rows = ((low < border) & (border == each)).nonzero()[0]
        part = pieces.below(each)
        read[rows] = np.maximum(count_read(part, committed[rows]) - part.records_below(low[rows]), 0)
    return read
