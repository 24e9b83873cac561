"""A report: the verdict of every key, beside what coordinators, logs and the index say at this moment."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from offset_sync.config import Config
from offset_sync.config.duration import to_ms
from offset_sync.model.errors import ClusterError
from offset_sync.model.reasons import Reason
from offset_sync.model.values import ABSENT, Outcome, State, Status, TopicPartition
from offset_sync.state.cluster_metadata import Snapshot
from offset_sync.state.sync_state import SyncState, frontiers
from offset_sync.state.translator import Pair, Translator
from offset_sync.status.assessment import Assessment, Bools, to_rows
from offset_sync.status.classify import classify, needs_comparison
from offset_sync.status.cluster_queries import ClusterQueries, Held, HeldOffsets, ask_coordinators
from offset_sync.status.group_homes import with_uncommitted
from offset_sync.status.job_progress import IndexCatchUp, JobProgress
from offset_sync.status.measure import NO_END, Decided, LogPair, compare_logs, log_end, measure, readable_from
from offset_sync.status.record_comparison import RecordComparer, RecordPair
from offset_sync.status.staleness import ReportStaleness
from offset_sync.status.verdicts import Verdicts
from offset_sync.sync.held_lists import listed, own_group
from offset_sync.tables.catalog import SYNC_STATUS
from offset_sync.translate.partition import IS_WITHHELD
from offset_sync.translate.partition_log import GivenOffsets, PartitionLog
from offset_sync.translate.read_list import count_listed
from offset_sync.translate.strategies import is_stamped

_SHAPE_WINDOW_MS = 3_600_000
"""The producing clusters of a topic are those of the records of the last hour."""
_TOPIC_IS_GONE = (int(State.TOPIC_MISSING), int(State.TOPIC_RECREATED))
Direction = tuple[str, str]


class _Asked(NamedTuple):
    """What was asked for one report."""

    held: HeldOffsets
    progress: JobProgress
    snapshot: Snapshot
    now_ms: int
    directions: Mapping[Direction, Verdicts]


class StatusReporter:
    """Reports on verdicts, by the index of *state*; its lock is not held while logs are read or clusters are asked."""

    def __init__(
        self,
        config: Config,
        state: SyncState,
        clusters: ClusterQueries,
        catch_up: IndexCatchUp,
        comparer: RecordComparer,
    ) -> None:
        self._config, self._state = config, state
        self._clusters, self._catch_up, self._comparer = clusters, catch_up, comparer
        self._translator = Translator(config, state)
        self._staleness = {pair: ReportStaleness() for pair in config.pairs()}
        self._is_named = cache(config.has_read_list)

    def ask(self, groups: Mapping[str, Collection[str]]) -> HeldOffsets:
        """Return what coordinators hold of *groups*, by their home; to be called before the verdicts are read."""
        with ThreadPoolExecutor(1) as pool:  # most of the index is read while waiting for the clusters
            reading = pool.submit(self._state.index.refresh)
            held = ask_coordinators(self._clusters, list(self._config.clusters), groups)
            reading.result()
        named = {alias: [own_group(one) for one in each if self._is_named(one)] for alias, each in groups.items()}
        lists = {alias: self._clusters.committed_offsets(alias, each) for alias, each in named.items() if each}
        return replace(held, lists=lists)

    def report(self, rows: pa.Table, held: HeldOffsets, progress: JobProgress, now_ms: int) -> pa.Table:
        """Return rows of sync_status for the verdicts in *rows*, of ANSWERS_SCHEMA; *held* was asked before.

        A report is as of the time at which the clusters are asked for their ends. A group that was in sync then stays
        so while it does not read: all that it had read was at the target below its position, and later records are
        unread on both sides.
        """
        directions = Verdicts.by_direction(rows, self._config)
        partitions = {key.topic_partition for each in directions.values() for key in each.keys}
        parts = [SYNC_STATUS.arrow_schema.empty_table()]
        if partitions:
            aliases = list(dict.fromkeys(alias for pair in directions for alias in pair))
            with self._state.lock:
                known_to = frontiers(self._state.index, aliases, partitions)
            metadata = self._clusters.fetch(aliases, partitions)
            self._catch_up.wait(metadata)
            asked = _Asked(held, progress, Snapshot(metadata, known_to), now_ms, directions)
            elsewhere = _homes(directions)
            for pair, verdicts in directions.items():
                found = self._with_facts(self._measured(pair, verdicts, asked), verdicts, asked, elsewhere)
                classified = classify(found, to_ms(self._config.status.stalled_after))
                parts.append(to_rows(self._with_comparison(classified), now_ms, self._config.names))
        return pa.concat_tables(parts).combine_chunks()

    def _measured(self, direction: Direction, verdicts: Verdicts, asked: _Asked) -> Assessment:
        source, target = direction
        with self._state.lock:
            pair = Pair(self._state.last(*direction), source, target, asked.snapshot, asked.now_ms)
            keys = self._state.offsets.ids(verdicts.keys)
        there = asked.held.at_target(target, verdicts.keys)
        target_offset = np.where(there.is_known, there.offset, verdicts.previous)
        columns = [verdicts.numbers("source_offset"), verdicts.state, verdicts.wanted]
        columns += [verdicts.numbers(name, 0) for name in ("duplicates", "duplicates_at_most", "lost")]
        lists = [asked.held.list_at(source, each) if self._is_named(each.group_id) else "" for each in verdicts.keys]
        at_ms, parts = verdicts.times_ms("source_committed_at"), []
        for place, rows in verdicts.by_place():
            commits, held = Decided(*(each[rows] for each in columns)), target_offset[rows]
            logs = self._logs(pair, place)
            comparison = compare_logs(logs, readable_from(logs, commits.offset))
            measured = measure(logs, comparison, keys[rows], commits, held)
            changing = self._is_changing(pair, place, commits, at_ms[rows], held)
            parts.append(replace(_with_lists(measured, logs, source, lists[rows]), is_changing=changing))
        return replace(
            Assessment.joined(parts), source=source, target=target, keys=verdicts.keys, committed_at_ms=at_ms
        )

    def _is_changing(
        self, pair: Pair, place: TopicPartition, commits: Decided, at_ms: np.ndarray, target_offset: np.ndarray
    ) -> Bools:
        """Return where the target holds the answer, and the index has another one by now, as a record came late."""
        found = np.zeros(len(at_ms), np.bool_)
        rows = np.flatnonzero(~IS_WITHHELD[commits.state] & (commits.wanted == target_offset))
        if len(rows):
            no_epoch = np.full(len(rows), ABSENT, np.int64)
            given = GivenOffsets(commits.offset[rows], at_ms[rows], no_epoch, [None] * len(rows))
            question = self._translator.ask_given(pair, place, given)
            self._translator.compute(question)
            with self._state.lock:
                found[rows] = self._translator.answers(question).wanted != commits.wanted[rows]
        return found

    def _logs(self, pair: Pair, place: TopicPartition) -> LogPair:
        index, now_ms = self._state.index, pair.now_ms
        with self._state.lock:
            here, there = (self._translator.view(alias, place, pair.snapshot) for alias in (pair.source, pair.target))
            logs = LogPair(
                source_origin=index.code(pair.source),
                target_origin=index.code(pair.target),
                source=LogPair.view_or_empty(index.log(pair.source, *place), here),
                target=LogPair.view_or_empty(index.log(pair.target, *place), there),
                source_metadata=here,
                target_metadata=there,
                origin_names={index.code(alias): alias for alias in self._config.clusters},
                young_since_ms=self._translator.young_since_ms(now_ms),
                unread_since_ms=self._translator.unread_since_ms(pair.source, place, here, now_ms),
                share_since_ms=now_ms - _SHAPE_WINDOW_MS,
                # The index advances during a report; without a limit a busy topic would always have pending records.
                snapshot_end=end if (end := log_end(here)) != ABSENT else NO_END,
            )
        is_distinguished = not self._config.is_timed(place.topic) or is_stamped(*_views(logs))
        return logs if is_distinguished else replace(logs, is_unstamped=True)

    def _with_facts(
        self, found: Assessment, verdicts: Verdicts, asked: _Asked, elsewhere: Mapping[str, Collection[str]]
    ) -> Assessment:
        """Return *found* with what is so at this moment: members, other commits, silent jobs."""
        pair, keys, now_ms, held = (found.source, found.target), found.keys, asked.now_ms, asked.held
        here, there = held.at_source(found.source, keys), held.at_target(found.target, keys)
        has_moved_on = _has_moved_on(verdicts, here)
        is_uncaptured = has_moved_on & (verdicts.times_ms("translated_at") <= now_ms)
        members = [(text or "").split(", ") for text in verdicts.texts("members")]
        is_named = np.fromiter((self._is_named(each.group_id) for each in keys), np.bool_, len(keys))
        found = replace(
            found,
            listed=np.where(is_named, verdicts.numbers("skipped", 0), ABSENT),
            contest=_contests(verdicts, held),
            elsewhere=np.array(
                [", ".join(sorted({*elsewhere[key.group_id]} - {*pair})) or None for key in keys], np.object_
            ),
            is_activity_known=np.array([f"{found.target}?" not in each for each in members], np.bool_),
            is_target_active=np.array([found.target in each for each in members], np.bool_),
            held_at_source=here.offset,
            has_moved_on=has_moved_on,
            is_uncaptured=is_uncaptured,
            not_asked=np.where(here.is_known, there.error, here.error),
            unread_commits=self._is_held_elsewhere(found, asked),
            unreadable=asked.progress.unindexed(pair, keys),
        )
        is_behind = ~found.is_withheld & (~found.holds_translation | found.is_uncaptured)
        staleness, key = self._staleness[pair], found.key
        # The time of a commit that is not captured is unknown, so staleness counts from now.
        begins_ms = np.where(is_uncaptured, now_ms, found.committed_at_ms)
        still_ms = asked.progress.index_still_ms(*pair)
        return replace(
            with_uncommitted(found, self._state.index, held, asked.snapshot.metadata),
            staleness_ms=staleness.behind_ms(key, is_behind, begins_ms, found.target_offset, now_ms),
            mirror_lag_ms=np.where(found.mirror_lag > 0, np.maximum(now_ms - found.pending_since_ms, 0), 0),
            index_silent_ms=staleness.waiting_ms(key, found.unindexed > 0, still_ms, now_ms),
        )

    def _is_held_elsewhere(self, found: Assessment, asked: _Asked) -> Bools:
        """Return where a third cluster holds another offset than its own verdict says, so the group may be there."""
        is_other = np.zeros(len(found.keys), np.bool_)
        for (source, alias), verdicts in asked.directions.items():
            if source != found.source or alias == found.target:
                continue
            held = asked.held.at_target(alias, verdicts.keys).offset
            is_unexpected = np.array(verdicts.texts("outcome")) == Outcome.NOT_FORWARD.name
            is_unexpected &= np.array([each is not None for each in verdicts.texts("error")], np.bool_)
            is_known = (held == verdicts.wanted) | ((held == verdicts.previous) & ~is_unexpected) | (held == ABSENT)
            others = {key for key, known in zip(verdicts.keys, is_known.tolist(), strict=True) if not known}
            is_other |= np.fromiter((key in others for key in found.keys), np.bool_, len(found.keys))
        return is_other

    def _with_comparison(self, assessment: Assessment) -> Assessment:
        """Compare the next records of rows that would be in sync; rows whose records differ are not."""
        pairs = {}
        for row in np.flatnonzero(needs_comparison(assessment)).tolist():
            offsets = int(assessment.source_offset[row]), int(assessment.target_offset[row])
            place = assessment.keys[row].topic_partition
            pairs[row] = RecordPair(assessment.source, assessment.target, place, *offsets)
        if not pairs:
            return assessment
        differences = self._comparer.compare(list(dict.fromkeys(pairs.values())))
        status, reason = assessment.status.copy(), assessment.reason.copy()
        for row, pair in pairs.items():
            difference = differences[pair]
            if difference is not None:
                status[row], reason[row] = Status.MIRRORING, difference
        return replace(assessment, status=status, reason=reason)


def waits_for_commits(directions: Mapping[Direction, Verdicts], held: HeldOffsets) -> bool:
    """Return whether a source holds a commit that no verdict has."""
    return any(_has_moved_on(each, held.at_source(source, each.keys)).any() for (source, _), each in directions.items())


def _has_moved_on(verdicts: Verdicts, here: Held) -> Bools:
    """Return where the source holds another commit than the verdict's."""
    has_moved_on: Bools = here.is_known & (here.offset != verdicts.numbers("source_offset"))
    # A position that is deleted together with its topic still counts.
    has_moved_on &= ~(np.isin(verdicts.state, _TOPIC_IS_GONE) & (here.offset == ABSENT))
    return has_moved_on


