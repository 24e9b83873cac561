from __future__ import annotations

from pathlib import Path

import pytest

from offset_sync_demo.kafka.broker_files import (
    BrokerPartsMissing,
    broker_jars,
    find_jars,
    find_java,
    free_ports,
    write_broker_files,
)


def test_missing_java_and_jars_are_reported_with_the_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BrokerPartsMissing, match="JAVA_HOME"):
        find_java()
    monkeypatch.setenv("OFFSET_SYNC_BROKER_JARS", str(tmp_path))
    with pytest.raises(BrokerPartsMissing, match="make install"):
        find_jars()


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


def test_ports_are_given_once_and_are_outside_the_range_of_outgoing_connections() -> None:
    ports = [port for _ in range(10) for port in free_ports(5)]
    assert len(set(ports)) == 50, "not again before its process can have bound it"
    assert all(1024 < port < 32768 for port in ports)


def test_settings_given_by_the_caller_win(tmp_path: Path) -> None:
    write_broker_files(tmp_path, 15001, 15002, {"offsets.topic.num.partitions": "8", "num.io.threads": "9"})

    properties = (tmp_path / "server.properties").read_text().splitlines()

    assert "listeners=PLAINTEXT://127.0.0.1:15001,CONTROLLER://127.0.0.1:15002" in properties
    assert "offsets.topic.num.partitions=8" in properties
    assert [line for line in properties if line.startswith("num.io.threads=")] == ["num.io.threads=9"]
