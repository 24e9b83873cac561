"""Offsets that are kept elsewhere than in a group, as in savepoints and checkpoints, and the answers to them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from offset_sync.model.values import ABSENT, TopicPartition
from offset_sync.translate.given_offsets import GivenOffsets
from offset_sync.translate.index.runs import Int64s
from offset_sync.translate.partition import IS_WITHHELD, Translations

_AT_ONCE = 1 << 20
"""So many offsets of a partition are answered in one go: memory follows this number."""
_PARTITIONS = 1 << 31
"""Kafka's partitions are numbered below this."""


@dataclass(frozen=True)
class KeptOffsets:
    """Offsets at the source, each the next to read; all arrays have shape (offsets,).

    *topic* holds places in *topics*. *taken_at_ms* (since the epoch) says that an offset was read off the log then or
    later, *leader_epoch* is that of the last record read; both are ``ABSENT`` where nobody knows.
    """

    topics: Sequence[str]
    topic: Int64s
    partition: Int64s
    offset: Int64s
    taken_at_ms: Int64s
    leader_epoch: Int64s

    def __len__(self) -> int:
        """Return how many offsets there are."""
        return len(self.offset)

    def by_partition(self) -> Iterator[tuple[TopicPartition, NDArray[np.intp]]]:
        """Return each partition with the rows of its offsets, about a million at a time."""
        place = self.topic * _PARTITIONS + self.partition
        order = np.argsort(place, kind="stable")
        borders = np.flatnonzero(np.diff(place[order])) + 1
        for rows in np.split(order, borders) if len(order) else ():
            topic, partition = divmod(int(place[rows[0]]), _PARTITIONS)
            for first in range(0, len(rows), _AT_ONCE):
                yield TopicPartition(self.topics[topic], partition), rows[first : first + _AT_ONCE]

    def given(self, rows: NDArray[np.intp]) -> GivenOffsets:
        """Return those of *rows* as they are translated."""
        return GivenOffsets(self.offset[rows], self.taken_at_ms[rows], self.leader_epoch[rows], [None] * len(rows))


class KeptAnswers:
    """One answer per offset, in the order given; all arrays have shape (offsets,).

    *target_offset* is where to go on at the target, ``ABSENT`` where there is no answer, *state* a code of
    :class:`State`. *duplicates*, *duplicates_at_most* and *lost* count records, as in ``offset_translations``.
    *reason* is a place in *reasons*, sentences for people with the remedy, ``ABSENT`` where there is an answer.
    """

    def __init__(self, count: int) -> None:
        self.target_offset: Int64s = np.full(count, ABSENT, np.int64)
        self.state = np.zeros(count, np.intp)
        self.duplicates, self.duplicates_at_most, self.lost = np.zeros((3, count), np.int64)
        self.reason = np.full(count, ABSENT, np.intp)
        self.reasons: list[str] = []

    @property
    def is_withheld(self) -> NDArray[np.bool_]:
        """Where there is no answer."""
        return IS_WITHHELD[self.state]

    def put(self, rows: NDArray[np.intp], found: Translations) -> None:
        """Take in the answers to *rows*."""
        self.target_offset[rows], self.state[rows], self.lost[rows] = found.wanted, found.state, found.lost
        self.duplicates[rows], self.duplicates_at_most[rows] = found.duplicates, found.duplicates_at_most

    def explain(self, rows: NDArray[np.intp], reason: str) -> None:
        """Say why *rows* have no answer."""
        self.reason[rows] = len(self.reasons)
        self.reasons.append(reason)
