"""The log of a Delta table: numbered JSON files, each of which says what changed, and the rows of files that they add.

The protocol is open: github.com/delta-io/delta/blob/master/PROTOCOL.md. delta-rs opens a table at one version; entries
after that are read, and written, here, as one request each.

Data files of a table are written a piece at a time. Values are bounded in their
footers, not in the log.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from typing import Any, NamedTuple
from urllib.parse import unquote

import pyarrow as pa
from deltalake import DeltaTable

from offset_sync.tables.definition import fitted
from offset_sync.tables.files import Files, read_in_pieces

OURS = "offsetSync"
"""The key in ``commitInfo`` under which our entries have their id."""
VECTORS = "deletionVectors"
"""With this feature files may have some; after a purge the feature remains, and does no harm."""
_WRITABLE = frozenset({"appendOnly", "invariants", VECTORS})
"""The features of tables that ask nothing of a writer whose files are whole and whose columns have no constraints."""
_PLAIN = frozenset({"add", "remove", "txn", "commitInfo"})


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


class Entry(NamedTuple):
    """What one entry of the log says; *is_plain*: nothing but this.

    It adds and removes files, their rows are new only where *is_change*, and gone where *is_cut*. *writers* are
    application ids, each with its own version; *id* is that of an entry of ours.
    """

    version: int
    added: Sequence[DataFile]
    removed: frozenset[str]
    writers: Mapping[str, int]
    id: str
    is_change: bool
    is_cut: bool
    is_plain: bool

    @classmethod
    def of(cls, version: int, content: bytes) -> Entry:
        """Return what an entry says; raises ValueError where it is torn."""
        said: dict[str, list[dict[str, Any]]] = {}
        for line in content.splitlines():
            for kind, action in json.loads(line).items() if line.strip() else ():
                said.setdefault(kind, []).extend([action] if action else [])
        adds, removes = said.get("add", []), said.get("remove", [])
        return cls(
            version,
            [DataFile(x["path"], x["size"], x["modificationTime"], _rows(x.get("stats"))) for x in adds],
            frozenset(unquote(each["path"]) for each in removes),
            {each["appId"]: each["version"] for each in said.get("txn", [])},
            "".join(str(each.get(OURS, "")) for each in said.get("commitInfo", [])),
            any(each.get("dataChange", True) for each in adds),
            any(each.get("dataChange", True) for each in removes),
            said.keys() <= _PLAIN and not any(each.get("deletionVector") for each in adds),
        )


def to_content(mine: str, actions: Iterable[Mapping[str, Any]]) -> bytes:
    """Return *actions* as an entry with the id *mine*."""
    info = {"timestamp": int(time.time() * 1000), "operation": "WRITE", "operationParameters": {}, OURS: mine}
    return "".join(f"{json.dumps(each)}\n" for each in ({"commitInfo": info}, *actions)).encode()


def _rows(stats: str | None) -> int | None:
    found: int | None = json.loads(stats).get("numRecords") if stats else None
    return found


class Version:
    """A table as it is at one version: as delta-rs has opened it, and what *later* plain entries say."""

    def __init__(self, table: DeltaTable) -> None:
        self.table, self._later = table, tuple[Entry, ...]()
        self._written = dict[str, "int | None"]()  # delta-rs reads the log for each answer
        self.number = table.version()

    def followed_by(self, entry: Entry) -> Version:
        """Return the next version, by a plain *entry*."""
        found = copy(self)
        found._later, found.number = (*self._later, entry), self.number + 1
        return found

    def entry(self, version: int) -> Entry | None:
        """Return the entry of *version* where it came after the table was opened."""
        number = version - self.table.version() - 1
        return self._later[number] if 0 <= number < len(self._later) else None

    @property
    def columns(self) -> list[str]:
        """The names of the table's columns."""
        return [field.name for field in self.table.schema().fields]

    @property
    def properties(self) -> Mapping[str, str]:
        """The properties of the table."""
        return self.table.metadata().configuration

    @property
    def hidden_by(self) -> set[str]:
        """The features that make the table differ from its files: rows are deleted, or columns renamed."""
        protocol = self.table.protocol()
        if protocol.min_reader_version == 1:
            return set()
        found = {*(protocol.reader_features or ["columnMapping"])}
        has_vectors = VECTORS in found and pa.table(self.table.deletion_vectors()).num_rows > 0
        return found if has_vectors else found - {VECTORS}

    @property
    def asks_of_writers(self) -> set[str]:
        """The features that ask more of a writer than it does here."""
        protocol = self.table.protocol()
        if protocol.min_writer_version <= 2:
            return set()
        return {*(protocol.writer_features or [f"writer version {protocol.min_writer_version}"])} - _WRITABLE

    def has_written(self, writer: tuple[str, int]) -> bool:
        """Return whether a writer has entered this version of its own, or a later one."""
        app_id, version = writer
        if app_id not in self._written:
            self._written[app_id] = self.table.transaction_version(app_id)
        last = self._written[app_id]
        for each in self._later:
            last = each.writers.get(app_id, last)
        return last is not None and last >= version

    def files(self) -> list[DataFile]:
        """Return the files of the table."""
        actions = pa.table(self.table.get_add_actions())
        rows = actions.select(["path", "size_bytes", "modification_time", "num_records"]).to_pydict()
        found = {unquote(each.path): each for each in map(DataFile, *rows.values())}
        for entry in self._later:
            for path in entry.removed:
                found.pop(path, None)
            found |= {unquote(each.path): each for each in entry.added}
        return list(found.values())


class Added(NamedTuple):
    """*rows* that some versions have appended; *is_moved*: others have rows in other files, *is_cut*: without some."""

    rows: pa.Table
    is_moved: bool = False
    is_cut: bool = False


def read_added_rows(files: Files, table: str, entries: Iterable[Entry], schema: pa.Schema) -> Added:
    """Return the rows appended by *entries*; raises FileNotFoundError where a file is gone.

    An entry that removes a file is a compaction, a clean-up or a cut: its rows are not new.
    """
    found, is_moved, is_cut = [schema.empty_table()], False, False
    wanted = list[tuple[str, int]]()
    for each in entries:
        is_moved, is_cut = is_moved or bool(each.removed), is_cut or each.is_cut
        if each.is_change and not each.removed:
            wanted += [(data_path(table, file.path), file.size) for file in each.added]
    found += (fitted(rows, schema) for rows in read_in_pieces(files, wanted, schema.names))
    return Added(pa.concat_tables(found), is_moved, is_cut)


def data_path(table: str, path: str) -> str:
    """Return the path of a data file of *table* from its *path* in the log: quoted, and relative or absolute."""
    path = unquote(path)
    return path if "://" in path or path.startswith(("/", "file:")) else f"{table}/{path}"


def entry(table: str, version: int) -> str:
    """Return the path of the log entry of *version*."""
    return f"{table}/_delta_log/{version:020d}.json"
