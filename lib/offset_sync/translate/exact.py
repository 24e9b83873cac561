"""The theorem everything rests on: t(c), the first record of the target that a group has not read.

``f(y)`` is where the record at ``y`` of the target stands at the source, ``F`` its running maximum. A committed
offset c says that everything below c is read, so ``t(c)`` is the first y with ``F(y) >= c``, and the index frontier
of the target where there is none. Below it everything is read; the record there is not: no later answer is safe, no
earlier one needed. All errors fall to the small side: a record read twice is a nuisance, one never read a loss.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.origin_positions import NO_LIMIT
from offset_sync.translate.index.runs import Int64s
from offset_sync.translate.pieces import Pieces, cut_pieces


@dataclass(frozen=True)
class Answers:
    """One answer per committed offset, in the order asked; all arrays have shape (commits,).

    *offset* is t(c); *clamped_offset* is what can be committed, not below the target's log start. *duplicates* counts
    the records at or above it that the group has read, *duplicates_at_most* adds those it may have read where the
    source's index is behind the commit or headers were unreadable. *lost* counts unread records below the log start.
    *has_young_hole*: a hole in the window is too young to be taken for one, so answers may yet move forward.
    *is_t*: it is t(c); False where an earlier one was asked for. *is_too_late*: a later one was, which would lose.
    """

    offset: Int64s
    clamped_offset: Int64s
    at_frontier: NDArray[np.bool_]
    index_behind: NDArray[np.bool_]
    duplicates: Int64s
    duplicates_at_most: Int64s
    lost: Int64s
    is_t: NDArray[np.bool_]
    is_too_late: NDArray[np.bool_]
    has_young_hole: bool = False


def first_unread(required: Int64s, committed: Int64s) -> NDArray[np.intp]:
    """Return, for each committed offset, the index of the first target piece that is not fully read.

    *required* is F over pieces: non-decreasing, shape (pieces,). *committed* has shape (commits,), any order.
    An answer of ``len(required)`` means that all indexed target records are read.
    """
    return np.searchsorted(required, committed, "left")


def count_read(pieces: Pieces, committed: Int64s) -> Int64s:
    """Return, for each committed offset c, how many records of *pieces* have f < c.

    A linear piece contributes ``clip(c - needs, 0, length)``, which is the difference of two ramps, so all of them
    together cost one sorted search. Sums may wrap around 2**64 on the way; the differences come out right.
    """
    linear, constant = pieces.is_linear, ~pieces.is_linear
    needs = pieces.needs[linear]
    read = _ramp(needs, committed) - _ramp(needs + pieces.length[linear], committed)
    order = np.argsort(pieces.needs[constant])
    lengths = np.concatenate(([0], np.cumsum(pieces.length[constant][order])))
    read += lengths[np.searchsorted(pieces.needs[constant][order], committed, "left")]
    return read


def _ramp(corners: Int64s, committed: Int64s) -> Int64s:
    """Return the sum of ``max(0, c - corner)`` over all corners, for each committed offset c."""
    corners = np.sort(corners)
    sums = np.concatenate(([0], np.cumsum(corners)))
    below = np.searchsorted(corners, committed, "left")
    ramp: Int64s = below * committed - sums[below]
    return ramp


def translate(
    committed: Int64s,
    source: LogIndex | None,
    target: LogIndex,
    *,
    source_origin: int,
    young_since_ms: int,
    window_start: int = 0,
    target_log_start: int = 0,
    chosen: Int64s | None = None,
) -> Answers:
    """Translate the *committed* offsets of one partition from the source's log to the target's.

    *source* None means that nothing of the source is indexed: only its own records are then known to be read.
    *window_start* promises that every one of the commits has read the target below it; only what lies above is
    looked at, so the cost follows the window and not the age of the index. *chosen*, shape (commits,), are the answers
    of another strategy (negative: none), taken where they are not later than t(c).
    """
    if chosen is not None:
        window_start = min(window_start, int(chosen[chosen >= 0].min(initial=window_start)))
    pieces = cut_pieces(target.runs.from_offset(window_start), source, source_origin, young_since_ms)
    required = np.maximum.accumulate(pieces.last_needs) if len(pieces) else pieces.last_needs
    piece = first_unread(required, committed)
    at_frontier = piece == len(pieces)
    into = _into_piece(pieces, piece, committed)
    offset = np.append(pieces.start, max(target.frontier, window_start))[piece] + into
    read_below = np.concatenate(([0], np.cumsum(pieces.length)))[piece] + into
    is_too_late = np.zeros(len(committed), np.bool_) if chosen is None else chosen > offset
    is_t = np.ones_like(is_too_late) if chosen is None else (chosen < 0) | (chosen >= offset)
    if chosen is not None:
        # Below t(c) all is read, so below anything earlier too.
        read_below = np.where(is_t, read_below, pieces.records_below(chosen))
        offset = np.where(is_t, offset, chosen)

    gone = pieces.below(target_log_start)
    is_clamped = offset < target_log_start
    read_gone = count_read(gone, committed)
    duplicates = count_read(pieces, committed) - np.where(is_clamped, read_gone, read_below)
    lost = np.where(is_clamped, int(gone.length.sum()) - read_gone, 0)

    beyond_index = np.maximum(committed - (source.frontier if source is not None else 0), 0)
    unknown = _records(pieces, pieces.is_unknown)
    return Answers(
        offset=offset,
        clamped_offset=np.maximum(offset, target_log_start),
        at_frontier=at_frontier,
        index_behind=(beyond_index > 0) & (unknown > 0),
        duplicates=duplicates,
        duplicates_at_most=duplicates + _may_be_read(pieces, gone, beyond_index),
        lost=lost,
        is_t=is_t,
        is_too_late=is_too_late,
        has_young_hole=bool(pieces.is_young.any()),
    )


def _may_be_read(pieces: Pieces, gone: Pieces, beyond_index: Int64s) -> Int64s:
    """Return the greatest number of records of which nobody can tell whether they are read; *gone* are deleted.

    Every unknown record that the group has read stands at the source between its frontier and the commit
    (*beyond_index* places); the target may hold copies of it.
    """
    unknown = _records(pieces, pieces.is_unknown) - _records(gone, gone.is_unknown)
    malformed = _records(pieces, pieces.is_malformed) - _records(gone, gone.is_malformed)
    may_be_read = np.where(beyond_index > 0, np.minimum(beyond_index + pieces.unknown_copies, unknown), 0)
    total: Int64s = may_be_read + malformed
    return total


def needs_of_unindexed(source: LogIndex | None, target: LogIndex, *, source_origin: int, young_since_ms: int) -> int:
    """Return the commit from which on the target's log *below* its index can be taken as read.

    An index that began late (``index.starting: latest``) knows nothing of what stood there before. The mirror keeps
    the order per origin, so what lies before the first indexed record of an origin is read once that record's place
    at the source is reached. Errs to the large side, which withholds the answer.
    """
    pieces = cut_pieces(target.first_runs(), source, source_origin, young_since_ms)
    first = np.searchsorted(pieces.start, target.first_runs().start)
    return int(pieces.needs[first].max(initial=0)) if len(pieces) else int(NO_LIMIT)


def _into_piece(pieces: Pieces, piece: NDArray[np.intp], committed: Int64s) -> Int64s:
    """Return how far into its piece each answer lies: where a linear f reaches the commit, else at its start."""
    ramp_from = np.append(np.where(pieces.is_linear, pieces.needs, NO_LIMIT), NO_LIMIT)[piece]
    into: Int64s = np.maximum(committed - ramp_from, 0)
    return into


def _records(pieces: Pieces, chosen: NDArray[np.bool_]) -> int:
    return int(pieces.length[chosen].sum())
