"""Queries of reports, moves and translations to the clusters, as far as these are not given up."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from typing import TypeAlias

from offset_sync.config import Config
from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.kafka.log_reader import RecordReader
from offset_sync.kafka.requests import SYSTEM_CLOCK, Clock, Committed
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import ClusterPartition, RecordContent, TopicPartition
from offset_sync.state.checked_metadata import checked_metadata
from offset_sync.state.cluster_clock import system_now_ms
from offset_sync.state.cluster_metadata import MetadataByCluster, Snapshot
from offset_sync.state.known_names import learn_names
from offset_sync.state.record_index import RecordIndex
from offset_sync.state.sync_state import frontier, frontiers

GroupAnswers: TypeAlias = "Mapping[str, Mapping[TopicPartition, Committed] | ClusterError]"
"""What each group has committed at one cluster, or why it is unknown."""
_GROUPS_AT_ONCE = 1_000
_HELD_S = 6.0
"""The deadline for the coordinators of a thousand groups."""
_LISTED_S = 10.0
_POLL_S = 0.2


class IndexCatchUp:
    """Waits until the index has read up to the ends that the clusters returned, for *patience_s* seconds at most.

    It does not wait again for a log without progress since.
    """

    def __init__(self, index: RecordIndex, patience_s: float = 5.0, clock: Clock = SYSTEM_CLOCK) -> None:
        self._index, self._patience_s, self._clock = index, patience_s, clock
        self._stuck: dict[ClusterPartition, int] = {}

    def wait(self, metadata: MetadataByCluster) -> None:
        """Return when all records below the ends in *metadata* are indexed, or when patience runs out."""
        until = self._clock.now() + self._patience_s
        while (behind := self._behind(metadata)).items() - self._stuck.items():
            if self._clock.now() >= until:
                self._stuck |= behind
                return
            self._clock.pause(_POLL_S)
            self._index.refresh()

    def _behind(self, metadata: MetadataByCluster) -> dict[ClusterPartition, int]:
        """Return the frontiers of the partitions whose index has not reached the ends in *metadata*."""
        with self._index.lock:
            found = {
                (ClusterPartition(alias, *place), ends.log_end): frontier(self._index, alias, place)
                for alias, answer in metadata.items()
                if not isinstance(answer, ClusterError)
                for place, ends in answer.ends.items()
            }
        return {log: indexed for (log, end), indexed in found.items() if indexed < end}


class ClusterQueries:
    """Queries the configured clusters; every query to one of those *given_up* returns an error.

    Log metadata is checked against the *index*, which is to reach the logs' ends.
    """

    def __init__(self, config: Config, index: RecordIndex, given_up: Collection[str] = ()) -> None:
        self._given_up = {alias: ClusterError(alias, "not queried, as it counts as lost") for alias in given_up}
        options = {alias: config.admin_options(alias) for alias in config.clusters if alias not in given_up}
        self._admins = {alias: ClusterAdmin(alias, each, config.names) for alias, each in options.items()}
        learn_names(config, self._admins)
        self._readers = {alias: RecordReader(alias, each, config.names) for alias, each in options.items()}
        self._silent: dict[str, tuple[ClusterError, float]] = {}
        self._fetcher = checked_metadata(config, self._admins, index)
        self._index, self._catch_up = index, IndexCatchUp(index)

    def admins(self) -> Mapping[str, ClusterAdmin]:
        """Return the client of each cluster that is not given up."""
        return self._admins

    def fetch(self, aliases: Collection[str], partitions: Collection[TopicPartition]) -> MetadataByCluster:
        """Return each cluster's metadata of *partitions*, or its error."""
        found = self._fetcher.fetch([alias for alias in aliases if alias in self._admins], partitions)
        return {alias: error for alias, error in self._given_up.items() if alias in aliases} | dict(found)

    def snapshot(self, aliases: Collection[str], partitions: Collection[TopicPartition]) -> Snapshot:
        """Return the clusters' metadata of *partitions* as of now; waits a moment for the index to reach the ends."""
        with self._index.lock:
            known_to = frontiers(self._index, aliases, partitions)
        asked_at_ms = system_now_ms()
        metadata = self.fetch(aliases, partitions)
        self._catch_up.wait(metadata)
        return Snapshot(metadata, known_to, asked_at_ms)

    def listed_groups(self, alias: str) -> Mapping[str, bool] | ClusterError:
        """Return the groups that a cluster lists, and whether they have members; see :meth:`ClusterAdmin.groups`."""
        try:
            return self._given_up.get(alias) or self._admins[alias].groups(_LISTED_S)
        except ClusterError as error:
            return error

    def committed_offsets(self, alias: str, groups: Sequence[str]) -> GroupAnswers:
        """Return what the cluster's coordinators hold for each group, by one request per group.

        Many are in flight at once; a cluster that does not answer is skipped after the first thousand groups, and for a
        while.
        """
        silence, until = self._silent.get(alias, (None, 0.0))
        error = self._given_up.get(alias) or (silence if time.monotonic() < until else None)
        if error is not None:
            return dict.fromkeys(groups, error)
        found: dict[str, Mapping[TopicPartition, Committed] | ClusterError] = {}
        for first in range(0, len(groups), _GROUPS_AT_ONCE):
            try:
                found |= self._admins[alias].committed_offsets(groups[first : first + _GROUPS_AT_ONCE], _HELD_S)
            except ClusterError as silence:
                self._silent[alias] = silence, time.monotonic() + _HELD_S
                return found | dict.fromkeys(groups[first:], silence)
        return found

    def first_records(
        self, alias: str, offsets: Mapping[TopicPartition, int]
    ) -> Mapping[TopicPartition, RecordContent] | ClusterError:
        """Return the first record at or above an offset of each partition, except for those without one in time."""
        return self._given_up.get(alias) or self._readers[alias].first_at(offsets)
