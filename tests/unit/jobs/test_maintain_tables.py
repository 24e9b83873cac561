"""Two passes of ``maintain_tables`` at once: the newer one goes on, and the older one leaves the rest to it."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest

from fakes.reconciler_site import config_of
from offset_sync.jobs.maintain_tables import MaintainJob
from offset_sync.model.errors import TakenOverError
from offset_sync.state.lease import FRESH_S, Lease
from offset_sync.tables.definition import Table
from offset_sync.tables.store import TableStore


def test_a_pass_ends_before_its_next_table_when_another_one_has_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = config_of(["X", "Y"], tables={"root": str(tmp_path / "t"), "checkpoints": str(tmp_path / "c")})
    job, maintained, other = MaintainJob(config, TableStore.of(config), threading.Event()), list[str](), list[Lease]()

    def maintain(table: Table, _lease: Lease) -> list[str]:
        maintained.append(table.name)
        if len(maintained) == 2:
            other.append(Lease(job._tables, "maintain_tables", threading.Event()))
            other[0].claim()
            time.sleep(FRESH_S)
        return []

    patched: Any = maintain
    monkeypatch.setattr(job, "_maintain", patched)
    with pytest.raises(TakenOverError, match=r"^maintain_tables was taken over"):
        job.run()
    assert len(maintained) == 2
    other[0].renew()
    other[0].end()
    assert job.run() == []  # its next pass is its own
    assert len(maintained) > 5
