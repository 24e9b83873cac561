"""A session is opened beside the tables by spark-submit's driver only; tables need none, as test_wheel.py has it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from offset_sync.jobs.open_tables import session_if_submitted

SUBMITTED = "PYSPARK_GATEWAY_PORT"


@pytest.fixture
def sessions(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What becomes of Spark's sessions, in the order in which it does."""
    told = list[str]()
    session = SimpleNamespace(stop=lambda: told.append("stopped"))
    none: Callable[[], None] = lambda: None  # noqa: E731

    def open_session(name: str) -> Any:
        told.append(name)
        return session

    fakes: dict[str, dict[str, Any]] = {
        "pyspark.sql": {"SparkSession": SimpleNamespace(getActiveSession=none)},
        "offset_sync.jobs.spark_session": {"open_session": open_session},
    }
    for name, contents in fakes.items():
        module = ModuleType(name)
        vars(module).update(contents)
        monkeypatch.setitem(sys.modules, name, module)
    return told


def test_a_driver_that_spark_submit_has_started_has_a_session_as_long_as_it_works_and_no_other(
    sessions: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(SUBMITTED, raising=False)
    with session_if_submitted("name"):
        assert sessions == []
    monkeypatch.setenv(SUBMITTED, "1")
    with suppress(InterruptedError), session_if_submitted("offset-sync translate"):
        assert sessions == ["offset-sync translate"]
        raise InterruptedError
    assert sessions == ["offset-sync translate", "stopped"]
