"""Offsets of one direction on their way to answers: what is asked, with logs that no longer change, and what holds.

Views of the logs are taken with the lock held, answers are computed without it, and told with it again.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass
from typing import NamedTuple

from offset_sync.model.values import ClusterPartition, State, TopicPartition
from offset_sync.state.cluster_metadata import Snapshot
from offset_sync.state.committed_offsets import ClusterOffsets
from offset_sync.state.key_index import KeyRows
from offset_sync.state.last_translations import LastTranslations
from offset_sync.state.sync_state import Commits, Index
from offset_sync.translate.exact import EXACT, Bounds, Strategy
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.partition import Translations, translate_partition, withhold_all, withhold_some
from offset_sync.translate.partition_log import (
    GivenOffsets,
    PartitionLog,
    PartitionMetadata,
    of_former_lives,
    of_lost_records,
)

logger = logging.getLogger(__name__)
NO_BASIS = (-1, None)
"""Of what could not even be asked; it never holds."""


class Pair(NamedTuple):
    """What all partitions of one translation share."""

    last: LastTranslations
    source: str
    target: str
    snapshot: Snapshot
    now_ms: int

    @property
    def direction(self) -> tuple[str, str]:
        """The source and the target."""
        return self.source, self.target


@dataclass
class Question:
    """Offsets of one partition with views of both logs, which do not change; and what became of it.

    *key* are the rows of those who have committed them; none where nobody has. *withheld*: why nothing is answered.
    *basis* says whether the answers still hold: the revision of the source's log, and others. What the source has
    *said* of its log is not to be forgotten, whatever a partition is withheld for; None where it cannot be asked.
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
        """Whether what was known of the source's log before has to serve."""
        return self.said is None

    def compute(self) -> None:
        """Find the answers; takes as long as the logs are deep."""
        if self.withheld is not None:
            self.answers = withhold_all(self.withheld, self.given.offset, self.said)
            return
        assert self.logs is not None
        assert self.bounds is not None
        here, there, given = *self.logs, self.given
        self.answers = translate_partition(given.offset, given.topic_ids, here, there, self.bounds, self.strategy)

    def fail(self) -> None:
        """Answer nothing, whatever was found so far: something is wrong with this partition."""
        self.withheld = State.TRANSLATION_FAILED
        self.compute()


class Translation:
    """Offsets of one direction that are being translated: asked, computed, and then told."""

    def __init__(self, pair: Pair, questions: list[Question]) -> None:
        self.pair, self.questions = pair, questions


def given_by(offsets: ClusterOffsets, commits: Commits) -> GivenOffsets:
    """Return what *commits* of one cluster say, with what is known there of how they were made."""
    topic_ids = [offsets.topic_id.get(one) for one in commits.key.tolist()]
    epoch = offsets.position_epoch(commits.key)
    return GivenOffsets(commits.offset, commits.at_ms, epoch, topic_ids, commits.stands)


def what_holds(pair: Pair, question: Question, index: Index, keys: KeyRows) -> Translations:
    """Return the answers to a *question* as far as they hold, and remember what the next ones can build on.

    The lock is held. Whatever goes wrong before the last line leaves nothing behind that bounds a later answer.
    """
    answers, partition, given, key = (
        what_stays(pair, question, index, keys),
        question.partition,
        question.given,
        question.key,
    )
    if question.withheld is not None:
        return answers
    for alias, log in zip((pair.source, pair.target), question.logs or (), strict=True):
        if (live := index.log(alias, *partition)) is not None:
            live.adopt(log.index)
    source = ClusterPartition(pair.source, *partition)
    answers = withhold_some(answers, of_former_lives(given, index.incarnations(source)))
    ends = [*index.epoch_ends(source), *pair.snapshot.epoch_end(pair.source, partition)]
    answers = withhold_some(answers, of_lost_records(given, ends))
    if len(key):
        pair.last.note_window(key, given.offset, answers.offset, question.basis[0])
    return answers


def what_stays(pair: Pair, question: Question, index: Index, keys: KeyRows) -> Translations:
    """Return the answers to a *question*, less what is withheld for as long as the source cannot be asked.

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
    log = index.log(pair.source, *partition)
    return withhold_some(answers, memory.reasons(partition, keys, (key, question.given.offset), log))


def watched_until_ms(log: LogIndex | None, log_end: int, now_ms: int) -> int:
    """Return until when everything that came to the source's *log* is known, in ms; errs to earlier.

    A hole ages only so long: where the index is behind, what fills the hole may have come and not been read yet.
    """
    is_behind = log is not None and log.frontier < log_end
    return min(log.complete_until_ms, now_ms) if log is not None and is_behind else now_ms


class Problems:
    """What is wrong with partitions, each logged once as long as it stays the same."""

    def __init__(self, lock: threading.RLock) -> None:
        self._lock = lock
        self._known: dict[str, str] = {}

    def log_once(self, direction: tuple[str, str], partition: TopicPartition, problem: Exception) -> None:
        """Log *problem* with its stack trace; not again in each micro-batch while it stays the same."""
        what = f"{direction[0]} to {direction[1]}: {partition.topic}-{partition.partition}"
        with self._lock:
            is_known, self._known[what] = self._known.get(what) == repr(problem), repr(problem)
        if not is_known:
            logger.error("%s cannot be translated", what, exc_info=problem)
