"""Tables and DataFrames in memory, as far as micro-batches use them: no Spark, the same promises."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa

from offset_sync.ingest.incarnation_log import Cuts
from offset_sync.ingest.run_cuts import RowCutter
from offset_sync.model.values import ClusterPartition
from offset_sync.tables.catalog import RECORD_RUNS
from offset_sync.tables.definition import Table
from offset_sync.tables.segments import Segments, TableFiles
from offset_sync.tables.transaction_log import Added, DataFile

_TYPES = {
    "string": pa.string(),
    "bigint": pa.int64(),
    "int": pa.int32(),
    "smallint": pa.int16(),
    "boolean": pa.bool_(),
    "binary": pa.binary(),
    "timestamp": pa.timestamp("us", tz="UTC"),
}
_SESSION = SimpleNamespace(sparkContext=SimpleNamespace(defaultParallelism=2))
MapBatches = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]


@dataclass
class MemoryFrame:
    """Rows of one task."""

    rows: pa.Table
    batch_rows: int = 50_000
    sparkSession: Any = field(default_factory=lambda: _SESSION)

    def coalesce(self, _partitions: int) -> MemoryFrame:
        """Return the same rows: they are one task's already."""
        return self

    def select(self, *names: str) -> MemoryFrame:
        """Return these columns."""
        return MemoryFrame(self.rows.select(list(names)))

    def mapInArrow(self, function: MapBatches, schema: str) -> MemoryFrame:
        """Return what *function* makes of the rows, which has to have *schema*."""
        found = list(function(iter(self.rows.to_batches(max_chunksize=self.batch_rows))))
        return MemoryFrame(pa.Table.from_batches(found, to_arrow(schema)))

    def toArrow(self) -> pa.Table:
        """Return the rows."""
        return self.rows


def to_arrow(schema: str) -> pa.Schema:
    """Return a Spark schema string as Arrow."""
    columns = (column.split() for column in schema.replace("`", "").split(","))
    return pa.schema([(name, _TYPES[kind]) for name, kind in columns])


class PowerFailure(BaseException):
    """Ends whatever is going on."""


@dataclass
class MemoryTables:
    """Append-only tables that take each (application id, version) once; *dies_at* fails before its next append."""

    versions: dict[str, list[pa.Table]] = field(default_factory=dict)
    writers: set[tuple[str, str, int]] = field(default_factory=set)
    cuts: set[int] = field(default_factory=set)
    dies_at: Table | None = None
    batch_rows: int = 1_000
    files: Any = None
    _reversed: dict[int, tuple[pa.Table, pa.Table]] = field(default_factory=dict)
    _whole: dict[str, tuple[list[pa.Table], pa.Table]] = field(default_factory=dict)

    def path(self, table: Table) -> str:
        """Return the folder for the files of tasks: no micro-batch here is so large that tasks write its rows."""
        return table.name

    def append(
        self,
        table: Table,
        rows: pa.Table,
        writer: tuple[str, int] | None = None,
        written: Sequence[object] = (),
        check: Callable[[], None] = lambda: None,
    ) -> None:
        """Append *rows*, unless *writer* has done so."""
        assert not written
        if table is self.dies_at:
            self.dies_at = None
            raise PowerFailure
        if rows.num_rows:
            check()
        if rows.num_rows == 0 or (writer is not None and (table.name, *writer) in self.writers):
            return
        if writer is not None:
            self.writers.add((table.name, *writer))
        if not rows.schema.equals(table.arrow_schema):
            rows = rows.select(table.names).cast(table.arrow_schema)
        self.versions.setdefault(table.name, []).append(rows)

    def version(self, table: Table) -> int:
        """Return the number of the last version; the empty table is version 0."""
        return len(self.versions.get(table.name, []))

    def all_rows(self, table: Table) -> pa.Table:
        """Return all rows."""
        versions, known = self.versions.get(table.name, []), self._whole.get(table.name)
        if known is None or known[0] != versions:  # a test may have taken some away, or put others there
            known = self._whole[table.name] = [*versions], self.read_added(table, 0, len(versions)).combine_chunks()
        return known[1]

    def read_added(self, table: Table, after: int, until: int) -> pa.Table:
        """Return the rows of versions in ``(after, until]``, in an order of no meaning."""
        parts = self.versions.get(table.name, [])[after:until]
        return pa.concat_tables([self._backwards(part) for part in reversed(parts)]) if parts else table.no_rows

    def _backwards(self, rows: pa.Table) -> pa.Table:
        if rows.num_rows < 2:
            return rows
        known = self._reversed.get(id(rows))
        if known is None or known[0] is not rows:
            order = np.arange(rows.num_rows - 1, -1, -1)
            known = self._reversed[id(rows)] = rows, rows.take(pa.array(order))
        return known[1]

    def rows_since(self, table: Table, known: int | None) -> tuple[pa.Table, int]:
        """Return what was appended after *known*, or all rows, and the version that it is now."""
        until = self.version(table)
        return table.no_rows if known == until else self.read_added(table, known or 0, until), until

    def added(self, table: Table, after: int, until: int) -> Added:
        """Return the same rows: nothing is moved here."""
        is_cut = table is RECORD_RUNS and any(after < each <= until for each in self.cuts)
        return Added(self.read_added(table, after, until), is_cut, is_cut)

    def cut(self, cuts: Cuts) -> Mapping[ClusterPartition, int]:
        """Cut the rows of ``record_runs`` in place, and have a version that says so; return where logs end."""
        cutter, versions = RowCutter(cuts), self.versions.setdefault(RECORD_RUNS.name, [])
        self.rewrite(lambda rows: rows if (left := cutter.cut(rows, rows)) is None else left)
        versions.append(RECORD_RUNS.no_rows)
        self.cuts.add(len(versions))
        return cutter.ends

    def rewrite(self, change: Callable[[pa.Table], pa.Table]) -> None:
        """Change the rows of ``record_runs``, some at a time."""
        versions = self.versions[RECORD_RUNS.name]
        versions[:] = map(change, versions)

    def segments(self, table: Table) -> Segments:
        """Return that nothing is sealed here."""
        return MemorySegments(self, table)

    def batches(self, table: Table, names: Sequence[str] | None = None, version: object = None) -> Iterator[pa.Table]:
        """Yield the rows in pieces of :attr:`batch_rows`."""
        rows = self.all_rows(table).select(list(names or table.names))
        for first in range(0, rows.num_rows, self.batch_rows):
            yield rows.slice(first, self.batch_rows)

    def rows(self, table: Table, *names: str) -> list[tuple[Any, ...]]:
        """Return these columns of all rows, sorted."""
        found = pa.concat_tables([table.arrow_schema.empty_table(), *self.versions.get(table.name, [])])
        return sorted(zip(*(found[name].to_pylist() for name in names), strict=True), key=str)


@dataclass
class MemorySegments(Segments):
    """The rows of *tables*, of which none is sealed."""

    tables: MemoryTables
    table: Table

    def newest(self) -> TableFiles:
        """Return one file with all rows."""
        version = self.tables.version(self.table)
        return TableFiles(version, {}, [(str(version), DataFile(str(version), 0, 0, rows=version))] if version else [])

    def rows(self, files: TableFiles, schema: pa.Schema) -> Iterator[pa.Table]:
        """Yield all rows of a version."""
        yield self.tables.read_added(self.table, 0, files.version).select(schema.names)
