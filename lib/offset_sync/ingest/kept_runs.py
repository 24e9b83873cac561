"""The runs of a large micro-batch stay on the executors that made them; the driver gets only a summary.

The records are read once. Their runs are a local checkpoint of Spark on the executors' disks, and are checked and
written to the table from there. If it is lost with an executor, reading fails and the micro-batch is repeated, because
records read later were not checked. Reading also fails on rows of another task attempt than the summary is of: a task
that runs twice may leave such rows elsewhere.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.storagelevel import StorageLevel

from offset_sync.ingest.map_batches import ATTEMPT, MapBatches, Signed, few_rows, to_sql
from offset_sync.ingest.origin_check import OriginEnds, refute_beyond
from offset_sync.ingest.run_builder import CUT_SCHEMA, is_of
from offset_sync.model.values import Stop, TopicPartition
from offset_sync.spark.jvm import release
from offset_sync.tables.task_files import MakeRows

_UNCHECKED = "rows of a task attempt that was not checked: the micro-batch is repeated"


class KeptRuns(NamedTuple):
    """Rows of :data:`CUT_SCHEMA` that stay on the executors.

    *summary* has a row per log and origin, null for origins that cannot be queried: ``end`` and ``reach``, the first
    offsets above the runs here and at the origin, the number of ``records``, and of malformed ones (``errors``), and
    the ``attempts`` that made the rows. *without* are logs whose rows are discarded, *beyond* the ends of origins' logs
    that some run at *alias* exceeds. *is_again*: the rows are of re-read logs.
    """

    rows: DataFrame
    summary: pa.Table
    alias: str = ""
    without: frozenset[TopicPartition] = frozenset()
    beyond: OriginEnds = MappingProxyType({})
    is_again: bool = False

    def checked(self, make: MakeRows) -> MakeRows:
        """Return what takes some of the rows in a task, and returns what *make* makes of those that count.

        It fails on rows of attempts that were not checked.
        """
        attempts = pc.list_flatten(self.summary.column("attempts"))
        return _Checked(attempts, self.alias, self.without, dict(self.beyond), make)

    @property
    def has_malformed(self) -> bool:
        """Whether some records could not be decoded, or are no copies."""
        return bool(self.beyond) or any(self.summary.column("errors").to_pylist())

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

    def _counted(self) -> pa.Table:
        """Return the summary of the logs whose rows count."""
        places = [(row["topic"], row["partition"]) for row in self.summary.to_pylist()]
        return self.summary.filter(pa.array([place not in self.without for place in places], pa.bool_()))


@dataclass(frozen=True)
class _Checked:
    """See :meth:`KeptRuns.checked`; pickled to the executors."""

    attempts: pa.ChunkedArray
    alias: str
    without: frozenset[TopicPartition]
    beyond: OriginEnds
    make: MakeRows

    def __call__(self, rows: pa.Table) -> pa.Table:
        if not pc.all(pc.is_in(rows.column(ATTEMPT), self.attempts), min_count=0).as_py():
            raise RuntimeError(_UNCHECKED)
        cut = rows.select(CUT_SCHEMA.names).cast(CUT_SCHEMA)
        return self.make(refute_beyond(cut.filter(pc.invert(is_of(cut, self.without))), self.beyond, self.alias))


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
