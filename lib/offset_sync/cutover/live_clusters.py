"""The two clusters of a move, and their tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

import numpy as np

from offset_sync.config import Config
from offset_sync.cutover.crossed import (
    MARKS,
    OF_MOVES,
    ArrivedPartition,
    CrossedGroups,
    CrossedPartition,
    moved_by_lists,
    used_lists,
)
from offset_sync.cutover.homes import COLUMNS, DecidedHomes, is_of_member, members_until
from offset_sync.cutover.plan import Activity, CutoverStep, Direction, PartitionStatus, to_statuses
from offset_sync.decode.consumer_offsets import coordinator_hashes
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import (
    ABSENT,
    CLOCKS_APART_MS,
    GroupPartition,
    OffsetWrite,
    Outcome,
    Rule,
    TopicPartition,
)
from offset_sync.state.cluster_clock import system_now_ms
from offset_sync.state.group_homes import UNCERTAIN_MS
from offset_sync.state.key_index import KeyRows
from offset_sync.state.sync_state import Index, frontier
from offset_sync.status.cluster_queries import ClusterQueries, GroupAnswers, HeldOffsets
from offset_sync.status.group_homes import clusters_by_group, groups_of
from offset_sync.status.job_progress import JobProgress
from offset_sync.status.live_state import LiveState
from offset_sync.sync.read_lists import ReadLists
from offset_sync.sync.reconciled import OffsetWriter, Reconciliation
from offset_sync.sync.reconciler import Reconciler
from offset_sync.tables.catalog import CUTOVERS, GROUP_EVENTS, OFFSET_COMMITS
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.partition import IS_WITHHELD
from offset_sync.translate.replication_gap import OffsetRanges, joined, replication_gaps

# As Kafka's own StreamsResetter knows them; changelogs are committed by no group.
_INTERNAL = re.compile(
    r".+-(repartition|subscription-(registration|response)-topic"
    r"|KTABLE-FK-JOIN-SUBSCRIPTION-(REGISTRATION|RESPONSE)-\d+-topic)"
)


class LiveClusters:
    """Moves go in *direction*; *writer* commits, *record* keeps reconciliations."""

    def __init__(
        self,
        config: Config,
        live: LiveState,
        direction: Direction,
        writer: OffsetWriter,
        record: Callable[[Reconciliation], None],
    ) -> None:
        self._config = config.model_copy(update={"directions": ((direction.source, direction.target),)})
        self._live, self._state, self._record = live, live.state, record
        self._source, self._target = direction
        self._backlog = IndexBacklog(live.clusters, self._state.index)
        self._reconciliations: list[Reconciliation] = []
        self._homes, self._moving = DecidedHomes(self._state, direction), set[str]()
        self._wanted: dict[GroupPartition, int | None] = {}
        self._writer = writer
        lists = ReadLists(self._config, self._state, live.clusters.admins())
        writers = {self._target: self._writer}
        self._reconciler = Reconciler(self._config, self._state, live.clusters, writers, self, lists)
        self._crossed = CrossedGroups(self._state, self._reconciler, lists, live.clusters, direction)
        live.on_follow = self._decide_homes

    def append(self, reconciliation: Reconciliation) -> None:
        """Keep a reconciliation for :meth:`translate_and_commit`, and pass it on."""
        self._reconciliations.append(reconciliation)
        self._record(reconciliation)

    def groups(self) -> list[str]:
        """Return every included group that has committed on an included topic, by the tables or coordinators."""
        with self._state.lock:
            rows = self._state.all_rows()
            return sorted(groups_of(self._state, rows[self._state.keys.is_included(rows)]))

    def activities(self, alias: str, groups: Collection[str]) -> Mapping[str, Activity] | ClusterError:
        """Return whether each of *groups* has members there now; UNKNOWN: it has offsets there, and is not listed."""
        listed = self._live.clusters.listed_groups(alias)
        if isinstance(listed, ClusterError):
            return listed
        unknown = {each.group_id for each in self._held(alias, {*groups} - listed.keys())}
        found = dict.fromkeys(groups, Activity.INACTIVE) | dict.fromkeys(unknown, Activity.UNKNOWN)
        return found | {group_id: Activity.ACTIVE for group_id, is_active in listed.items() if is_active}

    def _held(self, alias: str, groups: Collection[str]) -> list[GroupPartition]:
        """Return the keys of *groups* that have offsets at a cluster, also of topics that are not included."""
        rows, there = self._live.keys_of(groups), self._state.offsets.clusters[alias]
        with self._state.lock:
            is_there = (there.position(rows)[0] >= 0) & ~there.columns["is_deleted"][rows]
            return [self._state.offsets.keys[row] for row in rows[is_there].tolist()]

    def readers(self, groups: Collection[str]) -> dict[str, int]:
        """Return, per group, the age of its own newest commit at the source, in ms, if that suggests a reader.

        The commit is young, and no member of the group made it.

        By the tables: commits that are not captured yet are waited for elsewhere. A commit from when the group was
        moved to the source, or before, does not count: a reader there commits again.
        """
        state, now_ms = self._state, system_now_ms()
        with state.lock:
            keys = self._included_keys(groups)
            number = list(state.offsets.clusters).index(self._source)
            made_ms, moved_ms = state.homes.committed_ms(keys)[number], state.homes.moved_ms(keys, self._source)
            is_of_move = (moved_ms != ABSENT) & (made_ms <= moved_ms + UNCERTAIN_MS)
            made_ms = np.where(is_of_move, ABSENT, made_ms)
            at_ms = state.offsets.clusters[self._source].columns["genuine_at_ms"][keys]
        newest: dict[str, list[int]] = {}
        for key, *times in zip(keys.tolist(), made_ms.tolist(), at_ms.tolist(), strict=True):
            group_id = state.offsets.keys[key].group_id
            newest[group_id] = max(newest.get(group_id, times), times)
        young = {group_id: each for group_id, each in newest.items() if now_ms - each[0] < state.homes.silence_ms}
        events = self._live.tables.batches(GROUP_EVENTS, COLUMNS) if young else ()
        left = members_until(events, self._source, young)
        return {
            group_id: max(now_ms - made, 0)
            for group_id, (made, at) in young.items()
            if not (group_id in left and is_of_member(at, left[group_id]))
        }

    def _decide_homes(self) -> None:
        """Make the source the home of the groups to move, as far as this command decides it."""
        self._homes.decide(self._included_keys(self._moving))

    def partition_statuses(self, groups: Collection[str]) -> dict[str, list[PartitionStatus]]:
        """Return, per group, the status of the partitions whose newest commit is the source's."""
        self._moving |= {*groups}
        rows = self._live.report(system_now_ms(), groups)
        found: dict[str, list[PartitionStatus]] = {}
        for each in to_statuses(rows, self._source, self._target):
            place = each.topic_partition
            if (reason := self._homes.contested.get((each.group_id, place.topic))) is not None:
                each = replace(each, contest=reason)
            self._wanted[GroupPartition(each.group_id, *place)] = each.wanted_offset
            found.setdefault(each.group_id, []).append(each)
        return found

    def crossed(self, groups: Collection[str], *, asks_source: bool = True) -> dict[str, list[CrossedPartition]]:
        """Return, per group that gets read lists, its partitions with their lists, as of now."""
        found: dict[str, list[CrossedPartition]] = {}
        for each in self._crossed.look(self._included_keys(groups), asks_source=asks_source):
            found.setdefault(each.key.group_id, []).append(each)
        return found

    def arrived(self, group_id: str) -> list[ArrivedPartition]:
        """Return the partitions of a group that were moved with read lists, as seen from its consumers."""
        tables = self._live.tables
        moved = moved_by_lists(tables.batches(CUTOVERS, OF_MOVES), group_id, self._source, self._target)
        if not moved:
            return []
        since = min(each.at for each in moved.values()) - timedelta(milliseconds=CLOCKS_APART_MS)
        marks = tables.batches(OFFSET_COMMITS, MARKS, at_least=("committed_at", since))
        return self._crossed.arrived(moved, used_lists(marks, self._target, group_id))

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

    def internal_topics(self, groups: Collection[str]) -> dict[str, str]:
        """Return, per application of Kafka Streams, a topic between its parts of which it has offsets at the source."""
        names = self._config.names
        held = [(each.group_id, names.outside(self._source, each.topic)) for each in self._held(self._source, groups)]
        return {group_id: topic for group_id, topic in sorted(held) if _INTERNAL.fullmatch(topic)}

    def owned_elsewhere(self, groups: Collection[str]) -> dict[str, list[str]]:
        """Return, per group, the clusters that hold its newest commit of some partition and are not the source."""
        with self._state.lock:
            found = clusters_by_group(self._state, self._included_keys(groups))
        others = {group_id: sorted({*homes} - {self._source}) for group_id, homes in found.items()}
        return {group_id: homes for group_id, homes in others.items() if homes}

    def held_back(self, groups: Collection[str]) -> dict[str, str]:
        """Return, per group, which open transaction held back its commits when the statuses were requested."""
        keys = self._keys(groups)
        reasons = self._live.progress.held_back((self._source, self._target), keys)
        return {key.group_id: str(reason) for key, reason in zip(keys, reasons, strict=True) if reason is not None}

    def _included_keys(self, groups: Collection[str]) -> KeyRows:
        with self._state.lock:
            keys = self._live.keys_of(groups)
            return keys[self._state.keys.is_included(keys)]

    def _keys(self, groups: Collection[str]) -> list[GroupPartition]:
        with self._state.lock:
            return [self._state.offsets.keys[key] for key in self._included_keys(groups).tolist()]

    def forget_ends(self) -> None:
        """Have :meth:`unread` ask for the log ends again; between two calls it counts up to the same ends."""
        self._backlog.forget_ends()

    def unread(self, groups: Collection[str]) -> dict[str, int]:
        """Return the jobs' backlog by kind: commits, and records of the groups' partitions.

        Records are counted up to the log ends first returned: under load there is always one more.
        """
        held = self._live.ask(groups)  # first: the progress read afterwards counts uncaptured commits
        progress = self._live.refresh(system_now_ms())
        self._state.index.refresh()
        with self._state.lock:
            rows = self._included_keys(groups)
            keys = [self._state.offsets.keys[row] for row in rows.tolist()]
        unread = self._unread_commits(rows, keys, held, progress)
        partitions = {key.topic_partition for key in keys}
        for alias in (self._source, self._target):
            unread |= self._backlog.unread(alias, partitions)
        return unread

    def _unread_commits(
        self, rows: KeyRows, keys: Sequence[GroupPartition], held: HeldOffsets, progress: JobProgress
    ) -> dict[str, int]:
        """Count offsets at coordinators that no table has, except for the answer itself at the target.

        Without a coordinator's answer, all unread records in its groups' commit log partitions count.
        """
        hashes, count, unknown = coordinator_hashes([key.group_id for key in keys]), 0, 0
        wanted = np.array([self._wanted.get(key, ABSENT) for key in keys], object)
        for alias in (self._source, self._target):
            unread, is_read = progress.unread_commits(alias, hashes)
            with self._state.lock:
                captured = self._state.offsets.clusters[alias].columns["actual_offset"][rows]
            asked = [
                held.at_source(alias, key) if alias == self._source else held.at_target(alias, key) for key in keys
            ]
            offset = np.array([ABSENT if each.offset is None else each.offset for each in asked], np.int64)
            is_known = np.array([each.error is None for each in asked], np.bool_)
            is_other = (offset != captured) & ((alias == self._source) | (offset != wanted))
            may_be_unread = (unread > 0) | ~is_read
            count += int(np.where(is_known, is_other & may_be_unread, unread).sum())
            unknown += int((~is_known & ~is_read).sum())
        return {"commits to read": count, "partitions whose unread commits are unknown": unknown}

    def translate_and_commit(self, groups: Collection[str]) -> list[CutoverStep]:
        """Translate the groups' newest commits and commit the answers at the target; return these commits."""
        self._reconciliations.clear()
        self._reconciler.reconcile_keys(self._source, self._live.keys_of(groups))
        keys = self._state.offsets.keys
        return [committed for each in self._reconciliations for committed in _to_steps(each, keys)]

    def commit_starts(self, keys: Collection[GroupPartition]) -> list[CutoverStep]:
        """Commit the target's log starts for *keys* that have no offset there."""
        said = self._live.clusters.fetch([self._target], {key.topic_partition for key in keys})[self._target]
        ends = {} if isinstance(said, ClusterError) else said.ends
        writes = [
            OffsetWrite(*key, start.log_start, start.leader_epoch, Rule.SET, expected_offset=None)
            for key in keys
            if (start := ends.get(key.topic_partition)) is not None
        ]
        outcomes = self._writer.write(writes) if writes else ()
        return [
            CutoverStep.of_commit(
                GroupPartition(each.group_id, each.topic, each.partition),
                found.outcome,
                found.error,
                target_offset=each.offset,
                duplicates=0,
                lost=0,
            )
            for each, found in zip(writes, outcomes, strict=True)
        ]

    def committed_at_target(self, groups: Collection[str]) -> GroupAnswers:
        """Return the offsets that the target itself holds."""
        return self._live.clusters.committed_offsets(self._target, list(groups))

    def never_mirrored(self, groups: Collection[str]) -> dict[str, list[str]]:
        """Return, per group, the unread records produced at the source that the target does not have, as its offsets.

        By the index: records produced after the index last read the source are not included.
        """
        state, index, rows = self._state, self._state.index, self._included_keys(groups)
        said = self._live.clusters.fetch([self._target], self._state.keys.partitions_of(rows))[self._target]
        views, asked = {}, list[tuple[GroupPartition, int]]()
        with state.lock:
            origin, (committed, _) = index.code(self._source), state.offsets.clusters[self._source].position(rows)
            for key, first in zip((state.offsets.keys[row] for row in rows.tolist()), committed.tolist(), strict=True):
                place = key.topic_partition
                if first < 0 or (source := index.log(self._source, *place)) is None:
                    continue
                asked.append((key, first))
                target = (index.log(self._target, *place) or LogIndex()).view()
                if not isinstance(said, ClusterError) and place in said.cut:
                    # Truncated: there it begins to differ from the index, at 0 where that is not known.
                    target = target.below(said.ended[place].end if place in said.ended else 0)
                views[place] = source.view(), target
        found: dict[str, list[str]] = {}
        for key, first in asked:  # without the lock: pages are read
            log = f"{self._config.names.outside(self._source, key.topic)}-{key.partition} {self._source}"
            gaps = list(replication_gaps(origin, *views[key.topic_partition]))
            for unread in (joined([gap.skipped for gap in gaps]), joined([gap.pending for gap in gaps])):
                ranges = _to_ranges(unread.from_offset(first))
                found.setdefault(key.group_id, []).extend(f"{log} {each}" for each in ranges)
        return found


