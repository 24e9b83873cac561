"""The true contents of a log, read with a plain consumer: tests and the oracle rely on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from offset_sync_demo.kafka.clients import Endpoint, Headers, Partition, read_partition, read_partitions
from offset_sync_demo.load.records import RecordLog, Records, value_id


@dataclass(frozen=True)
class LogRecord:
    """One committed record; *timestamp* in milliseconds."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers

    def header(self, name: str) -> bytes | None:
        """Return the first header of that name."""
        value = next((value for key, value in self.headers if key == name), None)
        return value.encode() if isinstance(value, str) else value


def dump_log(cluster: Endpoint, topic: str, partition: int, timeout: float = 60.0) -> list[LogRecord]:
    """Return every committed record of the partition, without markers and aborted records."""
    return [
        LogRecord(each.offset(), each.timestamp()[1], each.key(), each.value(), list(each.headers() or []))
        for each in read_partition(cluster, (topic, partition), timeout)
    ]


def dump_ids(cluster: Endpoint, partition: Partition, timeout: float = 60.0) -> Records:
    """Return ids and offsets of a partition that only the workload and the mirror wrote; small in memory."""
    return dump_all_ids(cluster, [partition], timeout)[partition]


def dump_all_ids(cluster: Endpoint, partitions: Sequence[Partition], timeout: float = 60.0) -> dict[Partition, Records]:
    """Return the same for several partitions, which are read in parallel."""
    logs = {place: RecordLog() for place in partitions}
    for each in read_partitions(cluster, partitions, timeout):
        logs[each.topic(), each.partition()].add(value_id(each.value() or b""), each.offset(), each.timestamp()[1])
    return {place: log.to_records() for place, log in logs.items()}
