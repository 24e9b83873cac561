"""The two clusters of a move, and their tables."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Mapping, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from offset_sync.config import Config
from offset_sync.cutover.crossed import CrossedPartition, end_above, look_at_lists
from offset_sync.cutover.homes import COLUMNS, decide_homes, is_of_member, members_until
from offset_sync.cutover.plan import Activity, CutoverStep, Direction, GroupPlan, Members, PartitionStatus
from offset_sync.kafka.requests import Committed
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import (
    ABSENT,
    ClusterPartition,
    GroupPartition,
    OffsetWrite,
    TopicPartition,
)
from offset_sync.state.cluster_clock import system_now_ms
from offset_sync.state.cluster_queries import GroupAnswers
from offset_sync.state.group_homes import UNCERTAIN_MS
from offset_sync.state.held_positions import groups_of
from offset_sync.state.key_index import KeyRows
from offset_sync.state.sync_state import frontier
from offset_sync.status.assessment import Row
from offset_sync.status.live_state import LiveState
from offset_sync.sync.held_lists import own_group
from offset_sync.sync.read_lists import ReadLists
from offset_sync.sync.reconciled import OffsetWriter, Reconciliation
from offset_sync.sync.reconciler import Reconciler
from offset_sync.sync.reconciliation import ReconcilePass
from offset_sync.sync.translation_history import to_rows
from offset_sync.tables.catalog import GROUP_EVENTS, OFFSET_TRANSLATIONS

# As Kafka's own StreamsResetter knows them; changelogs are committed by no group.
_INTERNAL = re.compile(
    r".+-(repartition|subscription-(registration|response)-topic"
    r"|KTABLE-FK-JOIN-SUBSCRIPTION-(REGISTRATION|RESPONSE)-\d+-topic)"
)


class LiveClusters:
    """Moves go in *direction*; *writer* commits."""

    def __init__(
        self,
        config: Config,
        live: LiveState,
        direction: Direction,
        writer: OffsetWriter,
        *,
        decides: bool = True,
    ) -> None:
        """*decides*: take nobody's word, as for a move that is carried out."""
        self._decides = decides
        self._config = config.model_copy(update={"directions": ((direction.source, direction.target),)})
        self._live, self._state = live, live.state
        self._direction, (self._source, self._target) = direction, direction
        self._done = list[pa.Table]()
        self._contested, self._moving = dict[tuple[str, str], str](), set[str]()
        self._wanted: dict[GroupPartition, int | None] = {}
        self._writer = writer
        self._lists = ReadLists(self._config, self._state, live.clusters.admins())
        writers = {self._target: self._writer}
        self._reconciler = Reconciler(
            ReconcilePass(self._config, self._state, live.clusters, writers, self, self._lists)
        )
        live.on_follow = self._decide_homes

    def append(self, reconciliation: Reconciliation) -> None:
        """Keep rows for :meth:`translate_and_commit`, and append what is new of them to the history.

        Before any group is at home at the target: an append that fails ends the command.
        """
        count, keys = len(reconciliation.outcome), self._state.offsets.keys
        self._done.append(rows := to_rows(reconciliation, np.arange(count), keys, self._config))
        self._live.tables.append(OFFSET_TRANSLATIONS, rows.filter(pa.array(reconciliation.is_news)))

    def groups(self) -> list[str]:
        """Return every included group that has committed on an included topic, by the tables or coordinators."""
        return sorted(groups_of(self._state, self._included_keys(None)))

    def facts(self, groups: Collection[str]) -> list[GroupPlan]:
        """Return what is found of each group; a source that is given up is not asked."""
        there = self.activities(self._target, self.held_at(self._target, groups))
        here = self.activities(self._source, held := self.held_at(self._source, groups))
        internal, statuses, lists = self.internal_topics(held), self.partition_statuses(groups), self.crossed(groups)
        readers = self.readers([each for each in groups if isinstance(here[each], Activity)])
        return [
            GroupPlan(
                each,
                here[each],
                there[each],
                statuses.get(each, ()),
                [one for one in lists if one.key.group_id == each],
                readers.get(each),
                internal.get(each),
            )
            for each in groups
        ]

    def held_at(self, alias: str, groups: Collection[str]) -> GroupAnswers:
        """Return what a cluster's coordinators hold of each group."""
        return self._live.clusters.committed_offsets(alias, [*groups])

    def activities(self, alias: str, held: GroupAnswers) -> dict[str, Members]:
        """Return whether each of the groups in *held* has members there now.

        UNKNOWN: it is not listed, and may have offsets there, also of topics that are not included.
        """
        listed = self._live.clusters.listed_groups(alias)
        if isinstance(listed, ClusterError):
            return dict.fromkeys(held, listed)
        return {group_id: _members(answer, listed.get(group_id)) for group_id, answer in held.items()}

    def readers(self, groups: Collection[str]) -> dict[str, int]:
        """Return, per group, the age of its own newest commit at the source, in ms, if that suggests a reader.

        The commit is young, and no member of the group made it.

        By the tables: commits that are not captured yet are waited for elsewhere. A commit from when the group was
        moved to the source, or before, does not count: a reader there commits again.
        """
        state, now_ms = self._state, system_now_ms()
        with state.lock:
            keys = self._included_keys(groups)
            made_ms = state.homes.committed_ms(keys)[list(state.offsets.clusters).index(self._source)]
            moved_ms = state.homes.moved_ms(keys, self._source)
            is_of_move = (moved_ms != ABSENT) & (made_ms <= moved_ms + UNCERTAIN_MS)
            keys = keys[is_young := ~is_of_move & (now_ms - made_ms < state.homes.silence_ms)]
            at_ms = state.offsets.clusters[self._source].columns["genuine_at_ms"][keys]
            young = [state.offsets.keys[key].group_id for key in keys.tolist()]
        left = members_until(self._live.tables.batches(GROUP_EVENTS, COLUMNS), self._source, young) if young else {}
        found = dict[str, int]()
        for group_id, made, at in zip(young, made_ms[is_young].tolist(), at_ms.tolist(), strict=True):
            if group_id not in left or not is_of_member(at, left[group_id]):
                age_ms = max(now_ms - made, 0)
                found[group_id] = min(found.get(group_id, age_ms), age_ms)
        return found

    def _decide_homes(self) -> None:
        """Make the source the home of the groups to move, as far as this command decides it."""
        contested = decide_homes(self._state, self._direction, self._included_keys(self._moving))
        self._contested = contested | self._contested

    def partition_statuses(self, groups: Collection[str]) -> dict[str, list[PartitionStatus]]:
        """Return, per group, the status of the partitions whose newest commit is the source's.

        As a living sync_offsets says. It is decided here for a move that is carried out, and where a group has no home,
        or was moved before: then naming the source decides.
        """
        self._moving |= {*groups}
        if self._decides:
            return self._statuses(self._live.report(system_now_ms(), groups))
        self._live.follow()
        found = self._statuses(self._live.published(system_now_ms(), groups))
        left = [each for each in groups if any(one.contest for one in found.get(each, ())) or each not in found]
        if left and not self._live.is_decided_here:
            found |= self._statuses(self._live.report(system_now_ms(), left))
        return found

    def _statuses(self, rows: Sequence[Row]) -> dict[str, list[PartitionStatus]]:
        found = dict[str, list[PartitionStatus]]()
        for row in rows:
            if (row["source_cluster"], row["target_cluster"]) == self._direction:
                key = GroupPartition(row["group_id"], row["stream"], row["partition"])
                self._wanted[key] = row["wanted_offset"]
                contest = self._contested.get(key[:2])
                found.setdefault(key.group_id, []).append(PartitionStatus.of(row, key, contest))
        return found

    def crossed(self, groups: Collection[str]) -> list[CrossedPartition]:
        """Return the partitions of those groups that get read lists, with their lists, as of now; writes nothing."""
        keys = self._included_keys(groups)
        self._state.index.refresh()
        with self._state.lock:
            rows = self._state.rows_of(self._source, keys[self._lists.has_named(keys)])
            rows = rows[~self._is_deleted(rows)]
        if len(rows) == 0:
            return []
        return look_at_lists(self._state, self._reconciler, self._live.clusters, self._direction, rows)

    def listed_ends(self, group_id: str) -> dict[GroupPartition, int | None]:
        """Return up to where a group that has gone on at the target still skips there, None where it is past its list.

        Empty where that is not known.
        """
        held = self.held_at(self._target, [group_id, list_group := own_group(group_id)])
        own, lists = held[group_id], held[list_group]
        if isinstance(own, ClusterError) or isinstance(lists, ClusterError):
            return {}
        return {GroupPartition(group_id, *place): end_above(lists.get(place), at.offset) for place, at in own.items()}

    def _is_deleted(self, rows: KeyRows) -> NDArray[np.bool_]:
        is_deleted: NDArray[np.bool_] = self._state.offsets.clusters[self._source].columns["is_deleted"][rows]
        return is_deleted

    def internal_topics(self, held: GroupAnswers) -> dict[str, str]:
        """Return, per application of Kafka Streams, a topic between its parts of which the source holds offsets."""
        return {
            group_id: topic
            for group_id, answer in held.items()
            for each in (() if isinstance(answer, ClusterError) else sorted(answer))
            if _INTERNAL.fullmatch(topic := self._config.names.outside(self._source, each.topic))
        }

    def _included_keys(self, groups: Collection[str] | None) -> KeyRows:
        with self._state.lock:
            keys = self._live.keys_of(groups)
            return keys[self._state.keys.is_included(keys)]

    def unread(self, groups: Collection[str], ends: dict[ClusterPartition, int]) -> dict[str, int]:
        """Count what the tables do not have yet: positions of groups to move, and records below the *ends* of logs.

        Ends that are not known yet are added; under load there is always one more record than before. A position is
        read where the source holds the commit that was decided on, and the target its answer, or nothing, or what was
        known there. Of what is at home elsewhere the source may hold nothing new, as that would make it the home. What
        is not known counts as unread.
        """
        both = self._target, self._source
        held = [self.held_at(alias, groups) for alias in both]
        self._live.follow()
        self._state.index.refresh()
        with self._state.lock:
            rows, offsets = self._included_keys(groups), self._state.offsets
            keys = [offsets.keys[row] for row in rows.tolist()]
            is_moved = self._state.counts(self._source, rows) & ~self._is_deleted(rows)
            known = [offsets.clusters[alias].position(rows)[0].tolist() for alias in both]
        positions, records, places = 0, 0, set[TopicPartition]()
        for key, is_own, *of_both in zip(keys, is_moved.tolist(), *known, strict=True):
            place, (there, here) = key.topic_partition, of_both
            at_target, at_source = (_offset_of(answers[key.group_id], place) for answers in held)
            is_read = at_source == here or (at_source == ABSENT and not is_own)
            if is_own:
                places.add(place)
                is_read &= at_target in (ABSENT, there, self._wanted.get(key))
            positions += None in (at_target, at_source) or not is_read
        said = self._live.clusters.fetch(both, places)
        with self._state.lock:
            for alias, place in itertools.product(both, places):
                metadata, log = said[alias], ClusterPartition(alias, *place)
                end = None if isinstance(metadata, ClusterError) else metadata.log_end(place)
                end = None if end is None else ends.setdefault(log, end)
                records += 1 if end is None else max(0, end - frontier(self._state.index, alias, place))
        return {"positions of groups to read": positions, "records to index": records}

    def translate_and_commit(self, groups: Collection[str]) -> list[CutoverStep]:
        """Translate the groups' newest commits and commit the answers at the target; return these commits."""
        self._done.clear()
        self._state.index.refresh()
        self._reconciler.reconcile_keys(self._source, self._live.keys_of(groups))
        return [CutoverStep.of(row) for rows in self._done for row in rows.to_pylist()]

    def commit_starts(self, keys: Collection[GroupPartition]) -> list[CutoverStep]:
        """Commit the target's log starts for *keys* that have no offset there."""
        said = self._live.clusters.fetch([self._target], {key.topic_partition for key in keys})[self._target]
        ends = {} if isinstance(said, ClusterError) else said.ends
        starts = {key: start for key in keys if (start := ends.get(key.topic_partition)) is not None}
        writes = [
            OffsetWrite(*key, start.log_start, start.leader_epoch, expected_offset=None)
            for key, start in starts.items()
        ]
        done = self._writer.write(writes) if writes else ()
        return [
            CutoverStep.of_commit(key, one.outcome, one.error, target_offset=start.log_start)
            for (key, start), one in zip(starts.items(), done, strict=True)
        ]


def _members(answer: Mapping[TopicPartition, Committed] | ClusterError, is_active: bool | None) -> Members:
    """Return whether a group has members, of which the coordinator says this *answer*; None: it is not listed."""
    if is_active is None:
        return Activity.UNKNOWN if answer else Activity.INACTIVE
    if isinstance(answer, ClusterError):
        return answer
    return Activity.ACTIVE if is_active else Activity.INACTIVE


def _offset_of(answer: Mapping[TopicPartition, Committed] | ClusterError, place: TopicPartition) -> int | None:
    """Return a committed offset, ABSENT for none, None where it is not known."""
    if isinstance(answer, ClusterError):
        return None
    return answer[place].offset if place in answer else ABSENT
