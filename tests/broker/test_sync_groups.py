"""Groups as real clients make them: consumers alive on the target, and offsets committed in transactions.

The topic ``live`` holds 20 records of dc1, and on dc2 the same ones behind an aborted transaction.
"""

from __future__ import annotations

from contextlib import ExitStack

import pytest
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as Position

from broker.broker_versions import PROTOCOLS
from broker.cluster_actions import Acts
from broker.committed_offsets import Partition, commit
from broker.crafted_logs import Clusters, copied_log, create_topics, native_log, write_log
from broker.group_member import member, transaction
from broker.installation import install
from offset_sync.kafka.requests import Committed
from offset_sync_demo.kafka.brokers import EmbeddedCluster
from offset_sync_demo.kafka.clients import client_options

pytestmark = [pytest.mark.broker, pytest.mark.versions, pytest.mark.timeout(600)]

TOPIC = "live"
PLACE: Partition = (TOPIC, 0)
SHIFT = 5
IN_TRANSACTION, ABORTED, ABORTED_AFTER, OPEN = "live-committed", "live-aborted", "live-aborted-after", "live-open"
GROUPS = [f"{what}-{protocol}" for what in ("active", "reading") for protocol in PROTOCOLS]


def read_three(cluster: EmbeddedCluster, group: str, protocol: str) -> list[int | None]:
    """Return the offsets of the next three records of a group, which commits behind them."""
    options = {"group_id": group, "group_protocol": protocol, "auto_offset_reset": "error", "enable_auto_commit": False}
    consumer, offsets = Consumer(client_options(cluster.bootstrap_servers, **options)), list[int | None]()
    consumer.subscribe([TOPIC])
    while len(offsets) < 3:
        if (message := consumer.poll(120)) is not None:
            assert message.error() is None, message.error()
            offsets.append(message.offset())
    consumer.commit(offsets=[Position(TOPIC, 0, (offsets[-1] or 0) + 1)], asynchronous=False)
    consumer.close()
    return offsets


@pytest.fixture(scope="module")
def acts(clusters: Clusters, spark_environment: None, tmp_path_factory: pytest.TempPathFactory) -> Acts:
    source, target = clusters["dc1"], clusters["dc2"]
    for cluster in (source, target):
        create_topics(cluster, {TOPIC: 1})
    write_log(source, {PLACE: native_log("dc1", 20)})
    write_log(target, {PLACE: [*[None] * SHIFT, *copied_log("dc1", range(20), first=SHIFT)]})
    groups = [*GROUPS, IN_TRANSACTION, ABORTED, ABORTED_AFTER, OPEN]
    acts = Acts(clusters, install(tmp_path_factory.mktemp("live"), clusters, [TOPIC]), groups)
    assert acts.installation.index() == []
    commit(source, {group: {PLACE: 4} for group in groups if group.startswith(("active", "reading", ABORTED_AFTER))})
    with transaction(source, IN_TRANSACTION, PLACE, 7) as producer:
        producer.commit_transaction(120)
    for group in (ABORTED, ABORTED_AFTER):
        with transaction(source, group, PLACE, 9) as producer:
            producer.abort_transaction(120)
    with ExitStack() as alive:
        for protocol in PROTOCOLS:
            alive.enter_context(member(target, f"active-{protocol}", TOPIC, protocol))
        acts.play()
    for protocol in PROTOCOLS:
        assert read_three(target, f"reading-{protocol}", protocol) == [SHIFT + 4, SHIFT + 5, SHIFT + 6]
    with transaction(source, OPEN, PLACE, 6) as producer:
        acts.play()
        producer.commit_transaction(120)
    acts.play()
    return acts


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_group_with_members_on_the_target_is_left_alone_until_they_have_left(acts: Acts, protocol: str) -> None:
    assert acts.failures == [[], [], []]
    group = f"active-{protocol}"
    assert (acts.said(0, group), acts.value(0, "dc2", group, PLACE)) == ([("EXACT", "TARGET_ACTIVE")], None)
    assert acts.said(1, group) == [("EXACT", "COMMITTED")]
    assert acts.value(1, "dc2", group, PLACE) == Committed(SHIFT + 4, "")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_consumer_reads_on_where_it_was_put_and_its_commit_flows_back(acts: Acts, protocol: str) -> None:
    group = f"reading-{protocol}"
    assert [acts.offset(act, "dc2", group, PLACE) for act in (0, 1)] == [SHIFT + 4, SHIFT + 7]
    assert acts.offset(1, "dc1", group, PLACE) == 7


def test_an_offset_in_a_transaction_is_translated_when_it_is_committed_and_never_if_it_is_aborted(acts: Acts) -> None:
    """One that is open holds up nothing but itself."""
    found = {group: [acts.offset(act, "dc2", group, PLACE) for act in range(3)] for group in acts.groups}
    assert found[IN_TRANSACTION][0] == SHIFT + 7
    assert found[ABORTED] == [None] * 3
    assert found[ABORTED_AFTER] == [SHIFT + 4] * 3
    assert found[OPEN] == [None, None, SHIFT + 6]
    rows = acts.installation.rows("offset_commits", topic=TOPIC)
    assert not [row for row in rows if row["group_id"] == ABORTED]
    assert {row["committed_offset"] for row in rows if row["group_id"] == ABORTED_AFTER} == {4, SHIFT + 4}
