"""Verdicts count as present only while the driver that gave them is alive."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

import pytest

from fakes.reconciler_site import config_of
from offset_sync.config import Config
from offset_sync.state.heartbeat import JOB, beat, is_living
from offset_sync.state.lease import Claim
from offset_sync.tables.files import Files

NOW_MS = 1_795_000_000_000
AT = datetime(2026, 11, 20, tzinfo=timezone.utc)
CLAIM = Claim(JOB, None, 4, "driver", "host", 1, AT)


@pytest.fixture
def config(tmp_path: Path) -> Config:
    found = config_of(["X", "Y"])
    return found.model_copy(update={"tables": found.tables.model_copy(update={"checkpoints": str(tmp_path)})})


@pytest.mark.parametrize(("later_ms", "expected"), [(0, True), (10_000, True), (10_001, False), (-10_001, False)])
def test_a_driver_that_was_not_heard_of_for_ten_seconds_is_dead(config: Config, later_ms: int, expected: bool) -> None:
    beat(Files(), config, 4, NOW_MS)
    assert is_living(Files(), config, [CLAIM], NOW_MS + later_ms) == expected


@pytest.mark.parametrize("claims", [[], [replace(CLAIM, ended_at=AT)], [CLAIM, replace(CLAIM, epoch=5)]])
def test_a_driver_that_has_ended_or_was_taken_over_is_dead(config: Config, claims: list[Claim]) -> None:
    beat(Files(), config, 4, NOW_MS)
    assert not is_living(Files(), config, claims, NOW_MS)


@pytest.mark.parametrize("text", [None, "", "[]", '{"epoch": 4}', '{"epoch": 4, "at_ms": "x"}'])
def test_without_a_readable_sign_it_is_dead(config: Config, text: str | None) -> None:
    if text is not None:
        Files().write_text(f"{config.tables.checkpoints}/sync_offsets.heartbeat.json", text)
    assert not is_living(Files(), config, [CLAIM], NOW_MS)
