"""A command has its tables without Spark, in any store; only spark-submit's driver opens a session beside them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from offset_sync.config import Config, parse_config
from offset_sync.jobs.open_tables import open_tables, session_if_submitted
from offset_sync.tables.catalog import RECORD_RUNS

SUBMITTED = "PYSPARK_GATEWAY_PORT"


def config(root: str) -> Config:
    ends = {f"dc{n}": {"kafka": {"bootstrap.servers": f"127.0.0.1:{n}"}} for n in (1, 2)}
    places = {"root": root, "checkpoints": f"{root}-checkpoints"}
    return parse_config({"clusters": ends, "topics": {"include": ["a"]}, "tables": places}, {})


@pytest.fixture
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in an environment with the base dependencies alone."""
    hidden: Any = None
    for name in [each for each in sys.modules if each.startswith(("offset_sync.jobs.spark_session", "pyspark"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pyspark", hidden)
    monkeypatch.delenv(SUBMITTED, raising=False)


@pytest.mark.parametrize("root", ["/nowhere/a", "file:/nowhere/a", "s3a://bucket/a", "hdfs://name/a"])
@pytest.mark.parametrize("default", [None, "/nowhere/hadoop"])
def test_tables_are_opened_without_spark_in_any_store(
    root: str, default: str | None, no_spark: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if default is not None:
        monkeypatch.setenv("HADOOP_CONF_DIR", default)
    with open_tables(config(root), "name") as tables:
        assert tables.path(RECORD_RUNS) == f"{root}/record_runs"


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


def test_a_driver_that_spark_submit_has_started_has_a_session_as_long_as_it_works(
    sessions: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SUBMITTED, "1")

    def work() -> None:
        with session_if_submitted("offset-sync translate"):
            assert sessions == ["offset-sync translate"]
            raise InterruptedError

    with pytest.raises(InterruptedError):
        work()
    assert sessions == ["offset-sync translate", "stopped"]


def test_who_was_not_started_by_spark_submit_has_none(sessions: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SUBMITTED, raising=False)
    with session_if_submitted("name"):
        pass
    assert sessions == []
