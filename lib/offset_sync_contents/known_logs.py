"""The state of each log of copies after a start: where its alignment resumes.

``index_records.alignments.json`` beside the checkpoints says how far each log is aligned. It is written after the rows
that it covers, so it is ahead of ``record_runs`` only if that table was restored to an older version. An older state is
as good. A state is dropped, and the alignment starts over, if ``record_runs`` has less than the state covers, if
originals are missing that it needs, or if the log has begun another incarnation since.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any, NamedTuple

import pyarrow as pa

from offset_sync.ingest.run_builder import is_of
from offset_sync.model.values import ClusterPartition, TopicPartition
from offset_sync.state.incarnations import incarnations_of
from offset_sync.state.index_rows import int64s
from offset_sync.state.row_groups import greatest_of_each
from offset_sync.tables.catalog import LOG_INCARNATIONS, RECORD_RUNS
from offset_sync.tables.files import Files
from offset_sync.tables.store import TableStore
from offset_sync.translate.partition_log import Incarnation
from offset_sync_contents.alignment.aligner import AlignerState, CopyFollower
from offset_sync_contents.alignment.mirror import Counts, Reach, Settings
from offset_sync_contents.alignment.records import Stretch, newest_whole, of_present_incarnation
from offset_sync_contents.alignment.rules import Anchor
from offset_sync_contents.rows import stretches_of
from offset_sync_contents.table import RECORD_FINGERPRINTS

logger = logging.getLogger(__name__)
_FEW = 50
_LOG = ["cluster", "topic", "partition"]
_RUN = [*_LOG, "start_offset", "length"]


class Kept(NamedTuple):
    """The *state* of a log of copies, and when the newest incarnation of its partition was noticed before, in ms."""

    state: AlignerState
    begun_ms: int


class KeptAlignments:
    """The file, one for all clusters below *checkpoints*."""

    def __init__(self, files: Files, checkpoints: str) -> None:
        self._files, self._folder = files, checkpoints.rstrip("/")

    @property
    def path(self) -> str:
        """The path of the file."""
        return f"{self._folder}/index_records.alignments.json"

    def read(self) -> dict[ClusterPartition, Kept]:
        """Return what is kept; nothing if the file cannot be read."""
        try:
            found = json.loads(self._files.read_text(self.path))
            return {ClusterPartition(*log): Kept(_to_state(plain), begun_ms) for log, plain, begun_ms in found["logs"]}
        except FileNotFoundError:
            return {}
        except (ValueError, KeyError, TypeError) as problem:
            logger.warning("%s cannot be read, so all alignments start over: %s", self.path, problem)
            return {}

    def write(self, kept: Mapping[ClusterPartition, Kept]) -> None:
        """Replace what was kept before."""
        logs = [[log, asdict(each.state), each.begun_ms] for log, each in sorted(kept.items())]
        self._files.write_text(self.path, json.dumps({"logs": logs}))


def _to_state(plain: Mapping[str, Any]) -> AlignerState:
    reach, anchor = plain["reach"], plain["anchor"]
    marks = tuple((at_ms, newest) for at_ms, newest in reach["marks"])
    return AlignerState(
        plain["frontier"],
        Reach(**{**reach, "marks": marks, "row": tuple(reach["row"])}),
        plain["complete_ms"],
        None if anchor is None else Anchor(*anchor),
        tuple(plain["dips"]),
        Counts(**plain["counts"]),
    )


class KnownLogs(NamedTuple):
    """What is known of logs: the newest *stretches* that follow each other, and how far each one is indexed.

    Both are of a log's present incarnation.
    """

    stretches: Mapping[ClusterPartition, list[Stretch]]
    frontiers: Mapping[ClusterPartition, int]


def logs_with_fingerprints(tables: TableStore) -> set[ClusterPartition]:
    """Return the logs of which ``record_fingerprints`` has rows."""
    parts = tables.batches(RECORD_FINGERPRINTS, _LOG)
    return {ClusterPartition(**row) for rows in parts for row in rows.group_by(_LOG).aggregate([]).to_pylist()}


def read_known(tables: TableStore, wanted: Collection[ClusterPartition]) -> KnownLogs:
    """Return what is known of the *wanted* logs.

    An incarnation that is noticed meanwhile makes all of it void, so callers note the newest one before.
    """
    recorded = tables.all_rows(LOG_INCARNATIONS)
    incarnations: dict[ClusterPartition, list[Incarnation]] = {}
    for log, incarnation in sorted(incarnations_of(recorded), key=lambda each: each[1].noticed_ms):
        incarnations.setdefault(log, []).append(incarnation)
    places = {log.topic_partition for log in wanted}
    stretches: dict[ClusterPartition, list[Stretch]] = {}
    for rows in _only(places, tables.batches(RECORD_FINGERPRINTS)):
        for log, each in stretches_of(rows):
            if log in wanted:
                stretches.setdefault(log, []).append(each)
    frontiers: dict[ClusterPartition, int] = {}
    for rows in _only(places, tables.batches(RECORD_RUNS, _RUN)):
        end = int64s(rows.column("start_offset")) + int64s(rows.column("length"))
        for key, greatest in greatest_of_each(rows, _LOG, end).items():
            log = ClusterPartition(*key)
            frontiers[log] = max(greatest, frontiers.get(log, 0))
    whole = {
        log: newest_whole(of_present_incarnation(each, incarnations.get(log, ()))) for log, each in stretches.items()
    }
    return KnownLogs(whole, frontiers)


def _only(places: Collection[TopicPartition], parts: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Yield the rows of *places*, or all where they are many."""
    for rows in parts:
        found = rows.filter(is_of(rows, places)) if len(places) <= _FEW else rows
        if found.num_rows:
            yield found


def follower_of(
    known: KnownLogs, copies: ClusterPartition, originals: ClusterPartition, kept: Kept | None, settings: Settings
) -> CopyFollower | None:
    """Return the follower of *copies*, with all that is known of both logs; None while one of them was not read.

    *kept* is its state from before, None: no valid one. Without it the mirror's position is searched among all known
    originals.
    """
    here, there = known.stretches.get(copies), known.stretches.get(originals)
    if not here or not there:
        return None
    indexed_to = known.frontiers.get(copies)
    found = CopyFollower(_state(here[0].begin, there[0].begin, indexed_to, kept), settings, indexed_to or 0)
    found.take(there, here)
    return found


def _state(copies_from: int, originals_from: int, indexed_to: int | None, kept: Kept | None) -> AlignerState:
    state = kept.state if kept is not None else None
    if state is not None and (indexed_to is None or state.frontier > indexed_to):
        state = None  # its decisions are no longer in the table
    if state is None:
        frontier = copies_from if indexed_to is None else max(copies_from, indexed_to)
        return AlignerState(frontier, Reach(originals_from))
    if originals_from > state.reach.first_needed:
        state = replace(state, reach=Reach(originals_from))
    if copies_from > state.frontier:  # some were never read: the state before them does not apply
        state = replace(state, frontier=copies_from, anchor=None, dips=())
    return state
