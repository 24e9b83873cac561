"""Follow a Delta table as it grows, without a Spark job: read the log's new entries, then the files they add.

The record index grows every second; asking Spark for what was added costs a query each time. The log is a folder of
numbered JSON files, and its protocol is open: github.com/delta-io/delta/blob/master/PROTOCOL.md.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple
from urllib.parse import unquote

import pyarrow as pa

from offset_sync.tables.definition import fitted
from offset_sync.tables.files import Files

OURS = "offsetSync"
"""The key in ``commitInfo`` under which an entry of ours says its id and how many actions it has."""


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
            found.append(fitted(files.read_parquet(data_path(table, unquote(added["path"])), schema.names), schema))
    return Added(pa.concat_tables(found), is_moved)


def data_path(table: str, path: str) -> str:
    """Return where a data file of *table* lies that its log names *path*: relative to it, or absolute."""
    return path if "://" in path or path.startswith(("/", "file:")) else f"{table}/{path}"


def read_json_lines(text: str) -> list[dict[str, Any]]:
    """Return the objects of a text with one per line."""
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def entry(table: str, version: int) -> str:
    """Return where the log has what *version* did."""
    return f"{table}/_delta_log/{version:020d}.json"
