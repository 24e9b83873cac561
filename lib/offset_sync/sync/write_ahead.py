"""Tell of a write before it is sent: a cluster's log may bring it before its answer is heard, or to the next driver.

A wave takes a second per few thousand groups, and its first records are read back long before its last answer. A
record with the source's metadata instead of our tag would pass for a genuine one, and its cluster for the owner.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np

from offset_sync.model.values import OffsetWrite, Outcome, WriteOutcome
from offset_sync.state.committed_offsets import OWN_TAG, CommittedOffsets
from offset_sync.state.own_writes import Intent
from offset_sync.sync.reconciler import CommitWrites

_MAY_STAND = (Outcome.COMMITTED, Outcome.FAILED)
"""Outcomes of writes that have reached the cluster, or may have."""


class IntentLog(Protocol):
    """What outlives this process, as ``spark.intents.Intents`` offers it."""

    def append(self, intents: Sequence[Intent]) -> list[Intent]:
        """Write down what is about to be sent; return what was not there yet."""

    def remove(self, intents: Iterable[Intent]) -> None:
        """Drop what is not needed any more."""


class WriteAheadWriter:
    """Commits with *commit*; *lock* guards the book."""

    def __init__(self, book: CommittedOffsets, lock: threading.RLock, commit: CommitWrites, intents: IntentLog) -> None:
        self._book = book
        self._lock = lock
        self._commit = commit
        self._intents = intents

    def __call__(self, target: str, writes: Sequence[OffsetWrite]) -> Sequence[WriteOutcome]:
        """Return one outcome per write, in order."""
        untagged = [row for row, write in enumerate(writes) if write.metadata != OWN_TAG]
        intents = [_to_intent(target, writes[row]) for row in untagged]
        own_writes, offset = (
            self._book.clusters[target].own_writes,
            np.array([each.offset for each in intents], np.int64),
        )
        noted = set(self._intents.append(intents))
        with self._lock:
            key = self._book.ids([(each.group_id, each.topic, each.partition) for each in intents])
            own_writes.begin(key, offset)
        outcomes = self._commit(target, writes)
        found = [outcomes[row].outcome for row in untagged]
        is_unwritten = np.array([outcome not in _MAY_STAND for outcome in found], np.bool_)
        is_open = np.array([outcome == Outcome.FAILED for outcome in found], np.bool_)
        with self._lock:
            own_writes.abort(key[is_unwritten], offset[is_unwritten])
            own_writes.mark_unknown(key[is_open], offset[is_open])
        # What an earlier wave has noted stays: it may have written the value that this one found there.
        self._intents.remove(noted.intersection(intents[row] for row in np.flatnonzero(is_unwritten).tolist()))
        return outcomes


def _to_intent(target: str, write: OffsetWrite) -> Intent:
    return Intent(target, write.group_id, write.topic, write.partition, write.offset)