def _homes(directions: Mapping[Direction, Verdicts]) -> dict[str, set[str]]:
    """Return, by group, all clusters where it is at home with some partition."""
    found: dict[str, set[str]] = {}
    for (source, _), verdicts in directions.items():
        for key in verdicts.keys:
            found.setdefault(key.group_id, set()).add(source)
    return found


def _contests(verdicts: Verdicts, held: HeldOffsets) -> np.ndarray:
    """Return why nothing is written for a group that commits at two clusters, None for others."""
    found = np.full(len(verdicts.keys), None, np.object_)
    for row, text in enumerate(verdicts.texts("contest")):
        if text:
            key, sides = verdicts.keys[row], text.split(", ")
            offsets = [_offset_at(held, alias, key.group_id, key.topic_partition) for alias in sides]
            named = " and ".join(f"{alias} ({offset})" for alias, offset in zip(sides, offsets, strict=True))
            found[row] = Reason.TWO_HOMES(named)
    return found


def _offset_at(held: HeldOffsets, alias: str, group_id: str, place: TopicPartition) -> str:
    for answers in (held.as_source, held.as_target):
        answer = answers.get(alias, {}).get(group_id)
        if answer is not None and not isinstance(answer, ClusterError):
            return str(answer[place].offset) if place in answer else "no offset"
    return "not known"


def _with_lists(measured: Assessment, logs: LogPair, source: str, lists: Sequence[str | None]) -> Assessment:
    """Return *measured* with how far consumers still skip at *source*; what they skip there is not unread.

    *lists* are the present ones there: ``""`` for none, None: not known.
    """
    skipped, still_skips = measured.skipped.copy(), np.full(len(lists), None, np.object_)
    for row, text in enumerate(lists):
        if text is None:
            still_skips[row] = Reason.LISTS_SILENT(source)
        elif (found := listed(text)) and found.start <= (committed := int(measured.source_offset[row])) < found.end:
            still_skips[row] = Reason.STILL_SKIPS(found.end, source)
            if skipped[row]:
                span = int(measured.wanted_offset[row]), int(measured.target_offset[row])
                skipped[row] -= count_listed(found.ranges.from_offset(committed), span, *_views(logs))
    lost = measured.lost - measured.skipped + skipped
    return replace(measured, still_skips=still_skips, skipped=skipped, lost=lost)


def _views(logs: LogPair) -> tuple[PartitionLog, PartitionLog]:
    return PartitionLog(logs.source, logs.source_origin), PartitionLog(logs.target, logs.target_origin)
