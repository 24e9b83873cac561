"""The Python consumer of ``consumer/python`` at a real broker: it gets what is due, and never less.

The scenarios are those of the Java interceptor.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import TopicPartition

import offset_sync
from broker.committed_offsets import commit, committed
from consumer.consumer_host import FAILING, MISLED, ConsumerHost, python_consumer_host
from consumer.crossing import SEEN, USED, Crossing, values, write_crossing
from consumer.scenarios import SCENARIOS, Group, give_in_both, is_set_back, reads_through, seeks_back
from offset_sync_consumer import Consumer
from offset_sync_demo.kafka.brokers import EmbeddedCluster

pytestmark = [pytest.mark.broker, pytest.mark.long]
CLASSIC = {"group.protocol": "classic", "heartbeat.interval.ms": "200", "session.timeout.ms": "6000"}
COOPERATIVE = CLASSIC | {"partition.assignment.strategy": "cooperative-sticky"}
CONSUMER = {"group.protocol": "consumer"}
BOTH = pytest.mark.parametrize("settings", [CLASSIC, CONSUMER], ids=["classic", "consumer"])
ALONE = pytest.mark.parametrize("settings", [CONSUMER], ids=["consumer"])
"""A member that reads alone: the protocol decides nothing."""
Groups = Callable[..., Group]


@pytest.fixture(scope="module")
def host(broker_parts: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsumerHost]:
    with python_consumer_host(tmp_path_factory.mktemp("host")) as started:
        yield started


@pytest.fixture(scope="module")
def crossing(clusters: dict[str, EmbeddedCluster]) -> Crossing:
    """A topic that many groups cross, each with lists of its own."""
    return write_crossing(clusters["dc1"], "skip-read-python")


@pytest.fixture
def group(host: ConsumerHost, crossing: Crossing, group_name: str) -> Groups:
    """Return a group with its lists and its start."""

    def crossed(settings: dict[str, str], **how: object) -> Group:
        crossing.give(group_name)
        return Group(host, crossing, group_name, settings, **how)  # type: ignore[arg-type]

    return crossed


def is_committed(crossed: Group) -> bool:
    own = committed(crossed.crossing.cluster, [crossed.name])[crossed.name]
    return {place[1]: found.offset for place, found in own.items()} == {
        number: log.end for number, log in crossed.crossing.logs.items()
    }


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("settings", [CLASSIC, COOPERATIVE, CONSUMER], ids=["classic", "cooperative", "consumer"])
def test_what_is_due_is_delivered_once_and_nothing_else(group: Groups, settings: dict[str, str], scenario: str) -> None:
    crossed = group(settings)
    assert values(*SCENARIOS[scenario](crossed)) == crossed.crossing.due()
    assert is_committed(crossed), "skipped tails are committed too"


@pytest.mark.parametrize("reads_by", ["poll", "aio"])
@pytest.mark.parametrize("scenario", ["is rebalanced"])
@BOTH
def test_so_it_is_with_poll_and_with_asyncio(
    group: Groups, settings: dict[str, str], scenario: str, reads_by: str
) -> None:
    crossed = group(settings | {"reads.by": reads_by})
    assert values(*SCENARIOS[scenario](crossed)) == crossed.crossing.due()
    assert is_committed(crossed)


@pytest.mark.parametrize(
    ("commits", "scenario"),
    [("batch", "is restarted"), ("record", "is rebalanced"), ("store", "is rebalanced")],
)
@BOTH
def test_so_it_is_where_the_application_commits_or_stores(
    group: Groups, settings: dict[str, str], commits: str, scenario: str
) -> None:
    crossed = group(settings, commits=commits)
    assert values(*SCENARIOS[scenario](crossed)) == crossed.crossing.due()
    # Of a tail that is skipped alone nothing is committed where the application commits: the list skips it once more.
    assert commits == "batch" or not is_committed(crossed)


@ALONE
def test_marks_add_up_to_what_was_skipped(group: Groups, settings: dict[str, str]) -> None:
    crossed = group(settings)
    (reader,) = reads_through(crossed)
    logs = crossed.crossing.logs
    marks = committed(crossed.crossing.cluster, [SEEN + crossed.name])[SEEN + crossed.name]
    told = {
        number: f"offset-sync/1 {offset_sync.__version__} skipped={len(log.read)} "
        f"list={log.start if log.read else '-'} by {crossed.name}-a\0"
        for number, log in logs.items()
    }
    assert {place[1]: mark.metadata for place, mark in marks.items()} == told
    behind = {number: log.end - marks[crossed.crossing.topic, number].offset for number, log in logs.items()}
    assert {*behind.values()} <= {0, 1}, "the last record may be followed by the marker of its transaction"
    found = {name: reader.metrics[name] for name in ("skipped-total", "lists", "failed-total", "admin threads")}
    assert found == {
        "skipped-total": crossed.crossing.read, "lists": 0, "failed-total": 0, "admin threads": 1
    }  # fmt: skip
    passed = crossed.host.logged(f" of group {crossed.name} has passed its read list from ")
    assert len(passed) == 2


def test_without_marks_its_clients_end_with_the_last_list(group: Groups) -> None:
    crossed = group(CLASSIC | {"offset.sync.marks": "false"})
    (reader,) = reads_through(crossed)
    assert values(reader) == crossed.crossing.due()
    assert reader.metrics["admin threads"] == 0
    assert committed(crossed.crossing.cluster, [SEEN + crossed.name])[SEEN + crossed.name] == {}


@ALONE
@pytest.mark.parametrize("copied", [False, True], ids=["a list of its own", "a copy of the right list"])
def test_lists_of_another_cluster_that_its_other_clients_reach_take_nothing_out(
    host: ConsumerHost,
    clusters: dict[str, EmbeddedCluster],
    crossing: Crossing,
    group_name: str,
    settings: dict[str, str],
    copied: bool,
) -> None:
    elsewhere = clusters["dc2"]
    give_in_both(crossing, elsewhere, group_name, copied=copied)
    misled = settings | {"misled.to": elsewhere.bootstrap_servers}
    (reader,) = reads_through(Group(host, crossing, group_name, misled, interceptor=MISLED))
    assert values(reader) == crossing.due(skips=False)
    assert reader.metrics["skipped-total"] == 0
    (line,) = host.logged(f"SkipRead of group {group_name} cannot read its lists")
    assert "leads its other clients to cluster " in line
    assert committed(elsewhere, [USED + group_name])[USED + group_name] == {}


@ALONE
def test_a_list_of_another_cluster_takes_nothing_out(
    host: ConsumerHost, crossing: Crossing, group_name: str, settings: dict[str, str]
) -> None:
    crossing.give(group_name, cluster_id="another")
    (reader,) = reads_through(Group(host, crossing, group_name, settings))
    assert values(reader) == crossing.due(skips=False)
    assert reader.metrics["failed-total"] == 0


@pytest.mark.parametrize("reads_by", ["consume", "poll", "aio"])
@ALONE
def test_who_seeks_back_gets_the_same_records_again(group: Groups, settings: dict[str, str], reads_by: str) -> None:
    crossed = group(settings | {"reads.by": reads_by})
    seeks_back(crossed, after=8)


@ALONE
def test_a_group_set_back_below_its_list_gets_everything(group: Groups, settings: dict[str, str]) -> None:
    crossed = group(settings)
    _, again, rest = is_set_back(crossed)
    due = [value for log in crossed.crossing.logs.values() for value in log.due(log.start - 20, skips=False)]
    assert sorted(each.value for each in [*again.records, *rest.records]) == sorted(due), "after a restart, too"


@ALONE
@pytest.mark.parametrize("interceptor", [None, FAILING], ids=["confluent-kafka's own", "an error raised inside"])
def test_without_working_rules_everything_is_delivered(
    group: Groups, settings: dict[str, str], interceptor: str | None
) -> None:
    crossed = group(settings, interceptor=interceptor)
    (reader,) = reads_through(crossed)
    assert values(reader) == crossed.crossing.due(skips=False)
    assert interceptor is None or reader.metrics["failed-total"] >= 1


@ALONE
def test_a_group_without_lists_gets_everything(
    host: ConsumerHost, crossing: Crossing, group_name: str, settings: dict[str, str]
) -> None:
    start = {(crossing.topic, number): log.start for number, log in crossing.logs.items()}
    commit(crossing.cluster, {group_name: start})
    (reader,) = reads_through(Group(host, crossing, group_name, settings))
    assert values(reader) == crossing.due(skips=False)
    assert reader.metrics["failed-total"] == 0


@ALONE
def test_lists_that_cannot_be_had_in_time_cost_repeats_and_no_record(group: Groups, settings: dict[str, str]) -> None:
    crossed = group(settings)
    (reader,) = reads_through(crossed, offset_sync_wait_ms="1")
    got = values(reader)
    assert crossed.crossing.due() - got == {}, "nothing is lost"
    assert got - crossed.crossing.due(skips=False) == {}, "and nothing delivered twice"
    assert reader.metrics["failed-total"] >= 1


@BOTH
def test_callbacks_are_the_applications_and_a_position_that_one_sets_is_read_from(
    crossing: Crossing, group_name: str, settings: dict[str, str]
) -> None:
    own = {number: log.start + 30 for number, log in crossing.logs.items()}
    crossing.give(group_name)
    commit(crossing.cluster, {group_name: {(crossing.topic, number): offset for number, offset in own.items()}})
    told: list[str] = []

    def on_assign(consumer: Consumer, partitions: list[TopicPartition]) -> None:
        told.append("assigned")
        assign = consumer.assign if settings == CLASSIC else consumer.incremental_assign
        assign([TopicPartition(each.topic, each.partition, own[each.partition] - 30) for each in partitions])

    def on_revoke(consumer: Consumer, partitions: list[TopicPartition]) -> None:
        told.append("revoked")
        consumer.commit(asynchronous=False)

    got: list[str] = []
    servers = {"bootstrap.servers": crossing.cluster.bootstrap_servers, "group.id": group_name}
    with Consumer(servers | settings | {"enable.auto.commit": False}) as consumer:  # type: ignore[arg-type]
        consumer.subscribe([crossing.topic], on_assign=on_assign, on_revoke=on_revoke)
        due = [
            value
            for number, log in crossing.logs.items()
            for offset, value in log.records.items()
            if log.start <= offset and not (offset in log.read and offset >= own[number])
        ]
        deadline = time.monotonic() + 60
        while len(got) < len(due) and time.monotonic() < deadline:
            got += [(each.value() or b"").decode() for each in consumer.consume(25, 0.1)]
        got += [(each.value() or b"").decode() for each in consumer.consume(25, 1)]
        assert consumer.skip_counters()["failed-total"] == 0
    assert sorted(got) == sorted(due)
    assert told == ["assigned", "revoked"]
    found = committed(crossing.cluster, [group_name])[group_name]
    assert {place[1]: each.offset for place, each in found.items()} == {
        number: log.end for number, log in crossing.logs.items()
    }


def test_records_of_a_later_leader_epoch_are_delivered(
    host: ConsumerHost, clusters: dict[str, EmbeddedCluster], topic_name: str, group_name: str
) -> None:
    crossing = write_crossing(clusters["dc1"], topic_name, records=120)
    clusters["dc1"].restart()
    longer = crossing.with_later_records(60)
    longer.give(group_name, epoch=0)
    (reader,) = reads_through(Group(host, longer, group_name, CLASSIC))
    later = longer.due(skips=False) - crossing.due(skips=False)
    assert sum(later.values()) == 60 * len(longer.logs)
    assert values(reader) == crossing.due() + later
