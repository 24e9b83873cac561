"""No hypothesis test can fail because the machine is slow: one profile says so for all, and none says otherwise."""

from __future__ import annotations

import re
from pathlib import Path

from hypothesis import HealthCheck, settings

from generators.hypothesis_strategies import law

TESTS = Path(__file__).resolve().parents[1]


def test_what_tests_set_for_themselves_leaves_the_time_alone() -> None:
    assert (settings(max_examples=5).deadline, law(10).deadline) == (None, None)
    assert HealthCheck.too_slow in settings(max_examples=5).suppress_health_check
    assert HealthCheck.too_slow in law(10).suppress_health_check
    texts = {path: path.read_text() for path in TESTS.rglob("test_*.py") if path != Path(__file__)}
    assert [path.name for path, text in texts.items() if re.search(r"settings\([^)]*deadline=", text)] == []
