"""From commits to answers at one target: every partition with what is known of it on both sides.

The owner's commits, or offsets that no group has committed: these are withheld where they cannot be verified. Views of
the logs are taken with the lock held, answers are computed without it, and returned with it again.
"""

from __future__ import annotations

import logging
from collections.abc import Set
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from offset_sync.config import Config
from offset_sync.config.duration import to_ms
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import ClusterPartition, State, TopicPartition
from offset_sync.state.cluster_metadata import Snapshot
from offset_sync.state.key_index import KeyRows
from offset_sync.state.last_translations import LastTranslations, Outlook
from offset_sync.state.sync_state import Commits, SyncState
from offset_sync.translate.exact import EXACT, Bounds, Strategy
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.origin_positions import NO_LIMIT
from offset_sync.translate.partition import (
    Translations,
    concatenate,
    translate_partition,
    withhold_all,
    withhold_some,
)
from offset_sync.translate.partition_log import (
    GivenOffsets,
    PartitionLog,
    PartitionMetadata,
    last_known,
    of_former_incarnations,
    of_lost_records,
    reason_to_withhold,
)

logger = logging.getLogger(__name__)
NO_BASIS = (-1, None)
"""The basis of a question that failed; it is never valid."""
_TRIES = 3
"""How often answers are computed without the lock before they are computed with it."""
LOOK_BACK = 1_000
"""Strategy ``header``: the reference is at most so many offsets before a commit."""
_IDLE_AFTER_MS = 600_000
"""Strategies ``header`` and ``timestamp``: a log without new records for ten minutes counts as idle."""


class Pair(NamedTuple):
    """What all partitions of one translation share."""

    last: LastTranslations
    source: str
    target: str
    snapshot: Snapshot
    now_ms: int


@dataclass
class Question:
    """Offsets of one partition with views of both logs, which do not change; and what became of it.

    *key* are the rows of the keys that have committed them; empty where no group has. *withheld*: why nothing is
    answered. *basis* tells whether the answers are still valid: the revision of the source's log, and others. What the
    source has *said* of its log is kept, whatever a partition is withheld for; None where it is unreachable.
    """

    partition: TopicPartition
    key: KeyRows
    given: GivenOffsets
    basis: tuple[int, object]
    withheld: State | None = None
    logs: tuple[PartitionLog, PartitionLog] | None = None
    bounds: Bounds | None = None
    strategy: Strategy = EXACT
    said: PartitionMetadata | None = None
    answers: Translations | None = None

    @property
    def is_silent(self) -> bool:
        """Whether only earlier metadata of the source's log is known."""
        return self.said is None

    def compute(self) -> None:
        """Compute the answers; takes as long as the logs are deep."""
        if self.withheld is not None:
            self.answers = withhold_all(self.withheld, self.given.offset, self.said)
            return
        assert self.logs is not None
        assert self.bounds is not None
        here, there, given = *self.logs, self.given
        self.answers = translate_partition(given.offset, given.topic_ids, here, there, self.bounds, self.strategy)

    def fail(self) -> None:
        """Withhold all answers: something is wrong with this partition."""
        self.withheld = State.TRANSLATION_FAILED
        self.compute()


@dataclass
class Translation:
    """Offsets of one direction that are being translated: asked, computed, and then returned."""

    pair: Pair
    questions: list[Question]


