"""Write to Delta tables on this machine's disk by delta-rs, without a JVM; nothing else here writes by it.

delta-rs refuses tables with features that it does not know: clustering, which only ``record_runs`` has. What it writes
is stored in the same order as everything else: the rows' file, then the entry, then the append returns.
"""

from __future__ import annotations

import json
import logging
import time
import uuid
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
from deltalake import DeltaTable, Field
from deltalake.exceptions import DeltaError
from deltalake.schema import PrimitiveType
from deltalake.transaction import AddAction, CommitProperties, PostCommitHookProperties, RemoveAction, Transaction

from offset_sync.model.errors import TableError
from offset_sync.tables.definition import Table
from offset_sync.tables.delta.local_files import sync, write_parquet
from offset_sync.tables.delta.lock import table_lock
from offset_sync.tables.delta.statistics import statistics_of
from offset_sync.tables.delta.transaction_log import data_path, entry

logger = logging.getLogger(__name__)
# maintain_tables cleans up logs, after the time that a table keeps them.
_TYPES = {"bigint": "long", "int": "integer"}
"""Delta's names of types where they are not those of SQL."""
_HOOKS = PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False)


def has_all_rows(table: str) -> bool:
    """Return whether the table at a path is what its files hold: no reader has to know of anything else.

    Errs to yes where its log cannot be read: whoever reads it next says what is wrong.
    """
    try:
        return not DeltaTable(table).protocol().reader_features
    except DeltaError:
        return True


def data_files(table: str) -> list[str]:
    """Return where the files of the table at a path lie, as it is now."""
    actions = pa.table(DeltaTable(table).get_add_actions())
    return [data_path(table, unquote(path)) for path in actions.column("path").to_pylist()]


def add_columns(table: Path, wanted: Table) -> None:
    """Give an older table the columns that came with a later version of *wanted*; its rows have null there.

    Raises TableError where the table cannot be changed.
    """
    if not _lacking(DeltaTable(table), wanted):
        return
    with table_lock(table):
        try:
            delta = DeltaTable(table)
            lacking = _lacking(delta, wanted)  # somebody else may have been quicker
            if not lacking:
                return
            logger.info("%s: adding the columns %s", wanted.name, ", ".join(each.name for each in lacking))
            delta.alter.add_columns(lacking, post_commithook_properties=_HOOKS)
        except DeltaError as problem:
            raise TableError(f"{table}: {next(iter(str(problem).splitlines()), type(problem).__name__)}") from problem
        _store(table, delta.version())


def _lacking(delta: DeltaTable, wanted: Table) -> list[Field]:
    known = {field.name for field in delta.schema().fields}
    columns = [column for column in wanted.columns if column.name in {*wanted.later} - known]
    return [
        Field(each.name, PrimitiveType(_TYPES.get(each.type, each.type)), metadata={"comment": each.comment})
        for each in columns
    ]


def append(table: Path, rows: pa.Table, writer: tuple[str, int] | None) -> None:
    """Append *rows*, once for each *writer* (application id, version): a version not above the last is left out.

    Raises TableError when the table cannot be written.
    """
    _write(table, rows, writer, "append")


def replace(table: Path, rows: pa.Table) -> None:
    """Put *rows* in the place of all rows; raises TableError when the table cannot be written."""
    _write(table, rows, None, "overwrite")


def _write(table: Path, rows: pa.Table, writer: tuple[str, int] | None, mode: str) -> None:
    """Under the lock of the table nobody on this machine comes between what is seen of it and the entry."""
    with table_lock(table):
        try:
            delta = DeltaTable(table)
            if writer is not None and _has_written(delta, *writer):
                return
            added: list[AddAction | RemoveAction] = [_add(table, rows)] if rows.num_rows else []
            now_ms = int(time.time() * 1000)
            said = None if writer is None else [Transaction(*writer, last_updated=now_ms)]
            properties = CommitProperties(app_transactions=said, max_commit_retries=0)
            # By the schema of the table: another one would take the comments of its columns away.
            delta.create_write_transaction(
                added, mode, delta.schema(), commit_properties=properties, post_commithook_properties=_HOOKS
            )
        except DeltaError as problem:
            raise TableError(f"{table}: {next(iter(str(problem).splitlines()), type(problem).__name__)}") from problem
        _store(table, delta.version() + 1)
        _checkpoint_if_due(table, delta)


def _has_written(delta: DeltaTable, application_id: str, version: int) -> bool:
    last = delta.transaction_version(application_id)
    return last is not None and last >= version


def _add(table: Path, rows: pa.Table) -> AddAction:
    name = f"part-00000-{uuid.uuid4()}-c000.snappy.parquet"
    _, size = write_parquet(table / name, rows)
    return AddAction(name, size, {}, int(time.time() * 1000), True, json.dumps(statistics_of(rows)))


def _store(table: Path, version: int) -> None:
    written = Path(entry(str(table), version))
    for each in (written, written.parent):
        sync(each)


def _checkpoint_if_due(table: Path, before: DeltaTable) -> None:
    interval = int(before.metadata().configuration.get("delta.checkpointInterval", "50"))
    if (before.version() + 1) % interval:
        return
    try:
        DeltaTable(table).create_checkpoint()
    except (DeltaError, OSError) as problem:  # the rows are in the table all the same
        logger.warning("%s: no checkpoint written: %s", table, problem)
