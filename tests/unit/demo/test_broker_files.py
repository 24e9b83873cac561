from __future__ import annotations

from pathlib import Path

import pytest

from offset_sync_demo.kafka.broker_files import (
    BrokerPartsMissing,
    broker_jars,
)


def test_clusters_take_the_chosen_versions_in_turn(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("offset_sync_demo.kafka.broker_files._VERSIONS", tmp_path)
    for version in ("3.6", "4.4"):
        (tmp_path / f"broker-{version}").mkdir()
    monkeypatch.setenv("OFFSET_SYNC_BROKER_VERSIONS", "3.6,4.4")
    found = [broker_jars(alias).name for alias in ("dc1", "dc2", "dc3", "other")]
    assert found == ["broker-3.6", "broker-4.4", "broker-3.6", "broker-3.6"]
    monkeypatch.setenv("OFFSET_SYNC_BROKER_VERSIONS", "1.0")
    with pytest.raises(BrokerPartsMissing, match=r"broker-1\.0: no Kafka broker jars; run 'scripts/jars\.py versions'"):
        broker_jars("dc1")
