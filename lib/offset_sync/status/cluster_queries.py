"""Queries of reports and moves to the clusters, and the offsets that coordinators hold at that moment.

Targets are asked first, then sources, and the verdicts are read after both::

    target holds t(c) ── source holds c ── the newest verdict is of c

So a commit made in between shows as a difference at the source, and the target is never ahead of the verdict's commit.
Errs to not in sync: a row is in sync only if its source holds exactly the reported commit.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from offset_sync.config import Config
from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.kafka.log_reader import RecordReader
from offset_sync.kafka.requests import Committed
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import GroupPartition, RecordContent, TopicPartition
from offset_sync.state.checked_metadata import checked_metadata
from offset_sync.state.cluster_clock import system_now_ms
from offset_sync.state.cluster_metadata import MetadataByCluster, Snapshot
from offset_sync.state.known_names import learn_names
from offset_sync.state.record_index import RecordIndex
from offset_sync.state.sync_state import frontiers
from offset_sync.status.index_progress import IndexCatchUp
from offset_sync.sync.held_lists import own_group

logger = logging.getLogger(__name__)
GroupAnswers: TypeAlias = "Mapping[str, Mapping[TopicPartition, Committed] | ClusterError]"
"""What each group has committed at one cluster, or why it is unknown."""
_GROUPS_AT_ONCE = 1_000
_HELD_S = 6.0
"""The deadline for the coordinators of a thousand groups."""
_LISTED_S = 10.0


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


class Held(NamedTuple):
    """The *offset* of a key at a cluster's coordinator: None for none, or without an answer; then *error* says why."""

    offset: int | None
    error: str | None = None


@dataclass(frozen=True)
class HeldOffsets:
    """Answers by cluster: for groups translated to it, and for groups at home there.

    *lists* are the commits that hold the read lists of the latter, for groups that get some.
    """

    as_target: Mapping[str, GroupAnswers] = field(default_factory=dict)
    as_source: Mapping[str, GroupAnswers] = field(default_factory=dict)
    lists: Mapping[str, GroupAnswers] = field(default_factory=dict)

    def at_target(self, alias: str, key: GroupPartition) -> Held:
        """Return what *alias* holds of a key, of which it is not the source."""
        return _held(self.as_target.get(alias, {}), key)

    def at_source(self, alias: str, key: GroupPartition) -> Held:
        """Return what *alias* holds of a key, of which it is the source."""
        return _held(self.as_source.get(alias, {}), key)

    def list_at(self, alias: str, group_id: str, place: TopicPartition) -> str | None:
        """Return the read list at *alias* of a group that gets some and is at home there; None: not known."""
        found = self.lists.get(alias, {}).get(own_group(group_id))
        if found is None or isinstance(found, ClusterError):
            return None
        return found[place].metadata if place in found else ""


def ask_coordinators(
    clusters: ClusterQueries, aliases: Sequence[str], homes: Mapping[str, Collection[str]]
) -> HeldOffsets:
    """Ask all of *aliases* about the groups in *homes* (groups by source): as targets first, then as sources.

    Clusters are asked in parallel. Never raises: groups without an answer have an error.
    """
    everywhere = {
        alias: sorted({group for source, groups in homes.items() if source != alias for group in groups})
        for alias in aliases
    }
    with ThreadPoolExecutor(max(1, len(aliases)), "coordinators") as threads:

        def ask(wanted: Mapping[str, Sequence[str]]) -> dict[str, GroupAnswers]:
            found = threads.map(clusters.committed_offsets, wanted, wanted.values())
            return dict(zip(wanted, found, strict=True))

        as_target = ask(everywhere)  # all have answered before the first source is asked
        return HeldOffsets(as_target, ask({alias: sorted(groups) for alias, groups in homes.items()}))


def _held(answers: GroupAnswers, key: GroupPartition) -> Held:
    answer = answers.get(key.group_id)
    if answer is None or isinstance(answer, ClusterError):
        return Held(None, str(answer or "its coordinator was not queried"))
    found = answer.get(key.topic_partition)
    return Held(None if found is None else found.offset)
