"""A report: the verdict of every key, beside what coordinators, logs and the index say at this moment."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import fields, replace
from datetime import datetime
from functools import cache
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from offset_sync.config import Config
from offset_sync.config.duration import to_ms
from offset_sync.model.reasons import Reason
from offset_sync.model.values import ABSENT, ClusterPartition, GroupPartition, Outcome, State, Status, TopicPartition
from offset_sync.state.cluster_clock import epoch_ms, to_datetime
from offset_sync.state.cluster_metadata import Snapshot
from offset_sync.state.cluster_queries import ClusterQueries
from offset_sync.state.sync_state import SyncState
from offset_sync.state.translator import Pair, Translator
from offset_sync.status.assessment import (
    Direction,
    Directions,
    Row,
    behind,
    classify,
    known_at_target,
    needs_comparison,
    wanted_of,
)
from offset_sync.status.held_offsets import Held, HeldOffsets, ask_coordinators, note_uncommitted
from offset_sync.status.record_comparison import RecordComparer, RecordPair
from offset_sync.sync.held_lists import listed, own_group
from offset_sync.tables.catalog import SYNC_STATUS
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.runs import Int64s
from offset_sync.translate.partition import Translations
from offset_sync.translate.partition_log import GivenOffsets, PartitionLog
from offset_sync.translate.read_list import count_listed
from offset_sync.translate.replication_gap import BothLogs, Counts, below_cut, is_outside, log_end, measure
from offset_sync.translate.strategies import is_stamped

_TOPIC_IS_GONE = (State.TOPIC_MISSING.name, State.TOPIC_RECREATED.name)
_NO_RECORDS: Row = dict.fromkeys((*(each.name for each in fields(Counts)), "mirror_lag", "mirror_lag_ms"), 0) | {
    "is_outside": False,
    "origin_share": "{}",
}
_PAIR = itemgetter("source_cluster", "target_cluster")
_PLACE = itemgetter("stream", "partition")
_OFFSETS = itemgetter("source_offset", "target_offset")
_NAMES = SYNC_STATUS.names
_COSTS = ("duplicates", "duplicates_at_most", "lost")
_NEWEST = 10_000
"""The shares of origins are those in this many newest offsets."""


class IndexProgress(NamedTuple):
    """*silent_ms*: for how long nothing was read of a cluster; *unreadable*: why a log cannot be read on."""

    silent_ms: Mapping[str, int]
    unreadable: Mapping[ClusterPartition, str]


class _Moment(NamedTuple):
    """What was asked for one report. *unexpected*: by source and key, targets with an offset that no verdict knows."""

    held: HeldOffsets
    progress: IndexProgress
    snapshot: Snapshot
    now_ms: int
    homes: Mapping[str, Set[str]]
    unexpected: Mapping[tuple[str, GroupPartition], Set[str]]


class StatusReporter:
    """Reports on verdicts, by the index of *state*; its lock is not held while logs are read or clusters are asked."""

    def __init__(self, config: Config, state: SyncState, clusters: ClusterQueries, comparer: RecordComparer) -> None:
        self._config, self._state, self._clusters, self._comparer = config, state, clusters, comparer
        self._translator = Translator(config, state)
        self._aliases = {state.index.code(alias): alias for alias in config.clusters}
        self._is_named = cache(config.has_read_list)
        self._behind_since: dict[tuple[object, ...], int] = {}

    def ask(self, homes: Mapping[str, Collection[str]]) -> HeldOffsets:
        """Return what coordinators hold of groups, by their home; to be called before the verdicts are read."""
        held = ask_coordinators(self._clusters, list(self._config.clusters), homes)
        named = {alias: [own_group(one) for one in each if self._is_named(one)] for alias, each in homes.items()}
        lists = {alias: self._clusters.committed_offsets(alias, each) for alias, each in named.items() if each}
        return replace(held, lists=lists)

    def report(self, directions: Directions, held: HeldOffsets, progress: IndexProgress, now_ms: int) -> list[Row]:
        """Return rows of sync_status for the verdicts of all *directions*; *held* was asked before.

        A report is as of the time at which the clusters are asked for their ends. A group that was in sync then stays
        so while it does not read: all that it had read was at the target below its position, and later records are
        unread on both sides.
        """
        found: list[Row] = []
        if partitions := {TopicPartition(*_PLACE(row)) for each in directions.values() for row in each}:
            aliases = list(dict.fromkeys(alias for direction in directions for alias in direction))
            snapshot = self._clusters.snapshot(aliases, partitions)
            is_pair_only = len(self._config.clusters) == 2
            unexpected = {} if is_pair_only else _unexpected(directions, held, self._config.pairs())
            moment = _Moment(held, progress, snapshot, now_ms, _homes(directions), unexpected)
            for direction, verdicts in directions.items():
                found += self._rows(direction, verdicts, moment)
            self._behind_since = {_position(row): now_ms - row["staleness_ms"] for row in found if row["staleness_ms"]}
            self._compare([row for row in found if needs_comparison(row)])
        return [{name: row[name] for name in _NAMES} for row in found]

    def _rows(self, direction: Direction, verdicts: Sequence[Row], moment: _Moment) -> list[Row]:
        source, target = direction
        with self._state.lock:
            pair = Pair(self._state.last(*direction), source, target, moment.snapshot, moment.now_ms)
        rows = [self._facts(each, moment) for each in verdicts]
        for place, some in groupby(rows, _PLACE):
            self._measure(pair, TopicPartition(*place), list(some), moment)
        note_uncommitted(rows, self._state.index, moment.held, moment.snapshot.metadata)
        reported_at = to_datetime(moment.now_ms)
        silent_ms = max(moment.progress.silent_ms.get(alias, 0) for alias in direction)
        for row in rows:
            row["reported_at"] = reported_at
            row["index_silent_ms"] = silent_ms if row["unindexed"] else 0
            row["behind"] = behind(row)
            row["staleness_ms"] = self._staleness_ms(row, moment.now_ms) if row["behind"] else 0
            status, row["reason"] = classify(row, to_ms(self._config.status.stalled_after))
            row["status"] = status.word
        return rows

    def _facts(self, verdict: Row, moment: _Moment) -> Row:
        """Return a row of sync_status with what was decided, and what is so at this moment."""
        key, held = verdict["key"], moment.held
        source, target = pair = _PAIR(verdict)
        here, there = held.at_source(source, key), held.at_target(target, key)
        wanted, members = wanted_of(verdict), (verdict["members"] or "").split(", ")
        contest = verdict["contest"]
        return verdict | {
            "wanted_offset": wanted,
            "target_offset": there.offset if there.error is None else known_at_target(verdict),
            "held_at_source": here.offset,
            "has_moved_on": has_moved_on(verdict, here),
            "silent": there.error or here.error,
            "contest": contest and Reason.TWO_HOMES(contest.replace(", ", " and ")),
            "is_target_active": None if f"{target}?" in members else target in members,
            "elsewhere": ", ".join(sorted(moment.homes[key.group_id] - {*pair})) or None,
            "is_held_elsewhere": bool(moment.unexpected.get((source, key), {target}) - {target}),
            "listed": (verdict["skipped"] or 0) if self._is_named(key.group_id) else None,
        }

    def _measure(self, pair: Pair, place: TopicPartition, rows: Sequence[Row], moment: _Moment) -> None:
        """Add to the *rows* of one partition what the logs say."""
        committed, wanted, position = (_array(rows, f"{name}_offset") for name in ("source", "wanted", "target"))
        at_ms = np.array([_ms(row["source_committed_at"]) for row in rows], np.int64)
        given = GivenOffsets(committed, at_ms, np.full(len(rows), ABSENT, np.int64), [None] * len(rows))
        asked = self._translator.ask_given(pair, place, given)
        self._translator.compute(asked)
        with self._state.lock:
            answers = self._translator.answers(asked)
        question = asked.questions[0]
        # Where the target does not answer nothing can be counted.
        of_all = {"source_end": log_end(question.said), "target_end": ABSENT, "is_unstamped": False, **_NO_RECORDS}
        names, both = self._config.names, [ClusterPartition(alias, *place) for alias in (pair.source, pair.target)]
        of_all |= {
            "unreadable": next(filter(None, map(moment.progress.unreadable.get, both)), None),
            "topic": names.outside(pair.source, place.topic),
            "target_topic": names.topic(pair.target, place.topic),
        }
        columns: dict[str, np.ndarray] = {"is_changing": answers.is_withheld}
        costs = zip(*(getattr(answers, name).tolist() for name in ("is_withheld", *_COSTS)), strict=True)
        for row, (is_withheld, *mine) in zip(rows, costs, strict=True):
            if not is_withheld:
                row |= zip(_COSTS, mine, strict=True)
        if question.logs is not None and question.bounds is not None:
            here, there = question.logs
            is_unstamped = self._config.is_timed(place.topic) and not is_stamped(here, there)
            since_ms = self._translator.young_since_ms(pair.now_ms), question.bounds.young_since_ms
            logs = BothLogs(here, there, log_end(question.said), *since_ms, is_unstamped)
            counts, late = measure(logs, committed, answers_now(answers, wanted), position)
            source = below_cut(here)
            late_ms = source.indexing_times.indexed_at_ms(late.first) if late.total else pair.now_ms
            columns |= vars(counts) | {"is_outside": is_outside(there.metadata, position)}
            of_all |= {
                "target_end": log_end(there.metadata),
                "is_unstamped": is_unstamped,
                "mirror_lag": late.total,
                "mirror_lag_ms": max(pair.now_ms - late_ms, 0),
                "origin_share": self._origin_shares(source),
            }
        parts = zip(*(column.tolist() for column in columns.values()), strict=True)
        for row, numbers in zip(rows, parts, strict=True):
            row |= of_all | dict(zip(columns, numbers, strict=True))
            self._note_list(row, question.logs, moment.held)
            _note_costs(row, is_known=question.logs is not None)

    def _origin_shares(self, log: LogIndex) -> str:
        """Return the share of each origin in the newest records, as JSON; of those that are no clusters as ``?``."""
        counts = Counter[str]()
        for origin, count in sorted(log.paged.records_by_origin(max(0, log.frontier - _NEWEST), log.frontier).items()):
            counts[self._aliases.get(origin, "?")] += count
        return json.dumps({name: round(count / counts.total(), 4) for name, count in counts.items()})

    def _note_list(self, row: Row, logs: tuple[PartitionLog, PartitionLog] | None, held: HeldOffsets) -> None:
        """Note how far consumers still skip at the source by a list: what they skip there is not unread."""
        row["still_skips"], source, committed = None, row["source_cluster"], row["source_offset"]
        if not self._is_named(row["group_id"]):
            return
        text = held.list_at(source, row["group_id"], TopicPartition(*_PLACE(row)))
        if text is None:
            row["still_skips"] = Reason.LISTS_SILENT(source)
        elif (found := listed(text)) and found.start <= committed < found.end:
            row["still_skips"] = Reason.STILL_SKIPS(found.end, source)
            if row["skipped"] and logs is not None:
                here, there = (replace(each, index=below_cut(each)) for each in logs)
                span = row["wanted_offset"], row["target_offset"]
                row["skipped"] -= count_listed(found.ranges.from_offset(committed), span, here, there)

    def _staleness_ms(self, row: Row, now_ms: int) -> int:
        """Return for how long the target has not had the translation, at the offset that it holds."""
        begins_ms = now_ms if row["has_moved_on"] else min(_ms(row["source_committed_at"]), now_ms)
        return max(now_ms - self._behind_since.get(_position(row), begins_ms), 1)

    def _compare(self, rows: Sequence[Row]) -> None:
        """Compare the next records of *rows* that would be in sync; rows whose records differ are not."""
        pairs = [RecordPair._make((*_PAIR(row), TopicPartition(*_PLACE(row)), *_OFFSETS(row))) for row in rows]
        differences = self._comparer.compare(list(dict.fromkeys(pairs)))
        for row, pair in zip(rows, pairs, strict=True):
            if differences[pair] is not None:
                row |= {"status": Status.MIRRORING.word, "reason": differences[pair]}


def answers_now(answers: Translations, wanted: Int64s) -> Int64s:
    """Return what is *wanted* by what the index has got since the driver answered; as published where withheld."""
    now: Int64s = np.where(answers.is_withheld | (wanted == ABSENT), wanted, answers.wanted)
    return now


def _position(row: Row) -> tuple[object, ...]:
    return *_PAIR(row), row["group_id"], *_PLACE(row), row["target_offset"]


def has_moved_on(verdict: Row, here: Held) -> bool:
    """Return whether the source holds another commit than that of the *verdict*."""
    is_gone = here.offset is None and verdict["state"] in _TOPIC_IS_GONE  # a position that is deleted with its topic
    return here.error is None and here.offset != verdict["source_offset"] and not is_gone


def _note_costs(row: Row, *, is_known: bool) -> None:
    """Note what a move now would cost: unknown outside the log, and for a commit that is not captured yet."""
    row["missing"] = (row["lost"] or 0) + row["skipped"] + row["not_mirrored"] + row["deleted"]
    row["repeats_at_most"] = max((row["duplicates_at_most"] or 0) + row["repeats"], 0)
    is_known = is_known and row["wanted_offset"] is not None is not row["target_offset"]
    is_known = is_known and not (row["is_outside"] or row["has_moved_on"] or row["is_changing"])
    row["duplicates"] = max((row["duplicates"] or 0) + row["repeats"], 0) if is_known else None
    row["duplicates_at_most"] = row["repeats_at_most"] if is_known else None
    row["lost"] = row["missing"] if is_known and not row["is_unstamped"] else None
    for side in ("source", "target"):
        end, offset = row[f"{side}_end"], row[f"{side}_offset"]
        row[f"{side}_end"] = None if end == ABSENT else end
        row[f"{side}_lag"] = None if end == ABSENT or offset is None else max(end - offset, 0)


def _array(rows: Sequence[Row], name: str) -> Int64s:
    return np.array([ABSENT if row[name] is None else row[name] for row in rows], np.int64)


def _ms(at: datetime | None) -> int:
    return ABSENT if at is None else epoch_ms(at)


def _homes(directions: Directions) -> dict[str, set[str]]:
    """Return, by group, all clusters where it is at home with some partition."""
    found: dict[str, set[str]] = {}
    for (source, _), verdicts in directions.items():
        for each in verdicts:
            found.setdefault(each["group_id"], set()).add(source)
    return found


def _unexpected(
    directions: Directions, held: HeldOffsets, pairs: Iterable[Direction]
) -> dict[tuple[str, GroupPartition], set[str]]:
    """Return, by source and key, the targets that hold another offset than their own verdict says.

    It may have none, where the home has moved on and not all of that is published yet.
    """
    found: dict[tuple[str, GroupPartition], set[str]] = {}
    keys: dict[str, set[GroupPartition]] = {}
    for (source, _), verdicts in directions.items():
        keys.setdefault(source, set()).update(each["key"] for each in verdicts)
    for source, alias in pairs:
        own = {each["key"]: each for each in directions.get((source, alias), ())}
        for key in keys.get(source, ()):
            if held.at_target(alias, key).offset not in _known(own.get(key)):
                found.setdefault((source, key), set()).add(alias)
    return found


def _known(verdict: Row | None) -> set[int | None]:
    """Return what a target may hold by its own verdict."""
    if verdict is None:
        return {None}
    is_another = verdict["outcome"] == Outcome.NOT_FORWARD.name and verdict["error"] is not None
    return {None, wanted_of(verdict), None if is_another else known_at_target(verdict)}
