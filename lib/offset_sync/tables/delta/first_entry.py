"""Create a Delta table on this machine's disk by its first entry: Spark, which writes the same, takes 2 s for each.

The protocol is open: github.com/delta-io/delta/blob/master/PROTOCOL.md.
"""

from __future__ import annotations

import json
import logging
import os
import re
import time
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from offset_sync.model.errors import TableError
from offset_sync.tables.definition import Table
from offset_sync.tables.delta.local_files import names_below, sync
from offset_sync.tables.delta.lock import table_lock

logger = logging.getLogger(__name__)
_OF_A_VERSION = re.compile(r"\d{20}\.(json|checkpoint.*\.parquet)")
_TYPES = {"bigint": "long", "int": "integer"}
"""Delta's names where they are not those of SQL."""


def create_local(table_path: Path, table: Table, properties: Mapping[str, str]) -> None:
    """Create *table* in a folder unless it is there, whoever else is doing so at this moment.

    What somebody killed in between has left there is no hindrance. Raises TableError where other files are.
    """
    if is_there(table_path):
        return
    with table_lock(table_path):
        if is_there(table_path):
            return
        if table_path.exists() and any(not name.startswith((".", "_")) for name in names_below(table_path)):
            raise TableError(f"{table_path}: holds files and is no Delta table; give tables.root another place")
        _put(table_path / "_delta_log", "\n".join(map(json.dumps, _actions(table, properties))) + "\n")


def is_there(table_path: Path) -> bool:
    """Return whether a table has a version; its first entries may be cleaned up."""
    log = table_path / "_delta_log"
    return log.is_dir() and any(_OF_A_VERSION.fullmatch(name) for name in os.listdir(log))


def _put(log: Path, text: str) -> None:
    """Write the entry 0, all of it or nothing, and never in the place of another one; it is stored then."""
    log.mkdir(parents=True, exist_ok=True)
    written = log / f".{uuid.uuid4().hex}.tmp"
    try:
        written.write_text(text, encoding="utf-8")
        sync(written)
        os.link(written, log / f"{0:020d}.json")
    finally:
        written.unlink(missing_ok=True)
    for folder in (log, log.parent, log.parent.parent):
        sync(folder)


def _actions(table: Table, properties: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    now_ms = int(time.time() * 1000)
    yield {"commitInfo": _commit_info(table, properties, now_ms)}
    yield {
        "metaData": {
            "id": str(uuid.uuid4()),
            "description": table.comment,
            "format": {"provider": "parquet", "options": {}},
            "schemaString": json.dumps({"type": "struct", "fields": _fields(table)}),
            "partitionColumns": [],
            "configuration": dict(properties),
            "createdTime": now_ms,
        }
    }
    if not table.cluster_by:
        yield {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}
        return
    features = ["domainMetadata", "clustering", "invariants", "appendOnly"]
    yield {"protocol": {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": features}}
    clustering = {"clusteringColumns": [[name] for name in table.cluster_by], "domainName": "delta.clustering"}
    yield {"domainMetadata": {"domain": "delta.clustering", "configuration": json.dumps(clustering), "removed": False}}


def _commit_info(table: Table, properties: Mapping[str, str], now_ms: int) -> dict[str, Any]:
    parameters = {
        "partitionBy": "[]",
        "clusterBy": json.dumps(list(table.cluster_by)),
        "description": table.comment,
        "isManaged": "false",
        "properties": json.dumps(properties),
    }
    return {
        "timestamp": now_ms,
        "operation": "CREATE TABLE",
        "operationParameters": parameters,
        "isolationLevel": "Serializable",
        "isBlindAppend": True,
        "operationMetrics": {},
        "engineInfo": "offset-sync",
        "txnId": str(uuid.uuid4()),
    }


def _fields(table: Table) -> list[dict[str, Any]]:
    return [
        {
            "name": column.name,
            "type": _TYPES.get(column.type, column.type),
            "nullable": True,
            "metadata": {"comment": column.comment},
        }
        for column in table.columns
    ]
