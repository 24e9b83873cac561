"""Write down what is about to be committed: a cluster's log may bring it before its answer is heard.

A batch takes a second per few thousand groups, and its first records are read back long before its last answer. Such a
record would pass for a genuine one, and its cluster for the owner.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np

from offset_sync.model.values import OffsetWrite, Outcome, WriteOutcome
from offset_sync.state.own_writes import Intent
from offset_sync.state.sync_state import SyncState
from offset_sync.sync.reconciliation import OffsetWriter

_MAY_STAND = (Outcome.COMMITTED, Outcome.FAILED)
"""Outcomes of writes that have reached the cluster, or may have."""


class IntentFiles(Protocol):
    """What outlives this process, see :class:`offset_sync.sync.intent_log.IntentLog`."""

    def append(self, intents: Sequence[Intent]) -> list[Intent]:
        """Write down what is about to be sent; return what was not there yet."""

    def remove(self, intents: Iterable[Intent]) -> None:
        """Drop what is not needed any more."""


class WriteAheadWriter:
    """Commits at *target* with *writer*, after *state* and *intents* have been told what."""

    def __init__(self, target: str, state: SyncState, writer: OffsetWriter, intents: IntentFiles) -> None:
        self._target = target
        self._state = state
        self._writer = writer
        self._intents = intents

    def write(self, writes: Sequence[OffsetWrite]) -> Sequence[WriteOutcome]:
        """Return one outcome per write, in order."""
        own_writes = self._state.offsets.clusters[self._target].own_writes
        intents = [_to_intent(self._target, write) for write in writes]
        offset = np.array([each.offset for each in intents], np.int64)
        added = set(self._intents.append(intents))
        with self._state.lock:
            key = self._state.offsets.ids([each.key for each in intents])
            self._state.offsets.clusters[self._target].begin(key, offset, self._state.now_ms())
        outcomes = self._writer.write(writes)
        found = [each.outcome for each in outcomes]
        is_unwritten = np.array([outcome not in _MAY_STAND for outcome in found], np.bool_)
        is_unknown = np.array([outcome == Outcome.FAILED for outcome in found], np.bool_)
        with self._state.lock:
            own_writes.abort(key[is_unwritten], offset[is_unwritten])
            own_writes.mark_unknown(key[is_unknown], offset[is_unknown])
        # What an earlier batch has added stays: it may have written the value that this one found there.
        self._intents.remove(added.intersection(intents[row] for row in np.flatnonzero(is_unwritten).tolist()))
        return outcomes


def _to_intent(target: str, write: OffsetWrite) -> Intent:
    return Intent(target, write.group_id, write.topic, write.partition, write.offset)
