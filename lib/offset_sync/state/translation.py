"""Offsets of one direction on their way to answers: what is asked, with logs that no longer change, and what holds.

Views of the logs are taken with the lock held, answers are computed without it, and told with it again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from offset_sync.model.values import State, TopicPartition
from offset_sync.state.committed_offsets import ClusterOffsets
from offset_sync.state.key_index import KeyRows
from offset_sync.state.last_translations import LastTranslations
from offset_sync.state.snapshot import Commits, Snapshot
from offset_sync.translate.exact import Bounds
from offset_sync.translate.given_offsets import GivenOffsets
from offset_sync.translate.partition import Translations, translate_partition, withhold_all
from offset_sync.translate.partition_log import PartitionLog, PartitionMetadata
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
    """Offsets of one partition with views of both logs, which do not change; and what became of it.

    *key* are the rows of those who have committed them; none where nobody has. *withheld*: why nothing is answered.
    *basis* says whether the answers still hold: the revision of the source's log, and others. *is_silent*: the source
    cannot be asked; what it has *said* of a partition that is withheld for other reasons is not to be forgotten.
    """

    partition: TopicPartition
    key: KeyRows
    given: GivenOffsets
    basis: tuple[int, object]
    withheld: State | None = None
    logs: tuple[PartitionLog, PartitionLog] | None = None
    bounds: Bounds | None = None
    strategy: Strategy = EXACT
    is_silent: bool = False
    said: PartitionMetadata | None = None
    answers: Translations | None = None

    def compute(self) -> None:
        """Find the answers; takes as long as the logs are deep."""
        if self.withheld is not None:
            said = self.logs[0].metadata if self.logs is not None else self.said
            self.answers = withhold_all(self.withheld, self.given.offset, said)
            return
        assert self.logs is not None
        assert self.bounds is not None
        here, there, given = *self.logs, self.given
        self.answers = translate_partition(given.offset, given.topic_ids, here, there, self.bounds, self.strategy)


class Translation:
    """Offsets of one direction that are being translated: asked, computed, and then told."""

    def __init__(self, pair: Pair, questions: list[Question]) -> None:
        self.pair, self.questions = pair, questions


def given_by(offsets: ClusterOffsets, commits: Commits) -> GivenOffsets:
    """Return what *commits* of one cluster say, with what is known there of how they were made."""
    topic_ids = [offsets.topic_id.get(one) for one in commits.key.tolist()]
    return GivenOffsets(commits.offset, commits.at_ms, offsets.columns["genuine_epoch"][commits.key], topic_ids)
