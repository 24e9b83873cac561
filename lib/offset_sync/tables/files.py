"""Files of whatever the tables and checkpoints lie on, as the rest of the package asks for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq


class Files(Protocol):
    """Reads and writes whole files; threads may share it. What the file system refuses is an OSError.

    Paths are text, with a scheme or without. See :class:`offset_sync.tables.delta.local_files.LocalFiles` and
    :class:`offset_sync.tables.delta.filesystem.HadoopFiles`.
    """

    def local(self, path: str) -> Path | None:
        """Return *path* as one of this machine's disk, None if it lies elsewhere."""

    def exists(self, path: str) -> bool:
        """Return whether there is a file or folder."""

    def names(self, folder: str) -> list[str]:
        """Return the names of the files in *folder*, sorted; none where there is no such folder."""

    def modified_ms(self, path: str) -> int:
        """Return when a file was last written, in milliseconds since the epoch, by the clock of its file system."""

    def read_text(self, path: str) -> str:
        """Return the content of a file; raises FileNotFoundError where there is none."""

    def write_text(self, path: str, text: str) -> None:
        """Write a file in the place of what was there; it is stored when this returns."""

    def replace_text(self, path: str, text: str) -> None:
        """Write a file in the place of what was there: all of it or nothing."""

    def sync(self, path: str) -> None:
        """Return when a file, and that it is in its folder, would survive a power failure."""

    def make_folder(self, folder: str) -> None:
        """Make *folder* unless it is there."""

    def delete(self, path: str) -> None:
        """Delete a file if it is there."""

    def read_parquet(self, path: str, columns: Sequence[str]) -> pa.Table:
        """Return those of *columns* that a Parquet file has; raises FileNotFoundError where there is no file."""

    def open_parquet(self, path: str, *, encoded: bool = False) -> AbstractContextManager[pq.ParquetFile]:
        """Open a Parquet file to be read piece by piece; raises FileNotFoundError where there is none.

        *encoded* reads columns of texts by their dictionaries, as they are stored.
        """

    def write_parquet(self, path: str, rows: pa.Table) -> tuple[str, int]:
        """Write *rows* as a new file; return its qualified name and its size in bytes."""

    def write_file(self, path: str, write: Callable[[Path], None]) -> tuple[str, int]:
        """Store what *write* writes at a place of this machine as a new file; return the same."""


BATCH_ROWS = 1 << 17
"""So many rows of a file are in memory at a time where a table is read in pieces."""
AtLeast: TypeAlias = tuple[str, int]
"""A column, and the least value of it that is wanted."""


def read_in_pieces(
    files: Files, paths: Sequence[str], names: Sequence[str], at_least: AtLeast | None = None, *, encoded: bool = False
) -> Iterator[pa.Table]:
    """Yield those of the columns *names* that Parquet files have, :data:`BATCH_ROWS` at a time at most.

    *at_least* leaves out stretches of files of which the statistics say that all values of a column are smaller;
    *encoded* reads texts by their dictionaries.
    """
    for path in paths:
        with files.open_parquet(path, encoded=encoded) as file:
            groups = [n for n in range(file.num_row_groups) if at_least is None or _may_reach(file, n, *at_least)]
            known = [name for name in names if name in file.schema_arrow.names]
            for batch in file.iter_batches(BATCH_ROWS, row_groups=groups, columns=known):
                yield pa.Table.from_batches([batch])


def _may_reach(file: pq.ParquetFile, group: int, name: str, least: int) -> bool:
    if name not in file.schema_arrow.names:
        return True
    statistics = file.metadata.row_group(group).column(file.schema_arrow.names.index(name)).statistics
    return statistics is None or not statistics.has_min_max or statistics.max >= least
