"""The log of a Delta table, read: the table at one version, and the rows that later entries have added.

The log is a folder of numbered JSON files, and its protocol is open:
github.com/delta-io/delta/blob/master/PROTOCOL.md. delta-rs does not tell which files are new, so a follower reads the
entries itself, and then the files that they add.

Data files of a table are written a piece at a time. Values are bounded in their
footers, not in the log.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterable, Mapping
from typing import NamedTuple
from urllib.parse import unquote

import pyarrow as pa
from deltalake import DeltaTable

from offset_sync.tables.definition import fitted
from offset_sync.tables.files import Files, read_in_pieces

OURS = "offsetSync"
"""The key in ``commitInfo`` under which our entries have their id and number of actions."""
VECTORS = "deletionVectors"
"""With this feature files may have some; after a purge the feature remains, and does no harm."""


class DataFile(NamedTuple):
    """A file of a table: its *path* as the log has it, *size* in bytes, *rows* where its writer counted them."""

    path: str
    size: int
    written_ms: int
    rows: int | None = None


def write_rows(
    files: Files,
    folder: str,
    schema: pa.Schema,
    pieces: Iterable[pa.Table],
    *,
    name: str = "",
    metadata: Mapping[bytes, bytes] | None = None,
    **encoding: object,
) -> DataFile:
    """Write *pieces* of *schema* as one new file of the table in *folder*; it is stored then, but not visible.

    A piece is a row group. *metadata* and *encoding* are those of :meth:`Files.write_parquet`.
    """
    name, began_ms = name or f"part-00000-{uuid.uuid4()}-c000.snappy.parquet", int(time.time() * 1000)
    size, footer = files.write_parquet(f"{folder}/{name}", pieces, schema, metadata, **encoding)
    return DataFile(name, size, began_ms, footer.num_rows)


class Version:
    """A table as it is at one version."""

    def __init__(self, table: DeltaTable) -> None:
        self._table = table
        self.number = table.version()

    @property
    def columns(self) -> list[str]:
        """The names of the table's columns."""
        return [field.name for field in self._table.schema().fields]

    @property
    def hidden_by(self) -> set[str]:
        """The features that make the table differ from its files: rows are deleted, or columns renamed."""
        protocol = self._table.protocol()
        if protocol.min_reader_version == 1:
            return set()
        found = {*(protocol.reader_features or ["columnMapping"])}
        has_vectors = VECTORS in found and pa.table(self._table.deletion_vectors()).num_rows > 0
        return found if has_vectors else found - {VECTORS}

    def has_written(self, writer: tuple[str, int]) -> bool:
        """Return whether a writer has entered this version of its own, or a later one."""
        last = self._table.transaction_version(writer[0])
        return last is not None and last >= writer[1]

    def files(self) -> list[DataFile]:
        """Return the files of the table."""
        actions = pa.table(self._table.get_add_actions())
        rows = actions.select(["path", "size_bytes", "modification_time", "num_records"]).to_pydict()
        return list(map(DataFile, *rows.values()))


class Added(NamedTuple):
    """*rows* that some versions have appended; *is_moved*: others have rows in other files, *is_cut*: without some."""

    rows: pa.Table
    is_moved: bool = False
    is_cut: bool = False


def read_added_rows(files: Files, table: str, after: int, until: int, schema: pa.Schema) -> Added:
    """Return the rows appended by versions in ``(after, until]``; raises FileNotFoundError where one is gone.

    A version that removes a file is a compaction, a clean-up or a cut: its rows are not new.
    """
    found, is_moved, is_cut = [schema.empty_table()], False, False
    wanted = list[tuple[str, int | None]]()
    for file in files.opened([(entry(table, version), None) for version in range(after + 1, until + 1)]):
        actions = [json.loads(line) for line in file.read().splitlines() if line.strip()]
        if removed := [action["remove"] for action in actions if "remove" in action]:
            is_moved, is_cut = True, is_cut or any(each.get("dataChange", True) for each in removed)
            continue
        added = (action["add"] for action in actions if "add" in action)
        wanted += [(data_path(table, each["path"]), each["size"]) for each in added if each.get("dataChange", True)]
    found += (fitted(rows, schema) for rows in read_in_pieces(files, wanted, schema.names))
    return Added(pa.concat_tables(found), is_moved, is_cut)


def data_path(table: str, path: str) -> str:
    """Return the path of a data file of *table* from its *path* in the log: quoted, and relative or absolute."""
    path = unquote(path)
    return path if "://" in path or path.startswith(("/", "file:")) else f"{table}/{path}"


def entry(table: str, version: int) -> str:
    """Return the path of the log entry of *version*."""
    return f"{table}/_delta_log/{version:020d}.json"
