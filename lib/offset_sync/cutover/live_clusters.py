"""The two clusters of a move, and their tables."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from offset_sync.config import Config
from offset_sync.cutover.crossed import CrossedGroups, CrossedPartition
from offset_sync.cutover.homes import COLUMNS, DecidedHomes, is_of_member, members_until
from offset_sync.cutover.judge import Facts, Members
from offset_sync.cutover.plan import Activity, CutoverStep, Direction, PartitionStatus, to_statuses
from offset_sync.kafka.requests import Committed
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import (
    ABSENT,
    ClusterPartition,
    GroupPartition,
    OffsetWrite,
    Outcome,
    Rule,
    TopicPartition,
)
from offset_sync.state.cluster_clock import system_now_ms
from offset_sync.state.group_homes import UNCERTAIN_MS
from offset_sync.state.key_index import KeyRows
from offset_sync.state.sync_state import frontier
from offset_sync.status.cluster_queries import GroupAnswers
from offset_sync.status.group_homes import groups_of
from offset_sync.status.live_state import LiveState
from offset_sync.sync.read_lists import ReadLists
from offset_sync.sync.reconciled import OffsetWriter, Reconciliation
from offset_sync.sync.reconciler import Reconciler
from offset_sync.tables.catalog import GROUP_EVENTS
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
        *,
        decides: bool = True,
    ) -> None:
        """*decides*: take nobody's word, as for a move that is carried out."""
        self._decides = decides
        self._config = config.model_copy(update={"directions": ((direction.source, direction.target),)})
        self._live, self._state, self._record = live, live.state, record
        self._source, self._target = direction
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
        return sorted(groups_of(self._state, self._included_keys(None)))

    def facts(self, groups: Collection[str], *, is_planned: bool) -> dict[str, Facts]:
        """Return what is found of each group; the source is asked only for a planned move."""
        there = self.activities(self._target, self.held_at(self._target, groups))
        held = self.held_at(self._source, groups) if is_planned else {}
        here = self.activities(self._source, held) if is_planned else dict.fromkeys(groups, Activity.UNKNOWN)
        internal, statuses = self.internal_topics(held), self.partition_statuses(groups)
        readers = self.readers(groups) if is_planned else {}
        crossed = self.crossed(groups, asks_source=is_planned)
        with self._state.lock:
            keys, aliases = self._included_keys(groups), list(self._state.offsets.clusters)
            homes = {alias: groups_of(self._state, self._state.rows_of(alias, keys)) for alias in aliases}
            streams = dict[str, set[str]]()
            for row in keys.tolist():
                group_id, stream, _ = self._state.offsets.keys[row]
                streams.setdefault(group_id, set()).add(stream)
        return {
            each: Facts(
                here[each],
                there[each],
                statuses.get(each, ()),
                [alias for alias in sorted(homes) if alias != self._source and each in homes[alias]],
                readers.get(each),
                streams.get(each, ()),
                internal.get(each),
                [one for one in crossed if one.key.group_id == each],
            )
            for each in groups
        }

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
        found = dict[str, Members]()
        for group_id, answer in held.items():
            if group_id not in listed:
                found[group_id] = Activity.UNKNOWN if answer else Activity.INACTIVE
            elif isinstance(answer, ClusterError):
                found[group_id] = answer
            else:
                found[group_id] = Activity.ACTIVE if listed[group_id] else Activity.INACTIVE
        return found

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
        young = dict[str, tuple[int, int]]()
        for key, *times in zip(keys.tolist(), made_ms[is_young].tolist(), at_ms.tolist(), strict=True):
            group_id = state.offsets.keys[key].group_id
            young[group_id] = max(young.get(group_id, (ABSENT, ABSENT)), (times[0], times[1]))
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

    def _statuses(self, rows: pa.Table) -> dict[str, list[PartitionStatus]]:
        found: dict[str, list[PartitionStatus]] = {}
        for each in to_statuses(rows, self._source, self._target):
            place = each.topic_partition
            if (reason := self._homes.contested.get((each.group_id, place.topic))) is not None:
                each = replace(each, contest=reason)
            self._wanted[GroupPartition(each.group_id, *place)] = each.wanted_offset
            found.setdefault(each.group_id, []).append(each)
        return found

    def crossed(self, groups: Collection[str], *, asks_source: bool = True) -> list[CrossedPartition]:
        """Return the partitions of those groups that get read lists, with their lists, as of now."""
        return self._crossed.look(self._included_keys(groups), asks_source=asks_source)

    def listed_ends(self, group_id: str) -> dict[GroupPartition, int | None]:
        """Return up to where a group that has gone on at the target still skips there; none where it is not known."""
        return self._crossed.ends(group_id)

    def internal_topics(self, held: GroupAnswers) -> dict[str, str]:
        """Return, per application of Kafka Streams, a topic between its parts of which the source holds offsets."""
        found = dict[str, str]()
        for group_id, answer in held.items():
            places = () if isinstance(answer, ClusterError) else sorted(answer)
            for each in places:
                if _INTERNAL.fullmatch(topic := self._config.names.outside(self._source, each.topic)):
                    found[group_id] = topic
        return found

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
        answers = {alias: self.held_at(alias, groups) for alias in (self._target, self._source)}
        self._live.follow()
        self._state.index.refresh()
        with self._state.lock:
            rows, offsets = self._included_keys(groups), self._state.offsets
            is_moved = self._state.counts(self._source, rows)
            is_moved &= ~offsets.clusters[self._source].columns["is_deleted"][rows]
            keys = [offsets.keys[row] for row in rows.tolist()]
            known = [offsets.clusters[alias].position(rows)[0].tolist() for alias in answers]
        positions = records = 0
        for key, is_own, there, here in zip(keys, is_moved.tolist(), *known, strict=True):
            held = [_offset_of(of_groups[key.group_id], key.topic_partition) for of_groups in answers.values()]
            is_read = held[0] in (ABSENT, there, self._wanted.get(key)) and held[1] == here
            positions += None in held or not (is_read if is_own else held[1] in (ABSENT, here))
        keys = [key for key, is_own in zip(keys, is_moved.tolist(), strict=True) if is_own]
        said = self._live.clusters.fetch(answers, places := {key.topic_partition for key in keys})
        with self._state.lock:
            for alias, place in itertools.product(answers, places):
                metadata = said[alias]
                log, end = ClusterPartition(alias, *place), None
                if not isinstance(metadata, ClusterError) and (end := metadata.log_end(place)) is not None:
                    end = ends.setdefault(log, end)
                records += 1 if end is None else max(0, end - frontier(self._state.index, alias, place))
        return {"positions of groups to read": positions, "records to index": records}

    def translate_and_commit(self, groups: Collection[str]) -> list[CutoverStep]:
        """Translate the groups' newest commits and commit the answers at the target; return these commits."""
        self._reconciliations.clear()
        self._state.index.refresh()
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

    def never_mirrored(self, groups: Collection[str]) -> dict[str, list[str]]:
        """Return, per group, the unread records produced at the source that the target does not have, as its offsets.

        By the index: records produced after the index last read the source are not included.
        """
        state, index, rows = self._state, self._state.index, self._included_keys(groups)
        said = self._live.clusters.fetch([self._target], state.keys.partitions_of(rows))[self._target]
        with state.lock:
            origin, (committed, _) = index.code(self._source), state.offsets.clusters[self._source].position(rows)
            keys = [state.offsets.keys[row] for row in rows.tolist()]
        found: dict[str, list[str]] = {}
        for key, first in zip(keys, committed.tolist(), strict=True):
            place = key.topic_partition
            with state.lock:  # not while pages are read
                here, there = (index.log(alias, *place) or LogIndex() for alias in (self._source, self._target))
                source, target = here.view(), there.view()
            if first < 0:
                continue
            if not isinstance(said, ClusterError) and place in said.cut:
                # Truncated: there it begins to differ from the index, at 0 where that is not known.
                target = target.below(said.ended[place].end if place in said.ended else 0)
            gaps = list(replication_gaps(origin, source, target))
            log = f"{self._config.names.outside(self._source, key.topic)}-{key.partition} {self._source}"
            for unread in (joined([gap.skipped for gap in gaps]), joined([gap.pending for gap in gaps])):
                ranges = _to_ranges(unread.from_offset(first))
                found.setdefault(key.group_id, []).extend(f"{log} {each}" for each in ranges)
        return found


def _offset_of(answer: Mapping[TopicPartition, Committed] | ClusterError, place: TopicPartition) -> int | None:
    """Return a committed offset, ABSENT for none, None where it is not known."""
    if isinstance(answer, ClusterError):
        return None
    return answer[place].offset if place in answer else ABSENT


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
