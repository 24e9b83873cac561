"""A driver starts on S3 only where the server refuses the second of two entries of one number."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest
from deltalake.exceptions import DeltaError

from offset_sync.model.errors import PlatformError
from offset_sync.tables import storage_check
from offset_sync.tables.storage_check import check_storage


class Log:
    """What one driver knows of the log of a table on a server; *is_strict*: that one knows If-None-Match."""

    is_strict, newest, lock = True, 0, threading.Lock()

    def __init__(self, *_path: Any, **_storage: Any) -> None:
        self.known = 0

    @staticmethod
    def create(*_path: Any, **_storage: Any) -> None:
        Log.newest = 0

    def update_incremental(self) -> None:
        self.known = Log.newest

    def create_write_transaction(self, *_entry: Any, **_storage: Any) -> None:
        with self.lock:
            if Log.is_strict and Log.newest > self.known:
                raise DeltaError("it is there")
            Log.newest = self.known + 1


@pytest.fixture
def deleted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files of the check that were deleted."""
    monkeypatch.setattr(storage_check, "DeltaTable", Log)
    return []


def check(deleted: list[str], root: str = "s3://bucket/tables") -> None:
    files: Any = SimpleNamespace(uri=lambda path: path, storage={}, delete=deleted.append)
    check_storage(root, files)


def test_a_server_that_accepts_two_entries_of_one_number_is_refused(
    deleted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    check(deleted)
    assert Log.newest == 2
    monkeypatch.setattr(Log, "is_strict", False)
    with pytest.raises(PlatformError, match=r"^s3://bucket/tables: the server ignores If-None-Match"):
        check(deleted)
    assert len({*deleted}) == len(deleted) == 6, "all entries, however it ended"


def test_a_local_disk_is_not_asked(deleted: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Log, "is_strict", False)
    check(deleted, "file:///tables")
    assert deleted == []
