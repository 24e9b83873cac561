"""The two clusters of a move and the tables about them, as :class:`CutoverClusters` asks for."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from offset_sync.config import Config
from offset_sync.cutover.index_backlog import IndexBacklog
from offset_sync.cutover.plan import Committed, Direction, PartitionStatus
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import GroupPartition, Outcome, State, Status, TopicPartition
from offset_sync.state.clock_offset import system_now_ms
from offset_sync.state.coordinators import coordinator_hashes
from offset_sync.state.key_index import KeyRows
from offset_sync.status.live_state import LiveState
from offset_sync.status.rows import Rows
from offset_sync.sync.reconciler import Reconciler
from offset_sync.sync.reconciliation import OffsetWriter, Reconciliation, ReconciliationLog
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.runs import Int64s
from offset_sync.translate.partition import IS_WITHHELD
from offset_sync.translate.replication_gap import joined, replication_gaps


class LiveClusters:
    """Moves go in *direction*; *writer* commits at its target, *history* is told."""

    def __init__(
        self,
        config: Config,
        live: LiveState,
        direction: Direction,
        writer: OffsetWriter,
        history: ReconciliationLog,
    ) -> None:
        self._config = config.model_copy(update={"directions": ((direction.source, direction.target),)})
        self._live, self._state, self._history = live, live.state, history
        self._source, self._target = direction
        self._backlog = IndexBacklog(live.clusters, self._state.index)
        self._reconciliations: list[Reconciliation] = []
        writers = {self._target: writer}
        self._reconciler = Reconciler(self._config, self._state, live.clusters, writers, self)

    def append(self, reconciliation: Reconciliation) -> None:
        """Keep what became of translations for :meth:`translate_and_commit`, and pass it on."""
        self._reconciliations.append(reconciliation)
        self._history.append(reconciliation)

    def groups(self) -> list[str]:
        """Return every included group that has ever committed on an included topic, as the tables know it."""
        included = self._config
        return sorted(
            {
                group_id
                for group_id, topic, _ in self._state.offsets.keys
                if included.is_group_included(group_id) and included.is_topic_included(topic)
            }
        )

    def active_groups(self, alias: str) -> Collection[str] | ClusterError:
        """Return the groups of a cluster that have members now."""
        return self._live.clusters.active_groups(alias)

    def partition_statuses(self, groups: Collection[str]) -> dict[str, list[PartitionStatus]]:
        """Return, per group, the status of the partitions whose newest commit is the source's."""
        rows = self._live.report_groups(groups, system_now_ms())
        found: dict[str, list[PartitionStatus]] = {}
        for each in _to_statuses(rows, self._source, self._target):
            found.setdefault(each.group_id, []).append(each)
        return found

    def committed_streams(self, groups: Collection[str]) -> dict[str, dict[str, bool]]:
        """Return, per group, the streams it has itself committed at either cluster, and whether at the target."""
        offsets, found = self._state.offsets, dict[str, dict[str, bool]]()
        with self._state.lock:
            keys = self._included_keys(groups)
            here, there = (
                offsets.clusters[alias].columns["genuine_offset"][keys] >= 0 for alias in (self._source, self._target)
            )
            for key, is_there in zip(keys[here | there].tolist(), there[here | there].tolist(), strict=True):
                group_id, stream, _ = offsets.keys[key]
                known = found.setdefault(group_id, {})
                known[stream] = known.get(stream, False) or is_there
        return found

    def owned_elsewhere(self, groups: Collection[str]) -> dict[str, list[str]]:
        """Return, per group, the clusters that hold its newest commit of some partition and are not the source."""
        offsets = self._state.offsets
        with self._state.lock:
            keys = self._included_keys(groups)
            owner = self._state.homes_of(keys).home
        aliases = list(offsets.clusters)
        found: dict[str, set[str]] = {}
        for key, number in zip(keys.tolist(), owner.tolist(), strict=True):
            if number >= 0 and aliases[number] != self._source:
                found.setdefault(offsets.keys[key][0], set()).add(aliases[number])
        return {group_id: sorted(names) for group_id, names in found.items()}

    def held_back(self, groups: Collection[str]) -> dict[str, str]:
        """Return, per group, which open transaction holds back commits of it at either cluster."""
        with self._state.lock:
            keys = [self._state.offsets.keys[key] for key in self._included_keys(groups).tolist()]
        reasons = self._live.progress.held_back((self._source, self._target), keys)
        return {key.group_id: str(reason) for key, reason in zip(keys, reasons, strict=True) if reason is not None}

    def _included_keys(self, groups: Collection[str]) -> KeyRows:
        keys, offsets = self._live.keys_of(groups), self._state.offsets
        is_included = [self._config.is_topic_included(offsets.keys[key][1]) for key in keys.tolist()]
        return keys[np.array(is_included, np.bool_)]

    def forget_ends(self) -> None:
        """Ask again where the logs end."""
        self._backlog.forget_ends()

    def unread(self, groups: Collection[str]) -> dict[str, int]:
        """Return what the jobs have not read yet: commits of the groups, and records up to the ends first asked for."""
        progress = self._live.refresh(system_now_ms())
        aliases = (self._source, self._target)
        hashes = coordinator_hashes(list(groups))
        answers = [progress.unread_commits(alias, hashes) for alias in aliases]
        unread = {
            "commits to read": sum(int(count.sum()) for count, _ in answers),
            "groups whose unread commits are unknown": sum(int((~is_known).sum()) for _, is_known in answers),
        }
        self._state.index.refresh()
        with self._state.lock:
            keys = [self._state.offsets.keys[key] for key in self._included_keys(groups).tolist()]
        partitions = {TopicPartition(topic, partition) for _, topic, partition in keys}
        for alias in aliases:
            unread |= self._backlog.unread(alias, partitions)
        return unread

    def translate_and_commit(self, groups: Collection[str]) -> list[Committed]:
        """Translate the groups' newest commits and commit the answers at the target."""
        self._reconciliations.clear()
        self._reconciler.reconcile_keys(self._source, self._live.keys_of(groups))
        keys = self._state.offsets.keys
        return [committed for each in self._reconciliations for committed in _to_committed(each, keys)]

    def committed_at_target(self, groups: Collection[str]) -> Mapping[str, Mapping[TopicPartition, int] | ClusterError]:
        """Return what the target itself says that it holds."""
        return self._live.clusters.committed_offsets(self._target, list(groups))

    def never_mirrored(self, groups: Collection[str]) -> dict[str, list[str]]:
        """Return, per group, which unread records of the source's own the target does not have, as offsets there.

        As far as the index knows: what the source took in after the index last read it is not among them.
        """
        state, index = self._state, self._state.index
        views: dict[TopicPartition, tuple[LogIndex, LogIndex]] = {}
        asked: list[tuple[str, TopicPartition, int]] = []
        with state.lock:
            committed, _ = state.offsets.clusters[self._source].position(state.all_rows())
            origin = index.code(self._source)
            for key in self._included_keys(groups).tolist():
                group_id, *place = state.offsets.keys[key]
                partition = TopicPartition(*place)
                source = index.log(self._source, *partition)
                if source is None or committed[key] < 0:
                    continue
                asked.append((group_id, partition, int(committed[key])))
                target = index.log(self._target, *partition) or LogIndex()
                if partition not in views:
                    views[partition] = source.view(), target.view()
        found: dict[str, list[str]] = {}
        for group_id, partition, first in asked:  # without the lock: pages are read
            parts = [
                (gap.skipped.from_offset(first), gap.pending.from_offset(first))
                for gap in replication_gaps(origin, *views[partition])
            ]
            topic = self._config.names.outside(self._source, partition.topic)
            where = f"{topic}-{partition.partition} {self._source}"
            for unread in map(joined, zip(*parts, strict=True)):
                ranges = _to_ranges(unread.start, unread.length)
                found.setdefault(group_id, []).extend(f"{where} {each}" for each in ranges)
        return found


