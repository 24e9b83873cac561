"""What is asked of one partition for an answer at a target: offsets, views of both logs, and what became of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from offset_sync.model.values import State, TopicPartition
from offset_sync.state.cluster_metadata import Snapshot
from offset_sync.state.key_index import KeyRows
from offset_sync.state.last_translations import LastTranslations
from offset_sync.translate.exact import EXACT, Bounds, Strategy
from offset_sync.translate.partition import IS_WITHHELD, Translations, translate_partition, withhold_all
from offset_sync.translate.partition_log import GivenOffsets, PartitionLog, PartitionMetadata
from offset_sync.translate.read_list import FoundList, pending, read_list

NO_BASIS = (-1, None)
"""Of what could not even be asked; it never holds."""


class ListedRows(NamedTuple):
    """The *rows* of what is given that are to have a read list.

    *leader_epoch* of the target is one under which the index has looked at the log before the view of it was taken;
    negative for unknown. What the mirror has passed before *young_since_ms* does not come any more.
    """

    rows: NDArray[np.intp]
    leader_epoch: int
    young_since_ms: int


class Crossing(NamedTuple):
    """What a group has read of the target above its answer, *told*, and how many such records have yet to come there.

    These are copies that the target's index has not got: *pending* of them.
    """

    told: FoundList
    pending: int


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
    *basis* says whether the answers still hold: the revision of the source's log, and others. What the source has
    *said* of its log is not to be forgotten, whatever a partition is withheld for; None where it cannot be asked. Of
    the rows *listed* there are *crossings*, by row of what is given, where there is an answer.
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
    listed: ListedRows | None = None
    crossings: Mapping[int, Crossing] = field(default_factory=dict)

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

    def cross(self) -> None:
        """Find what has been read above the answers, where that is to be listed; after :meth:`compute`."""
        if self.listed is None or self.logs is None or self.answers is None:
            return
        found, (here, there), (rows, epoch, young_since_ms) = dict[int, Crossing](), self.logs, self.listed
        for row in rows[~IS_WITHHELD[self.answers.state[rows]]].tolist():
            committed, start = int(self.given.offset[row]), int(self.answers.wanted[row])
            told = read_list(committed, start, here, there, leader_epoch=epoch, strategy=self.strategy)
            found[row] = Crossing(told, sum(pending(committed, here, there, young_since_ms).values()))
        self.crossings = found

    def fail(self) -> None:
        """Answer nothing, whatever was found so far: something is wrong with this partition."""
        self.withheld = State.TRANSLATION_FAILED
        self.compute()


@dataclass
class Translation:
    """Offsets of one direction that are being translated: asked, computed, and then told."""

    pair: Pair
    questions: list[Question]
