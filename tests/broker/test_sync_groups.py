"""Groups as real clients make them: consumers alive on the target, and offsets committed in transactions.

The topic ``live`` holds 20 records of dc1, and on dc2 the same ones behind an aborted transaction.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import pytest
from confluent_kafka import Consumer, Message, Producer
from confluent_kafka import TopicPartition as Position

from broker.broker_versions import PROTOCOLS
from broker.cluster_actions import Acts
from broker.committed_offsets import Partition, commit
from broker.crafted_logs import Clusters, copied_log, create_topics, native_log, write_log
from broker.installation import install
from offset_sync.kafka.requests import Committed
from offset_sync_demo.kafka.brokers import EmbeddedCluster
from offset_sync_demo.kafka.clients import client_options

pytestmark = [pytest.mark.broker, pytest.mark.versions, pytest.mark.timeout(1200)]

TOPIC = "live"
PLACE: Partition = (TOPIC, 0)
SHIFT = 5
GROUPS = [
    *(f"{what}-{protocol}" for what in ("active", "reading", "source") for protocol in PROTOCOLS),
    *("committed-in-transaction", "aborted-in-transaction", "aborted-after-commit", "open-transaction"),
]


@contextmanager
def member(cluster: EmbeddedCluster, group: str, protocol: str, reset: str = "earliest") -> Iterator[Member]:
    """A consumer that has joined and holds its partition."""
    options = {"group_id": group, "group_protocol": protocol, "auto_offset_reset": reset, "enable_auto_commit": False}
    consumer = Consumer(client_options(cluster.bootstrap_servers, **options))
    consumer.subscribe([TOPIC])
    first = None
    while not consumer.assignment():
        first = consumer.poll(0.1)
    try:
        yield Member(consumer, [first] if first else [])
    finally:
        consumer.close()


@dataclass
class Member:
    """A consumer, and what it received while it was joining."""

    consumer: Consumer
    received: list[Message]

    def read(self, count: int) -> list[int]:
        """Return the offsets of the next *count* records."""
        while len(self.received) < count:
            message = self.consumer.poll(120)
            assert message is not None, "no record in time"
            self.received.append(message)
        assert [message.error() for message in self.received] == [None] * count
        return [message.offset() for message in self.received]

    def commit(self, offset: int) -> None:
        """Commit as a member."""
        self.consumer.commit(offsets=[Position(TOPIC, 0, offset)], asynchronous=False)


@contextmanager
def transaction(cluster: EmbeddedCluster, group: str, offset: int) -> Iterator[Producer]:
    """A transaction that has committed an offset for *group* and is still open."""
    producer = Producer(client_options(cluster.bootstrap_servers, transactional_id=f"live-{group}"))
    producer.init_transactions(120)
    producer.begin_transaction()
    lender = Consumer(client_options(cluster.bootstrap_servers, group_id=group))  # only lends the group's name
    producer.send_offsets_to_transaction([Position(TOPIC, 0, offset)], lender.consumer_group_metadata(), 120)
    yield producer
    lender.close()


@pytest.fixture(scope="module")
def acts(clusters: Clusters, spark_environment: None, tmp_path_factory: pytest.TempPathFactory) -> Acts:
    source, target = clusters["dc1"], clusters["dc2"]
    for cluster in (source, target):
        create_topics(cluster, {TOPIC: 1})
    write_log(source, {PLACE: native_log("dc1", 20)})
    write_log(target, {PLACE: [*[None] * SHIFT, *copied_log("dc1", range(20), first=SHIFT)]})
    servers = {alias: clusters[alias].bootstrap_servers for alias in ("dc1", "dc2")}
    acts = Acts(clusters, install(tmp_path_factory.mktemp("live"), servers, [TOPIC]), GROUPS)
    assert acts.installation.index() == []
    for group, commits in (("committed-in-transaction", True), ("aborted-in-transaction", False)):
        with transaction(source, group, 7) as producer:
            (producer.commit_transaction if commits else producer.abort_transaction)(120)
    commit(source, {group: {PLACE: 4} for group in GROUPS if group.startswith(("active", "reading", "aborted-after"))})
    with transaction(source, "aborted-after-commit", 9) as producer:
        producer.abort_transaction(120)
    for protocol in PROTOCOLS:
        with member(source, f"source-{protocol}", protocol) as consumer:
            consumer.read(11)
            consumer.commit(11)
    with ExitStack() as alive:
        for protocol in PROTOCOLS:
            alive.enter_context(member(target, f"active-{protocol}", protocol))
        acts.play()
    acts.play()
    for protocol in PROTOCOLS:
        with member(target, f"reading-{protocol}", protocol, reset="error") as consumer:
            assert consumer.read(3) == [SHIFT + 4, SHIFT + 5, SHIFT + 6]
            consumer.commit(SHIFT + 7)
    with transaction(source, "open-transaction", 6) as producer:
        acts.play()
        producer.commit_transaction(120)
    acts.play()
    return acts


def test_every_pass_is_done_without_a_failure(acts: Acts) -> None:
    assert acts.failures == [[], [], [], []]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_group_with_members_on_the_target_is_left_alone(acts: Acts, protocol: str) -> None:
    assert acts.said(0, f"active-{protocol}") == [("EXACT", "TARGET_ACTIVE")]
    assert acts.rows(0, group_id=f"active-{protocol}")[0]["committed_at"] is None
    assert acts.value(0, "dc2", f"active-{protocol}", PLACE) is None


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_next_pass_commits_once_the_members_have_left(acts: Acts, protocol: str) -> None:
    assert acts.said(1, f"active-{protocol}") == [("EXACT", "COMMITTED")]
    assert acts.value(1, "dc2", f"active-{protocol}", PLACE) == Committed(SHIFT + 4, "")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_consumers_commit_at_the_source_appears_on_the_target(acts: Acts, protocol: str) -> None:
    assert acts.offset(0, "dc2", f"source-{protocol}", PLACE) == SHIFT + 11


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_consumer_reads_on_where_it_was_put_and_its_commit_flows_back(acts: Acts, protocol: str) -> None:
    assert acts.offset(1, "dc2", f"reading-{protocol}", PLACE) == SHIFT + 4
    assert acts.offset(2, "dc2", f"reading-{protocol}", PLACE) == SHIFT + 7
    assert acts.offset(2, "dc1", f"reading-{protocol}", PLACE) == 7


def test_an_offset_committed_in_a_transaction_is_translated(acts: Acts) -> None:
    assert acts.offset(0, "dc2", "committed-in-transaction", PLACE) == SHIFT + 7


def test_an_offset_whose_transaction_is_aborted_is_never_translated(acts: Acts) -> None:
    assert [acts.offset(act, "dc2", "aborted-in-transaction", PLACE) for act in range(4)] == [None] * 4
    assert [acts.offset(act, "dc2", "aborted-after-commit", PLACE) for act in range(4)] == [SHIFT + 4] * 4
    rows = acts.installation.rows("offset_commits", topic=TOPIC)
    assert not [row for row in rows if row["group_id"] == "aborted-in-transaction"]
    assert {row["committed_offset"] for row in rows if row["group_id"] == "aborted-after-commit"} == {4, SHIFT + 4}


def test_an_open_transaction_holds_up_nothing_but_itself_and_is_translated_once_it_is_committed(acts: Acts) -> None:
    assert acts.offset(2, "dc2", "open-transaction", PLACE) is None
    assert acts.offset(3, "dc2", "open-transaction", PLACE) == SHIFT + 6


def test_who_is_active_is_recorded(acts: Acts) -> None:
    events = acts.installation.rows("group_events", cluster="dc2")
    kinds = {(row["group_id"], row["kind"]) for row in events}
    of_consumers = {("active-consumer", each) for each in ("epoch", "member", "member_removed")}
    assert ({("active-classic", "classic")} | (of_consumers if "consumer" in PROTOCOLS else set())) <= kinds
