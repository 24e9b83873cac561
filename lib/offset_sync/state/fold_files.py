"""Files that hold folded history, and a note of each: of which table, and up to which entry of its log.

A fold is believed only where the table still has the very entry up to which was folded: a table that was set back, or
made anew, has another one or none. A file that does not fit or cannot be read is as good as none: errs to slow.
"""

from __future__ import annotations

import hashlib
import json
import logging
import uuid
from typing import Any, NamedTuple

import pyarrow as pa

from offset_sync.tables.files import Files
from offset_sync.tables.transaction_log import entry

logger = logging.getLogger(__name__)
FORMAT = 4


class Fold(NamedTuple):
    """*rows* that say what all of a table's versions up to *version* come to; *more* is what else belongs to them."""

    rows: pa.Table
    version: int
    more: dict[str, Any]


class FoldFiles:
    """The folds in *folder*, by the table that they are of."""

    def __init__(self, files: Files, folder: str) -> None:
        self._files, self._folder = files, folder.rstrip("/")

    def load(self, table: str, schema: pa.Schema) -> Fold | None:
        """Return the fold of the *table* at a path, None where there is none that fits; says why."""
        try:
            note = json.loads(self._files.read_text(self._note(table)))
            if note["format"] != FORMAT or note["entry"] != self._entry(table, note["version"]):
                raise ValueError("it is not of this table")
            rows = self._files.read_parquet(f"{self._folder}/{note['file']}", schema.names)
            if rows.num_rows != note["rows"]:
                raise ValueError(f"{rows.num_rows} rows of {note['rows']}")
            return Fold(rows.cast(schema), note["version"], note["more"])
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError, OSError) as problem:
            reason = next(iter(str(problem).splitlines()), type(problem).__name__)
            logger.info("%s: not used, so all of the history is read: %s", self._note(table), reason)
            return None

    def save(self, table: str, fold: Fold) -> None:
        """Put *fold* in the place of what was there: a reader meanwhile, or after a crash, has the old or the new."""
        name = f"{_name(table)}-{uuid.uuid4().hex}.parquet"
        before = self._file_before(table)
        note = {"format": FORMAT, "file": name, "rows": fold.rows.num_rows, "version": fold.version, "more": fold.more}
        note["entry"] = self._entry(table, fold.version)
        self._files.write_parquet(f"{self._folder}/{name}", [fold.rows], fold.rows.schema)
        self._files.write_text(self._note(table), json.dumps(note))
        if before:
            self._files.delete(f"{self._folder}/{before}")

    def _file_before(self, table: str) -> str | None:
        try:
            return str(json.loads(self._files.read_text(self._note(table)))["file"])
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return None

    def _note(self, table: str) -> str:
        return f"{self._folder}/{_name(table)}.json"

    def _entry(self, table: str, version: int) -> str:
        """Return what tells the entry of a table's log from any other; raises FileNotFoundError without one."""
        return hashlib.sha256(self._files.read_text(entry(table, version)).encode()).hexdigest()


def _name(table: str) -> str:
    return table.rsplit("/", 1)[1]
