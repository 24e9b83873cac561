"""The runs of a large micro-batch stay on the executors that made them; the driver gets only a summary.

The records are read once. Their runs are a local checkpoint of Spark on the executors' disks, and are checked and
written to the table from there. If it is lost with an executor, reading fails and the micro-batch is repeated, because
records read later were not checked. Reading also fails on rows of another task attempt than the summary is of: a task
that runs twice may leave such rows elsewhere.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from functools import reduce
from types import MappingProxyType
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.storagelevel import StorageLevel

from offset_sync.config.stream_names import SAME_NAMES, Names
from offset_sync.ingest.map_batches import ATTEMPT, MapBatches, Signed, few_rows, to_sql
from offset_sync.ingest.origin_check import OriginEnds, RefuteBeyond
from offset_sync.ingest.run_builder import CUT_SCHEMA
from offset_sync.model.values import Stop, TopicPartition
from offset_sync.spark.jvm import release
from offset_sync.tables.catalog import QUARANTINE, RECORD_RUNS
from offset_sync.tables.definition import Table

_UNCHECKED = "rows of a task attempt that was not checked: the micro-batch is repeated"


class KeptRuns(NamedTuple):
    """Rows of :data:`CUT_SCHEMA` that stay on the executors.

    *summary* has a row per log and origin, null for origins that cannot be queried: ``end`` and ``reach``, the first
    offsets above the runs here and at the origin, the number of ``records``, and of malformed ones (``errors``), and
    the ``attempts`` that made the rows. *without* are logs whose rows are discarded, *beyond* the ends of origins' logs
    that some run exceeds. *is_again*: the rows are of re-read logs.
    """

    rows: DataFrame
    summary: pa.Table
    without: frozenset[TopicPartition] = frozenset()
    beyond: OriginEnds = MappingProxyType({})
    is_again: bool = False

    def runs(self, alias: str, at: datetime, names: Names = SAME_NAMES) -> DataFrame:
        """Return rows of ``record_runs`` for the runs of *alias*, indexed *at*, with topics by its *names*."""
        named = {
            "min_timestamp": F.timestamp_millis("min_timestamp_ms"),
            "max_timestamp": F.timestamp_millis("max_timestamp_ms"),
            "indexed_at": F.lit(at),
            "complete_until": F.lit(None),
        }
        return self._rows_of(RECORD_RUNS, F.col("error").isNull(), named | self._place(alias, names))

    def malformed(self, alias: str, at: datetime, names: Names = SAME_NAMES) -> DataFrame | None:
        """Return rows of ``quarantine`` for the records that could not be decoded; None where there are none."""
        if not (self.beyond or self.errors):
            return None
        named = {
            "offset": F.col("start_offset"),
            "key": F.col("origin_header"),
            "value": F.col("offset_header"),
            "seen_at": F.lit(at),
        }
        return self._rows_of(QUARANTINE, F.col("error").isNotNull(), named | self._place(alias, names))

    @property
    def errors(self) -> int:
        """How many records the tasks could not decode."""
        return int(pc.sum(self._counted().column("errors")).as_py() or 0)

    @property
    def records(self) -> int:
        """How many records are in the runs."""
        return int(pc.sum(self._counted().column("records")).as_py() or 0)

    def ends(self) -> dict[TopicPartition, int]:
        """Return the first offset above the runs of each log."""
        found: dict[TopicPartition, int] = {}
        for row in self._counted().to_pylist():
            place = TopicPartition(row["topic"], row["partition"])
            found[place] = max(found.get(place, 0), row["end"] or 0)
        return found

    def _place(self, alias: str, names: Names) -> dict[str, Column]:
        """Return a row's cluster, and its topic there if names differ from streams."""
        place, streams = {"cluster": F.lit(alias)}, pc.unique(self.summary.column("topic")).to_pylist()
        if streams and not names.is_same:
            called = [F.lit(each) for stream in streams for each in (stream, names.outside(alias, stream))]
            place["topic"] = F.element_at(F.create_map(*called), F.col("topic"))
        return place

    def _rows_of(self, table: Table, are_of_it: Column, named: Mapping[str, Column]) -> DataFrame:
        found = [(each, named[each.name] if each.name in named else F.col(each.name)) for each in table.columns]
        columns = [column.cast(each.type).alias(each.name) for each, column in found]
        return self._checked_rows().where(are_of_it).select(*columns)

    def _counted(self) -> pa.Table:
        """Return the summary of the logs whose rows count."""
        places = [(row["topic"], row["partition"]) for row in self.summary.to_pylist()]
        return self.summary.filter(pa.array([place not in self.without for place in places], pa.bool_()))

    def _checked_rows(self) -> DataFrame:
        """Return the rows that count; reading fails on rows of attempts that were not checked."""
        attempts = {each for row in self.summary.column("attempts").to_pylist() for each in row}
        is_known = F.when(F.col(ATTEMPT).isin(*sorted(attempts)), True).otherwise(F.raise_error(F.lit(_UNCHECKED)))
        rows = self.rows.where(is_known).select(*CUT_SCHEMA.names)
        if self.without:
            rows = rows.where(~reduce(Column.__or__, map(_is_of, sorted(self.without))))
        if self.beyond:
            rows = rows.mapInArrow(RefuteBeyond(dict(self.beyond)), to_sql(CUT_SCHEMA))
        return rows


class Cut(NamedTuple):
    """Rows of :data:`CUT_SCHEMA`: those that the driver holds, and those that stay on executors.

    *stopped* are logs that could not be read up to the end of their ranges.
    """

    rows: pa.Table
    kept: tuple[KeptRuns, ...] = ()
    stopped: Mapping[TopicPartition, Stop] = MappingProxyType({})


def cut_by_tasks(records: DataFrame, function: MapBatches, origins: Collection[str]) -> Cut:
    """Return what *function* makes of *records*, rows of :data:`CUT_SCHEMA`; they are collected if they are few.

    *origins* are those that can be queried. The caller releases what is kept.
    """
    made = records.mapInArrow(Signed(function), f"{to_sql(CUT_SCHEMA)}, {ATTEMPT} bigint")
    kept = made.localCheckpoint(eager=True, storageLevel=StorageLevel.DISK_ONLY)
    try:
        few = few_rows(kept)
        if few is None:
            return Cut(CUT_SCHEMA.empty_table(), (KeptRuns(kept, _summary(kept, origins)),))
    except BaseException:
        release(kept)
        raise
    release(kept)
    return Cut(few.drop_columns(ATTEMPT))


def release_all(kept: Collection[KeptRuns]) -> None:
    """Release the rows on the executors."""
    for each in kept:
        release(each.rows)


def _summary(kept: DataFrame, origins: Collection[str]) -> pa.Table:
    # Headers may name anything: origins that cannot be queried are one group, or the summary would grow with records.
    origin = F.when(F.col("origin").isin(*sorted(origins)), F.col("origin")).alias("origin")
    is_run = F.col("error").isNull()
    return (
        kept.groupBy("topic", "partition", origin)
        .agg(
            F.max(F.when(is_run, F.col("start_offset") + F.col("length"))).alias("end"),
            F.max(F.when(is_run, F.col("origin_start") + F.col("length"))).alias("reach"),
            F.sum("length").alias("records"),
            F.count("error").alias("errors"),
            F.collect_set(ATTEMPT).alias("attempts"),
        )
        .toArrow()
    )


def _is_of(place: TopicPartition) -> Column:
    return (F.col("topic") == place.topic) & (F.col("partition") == place.partition)
