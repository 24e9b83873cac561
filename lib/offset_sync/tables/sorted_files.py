"""Files of ``record_runs`` in which rows stand by log and offset, and that say themselves what is where in them.

Whoever reads such a table log by log, as a start does, reads of each file what is of that log, and sorts nothing::

    row group     0                1                2
    holds         dc1 orders-0     dc1 orders-0     dc1 orders-1, dc1 orders-2, dc2 orders-0
    from offset   0                48,211           0             0             0

What they say stands in the file's own metadata, beside what Parquet has there: its statistics of texts may be cut off.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from threading import Lock
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from offset_sync.model.values import ClusterPartition
from offset_sync.tables.definition import fitted_but_texts
from offset_sync.tables.files import BATCH_ROWS, Files

GROUP_ROWS = 1 << 16
"""A row group has so many rows at most: as many are in memory at a time of each log that is read."""
_ALONE = GROUP_ROWS // 8
"""A log with as many rows in a file has row groups of its own; others share theirs."""
_ASCENDING = ("start_offset", "origin_start", "min_timestamp", "max_timestamp")
"""These grow along a log, so they take a fraction as differences; the others have few values."""
_KEY = b"offset_sync.sorted"
_VERSION = 1


class Part(NamedTuple):
    """The rows of one log in a row group: from which offset on, how many, and when the newest was indexed, in ms."""

    log: ClusterPartition
    first: int
    rows: int
    newest_ms: int


class Block(NamedTuple):
    """A row group, which is read when asked for; *parts* are those of its logs, in any order."""

    parts: Sequence[Part]
    read: Callable[[], pa.Table]

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return sum(part.rows for part in self.parts)

    def fitted(self, schema: pa.Schema) -> Block:
        """Return the same with the columns of *schema*."""
        return Block(self.parts, lambda: fitted_but_texts(self.read(), schema))


@dataclass(frozen=True)
class SortedRows:
    """*rows* in order, and the parts of each row group, one after the other."""

    rows: pa.Table
    groups: Sequence[Sequence[Part]]

    @classmethod
    def of(cls, rows: pa.Table) -> SortedRows:
        """Return *rows* of ``record_runs``, which come in any order; of equal ones the order stays."""
        rows = rows.combine_chunks()
        log, logs = _numbered(rows)
        start = rows.column("start_offset").to_numpy()
        order = np.lexsort((start, log))
        rows, log, start = rows.take(pa.array(order)), log[order], start[order]
        newest_ms = rows.column("indexed_at").cast(pa.int64()).fill_null(0).to_numpy() // 1000
        edges = [0, *(np.flatnonzero(np.diff(log)) + 1).tolist(), len(log)] if len(log) else []
        groups = []
        for cuts in _groups(edges):
            found = (Part(logs[log[a]], int(start[a]), b - a, int(newest_ms[a:b].max())) for a, b in pairwise(cuts))
            groups.append(tuple(found))
        return cls(rows, groups)

    def write(self, path: Path) -> None:
        """Write them as a new file."""
        logs = list(dict.fromkeys(part.log for group in self.groups for part in group))
        numbers = {log: number for number, log in enumerate(logs)}
        groups = [[[numbers[each.log], *each[1:]] for each in group] for group in self.groups]
        said = json.dumps({"version": _VERSION, "logs": logs, "groups": groups}, separators=(",", ":"))
        names = [name for name in _ASCENDING if name in self.rows.column_names]
        with pq.ParquetWriter(
            path,
            self.rows.schema,
            compression="snappy",
            use_dictionary=[name for name in self.rows.column_names if name not in names],
            column_encoding=dict.fromkeys(names, "DELTA_BINARY_PACKED"),
        ) as writer:
            first = 0
            for group in self.groups:
                size = sum(part.rows for part in group)
                writer.write_table(self.rows.slice(first, size), row_group_size=size)
                first += size
            writer.add_key_value_metadata({_KEY: said.encode()})


def parts_in(file: pq.ParquetFile) -> list[list[Part]] | None:
    """Return what a file says of each of its row groups; None where it says nothing that fits it."""
    text = (file.metadata.metadata or {}).get(_KEY)
    try:
        if text is None or (said := json.loads(text))["version"] != _VERSION:
            return None
        logs = [ClusterPartition(*log) for log in said["logs"]]
        groups = [[Part(logs[number], *rest) for number, *rest in group] for group in said["groups"]]
        sizes = [file.metadata.row_group(number).num_rows for number in range(file.num_row_groups)]
        is_so = [sum(part.rows for part in group) for group in groups] == sizes
        return groups if is_so and all(part.rows > 0 for group in groups for part in group) and all(groups) else None
    except (ValueError, LookupError, TypeError):  # whoever has written that, the rows are there
        return None


def read_blocks(
    files: Files, paths: Sequence[str], names: Sequence[str], opened: ExitStack
) -> Iterator[pa.Table | Block]:
    """Yield the rows of Parquet files, texts by their dictionaries: blocks of those that are sorted, others as rows.

    Blocks can be read until *opened* is closed, by several threads.
    """
    for path in paths:
        with ExitStack() as mine:
            file = mine.enter_context(files.open_parquet(path, encoded=True))
            known = [name for name in names if name in file.schema_arrow.names]
            parts = parts_in(file)
            if parts is None:
                for batch in file.iter_batches(BATCH_ROWS, columns=known):
                    yield pa.Table.from_batches([batch])
                continue
            opened.push(mine.pop_all())
        lock = Lock()  # a reader of Arrow's is one thread's at a time
        for number, group in enumerate(parts):
            yield Block(group, _reader(file, number, known, lock))


def _reader(file: pq.ParquetFile, number: int, names: Sequence[str], lock: Lock) -> Callable[[], pa.Table]:
    def read() -> pa.Table:
        with lock:
            return file.read_row_group(number, columns=names, use_threads=False)

    return read


def _numbered(rows: pa.Table) -> tuple[NDArray[np.int64], list[ClusterPartition]]:
    """Return the number of each row's log, and the logs by number, in their order."""
    partition = rows.column("partition").to_numpy().astype(np.int64)
    width = int(partition.max(initial=0)) + 1
    (clusters, cluster), (topics, topic) = (_ranked(rows.column(name)) for name in ("cluster", "topic"))
    place, log = np.unique((cluster * len(topics) + topic) * width + partition, return_inverse=True)
    found = []
    for each in place.tolist():
        rest, number = divmod(each, width)
        found.append(ClusterPartition(clusters[rest // len(topics)], topics[rest % len(topics)], number))
    return log, found


def _ranked(column: pa.ChunkedArray) -> tuple[list[str], NDArray[np.int64]]:
    """Return the different texts of a column, sorted, and which of them each row has."""
    whole = column.combine_chunks()
    encoded = whole if pa.types.is_dictionary(whole.type) else whole.dictionary_encode()
    texts = encoded.dictionary.to_pylist()
    rank = np.argsort(np.argsort(np.array(texts, object), kind="stable"))
    return sorted(texts), rank[encoded.indices.to_numpy(zero_copy_only=False)].astype(np.int64)


def _groups(edges: Sequence[int]) -> Iterator[list[int]]:
    """Yield where the logs of each row group begin, and where the last one ends; *edges* are those of all logs."""
    shared = list[int]()
    for first, end in pairwise(edges):
        if shared and (end - first >= _ALONE or end - shared[0] > GROUP_ROWS):
            yield [*shared, first]
            shared = []
        if end - first < _ALONE:
            shared.append(first)
            continue
        count = -(-(end - first) // GROUP_ROWS)
        yield from ([a, b] for a, b in pairwise(np.linspace(first, end, count + 1).astype(int).tolist()))
    if shared:
        yield [*shared, edges[-1]]