class Translator:
    """Translates commits by what *state* knows."""

    def __init__(self, config: Config, state: SyncState) -> None:
        self._config = config
        self._state = state
        self._index = state.index
        self._problems: dict[str, str] = {}
        self._origins = frozenset(self._index.code(alias) for alias in config.clusters)
        self._grace_ms = to_ms(config.sync.hole_grace)
        self._strategy_of = cache(config.strategy_of)

    def ask(self, pair: Pair, commits: Commits) -> Translation:
        """Return what is to be translated, with views of the logs as they are now.

        A failure of one partition concerns that one only: it is withheld, and the log says why.
        """
        with self._state.lock:
            by_partition = [(each, commits.take(rows)) for each, rows in self._state.keys.slices(commits.key)]
            given = [(each, some.key, self._given(pair.source, some)) for each, some in by_partition]
            return Translation(pair, [self._asked(pair, *each) for each in given])

    def _given(self, source: str, commits: Commits) -> GivenOffsets:
        """Return the offsets of *commits*, with the leader epochs and topic ids known of them at the *source*."""
        known = self._state.offsets.clusters[source]
        topic_ids = [known.topic_id.get(one) for one in commits.key.tolist()]
        return GivenOffsets(commits.offset, commits.at_ms, known.position_epoch(commits.key), topic_ids)

    def ask_given(self, pair: Pair, partition: TopicPartition, given: GivenOffsets) -> Translation:
        """Return the same for offsets that no group has committed; later answers do not build on them."""
        with self._state.lock:
            return Translation(pair, [self._asked(pair, partition, np.empty(0, np.intp), given)])

    def compute(self, asked: Translation) -> None:
        """Compute the answers without the lock: pages are read, and deep answers take time.

        Where the source's log gets a late record or another incarnation meanwhile, void answers are computed again.
        """
        for _ in range(_TRIES):
            with self._state.lock:
                due = self._due(asked)
            if not due:
                return
            for each in due:
                self._compute(asked.pair, each)

    def answers(self, asked: Translation) -> Translations:
        """Return what was computed, in the order asked; it is valid while the caller holds the lock."""
        with self._state.lock:
            for each in self._due(asked):
                self._compute(asked.pair, each)
            return concatenate([self._answered(asked.pair, each) for each in asked.questions])

    def basis(self, pair: Pair, partition: TopicPartition) -> tuple[int, object]:
        """Return the revision of the source's log, and what else voids answers when it changes."""
        logs = [self._index.log(alias, *partition) for alias in (pair.source, pair.target)]
        ids = [frozenset(self._topic_ids(alias, partition)) for alias in (pair.source, pair.target)]
        contradicted = [log is not None and log.is_contradicted for log in logs]
        return self._revision(logs[0], partition), (ids, contradicted, self._is_uncut(pair, partition))

    def _is_uncut(self, pair: Pair, partition: TopicPartition) -> bool:
        """Return whether the index of a log may have records of an earlier incarnation, for now."""
        return any(self._index.is_uncut(ClusterPartition(alias, *partition)) for alias in (pair.source, pair.target))

    def _due(self, asked: Translation) -> list[Question]:
        """Return the questions without answers, or with void ones; to be computed by what is known now."""
        due = []
        for number, each in enumerate(asked.questions):
            if each.answers is not None and self._is_void(asked.pair, each):
                each = asked.questions[number] = self._asked(asked.pair, each.partition, each.key, each.given)
            if each.answers is None:
                due.append(each)
        return due

    def _is_void(self, pair: Pair, question: Question) -> bool:
        try:
            return self.basis(pair, question.partition) != question.basis
        except Exception:
            return question.withheld is not State.TRANSLATION_FAILED  # to be asked again, which logs what is wrong

    def _asked(self, pair: Pair, partition: TopicPartition, key: KeyRows, given: GivenOffsets) -> Question:
        try:
            return self._question(pair, partition, key, given)
        except Exception as problem:
            self.log_once(pair, partition, problem)
            failed = Question(partition, key, given, NO_BASIS, State.TRANSLATION_FAILED)
            with suppress(Exception):  # the source's metadata is noted all the same
                failed.said = self.view(pair.source, partition, pair.snapshot)
            return failed

    def _compute(self, pair: Pair, question: Question) -> None:
        try:
            question.compute()
        except Exception as problem:
            self.log_once(pair, question.partition, problem)
            question.fail()

    def _question(self, pair: Pair, partition: TopicPartition, key: KeyRows, given: GivenOffsets) -> Question:
        there = self.view(pair.target, partition, pair.snapshot)
        basis = self.basis(pair, partition)
        said = self.view(pair.source, partition, pair.snapshot)
        if there is None or pair.snapshot.is_unsettled(pair.source, partition):
            return Question(partition, key, given, basis, State.CLUSTER_UNREACHABLE, said=said)
        if self._is_uncut(pair, partition):
            return Question(partition, key, given, basis, State.NOT_INDEXED, said=said)
        window_start = 0
        if len(key):
            keys, lowest = self._state.keys.keys_in(partition), int(given.offset.min())
            window_start = pair.last.window_start(keys, lowest, basis[0])
        here = said or self._remembered(pair.source, partition)
        # The logs were last watched when the clusters were asked, however long ago that is by now.
        asked_at_ms = min(pair.now_ms, pair.snapshot.asked_at_ms)
        unread_since_ms = self.unread_since_ms(pair.source, partition, said, asked_at_ms)
        logs = self._view(pair.source, partition, here), self._view(pair.target, partition, there)
        bounds = Bounds(unread_since_ms, window_start, self._origins, self._begun(pair.target, partition))
        strategy = Strategy(self._strategy_of(partition.topic), LOOK_BACK, pair.now_ms - _IDLE_AFTER_MS)
        return Question(partition, key, given, basis, logs=logs, bounds=bounds, strategy=strategy, said=said)

    def _answered(self, pair: Pair, question: Question) -> Translations:
        """Return the valid answers to a *question*; none where this fails."""
        keys = self._state.keys.keys_in(question.partition)
        try:
            return self._valid_answers(pair, question, keys)
        except Exception as problem:
            self.log_once(pair, question.partition, problem)
            question.fail()
            return self._not_withheld(pair, question, keys)

    def _valid_answers(self, pair: Pair, question: Question, keys: KeyRows) -> Translations:
        """Return the valid answers to a *question*, and remember what later ones can build on.

        The lock is held. A failure before the last line leaves nothing behind that bounds a later answer.
        """
        answers, index = self._not_withheld(pair, question, keys), self._index
        partition, given, key = question.partition, question.given, question.key
        if question.withheld is not None:
            return answers
        for alias, log in zip((pair.source, pair.target), question.logs or (), strict=True):
            if (live := index.log(alias, *partition)) is not None:
                live.adopt(log.index)
        source = ClusterPartition(pair.source, *partition)
        answers = withhold_some(answers, of_former_incarnations(given, index.incarnations(source)))
        ends = [*index.epoch_ends(source), *pair.snapshot.epoch_end(pair.source, partition)]
        answers = withhold_some(answers, of_lost_records(given, ends))
        if len(key):
            pair.last.note_window(key, given.offset, answers.offset, question.basis[0])
        return answers

    def _not_withheld(self, pair: Pair, question: Question, keys: KeyRows) -> Translations:
        """Return the answers to a *question*, less what is withheld as long as the source is unreachable.

        *keys* are all rows of its partition.
        """
        answers, key, partition = question.answers, question.key, question.partition
        assert answers is not None
        if len(key) == 0:
            return answers
        memory = pair.last.source
        if question.said is not None:
            memory.note(partition, question.said, pair.last.columns, key)
            return answers
        log = self._index.log(pair.source, *partition)
        return withhold_some(answers, memory.reasons(partition, keys, (key, question.given.offset), log))

    def log_once(
        self, pair: Pair, partition: TopicPartition, problem: Exception, says: str = "cannot be translated"
    ) -> None:
        """Log *problem* with its stack trace, once as long as it stays the same."""
        what = f"{pair.source} to {pair.target}: {partition.topic}-{partition.partition}"
        with self._state.lock:
            is_known, self._problems[what] = self._problems.get(what) == repr(problem), repr(problem)
        if not is_known:
            logger.error("%s %s", what, says, exc_info=problem)

    def young_since_ms(self, now_ms: int) -> int:
        """Return from when on a hole that became visible may still be filled, by the indexing driver's clock."""
        return now_ms - self._grace_ms - self._index.clock_offset.at_most()

    def unread_since_ms(self, source: str, place: TopicPartition, said: PartitionMetadata | None, now_ms: int) -> int:
        """Return the same for holes at *source*: where its index is behind, a record there may fill one unread."""
        log_end = said.log_end if said is not None else NO_LIMIT
        watched_ms = watched_until_ms(self._index.log(source, *place), log_end, now_ms)
        return min(self.young_since_ms(now_ms), watched_ms - self._grace_ms)

    def _begun(self, target: str, partition: TopicPartition) -> dict[int, int]:
        """Return from where on each origin's log has had other records, by code; not the target's own."""
        incarnations = {a: self._index.incarnations(ClusterPartition(a, *partition)) for a in self._config.clusters}
        return {
            self._index.code(alias): min(incarnation.begins_at for incarnation in of_log)
            for alias, of_log in incarnations.items()
            if of_log and alias != target
        }

    def _log(self, cluster: str, partition: TopicPartition, metadata: PartitionMetadata) -> PartitionLog:
        return PartitionLog.of(self._index.log(cluster, *partition), self._index.code(cluster), metadata)

    def _view(self, cluster: str, partition: TopicPartition, metadata: PartitionMetadata) -> PartitionLog:
        index = self._index.log(cluster, *partition)
        return PartitionLog.of(index.view() if index is not None else None, self._index.code(cluster), metadata)

    def _revision(self, log: LogIndex | None, partition: TopicPartition) -> int:
        """Return a number that changes when earlier answers no longer bound later ones."""
        return self._index.rebuilt(partition) << 32 | (log.reorder_count() if log is not None else 0)

    def outlook(self, pair: Pair, partition: TopicPartition) -> Outlook | None:
        """Return what answers for a partition depend on beside the commits; None: the target is unreachable.

        For an unreachable source its last outlook is still valid.
        """
        last, source, target, snapshot = pair[:4]
        there, here = self.view(target, partition, snapshot), self.view(source, partition, snapshot)
        before = last.outlooks.get(partition)
        if there is None:
            return Outlook.of_source(here)
        if here is None and before is not None:
            return before._replace(log_start=there.log_start, cut_at=there.cut_at)
        here = here or self._remembered(source, partition)
        log, target_log = self._log(source, partition, here), self._log(target, partition, there)
        ids = (here.topic_id, there.topic_id)
        revision = self._revision(log.index, partition)
        return Outlook(reason_to_withhold(log, target_log), ids, there.log_start, revision, there.cut_at)

    def view(self, cluster: str, partition: TopicPartition, snapshot: Snapshot) -> PartitionMetadata | None:
        """Return what is known of a partition; None: the cluster or the partition's leader is unreachable."""
        said = snapshot.metadata[cluster]
        if isinstance(said, ClusterError) or partition in said.unsettled:
            return None
        ids = self._topic_ids(cluster, partition)
        if partition.topic in said.refused:
            return PartitionMetadata(None, 0, 0, ids, is_refused=True)
        topic, ends = said.topics.get(partition.topic), said.ends.get(partition)
        if topic is None:
            return PartitionMetadata(None, 0, 0, ids)
        is_missing = partition.partition >= topic.partitions
        if ends is None and not is_missing:
            return None
        start, end = (ends.log_start, ends.log_end) if ends is not None else (0, 0)
        log = ClusterPartition(cluster, *partition)
        found = PartitionMetadata(topic.topic_id, start, end, ids, snapshot.frontiers[log], is_missing=is_missing)
        is_cut = partition in said.cut
        cut_at = min(said.ended[partition].end, end) if is_cut and partition in said.ended else None
        return found._replace(cut_at=cut_at, is_cut_somewhere=is_cut and cut_at is None)

    def _remembered(self, cluster: str, partition: TopicPartition) -> PartitionMetadata:
        return last_known(self._topic_ids(cluster, partition))

    def _topic_ids(self, cluster: str, partition: TopicPartition) -> Set[str]:
        """Return the ids of the topic that was indexed: of a log with several incarnations that of the last one.

        Where only copies of a log are indexed, the id under which it was checked for them.
        """
        log = ClusterPartition(cluster, *partition)
        if incarnations := self._index.incarnations(log):
            return {incarnations[-1].topic_id}
        known = self._index.leader_epoch(log)
        return self._index.topic_ids(cluster, partition.topic) or ({known[0]} if known is not None else set())


def watched_until_ms(log: LogIndex | None, log_end: int, now_ms: int) -> int:
    """Return until when everything that came to the source's *log* is known, in ms; errs to earlier.

    A hole ages only until then: where the index is behind, the record that fills it may be there unread.
    """
    is_behind = log is not None and log.frontier < log_end
    return min(log.complete_until_ms, now_ms) if log is not None and is_behind else now_ms
