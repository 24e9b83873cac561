"""The last answers from one source to one target, per key: what need not be computed or written again.

Also a source's last metadata of its logs, for when it is unreachable: only the source knows where its logs end. It
holds for every target alike, also for one that hung, or did not exist yet, at that time. A driver that has not reached
the source uses the answers of the driver before. Such an answer is out of date once all that the source's log held a
minute later, as clocks differ, is indexed: the indexer has checked the log's incarnation by then, and a commit above
the log end is an offset like any other once the log has grown so far::

    12:00  a commit to 12, the log ends at 10: withheld
    12:30  all up to 14 is indexed: 12 is an offset like any other, also when the source is lost by then
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from offset_sync.model.values import ABSENT, CLOCKS_APART_MS, Outcome, State, TopicPartition
from offset_sync.translate.index.columns import ColumnStore
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.runs import Int64s
from offset_sync.translate.partition import Translations
from offset_sync.translate.partition_log import PartitionMetadata, reason_of

OF_OURS = np.iinfo(np.int64).max
"""*restored_ms* of an answer that this driver has given itself."""
_OF_THE_LOG = (State.LOG_TRUNCATED, State.TOPIC_RECREATED)
_OF_THE_SOURCE = (*_OF_THE_LOG, State.COMMIT_BEYOND_END)


def against_the_log(said: PartitionMetadata) -> State | None:
    """Return why a source's metadata withholds every commit of a log for good, None where it does not."""
    reason = reason_of(said)
    return reason if reason in _OF_THE_LOG else None


class SourceMemory:
    """Memory of one source; *pairs* are the last answers to its targets, with a row per key. Guarded by their lock."""

    def __init__(self) -> None:
        self.pairs: list[ColumnStore] = []
        self._said: dict[TopicPartition, State | None] = {}

    def note(
        self, partition: TopicPartition, said: PartitionMetadata, pair: ColumnStore, key: NDArray[np.intp]
    ) -> None:
        """Note what the source has *said*, before *key* is answered in a *pair*.

        When the reason for the whole log changes, the answers count as new, even if a group's own stays the same: the
        next driver has to know of it, and since when.
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
        """Return the codes of the reasons that still hold for *commits* (key and offset), ABSENT for none.

        The same commit stays withheld, and every commit of a log that was truncated or recreated. *keys* are all of
        the partition, *log* is its index at the source.
        """
        (key, offset), reason = commits, self._of_the_log(partition, keys, log)
        if reason is not None:
            return np.full(len(key), reason, np.intp)
        reasons = np.full(len(key), ABSENT, np.intp)
        for pair in self._fitting(keys, key):
            state = np.where(pair["source_offset"][key] == offset, _valid_states(pair, key, log), ABSENT)
            reasons = np.where(np.isin(state, _OF_THE_SOURCE), state, reasons)
        return reasons

    def reasons_for_given(
        self, partition: TopicPartition, keys: NDArray[np.intp], offset: Int64s, log: LogIndex | None
    ) -> NDArray[np.intp]:
        """Return the same for offsets that no group has committed.

        Where a group's commit was above the log end, so is any that is not lower. Errs to withholding.
        """
        reason = self._of_the_log(partition, keys, log)
        if reason is not None:
            return np.full(len(offset), reason, np.intp)
        is_beyond = np.zeros(len(offset), np.bool_)
        for pair in self._fitting(keys):
            beyond = pair["source_offset"][keys][_valid_states(pair, keys, log) == State.COMMIT_BEYOND_END]
            is_beyond |= offset >= beyond.min(initial=OF_OURS)
        return np.where(is_beyond, int(State.COMMIT_BEYOND_END), ABSENT)

    def _of_the_log(self, partition: TopicPartition, keys: NDArray[np.intp], log: LogIndex | None) -> State | None:
        """Return the source's last reason for a whole log."""
        if partition in self._said:
            return self._said[partition]
        # It may be the reason of one commit of a former incarnation; only the source's own metadata could tell.
        for pair in self._fitting(keys):
            state = _valid_states(pair, keys, log)
            if (is_whole := np.isin(state, _OF_THE_LOG)).any():
                return State(state[is_whole][0])
        return None

    def _fitting(self, *rows: NDArray[np.intp]) -> list[ColumnStore]:
        """Return the pairs, with room for all *rows*."""
        most = max(int(each.max(initial=-1)) for each in rows) + 1
        for pair in self.pairs:
            pair.fit(most)
        return self.pairs