class IndexBacklog:
    """Counts the records that *index* has not read of the logs of *clusters*, up to the ends first returned.

    Ends are kept until they are forgotten: under load a log always has one more record, so a wait for the present end
    would never finish.
    """

    def __init__(self, clusters: ClusterQueries, index: Index) -> None:
        self._clusters, self._index = clusters, index
        self._ends: dict[str, dict[TopicPartition, int]] = {}

    def forget_ends(self) -> None:
        """Have the log ends requested again."""
        self._ends.clear()

    def unread(self, alias: str, partitions: Collection[TopicPartition]) -> dict[str, int]:
        """Count records below the known ends, and partitions without a leader or the right to describe them."""
        metadata = self._clusters.fetch([alias], partitions)[alias]
        if isinstance(metadata, ClusterError):
            return {f"partitions of {alias}, which does not answer": len(partitions)}
        known = self._ends.setdefault(alias, {})
        for each in partitions:
            if (end := metadata.log_end(each)) is not None:
                known.setdefault(each, end)
        unread = (known[each] - frontier(self._index, alias, each) for each in partitions if each in known)
        return {
            f"records of {alias} to index": sum(max(0, count) for count in unread),
            f"partitions of {alias} whose end is unknown": sum(each not in known for each in partitions),
        }


def _to_steps(done: Reconciliation, keys: Sequence[GroupPartition]) -> Iterable[CutoverStep]:
    commits, answers = done.translated.commits, done.translated.answers
    for row, key in enumerate(commits.key.tolist()):
        yield CutoverStep.of_commit(
            keys[key],
            Outcome(int(done.outcome[row])),
            done.error.get(row),
            source_offset=int(commits.offset[row]),
            target_offset=None if IS_WITHHELD[answers.state[row]] else int(answers.wanted[row]),
            duplicates=int(answers.duplicates[row]),
            lost=int(answers.lost[row]),
            skipped=done.skipped.get(row),
        )


def _to_ranges(unread: OffsetRanges) -> list[str]:
    start, end = unread.start, unread.start + unread.length
    is_first = np.append(True, start[1:] != end[:-1])[: len(start)]  # a page may have ended between
    is_last = np.append(is_first[1:], True)[: len(start)]
    return [f"[{first}, {last})" for first, last in zip(start[is_first].tolist(), end[is_last].tolist(), strict=True)]
