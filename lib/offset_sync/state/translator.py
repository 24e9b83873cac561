"""From the owner's commits to answers at one target: every partition with what is known of it on both sides."""

from __future__ import annotations

import logging
from collections.abc import Collection, Set
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from offset_sync.config import Config
from offset_sync.config.duration import to_ms
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import ABSENT, CLOCKS_APART_MS, ClusterPartition, State, TopicPartition
from offset_sync.state.last_translations import LastTranslations, Outlook
from offset_sync.state.snapshot import Commits, Snapshot, frontier, known_end
from offset_sync.state.sync_state import SyncState
from offset_sync.translate.exact import Bounds
from offset_sync.translate.given_offsets import GivenOffsets, of_former_lives, of_lost_records
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.origin_positions import NO_LIMIT
from offset_sync.translate.partition import Translations, concatenate, translate_partition, withhold, withhold_some
from offset_sync.translate.partition_log import PartitionLog, PartitionMetadata, last_known, reason_to_withhold
from offset_sync.translate.strategies import Strategy

logger = logging.getLogger(__name__)


class _Pair(NamedTuple):
    """What all partitions of one translation share."""

    last: LastTranslations
    source: str
    target: str
    snapshot: Snapshot
    now_ms: int


class Translator:
    """Translates commits by what *state* knows."""

    def __init__(self, config: Config, state: SyncState) -> None:
        self._config = config
        self._state = state
        self._index = state.index
        self._problems: dict[str, str] = {}
        self._origins = frozenset(self._index.code(alias) for alias in config.clusters)
        self._grace_ms = to_ms(config.sync.hole_grace)

    def translate(
        self, last: LastTranslations, source: str, target: str, commits: Commits, snapshot: Snapshot, now_ms: int
    ) -> Translations:
        """Return one answer per commit; *last* remembers what the next ones need not look at again.

        What goes wrong with one partition is that partition's: it is withheld, and the log says why.
        """
        pair = _Pair(last, source, target, snapshot, now_ms)
        parts = []
        for partition, rows in self._state.keys.slices(commits.key):
            key, committed = commits.key[rows], commits.offset[rows]
            try:
                parts.append(self._translate_partition(pair, partition, Commits(key, committed, commits.at_ms[rows])))
            except Exception as problem:
                self._log_once(f"{source} to {target}: {partition.topic}-{partition.partition}", problem)
                parts.append(withhold(State.TRANSLATION_FAILED, len(key)))
        return concatenate(parts)

    def _log_once(self, what: str, problem: Exception) -> None:
        """Log *problem* with its stack trace; not again in each micro-batch while it stays the same."""
        if self._problems.get(what) != repr(problem):
            self._problems[what] = repr(problem)
            logger.error("%s cannot be translated", what, exc_info=problem)

    def _translate_partition(self, pair: _Pair, partition: TopicPartition, commits: Commits) -> Translations:
        key, committed = commits.key, commits.offset
        log = self._index.log(pair.source, *partition)
        keys = self._state.keys.keys_in(partition)
        window_start = pair.last.window_start(keys, int(committed.min()), self._revision(log, partition))
        answers = self._answer(pair, partition, self._given(pair.source, commits), window_start)
        if answers is None:
            return withhold(State.CLUSTER_UNREACHABLE, len(key))
        if self.view(pair.source, partition, pair.snapshot) is None:
            answers = withhold_some(answers, pair.last.reasons_while_silent(partition, key, committed))
        # Asked again: translating may have met an origin of which some record had come late.
        pair.last.note_window(key, committed, answers.offset, self._revision(log, partition))
        return answers

    def _given(self, source: str, commits: Commits) -> GivenOffsets:
        offsets = self._state.offsets.clusters[source]
        topic_ids = [offsets.topic_id.get(one) for one in commits.key.tolist()]
        return GivenOffsets(commits.offset, commits.at_ms, offsets.columns["genuine_epoch"][commits.key], topic_ids)

    def translate_given(
        self, pair: tuple[str, str], partition: TopicPartition, given: GivenOffsets, snapshot: Snapshot, now_ms: int
    ) -> Translations:
        """Return one answer per offset of *partition* that is *given*, which no group has committed.

        *pair* is (source, target). It needs no owner, and the next answers learn nothing from it. Of a source that is
        silent what was last known holds, and an offset above all that is known of its log is withheld, unless it was
        made after the index had last read all that stood there.
        """
        with self._state.lock:
            last = self._state.last(*pair)
            try:
                answers = self._answer(_Pair(last, *pair, snapshot, now_ms), partition, given, 0)
            except Exception as problem:
                self._log_once(f"{pair[0]} to {pair[1]}: {partition.topic}-{partition.partition}", problem)
                return withhold(State.TRANSLATION_FAILED, len(given.offset))
            if answers is None:
                return withhold(State.CLUSTER_UNREACHABLE, len(given.offset))
            if self.view(pair[0], partition, snapshot) is None:
                self._state.keys.fit()
                keys = self._state.keys.keys_in(partition)
                answers = withhold_some(answers, self._beyond_all_known(pair[0], partition, given))
                answers = withhold_some(answers, last.reasons_for_given(partition, keys, given.offset))
            return answers

    def _beyond_all_known(self, source: str, partition: TopicPartition, given: GivenOffsets) -> NDArray[np.intp]:
        log = self._index.log(source, *partition)
        complete_ms = log.complete_until_ms if log is not None else 0
        may_be_newer = (given.at_ms != ABSENT) & (given.at_ms + CLOCKS_APART_MS >= complete_ms)
        # No log is that long; from there on what is unread would count as read.
        is_impossible = given.offset >= NO_LIMIT
        is_beyond = is_impossible | ((given.offset > self.known_end(source, partition)) & ~may_be_newer)
        return np.where(is_beyond, int(State.COMMIT_BEYOND_END), ABSENT)

    def known_end(self, cluster: str, partition: TopicPartition) -> int:
        """Return the first offset of a log above all that any cluster's index knows of it."""
        return known_end(self._index, self._config.clusters, ClusterPartition(cluster, *partition))

    def _answer(
        self, pair: _Pair, partition: TopicPartition, given: GivenOffsets, window_start: int
    ) -> Translations | None:
        """Return one answer per offset *given*; None: the target, or the source's log as it is now, is unknown."""
        there = self.view(pair.target, partition, pair.snapshot)
        if there is None or pair.snapshot.is_unsettled(pair.source, partition):
            return None
        here = self.view(pair.source, partition, pair.snapshot) or self._remembered(pair.source, partition, there)
        # Nobody has watched since the clusters were asked, however long ago that is by now.
        asked_at_ms = min(pair.now_ms, pair.snapshot.asked_at_ms)
        unread_since_ms = self.unread_since_ms(pair.source, partition, pair.snapshot, asked_at_ms)
        answers = translate_partition(
            given.offset,
            given.topic_ids,
            self._log(pair.source, partition, here),
            self._log(pair.target, partition, there),
            Bounds(unread_since_ms, window_start, self._origins),
            self._strategy(partition.topic, pair.now_ms),
        )
        place = ClusterPartition(pair.source, *partition)
        ends = [*self._index.epoch_ends(place), *pair.snapshot.epoch_end(pair.source, partition)]
        answers = withhold_some(answers, of_former_lives(given, self._index.incarnations(place)))
        return withhold_some(answers, of_lost_records(given, ends))

    def young_since_ms(self, now_ms: int) -> int:
        """Return from when on a hole that became visible may still be filled, by the clock of whoever indexes."""
        return now_ms - self._grace_ms - self._index.clock_offset.at_most(min(CLOCKS_APART_MS, self._grace_ms))

    def unread_since_ms(self, source: str, partition: TopicPartition, snapshot: Snapshot, now_ms: int) -> int:
        """Return the same for what *source* lacks: where its index is behind, what fills a hole may be there unread."""
        here = self.view(source, partition, snapshot)
        log_end = here.log_end if here is not None else int(NO_LIMIT)
        watched_ms = _watched_until_ms(self._index.log(source, *partition), log_end, now_ms)
        return min(self.young_since_ms(now_ms), watched_ms - self._grace_ms)

    def _log(self, cluster: str, partition: TopicPartition, metadata: PartitionMetadata) -> PartitionLog:
        index, code = self._index.log(cluster, *partition), self._index.code(cluster)
        return PartitionLog.of(index, code, metadata)

    def _revision(self, log: LogIndex | None, partition: TopicPartition) -> int:
        """Return a number that changes where earlier answers bound later ones no more."""
        return self._index.rebuilt(partition) << 32 | (log.reorder_count() if log is not None else 0)

    def outlook(self, source: str, target: str, partition: TopicPartition, snapshot: Snapshot) -> Outlook | None:
        """Return what answers for a partition rest on beside the commits; None: the target cannot be asked.

        Of a source that cannot be asked what was last seen of its log still holds.
        """
        there, here = self.view(target, partition, snapshot), self.view(source, partition, snapshot)
        before = self._state.last(source, target).outlooks.get(partition)
        if there is None:
            return None
        if here is None and before is not None:
            return before._replace(log_start=there.log_start)
        here = here or self._remembered(source, partition, there)
        log, target_log = self._log(source, partition, here), self._log(target, partition, there)
        ids = (here.topic_id, there.topic_id)
        revision = self._revision(log.index, partition)
        return Outlook(reason_to_withhold(log, target_log), ids, there.log_start, revision)

    def _strategy(self, topic: str, now_ms: int) -> Strategy:
        idle_ms = to_ms(self._config.sync.idle_after)
        return Strategy(self._config.strategy_of(topic), self._config.topics.header_look_back, now_ms - idle_ms)

    def view(self, cluster: str, partition: TopicPartition, snapshot: Snapshot) -> PartitionMetadata | None:
        """Return what is known of a partition; None: the cluster or the partition's leader cannot be asked."""
        said = snapshot.metadata[cluster]
        if isinstance(said, ClusterError) or partition in said.unsettled:
            return None
        ids = self._topic_ids(cluster, partition)
        if partition.topic in said.refused:
            return PartitionMetadata(None, 0, 0, 0, ids, is_refused=True)
        topic, ends = said.topics.get(partition.topic), said.ends.get(partition)
        if topic is None:
            return PartitionMetadata(None, 0, 0, 0, ids)
        if ends is None and partition.partition < topic.partitions:
            return None
        start, end = (ends.log_start, ends.log_end) if ends is not None else (0, 0)
        known_to = snapshot.frontiers[ClusterPartition(cluster, *partition)]
        is_cut = partition in said.cut
        return PartitionMetadata(topic.topic_id, topic.partitions, start, end, ids, known_to, is_cut=is_cut)

    def _remembered(self, cluster: str, partition: TopicPartition, there: PartitionMetadata) -> PartitionMetadata:
        indexed = self._index.partitions(cluster, partition.topic)
        return last_known(self._topic_ids(cluster, partition), indexed, partition.partition, there)

    def _topic_ids(self, cluster: str, partition: TopicPartition) -> Set[str]:
        """Return the ids of the topic that its index is of: of a log with several lives the last one counts."""
        lives = self._index.incarnations(ClusterPartition(cluster, *partition))
        return {lives[-1].topic_id} if lives else self._index.topic_ids(cluster, partition.topic)

    def frontiers(
        self, clusters: Collection[str], partitions: Collection[TopicPartition]
    ) -> dict[ClusterPartition, int]:
        """Return how far the index has read; to be taken before the clusters are asked for their ends."""
        return {ClusterPartition(c, *each): frontier(self._index, c, each) for c in clusters for each in partitions}


def _watched_until_ms(log: LogIndex | None, log_end: int, now_ms: int) -> int:
    """Return until when everything that came to the source's *log* is known, in ms; errs to earlier.

    A hole ages only so long: where the index is behind, what fills the hole may have come and not been read yet.
    """
    is_behind = log is not None and log.frontier < log_end
    return min(log.complete_until_ms, now_ms) if log is not None and is_behind else now_ms
