"""Cluster metadata, checked for logs that were truncated since the index last read them.

The index notices a truncation only when it reads the log; until then its rows may describe records that are gone. Once
the log has grown again its end does not show it, but its leader epoch does: where it differs from the indexed one, we
ask the leader for the end of that epoch.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial

from offset_sync.config import Config
from offset_sync.kafka.leader_epochs import LeaderEpochs
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import ClusterPartition, EpochChange, EpochEnd, ReportedEnd, TopicPartition
from offset_sync.state.cluster_metadata import RETRY_S, ClusterMetadata, Fetcher, MetadataFetcher, MetadataSource
from offset_sync.state.record_index import RecordIndex
from offset_sync.state.sync_state import known_end

logger = logging.getLogger(__name__)
DEADLINE_S = 5.0
"""Timeout of a metadata request, and of the background request for epoch ends."""
ONCE_S = 30.0
"""Timeout in one-shot runs: a slow cluster is rather busy than down, and no later run asks for the rest."""
PATIENCE_S = 0.5
"""How long a fetch waits for epoch ends."""


_Log = tuple[ClusterPartition, str]
"""A log and the id of its topic: the epochs of a recreated topic begin anew."""


class CheckedMetadata:
    """Fetches metadata and compares leader epochs with *index*; *epochs* are asked by alias. Threads may share it.

    A partition is unsettled, and waits like one without a leader, until a broker reports where its epoch ended; then
    *on_return* is called. Errs to truncated: commits to the partition wait until the index has read it again, and
    answers in it end at the cut, or wait too if the offset of the cut is uncertain.
    """

    def __init__(
        self,
        fetcher: Fetcher,
        index: RecordIndex,
        epochs: Mapping[str, LeaderEpochs],
        on_return: Callable[[], None] = lambda: None,
        patience_s: float = PATIENCE_S,
    ) -> None:
        self._fetcher, self._index, self._epochs = fetcher, index, epochs
        self._on_return, self._patience_s = on_return, patience_s
        self._reported: dict[_Log, tuple[EpochChange, ReportedEnd]] = {}
        self._questions: dict[str, threading.Thread] = {}
        self._lock = threading.Lock()

    def fetch(
        self, aliases: Collection[str], partitions: Collection[TopicPartition]
    ) -> dict[str, ClusterMetadata | ClusterError]:
        """Return each cluster's metadata of *partitions*, or its error."""
        said = self._fetcher.fetch(aliases, partitions)
        return {a: each if isinstance(each, ClusterError) else self._checked(a, each) for a, each in said.items()}

    def _checked(self, alias: str, metadata: ClusterMetadata) -> ClusterMetadata:
        changes = self._changes(alias, metadata)
        if not changes:
            return metadata
        logs = {each: (ClusterPartition(alias, *each), metadata.topics[each.topic].topic_id) for each in changes}
        ends = self._ends(alias, {logs[each]: change for each, change in changes.items()})
        with self._index.lock:
            cut = {
                each
                for each, reported in ends.items()
                if reported.end < known_end(self._index, self._epochs, ClusterPartition(alias, *each))
            }
        settled = {each: reported.end for each, reported in ends.items() if reported.is_certain or each not in cut}
        ended = {each: EpochEnd(changes[each].now, end) for each, end in settled.items()}
        return replace(metadata, cut=frozenset(cut), unsettled=frozenset(changes.keys() - ends.keys()), ended=ended)

    def _changes(self, alias: str, metadata: ClusterMetadata) -> dict[TopicPartition, EpochChange]:
        """Return the logs whose leader epoch differs from the indexed one; a recreated topic shows by its id."""
        found: dict[TopicPartition, EpochChange] = {}
        for each, ends in metadata.ends.items():
            log = ClusterPartition(alias, *each)
            known = self._index.leader_epoch(log)
            if known is None or ends.leader_epoch is None or known[0] != metadata.topics[each.topic].topic_id:
                continue
            if known[1] != ends.leader_epoch:
                found[each] = EpochChange(known[1], ends.leader_epoch, self._index.epoch_ends(log))
        return found

    def _ends(self, alias: str, changes: Mapping[_Log, EpochChange]) -> dict[TopicPartition, ReportedEnd]:
        """Return the ends of the known epochs, of logs for which they arrive in time."""
        # A leader with an epoch below the indexed one is stale: it is not asked.
        asked = {log: change for log, change in changes.items() if change.now > change.known}
        until = time.monotonic() + self._patience_s
        while True:
            with self._lock:
                reported = {
                    log: self._reported[log][1] for log, change in asked.items() if self._is_reported(log, change)
                }
                unknown = {log: change for log, change in asked.items() if log not in reported}
                question = self._questions.get(alias)
                if unknown and (question is None or not question.is_alive()):
                    ask = partial(self._ask, alias, unknown)
                    question = self._questions[alias] = threading.Thread(target=ask, name="leader epochs", daemon=True)
                    question.start()
            left = until - time.monotonic()
            if not unknown or question is None or left <= 0:
                return {log.topic_partition: end for (log, _), end in reported.items()}
            question.join(left)  # it may be for other logs: then these come next

    def _is_reported(self, log: _Log, change: EpochChange) -> bool:
        return log in self._reported and self._reported[log][0] == change

    def _ask(self, alias: str, unknown: Mapping[_Log, EpochChange]) -> None:
        epochs = {log.topic_partition: change for (log, _), change in unknown.items()}
        ends: Mapping[TopicPartition, ReportedEnd] = {}
        try:
            ends = self._epochs[alias].ends_in_time(epochs, DEADLINE_S)
        except Exception as problem:  # the logs stay unsettled
            logger.info("clusters.%s: cannot get the ends of leader epochs: %s", alias, problem)
        with self._lock:
            places = ((log, change, ends.get(log[0].topic_partition)) for log, change in unknown.items())
            self._reported |= {log: (change, end) for log, change, end in places if end is not None}
        if ends:
            self._on_return()
        else:
            time.sleep(RETRY_S)  # back off before the next request


def checked_metadata(
    config: Config,
    admins: Mapping[str, MetadataSource],
    index: RecordIndex,
    on_return: Callable[[], None] | None = None,
    *,
    is_once: bool = False,
) -> CheckedMetadata:
    """Return metadata of the configured clusters; without *on_return* it waits for every answer, *is_once* longer."""
    epochs = {alias: LeaderEpochs(alias, config.admin_options(alias), config.names) for alias in admins}
    tell = on_return or (lambda: None)
    patience_s = DEADLINE_S if is_once or on_return is None else PATIENCE_S
    fetcher = MetadataFetcher(admins, ONCE_S if is_once else DEADLINE_S, tell)
    return CheckedMetadata(fetcher, index, epochs, tell, patience_s)
