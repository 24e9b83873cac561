"""Where checkpoints are kept by our class, without a JVM."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from offset_sync.tables.delta import local_checkpoints
from offset_sync.tables.delta.local_checkpoints import start_no_processes


def settings_of(monkeypatch: pytest.MonkeyPatch, *, has_class: bool, is_local: bool) -> dict[str, str]:
    """Return what is set in a session whose class path has ours or not."""

    def missing(name: str) -> list[str]:
        if not has_class:
            raise LookupError(name)
        return []

    monkeypatch.setattr(local_checkpoints, "DriverClasses", lambda: SimpleNamespace(missing=missing))
    found = dict[str, str]()
    conf = SimpleNamespace(get=lambda name, default: found.get(name, default), set=found.__setitem__)
    files = SimpleNamespace(local=lambda folder: Path(folder) if is_local else None)
    start_no_processes(cast(Any, SimpleNamespace(conf=conf)), cast(Any, files), "/data/checkpoints")
    return found


def test_on_a_local_disk_it_is_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    found = settings_of(monkeypatch, has_class=True, is_local=True)
    assert found == {"spark.sql.streaming.checkpointFileManagerClass": "offsetsync.LocalCheckpoints"}


def test_with_a_jar_of_before_all_is_as_spark_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert settings_of(monkeypatch, has_class=False, is_local=True) == {}


def test_and_so_it_is_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    assert settings_of(monkeypatch, has_class=True, is_local=False) == {}
