"""What the clusters say now, with the logs that were cut since the index has looked at them.

The index notices that a log was cut when it reads it. Until then, and as long as it stands still, its rows are of
records that are gone, and a log that has grown again does not show it by its end. Its leader epoch does: where it is
another than the index knows, the leader is asked where that one ended.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial
from typing import Protocol

from offset_sync.config import Config
from offset_sync.kafka.leader_epochs import LeaderEpochs
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import ClusterPartition, EpochChange, EpochEnd, ToldEnd, TopicPartition
from offset_sync.state.cluster_metadata import RETRY_S, Cluster, ClusterMetadata, Fetcher, MetadataFetcher
from offset_sync.state.sync_state import Index, known_end

logger = logging.getLogger(__name__)
DEADLINE_S = 5.0
"""A cluster is asked for so long; a leader where an epoch has ended, in the background."""
ONCE_S = 30.0
"""So long whoever comes only once asks a cluster: it is busy rather than away, and nobody comes again for the rest."""
PATIENCE_S = 0.5
"""So long a fetch waits for that."""


class EpochEnds(Protocol):
    """See :class:`offset_sync.kafka.leader_epochs.LeaderEpochs`."""

    def ends_in_time(
        self, epochs: Mapping[TopicPartition, EpochChange], deadline: float
    ) -> Mapping[TopicPartition, ToldEnd]:
        """Return the first offset after the records known, of logs whose leaders answer and are still leaders."""


class _Question:
    """Something that is asked in the background."""

    def __init__(self, ask: Callable[[], None]) -> None:
        self._thread = threading.Thread(target=ask, name="leader epochs", daemon=True)
        self._thread.start()

    @property
    def is_over(self) -> bool:
        """Whether it is answered, or was given up."""
        return not self._thread.is_alive()

    def wait(self, seconds: float) -> None:
        """Wait until then, but not longer."""
        self._thread.join(seconds)


class CheckedMetadata:
    """Asks *fetcher* and compares with *index*; *epochs* are asked by alias. Threads may share it.

    A partition is unsettled, and waits as one without a leader does, while nobody says where its epoch ended;
    *on_return* is called when somebody has. Errs to cut: then commits to it wait until the index has looked, and
    answers in it end at the cut, or wait too where it is not certain where that is.
    """

    def __init__(
        self,
        fetcher: Fetcher,
        index: Index,
        epochs: Mapping[str, EpochEnds],
        on_return: Callable[[], None] = lambda: None,
        patience_s: float = PATIENCE_S,
    ) -> None:
        self._fetcher, self._index, self._epochs = fetcher, index, epochs
        self._on_return, self._patience_s = on_return, patience_s
        self._told: dict[ClusterPartition, tuple[EpochChange, ToldEnd]] = {}
        self._questions: dict[str, _Question] = {}
        self._lock = threading.Lock()

    def fetch(
        self, aliases: Collection[str], partitions: Collection[TopicPartition]
    ) -> dict[str, ClusterMetadata | ClusterError]:
        """Return what each cluster says of *partitions*, or why it said nothing."""
        said = self._fetcher.fetch(aliases, partitions)
        return {a: each if isinstance(each, ClusterError) else self._checked(a, each) for a, each in said.items()}

    def _checked(self, alias: str, metadata: ClusterMetadata) -> ClusterMetadata:
        changes = self._changes(alias, metadata)
        if not changes:
            return metadata
        ends = self._ends(alias, changes)
        with self._index.lock:
            cut = {
                each
                for each, told in ends.items()
                if told.end < known_end(self._index, self._epochs, ClusterPartition(alias, *each))
            }
        is_told = {each: told.end for each, told in ends.items() if told.is_certain or each not in cut}
        ended = {each: EpochEnd(changes[each].now, end) for each, end in is_told.items()}
        return replace(metadata, cut=frozenset(cut), unsettled=frozenset(changes.keys() - ends.keys()), ended=ended)

    def _changes(self, alias: str, metadata: ClusterMetadata) -> dict[TopicPartition, EpochChange]:
        """Return the logs that are under another leader than the index knows; of a topic made anew its id tells."""
        found: dict[TopicPartition, EpochChange] = {}
        for each, ends in metadata.ends.items():
            log = ClusterPartition(alias, *each)
            known = self._index.leader_epoch(log)
            if known is None or ends.leader_epoch is None or known[0] != metadata.topics[each.topic].topic_id:
                continue
            if known[1] != ends.leader_epoch:
                found[each] = EpochChange(known[1], ends.leader_epoch, self._index.epoch_ends(log))
        return found

    def _ends(self, alias: str, changes: Mapping[TopicPartition, EpochChange]) -> dict[TopicPartition, ToldEnd]:
        """Return where the known epochs ended, of logs of which that is told in time."""
        logs = {each: ClusterPartition(alias, *each) for each in changes}
        # One whose epoch is below what the index has seen is no leader any more: that is not for it to say.
        asked = {logs[each]: change for each, change in changes.items() if change.now > change.known}
        until = time.monotonic() + self._patience_s
        while True:
            with self._lock:
                told = {log: self._told[log][1] for log, change in asked.items() if self._is_told(log, change)}
                unknown = {log: change for log, change in asked.items() if log not in told}
                question = self._questions.get(alias)
                if unknown and (question is None or question.is_over):
                    question = self._questions[alias] = _Question(partial(self._ask, alias, unknown))
            left = until - time.monotonic()
            if not unknown or question is None or left <= 0:
                return {log.topic_partition: end for log, end in told.items()}
            question.wait(left)  # it may be about other logs: then these are asked about next

    def _is_told(self, log: ClusterPartition, change: EpochChange) -> bool:
        return log in self._told and self._told[log][0] == change

    def _ask(self, alias: str, unknown: Mapping[ClusterPartition, EpochChange]) -> None:
        epochs = {log.topic_partition: change for log, change in unknown.items()}
        ends: Mapping[TopicPartition, ToldEnd] = {}
        try:
            ends = self._epochs[alias].ends_in_time(epochs, DEADLINE_S)
        except Exception as problem:  # whatever it is, the logs stay unknown
            logger.info("%s: where leader epochs ended was not told: %s", alias, problem)
        with self._lock:
            places = ((log, change, ends.get(log.topic_partition)) for log, change in unknown.items())
            self._told |= {log: (change, end) for log, change, end in places if end is not None}
        if ends:
            self._on_return()
        else:
            time.sleep(RETRY_S)  # it is asked again, but not at once


def checked_metadata(
    config: Config,
    admins: Mapping[str, Cluster],
    index: Index,
    on_return: Callable[[], None] | None = None,
    *,
    is_once: bool = False,
) -> CheckedMetadata:
    """Return who asks the configured clusters; without *on_return* it waits for every answer, *is_once* for long."""
    epochs = {alias: LeaderEpochs(alias, config.admin_options(alias), config.names) for alias in admins}
    tell = on_return or (lambda: None)
    patience_s = DEADLINE_S if is_once or on_return is None else PATIENCE_S
    fetcher = MetadataFetcher(admins, ONCE_S if is_once else DEADLINE_S, tell)
    return CheckedMetadata(fetcher, index, epochs, tell, patience_s)
