"""The state of each log of copies after a start: where its alignment resumes, and which fingerprints can be removed.

``index_records.alignments.json`` beside the checkpoints says how far each log is aligned. It is written after the rows
that it covers, so it is ahead of ``record_runs`` only if that table was restored to an older version. An older state is
as good. A state is dropped, and the alignment starts over, if ``record_runs`` has less than the state covers, if
originals are missing that it needs, or if the log has begun another incarnation since.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from offset_sync.config import Config
from offset_sync.contents.alignment.aligner import AlignerState
from offset_sync.contents.alignment.copy_follower import CopyFollower
from offset_sync.contents.alignment.order import Anchors, OrderWatch
from offset_sync.contents.alignment.reach import Counts, Reach
from offset_sync.contents.alignment.records import Settings, Stretch, newest_whole, of_present_life
from offset_sync.contents.packed import stretches_of
from offset_sync.ingest.batch_rows import is_of
from offset_sync.model.values import ClusterPartition, TopicPartition
from offset_sync.state.begins_table import to_begins
from offset_sync.state.incarnation_rows import lives_of
from offset_sync.state.index_rows import int64s
from offset_sync.state.row_groups import RowGroups, greatest_of_each, keys_at
from offset_sync.tables.catalog import DOUBTS, LOG_INCARNATIONS, RECORD_FINGERPRINTS, RECORD_RUNS
from offset_sync.tables.files import Files
from offset_sync.tables.maintenance import Maintainer, is_below
from offset_sync.tables.store import TableStore
from offset_sync.translate.index.incarnations import Incarnation, true_below
from offset_sync.translate.index.origin_positions import NO_LIMIT

logger = logging.getLogger(__name__)
_VERSION = 1
_FEW = 50
_LOG = ["cluster", "topic", "partition"]
_RUN = [*_LOG, "start_offset", "length", "indexed_at"]
Lives = Mapping[ClusterPartition, list[Incarnation]]


class Kept(NamedTuple):
    """The *state* of a log of copies, and when the last life of a log of its partition was noticed before, in ms."""

    state: AlignerState
    lives_ms: int


class KeptAlignments:
    """The file, one for all clusters below *checkpoints*."""

    def __init__(self, files: Files, checkpoints: str) -> None:
        self._files, self._folder = files, checkpoints.rstrip("/")

    @property
    def path(self) -> str:
        """Where it lies."""
        return f"{self._folder}/index_records.alignments.json"

    def read(self) -> dict[ClusterPartition, Kept]:
        """Return what is kept; nothing where nobody can read it."""
        try:
            found = json.loads(self._files.read_text(self.path))
            if found["version"] != _VERSION:
                raise ValueError(f"version {found['version']}")
            return {ClusterPartition(*log): Kept(_to_state(plain), lives_ms) for log, plain, lives_ms in found["logs"]}
        except FileNotFoundError:
            return {}
        except (ValueError, KeyError, TypeError) as problem:
            logger.warning("%s cannot be read, so the mirror is looked for anew: %s", self.path, problem)
            return {}

    def write(self, kept: Mapping[ClusterPartition, Kept]) -> None:
        """Put *kept* in the place of what was kept before."""
        logs = [[list(log), _to_plain(each.state), each.lives_ms] for log, each in sorted(kept.items())]
        self._files.write_text(self.path, json.dumps({"version": _VERSION, "logs": logs}))


def _to_plain(state: AlignerState) -> dict[str, Any]:
    return {
        "frontier": state.frontier,
        "complete_ms": state.complete_ms,
        "reach": asdict(state.reach),
        "anchor": [state.anchor.offset.tolist(), state.anchor.original.tolist()],
        "watch": [each.tolist() for each in (state.watch.broken, state.watch.open_at, state.watch.open_before)],
        "counts": asdict(state.counts),
    }


def _to_state(plain: Mapping[str, Any]) -> AlignerState:
    reach = plain["reach"]
    marks = tuple((int(at_ms), int(newest)) for at_ms, newest in reach["marks"])
    return AlignerState(
        int(plain["frontier"]),
        Reach(**{**reach, "marks": marks, "row": tuple(map(int, reach["row"]))}),
        int(plain["complete_ms"]),
        Anchors(*(np.array(each, np.int64) for each in plain["anchor"])),
        OrderWatch(*(np.array(each, np.int64) for each in plain["watch"])),
        Counts(**plain["counts"]),
    )


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


def logs_with_fingerprints(tables: TableStore) -> set[ClusterPartition]:
    """Return the logs of which ``record_fingerprints`` has rows."""
    parts = tables.batches(RECORD_FINGERPRINTS, _LOG)
    return {ClusterPartition(**row) for rows in parts for row in rows.group_by(_LOG).aggregate([]).to_pylist()}


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


def needed_from(
    logs: Collection[ClusterPartition],
    states: Mapping[ClusterPartition, AlignerState],
    origin_of: Callable[[str], str | None],
) -> dict[ClusterPartition, int]:
    """Return from where on the fingerprints of each of *logs* are needed, by the *states* of the logs of copies.

    Of originals what any log of copies goes on with: all of them as long as one of those is not aligned, nothing where
    there is none. Logs of copies that are not aligned yet are left out: all of theirs are needed.
    """
    of_originals: dict[ClusterPartition, int] = {}
    for log in {*logs, *states}:
        if (origin := origin_of(log.topic)) not in (None, log.cluster):
            originals = ClusterPartition(str(origin), *log.topic_partition)
            needed = states[log].reach.first_needed if log in states else 0
            of_originals[originals] = min(needed, of_originals.get(originals, needed))
    found = {log: states[log].frontier for log in logs if log in states}
    for log in logs:
        if origin_of(log.topic) == log.cluster:
            found[log] = of_originals.get(log, int(NO_LIMIT))
    return found


def retire_fingerprints(config: Config, tables: TableStore, maintainer: Maintainer, now: datetime) -> int:
    """Remove what nobody needs at *now* and was read longer ago than ``mirror.resend_window``; return how many rows.

    Nothing where headers tell what a copy is, and where it is not worth it.
    """
    if not config.is_by_contents:
        return 0
    # Before the rows: what is kept by then is needed by who goes on from there, or from a later one.
    states = _states(config, tables)
    logs = {log for log in logs_with_fingerprints(tables) if log.cluster in config.clusters}
    needed = needed_from(logs, states, config.origin_of)
    if not needed:
        return 0
    begins, old_before = to_begins(needed, config.names), now - config.mirror.resend_window
    return maintainer.remove(RECORD_FINGERPRINTS, lambda rows: _is_old(rows, begins, old_before))


def _states(config: Config, tables: TableStore) -> dict[ClusterPartition, AlignerState]:
    """Return how far logs of copies are aligned, of those that there are, and in the life that is known now."""
    kept = KeptAlignments(tables.files, config.tables.checkpoints).read()
    begun_ms: dict[TopicPartition, int] = {}
    for log, life in lives_of(tables.all_rows(LOG_INCARNATIONS)):
        begun_ms[log.topic_partition] = max(life.noticed_ms, begun_ms.get(log.topic_partition, 0))
    return {
        log: each.state
        for log, each in kept.items()
        if log.cluster in config.clusters and each.lives_ms == begun_ms.get(log.topic_partition, 0)
    }


def _is_old(rows: pa.Table, begins: pa.Table, old_before: datetime) -> NDArray[np.bool_]:
    """Return which *rows* of the table nobody needs; a log that is not among the *begins* keeps all of its rows."""
    is_old = pc.less(rows.column("read_at"), pa.scalar(old_before, rows.schema.field("read_at").type))
    found: NDArray[np.bool_] = is_below(rows, begins) & is_old.fill_null(False).to_numpy()
    return found
