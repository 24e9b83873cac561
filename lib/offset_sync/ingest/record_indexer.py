"""Micro-batches of mirrored records into ``record_runs``: what the index covers is written with what it found.

One append holds the runs of a micro-batch and, as rows of length 0, from where it has read each partition and how far
where no record stands. So the frontier can never pass a record that is not among the runs, wherever the job is killed;
and where an append is missing, because a checkpoint or a table was set back, the next one does not join on.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from datetime import datetime, timezone
from functools import partial
from typing import NamedTuple, Protocol

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from offset_sync.ingest.checkpoint import Checkpoint, Offsets, count_offsets
from offset_sync.ingest.index_progress import IndexProgress
from offset_sync.ingest.map_batches import map_batches
from offset_sync.ingest.origin_check import OriginCheck
from offset_sync.ingest.run_builder import CUT_SCHEMA, RunBuilder
from offset_sync.ingest.second_reader import ONLY_SPARK, OffsetRanges, RecordsAgain, ranges_of
from offset_sync.model.errors import ClusterError
from offset_sync.state import failpoints
from offset_sync.tables.catalog import BEGINS, INDEXED_TOPICS, QUARANTINE, RECORD_RUNS
from offset_sync.tables.store import TableStore

logger = logging.getLogger(__name__)


class Incarnation(Protocol):
    """What a cluster says of a topic."""

    @property
    def topic_id(self) -> str:
        """Kafka's id of the topic's present incarnation."""

    @property
    def partitions(self) -> int:
        """How many partitions it has."""


class TopicDescriber(Protocol):
    """A cluster, see :class:`offset_sync.kafka.cluster_admin.ClusterAdmin`."""

    def describe(self, topics: Collection[str]) -> Mapping[str, Incarnation | ClusterError]:
        """Return what is known of topics that exist; the error of one that may not be described."""


class Checks(NamedTuple):
    """Who is asked about what was read: *topics* for the ids of topics, *origins* whether identities are possible.

    *again* reads what Spark cannot.
    """

    topics: TopicDescriber
    origins: OriginCheck
    again: RecordsAgain = ONLY_SPARK


class RecordIndexer:
    """Writes the micro-batches of one cluster's query, when *checks* have answered."""

    def __init__(
        self,
        tables: TableStore,
        checkpoint: Checkpoint,
        builder: RunBuilder,
        checks: Checks,
        progress: IndexProgress,
    ) -> None:
        self._tables = tables
        self._checkpoint = checkpoint
        self._builder = builder
        self._checks = checks
        self._progress = progress
        self._ids: dict[str, set[str]] | None = None

    def __call__(self, records: DataFrame, batch_id: int) -> None:
        """Index one micro-batch; may be repeated at any point, the tables then hold it once all the same."""
        now = datetime.now(timezone.utc)
        start, end = self._checkpoint.start_offsets(batch_id), self._checkpoint.end_offsets(batch_id)
        self._record_incarnations(sorted({topic for topic, _ in end}), now)
        clusters, at_most = len(self._builder.origins), count_offsets(start, end)
        by_spark = partial(map_batches, records, self._builder, CUT_SCHEMA, clusters, at_most)
        cut = self._checks.again.map(by_spark, self._builder, CUT_SCHEMA, partial(ranges_of, start, end))
        # After reading: what was there to be read was at its origin before.
        cut = self._checks.origins.refute(cut)
        writer = (f"index_records-{self._checkpoint.query_id()}", batch_id)
        is_run = pc.is_null(cut.column("error"))
        malformed = _to_quarantine(cut.filter(pc.invert(is_run)), self._builder.alias, now)
        runs = _to_runs(cut.filter(is_run), self._builder.alias, now)
        covered = _coverage(runs, start, end, batch_id, self._builder.alias, now)
        if malformed.num_rows:
            logger.warning("%s: %d records with malformed headers put in quarantine", writer[0], malformed.num_rows)
        self._tables.append(QUARANTINE, malformed, writer)
        failpoints.failpoint(failpoints.BEFORE_RUNS)
        self._tables.append(RECORD_RUNS, pa.concat_tables([runs, covered]), writer)
        failpoints.failpoint(failpoints.AFTER_RUNS)
        self._progress.advance(self._builder.alias, start, end, pc.sum(runs.column("length")).as_py() or 0)

    def ranges(self, batch_id: int) -> OffsetRanges:
        """Return what a micro-batch reads."""
        return ranges_of(self._checkpoint.start_offsets(batch_id), self._checkpoint.end_offsets(batch_id))

    def try_rows(self, rows: pa.RecordBatch) -> None:
        """Cut *rows* as those of a micro-batch, and write nothing."""
        cut, now = pa.Table.from_batches(list(self._builder([rows])), CUT_SCHEMA), datetime.now(timezone.utc)
        _to_runs(cut.filter(pc.is_null(cut.column("error"))), self._builder.alias, now)

    def _record_incarnations(self, topics: list[str], now: datetime) -> None:
        """Write down topic ids not met before, ahead of the runs: a topic is never indexed without its id.

        Raises the ClusterError of a topic that was never met and may not be described: the micro-batch is tried again.
        """
        alias = self._builder.alias
        if self._ids is None:
            known = self._tables.read(INDEXED_TOPICS).toArrow()
            self._ids = {}
            for row in known.filter(pc.equal(known.column("cluster"), alias)).to_pylist():
                self._ids.setdefault(row["topic"], set()).add(row["topic_id"])
        answers = self._checks.topics.describe(topics)
        for topic, answer in answers.items():
            if isinstance(answer, ClusterError) and topic not in self._ids:
                raise answer
        found = {topic: answer for topic, answer in answers.items() if not isinstance(answer, ClusterError)}
        lives: dict[str, tuple[str, int | None]] = {topic: (i.topic_id, i.partitions) for topic, i in found.items()}
        # Gone before anybody could ask: what was read of it belongs to no life that could come back.
        lives |= {topic: ("", None) for topic in topics if topic not in found and topic not in self._ids}
        fresh = {topic: life for topic, life in lives.items() if life[0] not in self._ids.get(topic, set())}
        if not fresh:
            return
        for topic in fresh.keys() & self._ids.keys():
            logger.error("clusters.%s: topic %s was created anew; it is withheld until re-indexed", alias, topic)
        rows = [
            {"cluster": alias, "topic": topic, "topic_id": topic_id, "partitions": partitions, "seen_at": now}
            for topic, (topic_id, partitions) in fresh.items()
        ]
        self._tables.append(INDEXED_TOPICS, pa.Table.from_pylist(rows, INDEXED_TOPICS.arrow_schema))
        for topic, (topic_id, _) in fresh.items():
            self._ids.setdefault(topic, set()).add(topic_id)


