"""A query of ``index_records`` that hashes the originals or the copies of one cluster, to match them by contents.

There are two, because originals are read as most mirrors read them, and copies as consumers do. Spark hashes records
where it reads them: its ``xxhash64`` runs in the JVM while the bytes are in the cache, at gigabytes a second. The hash
of each value is the seed of the next, so the order counts. 64 bits are enough: a copy is looked up among those
originals that the mirror may send, and among a million one of other contents has its hash with probability 5 in 10^14.
The hash does not resist deliberate collisions: who may write to a topic may harm its readers anyway.

The runs of originals go into ``record_runs`` at once, like those of any native record. Copies are identified later,
from both logs, by :mod:`offset_sync_contents.copy_alignment`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import datetime, timezone
from functools import partial
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from offset_sync.config import Config
from offset_sync.decode.mirror_headers import ADDED_HEADERS
from offset_sync.ingest.batch_rows import ReadBatch
from offset_sync.ingest.checkpoint import Checkpoint, OffsetRanges, Offsets
from offset_sync.ingest.commit_batch import chunk_rows
from offset_sync.ingest.failing_batches import FailingBatches
from offset_sync.ingest.index_parts import IndexParts, IndexProgress, TopicAccess
from offset_sync.ingest.kafka_source import NO_OPTIONS, read_whole_ranges, read_whole_records
from offset_sync.ingest.kept_runs import Cut
from offset_sync.ingest.log_check import LogCheck
from offset_sync.ingest.map_batches import map_batches, to_sql
from offset_sync.ingest.origin_check import OriginCheck
from offset_sync.ingest.query_supervisor import QuerySupervisor
from offset_sync.ingest.record_indexer import Checks, RecordIndexer
from offset_sync.ingest.run_builder import is_of
from offset_sync.ingest.unreadable_logs import SecondReader
from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.kafka.log_reader import Chunk, RangeReader
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import ClusterPartition, OffsetRange
from offset_sync.state import failpoints
from offset_sync.state.known_names import strays
from offset_sync.tables.store import TableStore
from offset_sync_contents.rows import (
    FINGERPRINT,
    PACKED_SCHEMA,
    FingerprintBuilder,
    fingerprint_rows_of,
    is_wanted,
    native_runs,
)
from offset_sync_contents.settings import contents_of
from offset_sync_contents.table import RECORD_FINGERPRINTS

_UNCOMMITTED: Mapping[str, str] = {"kafka.isolation.level": "read_uncommitted"}
"""How originals are read: most mirrors copy records of open and aborted transactions, too.

Copies are read as consumers do, without aborted ones.
"""
_RAW_SCHEMA = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", tz="UTC")),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("headers", pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))),
    ]
)


def with_fingerprints(records: DataFrame, keeps: Collection[str]) -> DataFrame:
    """Return the place of each record, and the hash of what copies keep of it: *keeps*, key and value."""
    if "headers" in keeps:  # in a projection of its own, as the hash has them twice
        records = records.withColumn("headers", _without_added(F.col("headers")))
    return records.select("topic", "partition", "offset", _fingerprint(keeps).alias(FINGERPRINT))


def _without_added(headers: Column) -> Column:
    """Return *headers* without those that mirrors add; of originals too, which may be copies themselves.

    Spark interprets a filter, which takes longer than hashing a record: so only where there is something to filter.
    """
    is_any = F.arrays_overlap(headers["key"], F.array(*map(F.lit, ADDED_HEADERS)))
    kept = F.filter(headers, lambda header: ~header["key"].isin(*ADDED_HEADERS))
    return F.when(is_any, kept).otherwise(headers)


def _fingerprint(keeps: Collection[str]) -> Column:
    """Return the hash. It skips nulls, so flags for them are hashed too: else (null, x) would equal (x, null)."""
    parts: list[Column] = []
    if "timestamps" in keeps:
        parts.append(F.col("timestamp"))
    parts += [F.isnull("key"), F.col("key"), F.isnull("value"), F.col("value")]
    if "headers" in keeps:
        # Without headers Spark has null, other readers an empty list: neither changes the hash.
        are_null = F.transform(F.col("headers"), lambda header: F.isnull(header["value"]))
        parts += [F.col("headers"), F.when(F.isnotnull("headers"), are_null)]
    return F.xxhash64(*parts)


class ContentRows:
    """Makes the columns of :func:`with_fingerprints`, by Spark, of records read without Spark's source."""

    def __init__(self, spark: SparkSession, keeps: Collection[str]) -> None:
        self._spark, self._keeps = spark, keeps

    def __call__(self, chunk: Chunk) -> pa.RecordBatch:
        """Return the records of *chunk*, each log in its order."""
        headers = [[{"key": k, "value": v} for k, v in record.headers] or None for _, record in chunk]
        columns = {
            "topic": pa.array([place.topic for place, _ in chunk], pa.string()),
            "key": pa.array([record.key for _, record in chunk], pa.binary()),
            "value": pa.array([record.value for _, record in chunk], pa.binary()),
            "headers": pa.array(headers, _RAW_SCHEMA.field("headers").type),
        }
        raw = pa.Table.from_batches([chunk_rows(chunk, columns)]).select(_RAW_SCHEMA.names).cast(_RAW_SCHEMA)
        hashed = with_fingerprints(self._spark.createDataFrame(raw).coalesce(1), self._keeps).toArrow()
        return hashed.combine_chunks().to_batches()[0]


