"""What the tables know of copies and their originals: from where on a log of copies is to be aligned, and with what.

Nothing is believed that does not join on: an alignment that was kept begins anew where ``record_runs`` has less than it
says, where originals lack that it needs, and where a log has had another life since.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from offset_sync.contents.alignment.aligner import AlignerState
from offset_sync.contents.alignment.copy_follower import CopyFollower
from offset_sync.contents.alignment.order import Anchors, OrderWatch
from offset_sync.contents.alignment.reach import Reach
from offset_sync.contents.alignment.records import Settings, Stretch, newest_whole, of_present_life
from offset_sync.contents.kept_alignments import Kept
from offset_sync.contents.packed_rows import stretches_of
from offset_sync.ingest.batch_rows import is_of
from offset_sync.model.values import ClusterPartition, TopicPartition
from offset_sync.state.incarnation_rows import lives_of
from offset_sync.state.index_rows import int64s
from offset_sync.state.row_groups import RowGroups, greatest_of_each, keys_at
from offset_sync.tables.catalog import DOUBTS, LOG_INCARNATIONS, RECORD_FINGERPRINTS, RECORD_RUNS
from offset_sync.tables.store import TableStore
from offset_sync.translate.index.incarnations import Incarnation, true_below

_LOG = ["cluster", "topic", "partition"]
_RUN = [*_LOG, "start_offset", "length", "indexed_at"]
_FEW = 50
Lives = Mapping[ClusterPartition, list[Incarnation]]


class KnownLogs(NamedTuple):
    """*stretches* of each log as they were read, by the log, its *lives* after the first, and how far it is indexed.

    *doubts* are the words that were last written down of logs of copies.
    """

    stretches: Mapping[ClusterPartition, list[Stretch]]
    lives: Lives
    frontiers: Mapping[ClusterPartition, int]
    doubts: Mapping[ClusterPartition, str]

    def whole(self, log: ClusterPartition) -> list[Stretch]:
        """Return what can be believed of *log*: the newest stretches, without one that lacks between them."""
        return newest_whole(of_present_life(self.stretches.get(log, ()), self.lives.get(log, ())))


def read_known(tables: TableStore, wanted: Collection[ClusterPartition]) -> KnownLogs:
    """Return what is known of the *wanted* logs.

    A life that is noticed meanwhile makes all of it void: to be known to who asks before that.
    """
    told = tables.all_rows(LOG_INCARNATIONS)
    lives: dict[ClusterPartition, list[Incarnation]] = {}
    for log, life in sorted(lives_of(told), key=lambda each: each[1].noticed_ms):
        lives.setdefault(log, []).append(life)
    places = {log.topic_partition for log in wanted}
    stretches: dict[ClusterPartition, list[Stretch]] = {}
    for rows in _only(places, tables.batches(RECORD_FINGERPRINTS)):
        for log, each in stretches_of(rows):
            if log in wanted:
                stretches.setdefault(log, []).append(each)
    frontiers: dict[ClusterPartition, int] = {}
    for rows in _only(places, tables.batches(RECORD_RUNS, _RUN)):
        for log, end in _ends(rows, lives):
            frontiers[log] = max(end, frontiers.get(log, 0))
    return KnownLogs(stretches, lives, frontiers, _doubts(told))


def _only(places: Collection[TopicPartition], parts: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Yield the rows of *places*, or all where they are many."""
    for rows in parts:
        found = rows.filter(is_of(rows, places)) if len(places) <= _FEW else rows
        if found.num_rows:
            yield found


def _ends(rows: pa.Table, lives: Lives) -> Iterator[tuple[ClusterPartition, int]]:
    """Yield how far each log is indexed by *rows*, by what is still true of them."""
    columns = [rows.column(name) for name in _LOG]
    groups = RowGroups.of(columns)
    logs = [ClusterPartition(*each) for each in keys_at(columns, groups.first)]
    start, indexed_ms = int64s(rows.column("start_offset")), int64s(rows.column("indexed_at")) // 1000
    end = start + int64s(rows.column("length"))
    for number, log in enumerate(logs):
        if log in lives:
            mine = groups.group == number
            limit = true_below(indexed_ms[mine], lives[log])
            end[mine] = np.where(start[mine] <= limit, np.minimum(end[mine], limit), 0)
    yield from ((ClusterPartition(*log), greatest) for log, greatest in greatest_of_each(columns, end).items())


def _doubts(told: pa.Table) -> dict[ClusterPartition, str]:
    rows = told.filter(pc.is_in(told.column("reason"), pa.array(DOUBTS))).sort_by("noticed_at")
    return {ClusterPartition(*(row[name] for name in _LOG)): row["reason"] for row in rows.to_pylist()}


def follower_of(
    known: KnownLogs, copies: ClusterPartition, originals: ClusterPartition, kept: Kept | None, settings: Settings
) -> CopyFollower | None:
    """Return who aligns *copies*, with all that is known of both logs; None as long as one of them was not read.

    *kept* is where it was before, None: nowhere that counts. Without it the mirror is looked for among all originals
    that are known.
    """
    here, there = known.whole(copies), known.whole(originals)
    if not here or not there:
        return None
    state = _state(here[0].begin, there[0].begin, known.frontiers.get(copies), kept)
    found = CopyFollower(state, settings)
    for each in there:
        found.take_originals(each)
    for each in here:
        found.take_copies(each)
    return found


def _state(copies_from: int, originals_from: int, indexed_to: int | None, kept: Kept | None) -> AlignerState:
    state = kept.state if kept is not None else None
    if state is not None and (indexed_to is None or state.frontier > indexed_to):
        state = None  # what it has led to is not there any more
    if state is None:
        frontier = copies_from if indexed_to is None else max(copies_from, indexed_to)
        return AlignerState(frontier, Reach(originals_from))
    if originals_from > state.reach.first_needed:
        state = replace(state, reach=Reach(originals_from))
    if copies_from > state.frontier:  # some were never read: what stands before them tells nothing of them
        state = replace(state, frontier=copies_from, anchor=Anchors(), watch=OrderWatch())
    return state