def _valid_states(pair: ColumnStore, key: NDArray[np.intp], log: LogIndex | None) -> NDArray[np.intp]:
    """Return the states of *key*, ABSENT where that of the driver before is out of date."""
    state, complete_ms = pair["state"][key], log.complete_until_ms if log is not None else 0
    is_later = complete_ms - CLOCKS_APART_MS > pair["restored_ms"][key]
    reached = log.frontier if log is not None else 0
    is_over = is_later & ((state != State.COMMIT_BEYOND_END) | (pair["source_offset"][key] <= reached))
    return np.where(is_over, ABSENT, state)


IS_HELD = np.array([outcome in (Outcome.COMMITTED, Outcome.UNCHANGED) for outcome in Outcome])
"""True for outcomes after which the target holds the wanted offset."""
_EXACT = int(State.EXACT)
_WAITS_FOR_INDEX = np.array(
    [*(state in (State.AT_FRONTIER, State.INDEX_BEHIND, State.NOT_INDEXED) for state in State), False]
)
"""By code of a state, and False for ABSENT."""


class Outlook(NamedTuple):
    """What the answers of a partition depend on beside its commits: when any of it changes, others may be due.

    *topic_ids* are those at source and target, *log_start* and *cut_at* are the target's. *revision* changes when a
    record came late at the source, or a log was rebuilt.
    """

    reason: State | None
    topic_ids: tuple[str | None, str | None]
    log_start: int
    revision: int
    cut_at: int | None = None

    @classmethod
    def of_source(cls, said: PartitionMetadata | None) -> Outlook | None:
        """Return what makes answers due though the target is unreachable: the source's log was truncated or recreated.

        The source may be gone when the target answers again, so this has to be noted now. None otherwise.
        """
        reason = against_the_log(said) if said is not None else None
        return None if said is None or reason is None else cls(reason, (said.topic_id, None), 0, ABSENT)


