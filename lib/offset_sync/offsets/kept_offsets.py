"""Offsets that no group has committed, as in savepoints and checkpoints, translated and withheld like commits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone

import numpy as np
from numpy.typing import NDArray

from offset_sync.config import Config
from offset_sync.model.errors import ClusterError
from offset_sync.model.reasons import Reason
from offset_sync.model.values import ABSENT, CLOCKS_APART_MS, ClusterPartition, State, TopicPartition
from offset_sync.state.cluster_metadata import Snapshot
from offset_sync.state.cluster_queries import ClusterQueries
from offset_sync.state.sync_state import SyncState, known_end
from offset_sync.state.translator import Pair, Translator
from offset_sync.translate.index.origin_positions import NO_LIMIT
from offset_sync.translate.index.runs import Int64s
from offset_sync.translate.partition import IS_WITHHELD, Translations, withhold, withhold_some
from offset_sync.translate.partition_log import GivenOffsets, reason_of, reason_of_target

_OF_A_LOG = (State.TOPIC_MISSING, State.TOPIC_UNAUTHORIZED, State.TOPIC_RECREATED, State.LOG_TRUNCATED)


@dataclass(frozen=True)
class KeptOffsets:
    """Offsets at the source, each the next to read; all arrays have shape (offsets,).

    *topics* has as many names. All offsets were taken from the log at *taken_at_ms* (since the epoch) or later,
    ``ABSENT`` if that is unknown.
    """

    topics: Sequence[str]
    partition: Int64s
    offset: Int64s
    taken_at_ms: int = ABSENT

    def by_partition(self) -> dict[TopicPartition, NDArray[np.intp]]:
        """Return the rows of the offsets of each partition."""
        rows: dict[TopicPartition, list[int]] = {}
        for row, place in enumerate(map(TopicPartition, self.topics, self.partition.tolist())):
            rows.setdefault(place, []).append(row)
        return {place: np.array(each, np.intp) for place, each in rows.items()}

    def given(self, rows: NDArray[np.intp]) -> GivenOffsets:
        """Return *rows* in the form that is translated."""
        at_ms, no_epoch = (np.full(len(rows), each, np.int64) for each in (self.taken_at_ms, ABSENT))
        return GivenOffsets(self.offset[rows], at_ms, no_epoch, [None] * len(rows))


class KeptAnswers:
    """One answer per offset, in the order given; all arrays have shape (offsets,).

    *target_offset* is where to continue at the target, ``ABSENT`` without an answer, *state* a code of
    :class:`State`. *duplicates*, *duplicates_at_most* and *lost* count records, as in ``offset_translations``.
    *reason* is a sentence for people with the remedy, None with an answer.
    """

    def __init__(self, count: int) -> None:
        self.target_offset: Int64s = np.full(count, ABSENT, np.int64)
        self.state = np.zeros(count, np.intp)
        self.duplicates, self.duplicates_at_most, self.lost = np.zeros((3, count), np.int64)
        self.reason = np.full(count, None, np.object_)

    @property
    def is_withheld(self) -> NDArray[np.bool_]:
        """Where there is no answer."""
        return IS_WITHHELD[self.state]

    def put(self, rows: NDArray[np.intp], found: Translations) -> None:
        """Store the answers to *rows*."""
        self.target_offset[rows], self.state[rows], self.lost[rows] = found.wanted, found.state, found.lost
        self.duplicates[rows], self.duplicates_at_most[rows] = found.duplicates, found.duplicates_at_most


class OffsetTranslation:
    """Translates offsets by *state* and *clusters*.

    No group is involved, so nothing is owned, written or recorded. Everything below a given offset is taken to be read.
    If the source's log is known to have a new incarnation since the tables exist, offsets not known to be younger are
    withheld. An incarnation that began before the tables, or one of a source that is not asked and that no job has
    noticed, goes undetected.
    """

    def __init__(self, config: Config, state: SyncState, clusters: ClusterQueries) -> None:
        self._config, self._state, self._clusters = config, state, clusters
        self._translator = Translator(config, state)

    def translate(self, pair: tuple[str, str], offsets: KeptOffsets, *, is_source_lost: bool = False) -> KeptAnswers:
        """Return one answer per offset from source to target.

        *is_source_lost*: the source need not answer; then the tables count. Else everything is withheld while it is
        silent. Errs to earlier answers and to withholding.
        """
        answers, rows_of = KeptAnswers(len(offsets.offset)), offsets.by_partition()
        snapshot = self._ask(pair, rows_of)
        for partition, rows in rows_of.items():
            given = offsets.given(rows)
            found = self._withheld(pair, partition, len(rows), snapshot, is_source_lost=is_source_lost)
            if found is None:
                found = self._answers(pair, partition, given, snapshot)
            answers.put(rows, found)
            for code in np.unique(found.state[IS_WITHHELD[found.state]]).tolist():
                of_state = found.state == code
                facts = self._facts(pair, partition, State(code), given.offset[of_state], snapshot)
                answers.reason[rows[of_state]] = "; ".join([Reason[State(code).name](), *facts])
        return answers

    def _answers(
        self, direction: tuple[str, str], partition: TopicPartition, given: GivenOffsets, snapshot: Snapshot
    ) -> Translations:
        """Return one answer per offset of *partition* that is *given*.

        For a silent source its last known state counts. An offset above the last known end of its log is withheld,
        unless it was taken after the index was last complete.
        """
        state = self._state
        pair = Pair(state.last(*direction), *direction, snapshot, state.now_ms())
        asked = self._translator.ask_given(pair, partition, given)
        self._translator.compute(asked)
        with state.lock:
            answers, (question,) = self._translator.answers(asked), asked.questions
            if question.withheld is None and question.is_silent:
                state.keys.fit()
                keys, log = state.keys.keys_in(partition), state.index.log(pair.source, *partition)
                answers = withhold_some(answers, self._beyond_all_known(pair.source, partition, given))
                reasons = pair.last.source.reasons_for_given(partition, keys, given.offset, log)
                answers = withhold_some(answers, reasons)
            return answers

    def _beyond_all_known(self, source: str, partition: TopicPartition, given: GivenOffsets) -> NDArray[np.intp]:
        log = self._state.index.log(source, *partition)
        complete_ms = log.complete_until_ms if log is not None else 0
        # Allow for a clock that is ahead. Without a time at which the index was complete nothing is proved.
        may_be_newer = (complete_ms > 0) & (given.at_ms > complete_ms + CLOCKS_APART_MS)
        # No log is that long; from there on unread records would count as read.
        is_impossible = given.offset >= NO_LIMIT
        end = known_end(self._state.index, self._config.clusters, ClusterPartition(source, *partition))
        return np.where(is_impossible | ((given.offset > end) & ~may_be_newer), int(State.COMMIT_BEYOND_END), ABSENT)

    def _facts(
        self, pair: tuple[str, str], partition: TopicPartition, state: State, offset: Int64s, snapshot: Snapshot
    ) -> Iterator[str]:
        """Yield the cluster for which all of *offset* are withheld as *state*, or what helps to choose another one."""
        (source, target), index, log = pair, self._state.index, ClusterPartition(pair[0], *partition)
        views = {alias: self._translator.view(alias, partition, snapshot) for alias in (target, source)}
        if state is State.CLUSTER_UNREACHABLE:
            alias = next((alias for alias, view in views.items() if view is None), source)
            error = snapshot.metadata[alias]
            yield str(error) if isinstance(error, ClusterError) else alias
            if alias == source and isinstance(error, ClusterError):
                yield Reason.LOST_FOR_GOOD(source)
        elif state in _OF_A_LOG:
            for alias, rule in ((source, reason_of), (target, reason_of_target)):
                view, said = views[alias], snapshot.metadata[alias]
                if view is not None and rule(view) is state and not isinstance(said, ClusterError):
                    yield str(said.refused.get(partition.topic, alias))
                    return
            highest = int(offset.max(initial=0))
            noticed_ms = [each.noticed_ms for each in index.incarnations(log) if each.begins_at < highest]
            yield Reason.TAKEN_AT(_after(max(noticed_ms))) if noticed_ms else source
        elif state is State.COMMIT_BEYOND_END:
            view, end = views[source], known_end(index, self._config.clusters, log)
            if view is not None:
                yield Reason.ENDS_AT(source, view.log_end)
            elif offset.min() <= end:
                yield Reason.ENDED_BELOW()
            else:
                yield Reason.KNOWN_TO(source, end)
                known = index.log(source, *partition)
                if known is not None and known.complete_until_ms:
                    yield Reason.TAKEN_AT(_after(known.complete_until_ms))

    def _ask(self, pair: tuple[str, str], partitions: Iterable[TopicPartition]) -> Snapshot:
        self._state.index.refresh()
        return self._clusters.snapshot(
            pair, {each for each in partitions if self._config.is_topic_included(each.topic)}
        )

    def _withheld(
        self, pair: tuple[str, str], partition: TopicPartition, count: int, snapshot: Snapshot, *, is_source_lost: bool
    ) -> Translations | None:
        """Return *count* withheld rows for a partition that cannot have a commit; None if it can."""
        if not self._config.is_topic_included(partition.topic):
            return withhold(State.TOPIC_NOT_INCLUDED, count)
        said = snapshot.metadata[pair[0]]
        if isinstance(said, ClusterError):
            return None if is_source_lost else withhold(State.CLUSTER_UNREACHABLE, count)
        topic = said.topics.get(partition.topic)
        if topic is not None and partition.partition >= topic.partitions:
            return withhold(State.PARTITION_MISSING, count)
        if self._translator.view(pair[0], partition, snapshot) is None:
            return withhold(State.CLUSTER_UNREACHABLE, count)
        return None


def _after(at_ms: int) -> str:
    """Return a time that is certainly after *at_ms*, as clocks differ, in the format of ``--taken-at``."""
    seconds = -(-(at_ms + CLOCKS_APART_MS + 1) // 1000)
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="seconds").replace("+00:00", "Z")
