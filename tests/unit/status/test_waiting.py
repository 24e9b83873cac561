"""What a command says while it waits."""

from __future__ import annotations

import re
import time

import pytest

from offset_sync.status import waiting as module
from offset_sync.status.waiting import waiting


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SOON_S", 0.05)
    monkeypatch.setattr(module, "LINE_EVERY_S", 0.1)


@pytest.mark.timeout(60)
def test_a_long_one_says_what_it_waits_for_and_how_long_at_most(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    with waiting("clusters dc1, dc2", 20.0):
        while len(caplog.messages) < 2:
            time.sleep(0.01)
    said = re.compile(r"waiting for clusters dc1, dc2: \d+ s of at most 20 s")
    assert all(map(said.fullmatch, caplog.messages))