class LastTranslations:
    """Last answers from one *source* to one target; *outlooks* are what they depended on in the last regular pass.

    The column *restored_ms* says when a former driver gave an answer that this one has not given again, in ms;
    *is_crossing* that copies of records the group has read are in flight to the target; *listed* are the records on its
    read list, *members* and *contest* clusters, as :func:`clusters_text` reads them.
    """

    def __init__(self, source: SourceMemory | None = None) -> None:
        self.source = source or SourceMemory()
        self.outlooks: dict[TopicPartition, Outlook] = {}
        self.columns = ColumnStore(
            {
                "source_offset": ABSENT,
                "source_at_ms": ABSENT,
                "wanted": ABSENT,
                "state": ABSENT,
                "outcome": ABSENT,
                "duplicates": ABSENT,
                "duplicates_at_most": ABSENT,
                "lost": ABSENT,
                "may_move": True,
                "known_commit": ABSENT,
                "known_offset": 0,
                "known_revision": ABSENT,
                "restored_ms": OF_OURS,
                "is_crossing": False,
                "listed": 0,
                "members": ABSENT,
                "contest": 0,
            }
        )
        self.source.pairs.append(self.columns)

    def window_start(self, keys_of_partition: NDArray[np.intp], lowest_commit: int, revision: int) -> int:
        """Return a target offset below which all is read for every commit from *lowest_commit* on.

        Any earlier answer of the partition to a commit that was not higher is one, as long as nothing arrived at the
        source below an origin offset already seen (*revision*, see ``LogIndex.reorder_count``).
        """
        column = self.columns
        commit = column["known_commit"][keys_of_partition]
        is_bound = (commit >= 0) & (commit <= lowest_commit)
        is_bound &= column["known_revision"][keys_of_partition] == revision
        return int(column["known_offset"][keys_of_partition][is_bound].max(initial=0))

    def is_settled(self, key: NDArray[np.intp], source_offset: Int64s, source_at_ms: Int64s) -> NDArray[np.bool_]:
        """Return which keys have an answer that nothing can change but a new commit or a change at the target."""
        column = self.columns
        is_settled: NDArray[np.bool_] = (
            self.is_answered(key, source_offset, source_at_ms)
            & (column["state"][key] == _EXACT)
            & ~column["may_move"][key]
        )
        return is_settled

    def is_answered(self, key: NDArray[np.intp], source_offset: Int64s, source_at_ms: Int64s) -> NDArray[np.bool_]:
        """Return for which keys this very commit was answered, and the target holds the answer as far as we know."""
        column = self.columns
        is_same = (column["source_offset"][key] == source_offset) & (column["source_at_ms"][key] == source_at_ms)
        found: NDArray[np.bool_] = is_same & IS_HELD[column["outcome"][key]]
        return found

    def unsettle(self, key: NDArray[np.intp]) -> None:
        """Have the answers of *key* computed again."""
        self.columns["may_move"][key] = True

    def is_waiting(self, key: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Return which keys may have another answer, or more to list, as soon as the index knows more."""
        column = self.columns
        is_waiting: NDArray[np.bool_] = _WAITS_FOR_INDEX[column["state"][key]] | column["is_crossing"][key]
        return is_waiting

    def note(
        self,
        key: NDArray[np.intp],
        source_offset: Int64s,
        source_at_ms: Int64s,
        answers: Translations,
        outcome: NDArray[np.intp],
        **shown: Int64s,
    ) -> NDArray[np.bool_]:
        """Remember the answers and outcomes, and what else is *shown*; return which are news, as every write is."""
        column = self.columns
        fresh: dict[str, NDArray[Any]] = {
            "source_offset": source_offset,
            "source_at_ms": source_at_ms,
            "wanted": answers.wanted,
            "state": answers.state,
            "duplicates": answers.duplicates,
            "duplicates_at_most": answers.duplicates_at_most,
            "lost": answers.lost,
            **shown,
        }
        before = column["outcome"][key]
        is_same: NDArray[np.bool_] = (before >= 0) & ((before == outcome) | (IS_HELD[before] & (outcome == _UNCHANGED)))
        is_same &= outcome != _COMMITTED
        for name, values in fresh.items():
            known = column[name]
            is_same &= known[key] == values
            known[key] = values
        column["outcome"][key] = outcome
        column["may_move"][key] = answers.may_move
        column["restored_ms"][key] = OF_OURS
        return ~is_same

    def note_gone(self, key: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Note that the source is not the home of *key* any more, or has no commit; return for which it is news."""
        outcome = self.columns["outcome"][key]
        is_news: NDArray[np.bool_] = (outcome != ABSENT) & (outcome != _GONE)
        self.columns["outcome"][key[is_news]] = _GONE
        return is_news

    def tell_again(self, key: NDArray[np.intp]) -> None:
        """Have :meth:`note_gone` return *key* once more: another has recorded an answer since."""
        outcome = self.columns["outcome"]
        outcome[key[outcome[key] == _GONE]] = _WITHHELD

    def note_window(self, key: NDArray[np.intp], committed: Int64s, offset: Int64s, revision: int) -> None:
        """Remember unclamped answers as bounds for later windows."""
        column = self.columns
        answered = offset >= 0
        column["known_commit"][key[answered]] = committed[answered]
        column["known_offset"][key[answered]] = offset[answered]
        column["known_revision"][key[answered]] = revision


_UNCHANGED, _COMMITTED, _WITHHELD, _GONE = (
    int(each) for each in (Outcome.UNCHANGED, Outcome.COMMITTED, Outcome.WITHHELD, Outcome.GONE)
)