def _to_runs(cut: pa.Table, alias: str, now: datetime) -> pa.Table:
    cut = cut.sort_by([("topic", "ascending"), ("partition", "ascending"), ("start_offset", "ascending")])
    columns = {
        "cluster": pa.repeat(pa.scalar(alias), cut.num_rows),
        "min_timestamp": _to_timestamp(cut.column("min_timestamp_ms")),
        "max_timestamp": _to_timestamp(cut.column("max_timestamp_ms")),
        "indexed_at": _repeat_time(now, cut.num_rows),
        **{name: cut.column(name) for name in RECORD_RUNS.names if name in cut.column_names},
    }
    return pa.table(columns).select(RECORD_RUNS.names).cast(RECORD_RUNS.arrow_schema)


def _to_quarantine(cut: pa.Table, alias: str, now: datetime) -> pa.Table:
    columns = {
        "cluster": pa.repeat(pa.scalar(alias), cut.num_rows),
        "topic": cut.column("topic"),
        "partition": cut.column("partition"),
        "offset": cut.column("start_offset"),
        "key": cut.column("origin_header"),
        "value": cut.column("offset_header"),
        "error": cut.column("error"),
        "seen_at": _repeat_time(now, cut.num_rows),
    }
    return pa.table(columns).select(QUARANTINE.names).cast(QUARANTINE.arrow_schema)


def _coverage(runs: pa.Table, start: Offsets, end: Offsets, batch_id: int, alias: str, now: datetime) -> pa.Table:
    """Return rows of length 0: from where each partition was read, and how far if no record stands there.

    With another checkpoint a query may begin beyond what was read before. A partition that appears after batch 0 is
    read from its log start, so its index lacks nothing from 0 on.
    """
    last = _run_ends(runs)
    edges: list[tuple[str, int, int, int]] = []
    for place, offset in end.items():
        begin = start.get(place, 0)
        if offset > begin or batch_id == 0 or place not in start:
            edges.append((*place, begin, BEGINS))
        if offset > max(last.get(place, -1), begin):
            edges.append((*place, offset, offset))
    rows = [
        {
            "cluster": alias,
            "topic": topic,
            "partition": partition,
            "start_offset": offset,
            "length": 0,
            "origin": alias,
            "origin_start": origin_start,
            "indexed_at": now,
        }
        for topic, partition, offset, origin_start in sorted(edges)
    ]
    return pa.Table.from_pylist(rows, RECORD_RUNS.arrow_schema)


def _run_ends(runs: pa.Table) -> Offsets:
    ends = runs.append_column("end", pc.add(runs.column("start_offset"), runs.column("length")))
    by_partition = ends.group_by(["topic", "partition"]).aggregate([("end", "max")])
    return {(row["topic"], row["partition"]): row["end_max"] for row in by_partition.to_pylist()}


def _to_timestamp(milliseconds: pa.ChunkedArray) -> pa.ChunkedArray:
    return milliseconds.cast(pa.timestamp("ms", tz="UTC")).cast(pa.timestamp("us", tz="UTC"))


def _repeat_time(now: datetime, count: int) -> pa.Array:
    return pa.repeat(pa.scalar(now, pa.timestamp("us", tz="UTC")), count)
