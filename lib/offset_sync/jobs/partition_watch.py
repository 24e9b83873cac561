"""How many partitions topics have: ``__consumer_offsets``, for the order of commits, and those that groups commit."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from offset_sync.jobs.repeated_looks import look_until
from offset_sync.kafka.topic_metadata import TopicInfo
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import CONSUMER_OFFSETS
from offset_sync.state.commit_log_lives import CommitLogLives
from offset_sync.state.sync_state import SyncState
from offset_sync.state.topic_partitions import begin_new_partitions

logger = logging.getLogger(__name__)
_ASK_S = 10.0


class Admin(Protocol):
    """A cluster, see :class:`offset_sync.kafka.cluster_admin.ClusterAdmin`."""

    def describe(self, topics: list[str]) -> Mapping[str, TopicInfo | ClusterError]:
        """Return what is known of *topics*."""


class PartitionWatch:
    """Keeps *state* and *lives* up to date.

    *on_change* is called where groups have got a position in a new partition, *on_growth* with the alias of a cluster
    whose ``__consumer_offsets`` has more partitions than its query reads.
    """

    def __init__(
        self,
        state: SyncState,
        admins: Mapping[str, Admin],
        lives: CommitLogLives,
        on_change: Callable[[], None],
        on_growth: Callable[[str], None],
    ) -> None:
        self._state, self._admins, self._lives = state, admins, lives
        self._on_change, self._on_growth = on_change, on_growth
        self._partitions = dict.fromkeys(admins, 0)  # that its query reads

    def run(self, stop: threading.Event, _is_ready: threading.Event) -> None:
        """Ask the clusters until *stop* is set."""
        look_until(stop, _ASK_S, self.note_growth)

    def note_partitions(self, alias: str, topics: Sequence[str] = ()) -> None:
        """Note how many partitions a cluster's ``__consumer_offsets`` and some *topics* have; raises ClusterError."""
        found = self._admins[alias].describe([CONSUMER_OFFSETS, *topics])
        told = {name: (each.topic_id, each.partitions) for name, each in found.items() if isinstance(each, TopicInfo)}
        self._lives.topics.note(alias, told)
        if CONSUMER_OFFSETS in told:
            _, partitions = told[CONSUMER_OFFSETS]
            self._partitions[alias] = partitions
            with self._state.lock:
                self._state.offsets.clusters[alias].partitions = partitions

    def begin_new_partitions(self) -> None:
        """Have groups be at the start of partitions that came after their first commit."""
        if begin_new_partitions(self._state, self._lives.topics):
            self._on_change()

    def note_growth(self) -> None:
        """Note which topics have got more partitions; of a cluster that does not answer its query tells."""
        with self._state.lock:
            topics = sorted({topic for _, topic in self._state.keys.streams})
        for alias in self._admins:
            before = self._partitions[alias]
            try:
                self.note_partitions(alias, topics)
            except ClusterError:
                continue
            now = self._partitions[alias]
            if before and now != before:
                logger.warning("clusters.%s: %s has %d partitions, %d before", alias, CONSUMER_OFFSETS, now, before)
                self._on_growth(alias)
        self.begin_new_partitions()
