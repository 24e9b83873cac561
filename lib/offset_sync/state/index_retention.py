"""Which runs of which partitions may go, from the index, the commits and what the clusters say now.

A partition is left whole unless everything about it is known: every cluster that has indexed it answers, has the one
incarnation that was indexed, and its index has reached the log's end. What is not known could need what would be cut.

How far a log is indexed, there or as copies elsewhere, or its commits are written down, is told by the tables alone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from offset_sync.config.stream_names import SAME_NAMES, Names
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import ABSENT, CONSUMER_OFFSETS, ClusterPartition, TopicPartition
from offset_sync.state.commit_log_lives import CommitLogLives
from offset_sync.state.committed_offsets import CommittedOffsets
from offset_sync.state.incarnations import lives_of
from offset_sync.state.index_rows import NO_ROWS, UNTIMED, RowReader, joined
from offset_sync.state.snapshot import Index, MetadataByCluster
from offset_sync.tables.catalog import LOG_INCARNATIONS, OFFSET_COMMITS, RECORD_FINGERPRINTS, RECORD_RUNS
from offset_sync.tables.maintenance import BEGINS_SCHEMA
from offset_sync.tables.segments import Directory
from offset_sync.tables.store import TableStore
from offset_sync.translate.index.incarnations import Incarnation
from offset_sync.translate.index.origin_positions import NO_LIMIT
from offset_sync.translate.index_retention import IndexedLog, UnsealedRows, begins

_NO_ROWS = UnsealedRows(NO_ROWS.start, NO_ROWS.seen_ms)
_RUN_ENDS = (("origin", "origin_start"), ("cluster", "start_offset"))
"""Of which logs a run has records: of the one where they were produced, too."""
_PLACE = ["topic", "partition"]
_COMMIT = ["cluster", "log_partition", "log_offset", "captured_at"]
Ends = Sequence[tuple[str, str]]
Lives = Collection[tuple[ClusterPartition, Incarnation]]
_RUN = [*_PLACE, "length", "cluster", "start_offset", "origin", "origin_start", "indexed_at"]


def unsealed_rows(tables: TableStore) -> dict[ClusterPartition, UnsealedRows]:
    """Return the rows of ``record_runs`` that are not sealed, by log."""
    segments, reader = tables.segments(RECORD_RUNS), RowReader(lambda _origin: 0, lambda _topic: False)
    schema = pa.schema([RECORD_RUNS.arrow_schema.field(name) for name in UNTIMED])
    rows = joined([NO_ROWS, *map(reader.read, segments.rows(segments.newest(), schema))]).in_order()
    return {reader.logs[number]: UnsealedRows(of_log.start, of_log.seen_ms) for number, of_log in rows.by_log()}


def lowest_commits(committed: CommittedOffsets, is_included: Callable[[str], bool]) -> dict[ClusterPartition, int]:
    """Return the lowest offset that any included group holds of each partition, per cluster.

    What a coordinator holds counts, whoever wrote it: any cluster may be the home next. Deleted ones do not.
    """
    found: dict[ClusterPartition, int] = {}
    for alias, commits in committed.clusters.items():
        offset, _ = commits.position(np.arange(len(committed.keys)))
        is_held = (offset >= 0) & ~commits.columns["is_deleted"]
        for row in np.flatnonzero(is_held).tolist():
            group_id, topic, partition = committed.keys[row]
            if is_included(group_id):
                where = ClusterPartition(alias, topic, partition)
                found[where] = min(found.get(where, int(NO_LIMIT)), int(offset[row]))
    return found


class Retention:
    """Decides partition by partition; *rows* were read before *index*, and *metadata* before both."""

    def __init__(
        self,
        index: Index,
        rows: Mapping[ClusterPartition, UnsealedRows],
        metadata: MetadataByCluster,
        lowest: Mapping[ClusterPartition, int],
        old_before_ms: int,
    ) -> None:
        self._index, self._rows, self._metadata, self._lowest = index, rows, metadata, lowest
        self._old_before_ms = old_before_ms

    def begins(self, partitions: Iterable[TopicPartition]) -> dict[ClusterPartition, int]:
        """Return where the index of each partition may begin; partitions that stay whole are left out."""
        found: dict[ClusterPartition, int] = {}
        for partition in sorted(set(partitions), key=lambda each: (each.topic, each.partition)):
            logs = {alias: log for alias in self._metadata if (log := self._log(alias, partition)) is not None}
            if not any(isinstance(log, str) for log in logs.values()):
                known = [log for log in logs.values() if isinstance(log, IndexedLog)]
                offsets = begins(known, old_before_ms=self._old_before_ms)
                found |= {
                    ClusterPartition(alias, *partition): offset for alias, offset in zip(logs, offsets, strict=True)
                }
        return found

    def reasons(self, partitions: Iterable[TopicPartition]) -> dict[str, int]:
        """Return why partitions stay whole, and how many do."""
        counts: dict[str, int] = {}
        for partition in set(partitions):
            for alias in self._metadata:
                if isinstance(reason := self._log(alias, partition), str):
                    counts[reason] = counts.get(reason, 0) + 1
                    break
        return counts

    def _log(self, alias: str, partition: TopicPartition) -> IndexedLog | str | None:
        """Return the log of a partition, why it cannot be judged, or None where the cluster has nothing of it."""
        metadata, index = self._metadata[alias], self._index.log(alias, partition.topic, partition.partition)
        if isinstance(metadata, ClusterError):
            return f"{alias} does not answer" if index is not None else None
        if partition.topic in metadata.refused:
            return f"{alias} does not let it be described"
        topic, ends = metadata.topics.get(partition.topic), metadata.ends.get(partition)
        if topic is None or partition.partition >= topic.partitions:
            return f"{alias} does not have it any more" if index is not None else None
        if ends is None:
            return f"{alias} has no leader for it"
        if index is None:
            return f"{alias} has not indexed it" if ends.log_end > ends.log_start else None
        if index.is_contradicted or self._index.topic_ids(alias, partition.topic) != {topic.topic_id}:
            return f"{alias} has another log than was indexed"
        where = ClusterPartition(alias, *partition)
        if self._index.incarnations(where):
            # Its copies elsewhere are of several origins then, whose commits nobody counts here.
            return f"{alias} had other records before"
        if index.frontier < ends.log_end:
            return f"{alias} has not indexed it to its end"
        lowest = self._lowest.get(where, int(NO_LIMIT))
        rows = self._rows.get(where, _NO_ROWS)
        return IndexedLog(index, self._index.code(alias), ends.log_start, lowest, rows)


def to_begins(begins: Mapping[ClusterPartition, int], names: Names = SAME_NAMES) -> pa.Table:
    """Return the same as rows of :data:`BEGINS_SCHEMA`, by the names that topics have at their clusters."""
    rows = [
        {**log._asdict(), "topic": names.outside(log.cluster, log.topic), "begin": begin}
        for log, begin in begins.items()
    ]
    return pa.Table.from_pylist(rows, BEGINS_SCHEMA)


def highest_indexed(
    tables: TableStore, are_copied: Callable[[str], object] | None = None
) -> dict[ClusterPartition, int]:
    """Return, by log, the first offset above all records of it that are indexed.

    Of a log with several lives only what was indexed in the last one counts. Of topics that *are_copied* byte for byte
    (None: there are none) only the log itself counts: a copy that was written to tells nothing of its original. Sealed
    files say it themselves; all rows of others are read, and what is older than a life of its partition.
    """
    found = _Highest(lives_of(tables.all_rows(LOG_INCARNATIONS)), are_copied)
    names = [*_PLACE, "length", "cluster", "start_offset", "read_at"]
    for rows in tables.batches(RECORD_FINGERPRINTS, names):
        found.take_in(rows, "read_at", (("cluster", "start_offset"),))
    segments = tables.segments(RECORD_RUNS)
    files, schema = segments.newest(), pa.schema([RECORD_RUNS.arrow_schema.field(name) for name in _RUN])
    for rows in segments.rows(files, schema):
        found.take_in(rows, "indexed_at", _RUN_ENDS)
    for each in files.sealed.values():
        for group in found.take_in_directory(each.directory):
            found.take_in(segments.read(each.path, group, schema), "indexed_at", _RUN_ENDS)
    return found.ends


class _Highest:
    """Gathers the highest :attr:`ends` by what is told of *lives*, and of which topics *are_copied*."""

    def __init__(self, lives: Lives, are_copied: Callable[[str], object] | None) -> None:
        self.ends: dict[ClusterPartition, int] = {}
        self._lives, self._are_copied = lives, are_copied

    def take_in(self, rows: pa.Table, at: str, ends: Ends) -> None:
        """Take in *rows*, which were written *at*, and have such *ends*: columns of a cluster and of a start."""
        for owner, start in ends:
            is_wanted = pc.greater(rows.column("length"), 0).to_numpy() & ~_is_earlier(rows, owner, at, self._lives)
            if owner == "origin" and self._are_copied is not None:
                is_wanted &= _is_told(rows, self._are_copied)
            end = pc.add(rows.column(start), rows.column("length"))
            for log, highest in _highest(rows, [owner, *_PLACE], end, is_wanted):
                self._note(ClusterPartition(*log), highest)

    def take_in_directory(self, said: Directory) -> list[int]:
        """Take in what a sealed file says of its rows; return the row groups of which it has to be read."""
        parts, spans = said.parts, said.spans
        places = {log.topic_partition: life.noticed_ms for log, life in sorted(self._lives, key=_noticed)}
        until_ms = np.array([places.get(log.topic_partition, ABSENT) for log in said.logs], np.int64)
        is_read = (parts["oldest_ms"] <= until_ms[parts["log"]]) | (parts["plain"] == 0)
        for log, reach in zip(parts["log"][~is_read].tolist(), parts["reach"][~is_read].tolist(), strict=True):
            if reach:
                self._note(said.logs[log], reach)
        known = ~is_read[spans["part"]]
        log_of = parts["log"][spans["part"]]
        for log, origin, high in zip(
            *(each[known].tolist() for each in (log_of, spans["origin"], spans["high"])), strict=True
        ):
            place, name = said.logs[log], said.origins[origin]
            if name == place.cluster or self._are_copied is None or not self._are_copied(place.topic):
                self._note(place._replace(cluster=name), high + 1)
        groups: list[int] = np.unique(parts["group"][is_read]).tolist()
        return groups

    def _note(self, log: ClusterPartition, end: int) -> None:
        if log.cluster:  # else nobody knows whose records they are
            self.ends[log] = max(end, self.ends.get(log, end))


def _noticed(each: tuple[ClusterPartition, Incarnation]) -> int:
    return each[1].noticed_ms


def highest_captured(tables: TableStore, lives: CommitLogLives) -> dict[ClusterPartition, int]:
    """Return, by log of commits, the first offset above all commits that stand in it; reads the whole table."""
    lives.refresh()
    places, found = lives.places(), dict[ClusterPartition, int]()
    for rows in tables.batches(OFFSET_COMMITS, _COMMIT):
        end, stands = pc.add(rows.column("log_offset"), 1), places.gone_ms(rows) == ABSENT
        for (cluster, partition), highest in _highest(rows, _COMMIT[:2], end, stands):
            log = ClusterPartition(cluster, CONSUMER_OFFSETS, partition)
            found[log] = max(highest, found.get(log, highest))
    return found


def _is_earlier(
    rows: pa.Table, owner: str, at: str, lives: Collection[tuple[ClusterPartition, Incarnation]]
) -> NDArray[np.bool_]:
    """Return which runs were indexed before their log began its last life; *owner* is the column with its cluster."""
    found = np.zeros(rows.num_rows, np.bool_)
    for log, life in lives:
        is_of_log = pc.and_(pc.equal(rows.column(owner), log.cluster), pc.equal(rows.column("topic"), log.topic))
        is_of_log = pc.and_(is_of_log, pc.equal(rows.column("partition"), log.partition))
        indexed_ms = rows.column(at).cast(pa.timestamp("us")).cast(pa.int64()).to_numpy() // 1000
        found |= is_of_log.to_numpy() & (indexed_ms <= life.noticed_ms)
    return found


def _is_told(rows: pa.Table, are_copied: Callable[[str], object]) -> NDArray[np.bool_]:
    """Return which rows may say how far the log of their origin reaches."""
    cluster, origin, topic = (rows.column(name).cast(pa.string()) for name in ("cluster", "origin", "topic"))
    copied = [each for each in pc.unique(topic).to_pylist() if are_copied(each)]
    is_other = pc.invert(pc.is_in(topic, pa.array(copied, pa.string())))
    told: NDArray[np.bool_] = pc.or_(pc.equal(cluster, origin), is_other).to_numpy()
    return told


def _highest(
    rows: pa.Table, names: list[str], end: pa.ChunkedArray, is_wanted: NDArray[np.bool_]
) -> Iterator[tuple[tuple[Any, ...], int]]:
    """Yield each combination of the columns *names* among those rows that are wanted, with its highest *end*."""
    wanted = pa.array(np.where(is_wanted, end.to_numpy(), ABSENT))
    ends = rows.select(names).append_column("end", wanted).group_by(names, use_threads=False)
    highest = ends.aggregate([("end", "max")]).filter(pc.greater(pc.field("end_max"), ABSENT))
    columns = (highest.column(name).to_pylist() for name in (*names, "end_max"))
    for *place, most in zip(*columns, strict=True):
        yield tuple(place), most
