"""Whether a storage refuses to replace a file: Delta's log relies on it, else a commit would be lost silently.

HDFS, ABFS, GCS and a local disk do. On S3 a put replaces unless it has the header ``If-None-Match``, which delta-rs
sends; a server that does not know this header may ignore it, so it is tested.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError
from deltalake.transaction import CommitProperties

from offset_sync.model.errors import PlatformError
from offset_sync.tables.files import Files
from offset_sync.tables.native_calls import native
from offset_sync.tables.transaction_log import entry

_SCHEMES = ("s3", "s3a")
_ONCE = CommitProperties(max_commit_retries=0)
_SCHEMA = pa.schema([("number", pa.int64())])
_WRITERS, _ROUNDS = 8, 2


@native
def check_storage(root: str, files: Files) -> None:
    """Return if concurrent drivers lose no entries below *root*; makes requests only on S3.

    Raises OSError where it cannot be written to, and PlatformError, in one line, where one of two entries of the same
    number would be lost. Leaves no file behind.
    """
    if files.uri(root).partition(":")[0] not in _SCHEMES:
        return
    path = f"{files.uri(root).rstrip('/')}/.offset-sync-{uuid.uuid4()}"
    with ThreadPoolExecutor(_WRITERS) as pool:
        try:
            DeltaTable.create(path, _SCHEMA, storage_options=files.storage, commit_properties=_ONCE)
            tables = list(pool.map(lambda _: DeltaTable(path, storage_options=files.storage), range(_WRITERS)))
            is_lost = any(_is_one_lost(pool, tables) for _ in range(_ROUNDS))
        finally:
            for version in range(_ROUNDS + 1):
                files.delete(entry(path, version))
    if is_lost:
        raise PlatformError(
            f"{root}: the server ignores If-None-Match, so drivers could overwrite each other's entries; use a "
            "server that knows it, see docs/deployment.md, Tables and checkpoints"
        )


def _is_one_lost(pool: ThreadPoolExecutor, tables: Sequence[DeltaTable]) -> bool:
    """Return whether two entries of the same number were accepted.

    delta-rs lists the log before it writes, so only simultaneous writes test the storage. If answers take a few ms, one
    attempt in five does not.
    """
    list(pool.map(DeltaTable.update_incremental, tables))  # all of them, before any writes
    return sum(pool.map(_enters, tables)) > 1


def _enters(table: DeltaTable) -> bool:
    """Return whether an entry was accepted."""
    try:
        table.create_write_transaction([], "append", _SCHEMA, commit_properties=_ONCE)
    except DeltaError:
        return False
    return True
