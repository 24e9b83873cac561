"""Commits of one direction on their way to answers: what is asked, with logs that no longer change, and what holds.

Views of the logs are taken with the lock held, answers are computed without it, and told with it again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from offset_sync.model.values import ABSENT, CLOCKS_APART_MS, EpochEnd, State, TopicPartition
from offset_sync.state.last_translations import LastTranslations
from offset_sync.state.snapshot import Commits, Snapshot
from offset_sync.translate.exact import Bounds
from offset_sync.translate.index.incarnations import Incarnation
from offset_sync.translate.index.runs import Int64s
from offset_sync.translate.partition import Translations, translate_partition, withhold
from offset_sync.translate.partition_log import PartitionLog
from offset_sync.translate.strategies import EXACT, Strategy


class Pair(NamedTuple):
    """What all partitions of one translation share."""

    last: LastTranslations
    source: str
    target: str
    snapshot: Snapshot
    now_ms: int


@dataclass
class Question:
    """Commits of one partition with views of both logs, which do not change; and what became of it.

    *withheld*: why nothing is answered. *basis* says whether the answers still hold: the revision of the
    source's log, and others. *is_silent*: the source cannot be asked.
    """

    partition: TopicPartition
    commits: Commits
    basis: tuple[int, object]
    withheld: State | None = None
    topic_ids: Sequence[str | None] = ()
    logs: tuple[PartitionLog, PartitionLog] | None = None
    bounds: Bounds | None = None
    strategy: Strategy = EXACT
    is_silent: bool = False
    answers: Translations | None = None

    def compute(self) -> None:
        """Find the answers; takes as long as the logs are deep."""
        if self.withheld is not None:
            self.answers = withhold(self.withheld, len(self.commits.key))
            return
        assert self.logs is not None
        assert self.bounds is not None
        here, there = self.logs
        self.answers = translate_partition(self.commits.offset, self.topic_ids, here, there, self.bounds, self.strategy)


class Translation:
    """Commits of one direction that are being translated: asked, computed, and then told."""

    def __init__(self, pair: Pair, questions: list[Question]) -> None:
        self.pair, self.questions = pair, questions


def of_former_lives(
    lives: Sequence[Incarnation], commits: Commits, topic_ids: Sequence[str | None]
) -> NDArray[np.intp]:
    """Return the reason to withhold each commit that may have been made to an earlier life of the source's log.

    It says that records were read which stand there no more; of those that stand there now nobody knows. A commit
    that names the topic's present incarnation belongs to it; a cut log keeps its topic, so then only time tells.
    """
    reasons = np.full(len(commits.key), ABSENT, np.intp)
    for life in lives:
        names_it = np.array([life.is_anew and each == life.topic_id for each in topic_ids], np.bool_)
        is_earlier = commits.at_ms <= life.noticed_ms + CLOCKS_APART_MS
        reason = State.TOPIC_RECREATED if life.is_anew else State.LOG_TRUNCATED
        reasons[(commits.offset > life.begins_at) & is_earlier & ~names_it] = reason
    return reasons


def of_lost_records(ends: Sequence[EpochEnd], commits: Commits, epoch: Int64s) -> NDArray[np.intp]:
    """Return the reason to withhold each commit whose last record was lost when another leader was elected.

    It need not have been indexed. A client that does not say which epoch it has read is believed, as Kafka does.
    """
    reasons = np.full(len(commits.key), ABSENT, np.intp)
    for below, end in ends:
        reasons[(epoch != ABSENT) & (epoch < below) & (commits.offset > end)] = State.LOG_TRUNCATED
    return reasons
