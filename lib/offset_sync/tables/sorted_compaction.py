"""Which files of a table are put together into sorted ones, and how: a bounded number of rows at a time.

Delta's own compaction writes rows as they come out of a shuffle. Sorted they take a fifteenth of the room, and whoever
reads them log by log does not sort them (``sorted_files``). Each file has what was written in a stretch of time::

    before    sorted 1,040,000    sorted 180,000   part 900   part 1,200   part 600 ...
    after     sorted 1,040,000    sorted 210,000
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from offset_sync.tables.definition import Table, fitted
from offset_sync.tables.files import BATCH_ROWS, Files
from offset_sync.tables.sorted_files import SortedRows

FILE_ROWS = 1 << 20
"""A sorted file has so many rows at most; a quarter as many again, and what sorting takes, are in memory."""
_PREFIX = "sorted-"


@dataclass(frozen=True)
class TableFile:
    """A file of a table: its *name*, how many *rows* it has, and when it was written, in ms."""

    name: str
    rows: int
    written_ms: int

    @property
    def is_done(self) -> bool:
        """Whether it is sorted, and large enough to stay as it is."""
        return self.is_sorted and self.rows >= FILE_ROWS // 2

    @property
    def is_sorted(self) -> bool:
        """Whether it was written here."""
        return self.name.startswith(_PREFIX)


def to_put_together(found: Iterable[TableFile]) -> list[list[TableFile]]:
    """Return files that are to become one each, or several where they are larger; in the order they were written."""
    groups, group, rows = list[list[TableFile]](), list[TableFile](), 0
    for file in sorted(found, key=lambda each: (each.written_ms, each.name)):
        if file.is_done:
            continue
        if group and rows + file.rows > FILE_ROWS:
            groups.append(group)
            group, rows = [], 0
        group.append(file)
        rows += file.rows
    return [each for each in [*groups, group] if len(each) > 1 or any(not one.is_sorted for one in each)]


def sorted_parts(files: Files, paths: Sequence[str], table: Table) -> Iterator[SortedRows]:
    """Yield the rows of the files at *paths*, of *table*, sorted: in one part, unless they are more than a file has."""
    gathered, rows = list[pa.Table](), 0
    for path in paths:
        with files.open_parquet(path) as file:
            for batch in file.iter_batches(BATCH_ROWS):
                gathered.append(fitted(pa.Table.from_batches([batch]), table.arrow_schema))
                rows += batch.num_rows
                if rows >= FILE_ROWS:
                    yield SortedRows.of(pa.concat_tables(gathered))
                    gathered, rows = [], 0
    if rows:
        yield SortedRows.of(pa.concat_tables(gathered))


def new_name() -> str:
    """Return a name for a file that nobody else has."""
    return f"{_PREFIX}{uuid.uuid4()}.snappy.parquet"