class QueryKind(NamedTuple):
    """What a query reads: originals or copies; *take* gets rows once they are in the table, *progress* counts."""

    are_originals: bool
    take: Callable[[pa.Table], None]
    progress: IndexProgress

    @property
    def word(self) -> str:
        """Its name."""
        return "originals" if self.are_originals else "copies"


class FingerprintIndexer(RecordIndexer):
    """Writes the micro-batches of one cluster's query for *kind*."""

    schema = PACKED_SCHEMA

    def __init__(
        self,
        tables: TableStore,
        checkpoint: Checkpoint,
        builder: FingerprintBuilder,
        checks: Checks,
        kind: QueryKind,
    ) -> None:
        super().__init__(tables, checkpoint, builder, checks, kind.progress)
        self._wanted, self._kind = builder.is_wanted, kind

    def _planned(self, batch_id: int) -> tuple[Offsets, Offsets]:
        """Return what the micro-batch reads of the wanted logs: the topic pattern may match others."""
        start, end = super()._planned(batch_id)
        return self._of_wanted(start), self._of_wanted(end)

    def _of_wanted(self, offsets: Offsets) -> Offsets:
        return {place: each for place, each in offsets.items() if self._wanted(place[0])}

    def _by_spark(self, records: DataFrame, ranges: OffsetRanges) -> Cut:
        at_most = sum(end - start for start, end in ranges.values())
        return Cut(map_batches(records, self._builder, self.schema, len(self._builder.aliases), at_most))

    def _write(self, read: ReadBatch, batch_id: int) -> int:
        """Store what was *read*; return how many records it has."""
        rows = fingerprint_rows_of(read, self._builder.alias)
        writer = self._writer(batch_id)
        append = partial(self._tables.append, RECORD_FINGERPRINTS)
        failpoints.failpoint(failpoints.BEFORE_RUNS)
        is_again = is_of(rows, read.again)
        append(rows.filter(is_again))
        append(rows.filter(pc.invert(is_again)), writer)
        if self._kind.are_originals:
            super()._write(read._replace(cut=native_runs(read.cut, self._builder.alias)), batch_id)
        self._kind.take(rows)
        return int(pc.sum(read.cut.column("length")).as_py() or 0)

    def try_rows(self, rows: pa.RecordBatch) -> None:
        """Pack *rows* as those of a micro-batch, and write nothing."""
        native_runs(pa.Table.from_batches(list(self._builder([rows])), self.schema), self._builder.alias)


