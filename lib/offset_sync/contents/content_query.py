"""A query of ``index_records`` for copies that are told by their contents: the originals of one cluster, or the copies.

They are two, for originals are read as most mirrors read them, and copies as consumers do.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from offset_sync.config import Config
from offset_sync.contents.contents_source import UNCOMMITTED, ContentRows, with_fingerprints
from offset_sync.contents.fingerprint_builder import FingerprintBuilder
from offset_sync.contents.fingerprint_indexer import FingerprintIndexer, QueryKind
from offset_sync.contents.packed_rows import range_rows
from offset_sync.ingest.checkpoint import Checkpoint, NamedCheckpoint
from offset_sync.ingest.failing_batches import FailingBatches
from offset_sync.ingest.index_parts import ORIGIN_DEADLINE_S, IndexParts, called
from offset_sync.ingest.kafka_source import NO_OPTIONS, read_whole_ranges, read_whole_records
from offset_sync.ingest.log_check import Asked, LogCheck
from offset_sync.ingest.origin_check import OriginCheck
from offset_sync.ingest.query_supervisor import QuerySupervisor
from offset_sync.ingest.record_indexer import Checks
from offset_sync.ingest.second_reader import OffsetRanges, SecondReader
from offset_sync.ingest.topic_access import TopicAccess
from offset_sync.kafka.cluster_admin import DEADLINE_S, ClusterAdmin
from offset_sync.kafka.range_reader import OffsetRange
from offset_sync.kafka.topic_names import open_ranges
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import ClusterPartition
from offset_sync.state.cluster_metadata import MetadataFetcher
from offset_sync.state.known_names import strays

ORIGINALS, COPIES = "originals", "copies"


@dataclass(frozen=True)
class WantedStreams:
    """True for the streams that one query reads at the cluster *alias*; pickled to the executors."""

    config: Config
    alias: str
    are_originals: bool

    def __call__(self, stream: str) -> bool:
        """Return whether the records of *stream* there are of the kind that is read."""
        is_origin = self.config.origin_of(stream) == self.alias
        return is_origin == self.are_originals and self.config.is_topic_included(stream)


class ContentQuery:
    """The query of the cluster of *admin* for *kind*."""

    def __init__(
        self, config: Config, admin: ClusterAdmin, access: TopicAccess, parts: IndexParts, kind: QueryKind
    ) -> None:
        self._config, self._admin, self._access, self._parts, self._kind = config, admin, access, parts, kind
        options = config.admin_options(admin.alias)
        if kind.are_originals:
            options |= {"isolation.level": "read_uncommitted"}
        self._options = UNCOMMITTED if kind.are_originals else NO_OPTIONS
        rows = ContentRows(parts.spark, config.mirror.keeps)
        self._again = SecondReader(admin.alias, open_ranges(admin.alias, options, config.names), rows)
        self._failing = FailingBatches(admin.alias, self._again)
        self._wanted = WantedStreams(config, admin.alias, kind.are_originals)

    @property
    def name(self) -> str:
        """What the query is called: its cluster first."""
        return f"{self._admin.alias} {ORIGINALS if self._kind.are_originals else COPIES}"

    def supervised_by(self, queries: QuerySupervisor) -> None:
        """Have the query end when *queries* do."""
        self._parts = self._parts._replace(queries=queries)

    def start(self) -> StreamingQuery | None:
        """Start to read the records of the wanted streams; None where there is none yet."""
        config, alias, parts = self._config, self._admin.alias, self._parts
        parts.lease.renew()
        _, refused = self._access.readable(alias)
        reaches = self._admin.reaches(lambda stream: self._wanted(stream) and stream not in refused)
        if not reaches:
            return None
        ends = {each: reach.high if self._kind.are_originals else reach.stable for each, reach in reaches.items()}
        parts.progress.expect(alias, ends)
        checkpoint = self._checkpoint()
        checkpoint.repair()
        checkpoint.leave_out(refused)
        checks = Checks(self._admin, self._logs(), self._again)
        indexer = FingerprintIndexer(parts.tables, checkpoint, self._builder(), checks, self._kind)
        records = read_whole_records(parts.spark, config, alias, self._left_out(refused), self._options)
        writer = (
            with_fingerprints(records, config.mirror.keeps)
            .writeStream.queryName(f"index_records {self.name}")
            .option("checkpointLocation", checkpoint.path)
            .foreachBatch(parts.queries.stop_between_batches(self._failing.guard(indexer, indexer)))
        )
        seconds = config.index.trigger_interval.total_seconds()
        parts.spark.sparkContext.setLocalProperty("spark.scheduler.pool", alias)
        trigger = {"availableNow": True} if parts.is_once else {"processingTime": f"{seconds} seconds"}
        return writer.trigger(**trigger).start()

    def read_from(self, log: ClusterPartition, begin: int) -> pa.Table:
        """Return rows of ``record_fingerprints`` for *log*, from *begin* to where it ends now.

        Raises ClusterError where nobody says where that is.
        """
        place = log.topic_partition
        ends = self._admin.ends([place])
        if place not in ends:
            raise ClusterError(log.cluster, f"{log.topic}-{log.partition}: nobody says where it ends")
        wanted = OffsetRange(max(begin, ends[place].log_start), ends[place].log_end)
        return range_rows(log, wanted, self._builder(), self._read_again({place: wanted}))

    def _read_again(self, ranges: OffsetRanges) -> DataFrame:
        config, alias = self._config, self._admin.alias
        ranges = called(config.names, alias, ranges)
        records = read_whole_ranges(self._parts.spark, config, alias, ranges, self._options)
        return with_fingerprints(records, config.mirror.keeps)

    def _builder(self) -> FingerprintBuilder:
        return FingerprintBuilder(self._admin.alias, self._config.origins(), self._wanted, self._config.names)

    def _left_out(self, refused: Collection[str]) -> list[str]:
        """Return the names that are not read here; of a topic that is made later its records are left aside."""
        names, alias = self._config.names, self._admin.alias
        others = [each for each in self._admin.topics() if not self._wanted(each)]
        included = [each for each in others if self._config.is_topic_included(each)]
        return [*(names.outside(alias, each) for each in (*refused, *included)), *strays(self._config, self._admin)]

    def _checkpoint(self) -> Checkpoint:
        kind = ORIGINALS if self._kind.are_originals else COPIES
        path = f"{self._config.tables.checkpoints}/index_records/{self._admin.alias}.{kind}"
        place, names = (self._parts.tables.files, path), self._config.names
        return Checkpoint(*place) if names.is_same else NamedCheckpoint(*place, self._admin.alias, names)

    def _logs(self) -> LogCheck:
        parts, alias = self._parts, self._admin.alias
        asked = Asked(
            MetadataFetcher(parts.admins, DEADLINE_S),
            MetadataFetcher(parts.admins, ORIGIN_DEADLINE_S),
            self._read_again,
        )
        return LogCheck(alias, asked, OriginCheck(alias, self._config.clusters), parts.incarnations)
