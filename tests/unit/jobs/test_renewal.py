"""When a job restarts in its process: where most of the keys that it knows are gone, and nowhere else."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from offset_sync.jobs import sync_run
from offset_sync.jobs.sync_run import Renewal


@pytest.mark.parametrize(
    ("known", "gone", "is_ready", "is_due"),
    [
        (30_000, 20_000, True, True),
        (30_000, 20_000, False, False),
        (20_000, 10_000, True, False),  # no more than there are
        (9_999, 9_999, True, False),  # not worth while
        (10_000, 10_000, True, True),
    ],
)
def test_it_is_over_when_most_keys_are(
    known: int, gone: int, is_ready: bool, is_due: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = iter([False, True])
    stop: Any = SimpleNamespace(wait=lambda seconds: seconds != sync_run.RENEWAL_EVERY_S or next(looks))
    state: Any = SimpleNamespace(offsets=SimpleNamespace(keys=range(known)), lock=threading.RLock())
    monkeypatch.setattr(sync_run, "is_over", lambda offsets: np.arange(len(offsets.keys)) < gone)
    ready, over = threading.Event(), threading.Event()
    if is_ready:
        ready.set()
    Renewal(state, over).run(stop, ready)
    assert over.is_set() == is_due
