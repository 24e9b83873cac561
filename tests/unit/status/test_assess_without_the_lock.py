"""Logs are read and compared without the lock; what becomes known meanwhile is in the report all the same."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from builders.logs import log
from fakes.reconciler_site import ORDERS
from fakes.status_site import StatusSite, status_site
from offset_sync.state import translator
from offset_sync.status import assess


class Meanwhile:
    """Lets something happen while the function *name* of *module* is at work; in a thread that wants the lock."""

    def __init__(self, site: StatusSite, times: int, happens: Callable[[], None]) -> None:
        self._site, self._left, self._happens = site, times, happens
        self.had_the_lock: list[bool] = []

    def during(self, monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> None:
        """Wait for no cluster: the work uses the earlier state."""
        whole = getattr(module, name)

        def work(*asked: Any) -> Any:
            if self._left:
                self._left -= 1
                other = threading.Thread(target=self._happen)
                other.start()
                other.join()
            return whole(*asked)

        monkeypatch.setattr(module, name, work)

    def _happen(self) -> None:
        self.had_the_lock.append(self._site.lock.acquire(timeout=0.2))
        self._happens()
        if self.had_the_lock[-1]:
            self._site.lock.release()


WORK = [(translator, "translate_partition"), (assess, "compare_logs"), (assess, "measure")]


@pytest.mark.parametrize(("module", "name"), WORK)
def test_the_lock_is_free_while_a_report_is_made(monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> None:
    site = status_site("X0:5", "X0:5")
    site.commit("X", "g", 3)
    meanwhile = Meanwhile(site, 1, lambda: site.index.extend(log("X", "X0:9"), ORDERS))
    meanwhile.during(monkeypatch, module, name)
    row = site.row()
    assert meanwhile.had_the_lock == [True]
    assert (row["wanted_offset"], row["source_lag"], row["mirror_lag"]) == (3, 2, 0)
