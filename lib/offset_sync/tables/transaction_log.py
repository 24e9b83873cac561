"""What the log of a Delta table says: the table at one version, and the rows that later entries have added.

The log is a folder of numbered JSON files, and its protocol is open:
github.com/delta-io/delta/blob/master/PROTOCOL.md. delta-rs does not tell which files are new, so a follower reads the
entries itself, and then the files that they add.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple
from urllib.parse import unquote

import pyarrow as pa
from deltalake import DeltaTable

from offset_sync.tables.data_files import DataFile
from offset_sync.tables.definition import fitted
from offset_sync.tables.files import Files

OURS = "offsetSync"
"""The key in ``commitInfo`` under which an entry of ours says its id and how many actions it has."""
VECTORS = "deletionVectors"
"""By the feature a file may have some; once they are purged it stays behind, and does no harm."""


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
        """By which features the table is other than its files hold: rows are gone, or columns called otherwise."""
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
        """Return the files of the table, without their statistics."""
        actions = pa.table(self._table.get_add_actions())
        rows = actions.select(["path", "size_bytes", "modification_time", "num_records"]).to_pydict()
        return [DataFile(path, size, at, rows=count) for path, size, at, count in zip(*rows.values(), strict=True)]


def latest_version(files: Files, table: str, known: int) -> int:
    """Return the last version of the table at the path *table*, from a version *known* to have been there.

    Raises FileNotFoundError where the log was cleaned up beyond it: what comes next is not to be told from its names.
    """
    first = known
    while files.exists(entry(table, known + 1)):
        known += 1
    if known == first and not files.exists(entry(table, known)):
        raise FileNotFoundError(entry(table, known))
    return known


class Added(NamedTuple):
    """*rows* that some versions have appended; *is_moved*: others have removed files, rows stand elsewhere or not."""

    rows: pa.Table
    is_moved: bool = False


def read_added_rows(files: Files, table: str, after: int, until: int, schema: pa.Schema) -> Added:
    """Return the rows appended by versions in ``(after, until]``; raises FileNotFoundError where one is gone.

    A version that removes a file is a compaction or a clean-up: it has no row that was not there before.
    """
    found, is_moved = [schema.empty_table()], False
    for version in range(after + 1, until + 1):
        actions = read_json_lines(files.read_text(entry(table, version)))
        if any("remove" in action for action in actions):
            is_moved = True
            continue
        for added in (action["add"] for action in actions if "add" in action and action["add"].get("dataChange", True)):
            found.append(fitted(files.read_parquet(data_path(table, added["path"]), schema.names), schema))
    return Added(pa.concat_tables(found), is_moved)


def data_path(table: str, path: str) -> str:
    """Return where a data file of *table* lies that its log names *path*: quoted, and relative to it or absolute."""
    path = unquote(path)
    return path if "://" in path or path.startswith(("/", "file:")) else f"{table}/{path}"


def read_json_lines(text: str) -> list[dict[str, Any]]:
    """Return the objects of a text with one per line."""
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def entry(table: str, version: int) -> str:
    """Return where the log has what *version* did."""
    return f"{table}/_delta_log/{version:020d}.json"
