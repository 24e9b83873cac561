"""Records of ``__consumer_offsets`` as a real broker writes them, decoded.

``tests/golden/capture.py`` runs the same scenario to record goldens.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from broker.broker_versions import PROTOCOLS, WRITE_TOPIC_IDS
from broker.installation import until
from offset_sync.decode.consumer_offsets import decode_records

pytestmark = pytest.mark.versions

DEADLINE_S = 120.0
Row = dict[str, Any]


def test_every_way_to_commit_is_decoded_as_the_client_meant_it(committed: list[Row], topic: str) -> None:
    def commits(group: str) -> list[Row]:
        return [row for row in committed if row["group_id"] == f"{topic}-{group}" and row["kind"] == "commit"]

    last = {
        group: [row for row in commits(group) if not row["is_tombstone"]][-1]
        for group in ("assigned", "noted", "altered", "tx", *PROTOCOLS)
    }
    wanted = {"assigned": 5, "noted": 7, "altered": 3, "tx": 6}
    assert {group: last[group]["committed_offset"] for group in wanted} == wanted
    assert {row["topic"] for row in last.values()} == {topic}
    assert last["assigned"]["metadata"] == ""
    assert last["noted"]["metadata"] == "grüße\0"  # librdkafka stores the C string with its end
    assert (last["noted"]["topic_id"] is None) is ("dc1" not in WRITE_TOPIC_IDS)
    assert abs(last["noted"]["committed_at_ms"] / 1000 - time.time()) < 600
    assert [row["committed_offset"] for row in commits("tx")] == [6], "an aborted commit is not seen"
    deleted = commits("deleted")[-1]
    assert (deleted["is_tombstone"], deleted["topic"], deleted["partition"]) == (True, topic, 0)


def test_a_group_shows_who_is_active(committed: list[Row], topic: str) -> None:
    def rows(group: str, kind: str) -> list[Row]:
        return [row for row in committed if row["group_id"] == f"{topic}-{group}" and row["kind"] == kind]

    classic = rows("classic", "group")
    assert [row["members"] for row in classic][-2:] == [1, 0]
    assert classic[-1]["protocol_type"] == "consumer"
    if "consumer" in PROTOCOLS:
        members, epochs = rows("consumer", "member"), rows("consumer", "group_epoch")
        assert [members[0]["is_tombstone"], members[-1]["is_tombstone"]] == [False, True]
        assert len({row["member_id"] for row in members}) == 1
        assert epochs[-1]["generation"] > epochs[0]["generation"]


def test_nothing_a_real_broker_writes_is_malformed(committed: list[Row]) -> None:
    assert [row["error"] for row in committed if row["kind"] == "malformed"] == []


@pytest.fixture(scope="module")
def bootstrap(clusters: dict[str, Any]) -> str:
    return str(next(iter(clusters.values())).bootstrap_servers)


@pytest.fixture(scope="module")
def topic(bootstrap: str) -> str:
    name = f"decode-{time.time_ns()}"
    write_every_kind(bootstrap, name)
    return name


@pytest.fixture(scope="module")
def raw(bootstrap: str, topic: str) -> list[tuple[bytes | None, bytes | None]]:
    records = [(key, value) for _, _, key, value in read_offsets_topic(bootstrap)]
    return [(key, value) for key, value in records if key is not None and topic.encode() in key]


@pytest.fixture(scope="module")
def committed(raw: list[tuple[bytes | None, bytes | None]]) -> list[Row]:
    keys, values = zip(*raw, strict=True)
    rows: list[Row] = decode_records(pa.array(keys, pa.binary()), pa.array(values, pa.binary())).to_pylist()
    return rows


def write_every_kind(bootstrap: str, topic: str) -> None:
    """Let real clients write each kind of record; every group is named ``<topic>-<what it does>``."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for future in admin.create_topics([NewTopic(topic, 1, 1)]).values():
        future.result(DEADLINE_S)
    producer = Producer({"bootstrap.servers": bootstrap})
    for number in range(10):
        producer.produce(topic, b"%d" % number)
    producer.flush(DEADLINE_S)
    with _consumer(bootstrap, f"{topic}-assigned") as consumer:
        consumer.commit(offsets=[TopicPartition(topic, 0, 5)], asynchronous=False)
    with _consumer(bootstrap, f"{topic}-noted") as consumer:
        consumer.commit(offsets=[TopicPartition(topic, 0, 7, metadata="grüße")], asynchronous=False)
    for group in ("altered", "deleted"):
        request = [ConsumerGroupTopicPartitions(f"{topic}-{group}", [TopicPartition(topic, 0, 3)])]
        (altered,) = admin.alter_consumer_group_offsets(request).values()
        assert [each.error for each in altered.result(DEADLINE_S).topic_partitions] == [None]
    for protocol in PROTOCOLS:
        _join_commit_leave(bootstrap, topic, f"{topic}-{protocol}", {"group.protocol": protocol})
    _commit_in_transactions(bootstrap, topic, f"{topic}-tx")
    for future in admin.delete_consumer_groups([f"{topic}-deleted"]).values():
        future.result(DEADLINE_S)


def read_offsets_topic(bootstrap: str) -> Iterator[tuple[int, int, bytes | None, bytes | None]]:
    """Yield (partition, offset, key, value) of all committed records there are now, partition by partition."""
    options = {"group.id": "unused", "enable.auto.commit": False, "enable.partition.eof": True}
    with _consumer(bootstrap, **options, **{"isolation.level": "read_committed"}) as consumer:
        partitions = consumer.list_topics("__consumer_offsets", DEADLINE_S).topics["__consumer_offsets"].partitions
        for partition in sorted(partitions):
            consumer.assign([TopicPartition("__consumer_offsets", partition, 0)])
            while (message := consumer.poll(DEADLINE_S)) is not None and not message.error():
                yield partition, message.offset(), message.key(), message.value()
            assert message is not None, "the broker did not answer"


@contextmanager
def _consumer(bootstrap: str, group: str = "unused", **options: Any) -> Iterator[Consumer]:
    defaults = {"bootstrap.servers": bootstrap, "group.id": group, "enable.auto.commit": False}
    consumer = Consumer(defaults | {"auto.offset.reset": "earliest"} | options)
    try:
        yield consumer
    finally:
        consumer.close()


def _join_commit_leave(bootstrap: str, topic: str, group: str, options: dict[str, Any]) -> None:
    with _consumer(bootstrap, group, **options) as consumer:
        consumer.subscribe([topic])
        message = until(lambda: consumer.poll(1.0), DEADLINE_S)
        consumer.commit(message=message, asynchronous=False)


def _commit_in_transactions(bootstrap: str, topic: str, group: str) -> None:
    """Commit offset 6 in a transaction that commits, then 9 in one that aborts."""
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": group})
    producer.init_transactions(DEADLINE_S)
    with _consumer(bootstrap, group) as consumer:
        for offset, end in ((6, producer.commit_transaction), (9, producer.abort_transaction)):
            producer.begin_transaction()
            producer.send_offsets_to_transaction(
                [TopicPartition(topic, 0, offset)], consumer.consumer_group_metadata(), DEADLINE_S
            )
            end(DEADLINE_S)