def _to_statuses(rows: Rows, source: str, target: str) -> Iterable[PartitionStatus]:
    for row in (dict(zip(rows, values, strict=True)) for values in zip(*rows.values(), strict=True)):
        if (row["source_cluster"], row["target_cluster"]) == (source, target):
            yield PartitionStatus(
                group_id=row["group_id"],
                topic_partition=TopicPartition(row["stream"], row["partition"]),
                status=Status.of(row["status"]),
                reason=row["reason"],
                state=State[row["state"]],
                source_offset=row["source_offset"],
                wanted_offset=row["wanted_offset"],
                target_offset=row["target_offset"],
                duplicates=row["duplicates"],
                lost=row["lost"],
                not_mirrored=row["not_mirrored"],
            )


def _to_committed(reconciliation: Reconciliation, keys: Sequence[GroupPartition]) -> Iterable[Committed]:
    commits, answers = reconciliation.translated.commits, reconciliation.translated.answers
    for row, key in enumerate(commits.key.tolist()):
        group_id, topic, partition = keys[key]
        yield Committed(
            group_id=group_id,
            topic_partition=TopicPartition(topic, partition),
            source_offset=int(commits.offset[row]),
            target_offset=None if IS_WITHHELD[answers.state[row]] else int(answers.wanted[row]),
            duplicates=int(answers.duplicates[row]),
            lost=int(answers.lost[row]),
            outcome=Outcome(int(reconciliation.outcome[row])),
            error=reconciliation.error.get(row),
        )


def _to_ranges(start: Int64s, length: Int64s) -> list[str]:
    is_first = np.concatenate((start[:1] >= 0, start[1:] != (start + length)[:-1]))  # a page may have ended between
    ends = (start + length)[np.concatenate((is_first[1:], start[:1] >= 0))]
    return [f"[{first}, {end})" for first, end in zip(start[is_first].tolist(), ends.tolist(), strict=True)]
