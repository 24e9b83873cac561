"""A full disk is named, and what to do."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from offset_sync.ingest.query_errors import first_line, with_full_disk

JAVA = "java.io.IOException: No space left on device"


def test_the_folder_that_is_full_is_named_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full = str(tmp_path / "checkpoints")

    def statvfs(place: str) -> SimpleNamespace:
        return SimpleNamespace(f_bavail=0 if place == full else 1 << 20, f_frsize=4096, f_favail=9, f_files=10)

    monkeypatch.setattr(os, "statvfs", statvfs)
    told = with_full_disk(JAVA, [str(tmp_path / "tables"), f"file://{full}"])
    assert told == f"the disk is full: make room in {full} ({JAVA})"


def test_where_there_is_room_again_all_that_it_may_have_been_are_named(tmp_path: Path) -> None:
    told = with_full_disk(JAVA, [str(tmp_path), "s3a://bucket/tables"])
    assert f"make room in {tmp_path}, s3a://bucket/tables, {tempfile.gettempdir()} (" in told


def test_another_error_says_what_it_said() -> None:
    assert with_full_disk("java.lang.Error: it is late", ["/tables"]) == "java.lang.Error: it is late"


def test_of_several_causes_the_full_disk_is_told() -> None:
    assert first_line(f"org.apache.SparkException: job aborted\n{JAVA}\nat x.Error(y)\njava.lang.Exception: z") == JAVA
