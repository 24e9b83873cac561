"""Records that no producer should write: any time, key and headers, also into a cluster's own topics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from confluent_kafka import Producer
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from broker.committed_offsets import Partition
from offset_sync_demo.kafka.brokers import EmbeddedCluster
from offset_sync_demo.kafka.clients import admin_of, client_options

ANY_TIME = str(2**63 - 1)


class RawRecord(NamedTuple):
    """A record; a *timestamp_ms* of None is the present."""

    timestamp_ms: int | None = None
    headers: Sequence[tuple[str, bytes | None]] = ()
    key: bytes | None = None
    value: bytes | None = b"-"


def allow_any_time(cluster: EmbeddedCluster, topics: Sequence[str]) -> None:
    """Let the broker take timestamps of *topics* whatever they say, as it did by default before version 4.0."""
    entry = ConfigEntry("message.timestamp.after.max.ms", ANY_TIME, incremental_operation=AlterConfigOpType.SET)
    asked = [ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry]) for topic in topics]
    admin = admin_of(cluster)  # kept: its requests end with it
    for future in admin.incremental_alter_configs(asked).values():
        future.result(60)


def write_raw(cluster: EmbeddedCluster, place: Partition, records: Sequence[RawRecord]) -> list[int]:
    """Write *records* one after the other and return their offsets; internal topics take them too."""
    offsets: list[int] = []
    problems: list[str] = []

    def heard(error: Any, message: Any) -> None:
        if error is None:
            offsets.append(int(message.offset()))
        else:
            problems.append(str(error))

    # The one client that brokers let write into their own topics.
    options = client_options(cluster.bootstrap_servers, enable_idempotence=True, client_id="__admin_client")
    producer = Producer(options)
    for timestamp_ms, headers, key, value in records:
        time = {} if timestamp_ms is None else {"timestamp": timestamp_ms}
        producer.produce(place[0], value, key, place[1], on_delivery=heard, headers=list(headers), **time)
        assert producer.flush(60) == 0
    assert problems == [], problems
    return offsets