class ContentQuery:
    """The query of the cluster of *admin* for *kind*."""

    def __init__(
        self, config: Config, admin: ClusterAdmin, access: TopicAccess, parts: IndexParts, kind: QueryKind
    ) -> None:
        self._config, self._admin, self._access, self._parts, self._kind = config, admin, access, parts, kind
        options = config.admin_options(admin.alias)
        if kind.are_originals:
            options |= {"isolation.level": "read_uncommitted"}
        self._options = _UNCOMMITTED if kind.are_originals else NO_OPTIONS
        rows = ContentRows(parts.spark, contents_of(config).keeps)
        self._again = SecondReader(admin, RangeReader(admin.alias, options, names=config.names), rows)
        access.watch(self._again.unreadable)
        self._failing = FailingBatches(admin.alias, self._again)
        self._wanted = partial(is_wanted, config, admin.alias, kind.are_originals)

    @property
    def name(self) -> str:
        """What the query is called: its cluster first."""
        return f"{self._admin.alias} {self._kind.word}"

    def supervised_by(self, queries: QuerySupervisor) -> None:
        """Have the query end when *queries* do."""
        self._parts = self._parts._replace(queries=queries)

    def start(self) -> StreamingQuery | None:
        """Start to read the records of the wanted streams; None where there is none yet."""
        config, alias, parts = self._config, self._admin.alias, self._parts
        parts.lease.renew()
        checkpoint = parts.checkpoint(config, alias, f".{self._kind.word}")
        _, refused = self._access.readable(alias)
        reaches, only = self._again.unreadable.begin(
            checkpoint, lambda stream: self._wanted(stream) and stream not in refused
        )
        if not reaches:
            return None
        ends = {each: reach.high if self._kind.are_originals else reach.stable for each, reach in reaches.items()}
        parts.progress.expect(alias, ends)
        origins = OriginCheck(alias, config.clusters)
        logs = LogCheck(alias, parts.asked(config, alias, self._read_again), origins, parts.incarnations)
        checks = Checks(logs, self._again)
        indexer = FingerprintIndexer(parts.tables, checkpoint, self._builder(), checks, self._kind)
        records = read_whole_records(parts.spark, config, alias, self._left_out(refused), self._options, only)
        rows, function = with_fingerprints(records, contents_of(config).keeps), self._failing.guard(indexer, indexer)
        return parts.queries.stream(f"index_records {self.name}", rows, checkpoint.path, function, parts.interval)

    def read_from(self, log: ClusterPartition, begin: int) -> pa.Table:
        """Return rows of ``record_fingerprints`` for *log*, from *begin* to where it ends now.

        Raises ClusterError if that end is not reported.
        """
        place = log.topic_partition
        ends = self._admin.ends([place])
        if place not in ends:
            raise ClusterError(log.cluster, f"no answer about the end of {log.topic}-{log.partition}")
        wanted = OffsetRange(max(begin, ends[place].log_start), ends[place].log_end)
        return range_rows(log, wanted, self._builder(), self._read_again({place: wanted}))

    def _read_again(self, ranges: OffsetRanges) -> DataFrame:
        config, alias = self._config, self._admin.alias
        records = read_whole_ranges(self._parts.spark, config, alias, ranges, self._options)
        return with_fingerprints(records, contents_of(config).keeps)

    def _builder(self) -> FingerprintBuilder:
        return FingerprintBuilder(self._admin.alias, self._config.origins(), self._wanted, self._config.names)

    def _left_out(self, refused: Collection[str]) -> list[str]:
        """Return the topic names to exclude; the records of topics that are created later are filtered out."""
        names, alias = self._config.names, self._admin.alias
        others = [each for each in self._admin.topics() if not self._wanted(each)]
        included = [each for each in others if self._config.is_topic_included(each)]
        return [*(names.outside(alias, each) for each in (*refused, *included)), *strays(self._config, self._admin)]


def range_rows(log: ClusterPartition, wanted: OffsetRange, builder: FingerprintBuilder, records: DataFrame) -> pa.Table:
    """Return rows of the table for *records* of *log*: all of the *wanted* range, which are read here.

    They count as read before any incarnation that is noticed meanwhile.
    """
    place, at = log.topic_partition, datetime.now(timezone.utc)
    packed = records.coalesce(1).mapInArrow(builder, to_sql(PACKED_SCHEMA)).toArrow()
    return fingerprint_rows_of(ReadBatch(packed, {place: wanted.start}, {place: wanted.end}, at), log.cluster)
