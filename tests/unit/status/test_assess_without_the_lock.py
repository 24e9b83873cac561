"""Logs are read and compared without the lock; what becomes known meanwhile is in the report all the same."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from builders.logs import log
from fakes.reconciler_site import ORDERS
from fakes.status_site import status_site
from offset_sync.state import translator
from offset_sync.status import reporter


@pytest.mark.parametrize(("module", "name"), [(translator, "translate_partition"), (reporter, "measure")])
def test_the_lock_is_free_while_a_report_is_made(monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> None:
    site, whole, had_the_lock = status_site("X0:5", "X0:5"), getattr(module, name), list[bool]()
    site.commit("X", "g", 3)

    def meanwhile() -> None:
        had_the_lock.append(site.lock.acquire(timeout=0.2))
        site.index.extend(log("X", "X0:9"), ORDERS)
        if had_the_lock[-1]:
            site.lock.release()

    def work(*asked: Any) -> Any:
        """Wait for no cluster: the work uses the earlier state."""
        if not had_the_lock:
            other = threading.Thread(target=meanwhile)
            other.start()
            other.join()
        return whole(*asked)

    monkeypatch.setattr(module, name, work)
    row = site.row()
    assert had_the_lock == [True]
    assert (row["wanted_offset"], row["source_lag"], row["mirror_lag"]) == (3, 2, 0)
