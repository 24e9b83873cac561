"""What a source has said of its logs, kept for when it cannot be asked: where its logs ended nobody else tells.

It holds for every target alike, also for one that hung, or was not there yet, when the source said so. A driver that
has not heard the source itself goes by what the driver before it has answered. Such an answer is out of date once all
that stood in the source's log a minute later, for clocks differ, is indexed: whoever did that has asked which life the
log is in, and a commit that lay above its end is no longer there if the log has come so far::

    12:00  a commit to 12, the log ends at 10: withheld
    12:30  all up to 14 is indexed: 12 is an offset like any other, also when the source is lost by then
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from offset_sync.model.values import ABSENT, CLOCKS_APART_MS, State, TopicPartition
from offset_sync.state.column_store import ColumnStore
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.runs import Int64s
from offset_sync.translate.partition_log import PartitionMetadata, reason_of

OF_OURS = np.iinfo(np.int64).max
"""When an answer was restored that this driver has given itself: never."""
_OF_THE_LOG = (State.LOG_TRUNCATED, State.TOPIC_RECREATED)
_OF_THE_SOURCE = (*_OF_THE_LOG, State.COMMIT_BEYOND_END)


def against_the_log(said: PartitionMetadata) -> State | None:
    """Return why what a source has *said* withholds every commit of a log for good, None where it does not."""
    reason = reason_of(said)
    return reason if reason in _OF_THE_LOG else None


class SourceMemory:
    """One source's; *pairs* are the last answers to each of its targets, with a row per key. Guarded by their lock."""

    def __init__(self) -> None:
        self.pairs: list[ColumnStore] = []
        self._said: dict[TopicPartition, State | None] = {}

    def note(
        self, partition: TopicPartition, said: PartitionMetadata, pair: ColumnStore, key: NDArray[np.intp]
    ) -> None:
        """Note what the source has *said*, before *key* is answered in a *pair*.

        Where it says of the whole log what it did not say before, the answers count as new, though a group's own may
        have been the same for long: the next driver has to know of it, and since when.
        """
        reason = against_the_log(said)
        if reason is not None and self._said.get(partition) != reason:
            pair["state"][key] = ABSENT
        self._said[partition] = reason

    def reasons(
        self,
        partition: TopicPartition,
        keys: NDArray[np.intp],
        commits: tuple[NDArray[np.intp], Int64s],
        log: LogIndex | None,
    ) -> NDArray[np.intp]:
        """Return the codes of the reasons that go on holding for *commits* (key and offset), ABSENT for none.

        The same commit stays withheld, and of a log that was cut or made anew every one. *keys* are all of the
        partition, *log* is what is indexed of it at the source.
        """
        (key, offset), reason = commits, self._of_the_log(partition, keys, log)
        if reason is not None:
            return np.full(len(key), reason, np.intp)
        reasons = np.full(len(key), ABSENT, np.intp)
        for pair in self._fitting(keys, key):
            state = np.where(pair["source_offset"][key] == offset, _standing(pair, key, log), ABSENT)
            reasons = np.where(np.isin(state, _OF_THE_SOURCE), state, reasons)
        return reasons

    def reasons_for_given(
        self, partition: TopicPartition, keys: NDArray[np.intp], offset: Int64s, log: LogIndex | None
    ) -> NDArray[np.intp]:
        """Return the same for offsets that no group has committed.

        Where a group's commit was above the end, so is any that is not lower. Errs to withholding.
        """
        reason = self._of_the_log(partition, keys, log)
        if reason is not None:
            return np.full(len(offset), reason, np.intp)
        is_beyond = np.zeros(len(offset), np.bool_)
        for pair in self._fitting(keys):
            beyond = pair["source_offset"][keys][_standing(pair, keys, log) == State.COMMIT_BEYOND_END]
            is_beyond |= offset >= beyond.min(initial=OF_OURS)
        return np.where(is_beyond, int(State.COMMIT_BEYOND_END), ABSENT)

    def _of_the_log(self, partition: TopicPartition, keys: NDArray[np.intp], log: LogIndex | None) -> State | None:
        """Return what the source said last of a whole log."""
        if partition in self._said:
            return self._said[partition]
        # One commit may be of a former life of a log in which all others stand: only who has asked can tell.
        for pair in self._fitting(keys):
            state = _standing(pair, keys, log)
            if (is_whole := np.isin(state, _OF_THE_LOG)).any():
                return State(state[is_whole][0])
        return None

    def _fitting(self, *rows: NDArray[np.intp]) -> list[ColumnStore]:
        """Return the pairs, with room for all *rows*."""
        most = max(int(each.max(initial=-1)) for each in rows) + 1
        for pair in self.pairs:
            pair.fit(most)
        return self.pairs


def _standing(pair: ColumnStore, key: NDArray[np.intp], log: LogIndex | None) -> NDArray[np.intp]:
    """Return the states of *key*, ABSENT where what the driver before has seen of the source is out of date."""
    state, complete_ms = pair["state"][key], log.complete_until_ms if log is not None else 0
    is_later = complete_ms - CLOCKS_APART_MS > pair["restored_ms"][key]
    reached = log.frontier if log is not None else 0
    is_over = is_later & ((state != State.COMMIT_BEYOND_END) | (pair["source_offset"][key] <= reached))
    return np.where(is_over, ABSENT, state)
