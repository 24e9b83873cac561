"""The consumers of `consumer/`, in Java and in Python, at a real broker: they get what is due, and never less.

What is due is told by what producers wrote: all that the group has not read elsewhere, each record once. What lists
and answers of any kind lead to is told without a broker in `tests/unit/consumer`, other versions in `make test-slow`.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

import offset_sync
from broker.committed_offsets import committed
from consumer.consumer_host import MISLED, NEWEST, PYTHON, Hosts
from consumer.crossing import SEEN, USED, Crossing, values, write_crossing
from consumer.scenarios import SCENARIOS, Group, give_in_both, reads_through, seeks_back
from offset_sync_demo.kafka.brokers import EmbeddedCluster

pytestmark = pytest.mark.timeout(900)
CLASSIC = {"group.protocol": "classic", "heartbeat.interval.ms": "200", "session.timeout.ms": "6000"}
COOPERATIVE = CLASSIC | {"partition.assignment.strategy": "cooperative-sticky"}
CONSUMER = {"group.protocol": "consumer"}
POLL, AIO = {"reads.by": "poll"}, {"reads.by": "aio"}
RUNS = {
    "Java, classic, commits batches, restarted": (NEWEST, CLASSIC, "batch", "is restarted"),
    "Java, consumer, commits records, rebalanced": (NEWEST, CONSUMER, "record", "is rebalanced"),
    "Python, classic, asyncio, static": (PYTHON, CLASSIC | AIO, "auto", "is static"),
    "Python, cooperative, stores, rebalanced": (PYTHON, COOPERATIVE, "store", "is rebalanced"),
    "Python, consumer, poll, rebalanced": (PYTHON, CONSUMER | POLL, "auto", "is rebalanced"),
}
BOTH = pytest.mark.parametrize(("version", "settings"), [(NEWEST, CLASSIC), (PYTHON, CONSUMER)], ids=["Java", "Python"])
Groups = Callable[..., Group]


@pytest.fixture
def group(hosts: Hosts, crossing: Crossing, group_name: str) -> Groups:
    """Return a group with its lists and its start; *version* is that of its consumers."""

    def crossed(version: str, settings: dict[str, str], **how: object) -> Group:
        crossing.give(group_name)
        return Group(hosts(version), crossing, group_name, settings, **how)  # type: ignore[arg-type]

    return crossed


@pytest.mark.parametrize(("version", "settings", "commits", "scenario"), RUNS.values(), ids=RUNS)
def test_what_is_due_is_delivered_once_and_nothing_else(
    group: Groups, version: str, settings: dict[str, str], commits: str, scenario: str
) -> None:
    crossed = group(version, settings, commits=commits)
    assert values(*SCENARIOS[scenario](crossed)) == crossed.crossing.due()
    # Of a tail that is skipped nothing is committed where the application commits: the list skips it once more.
    assert commits != "auto" or crossed.crossing.is_committed(crossed.name), "skipped tails are committed too"


@BOTH
def test_marks_add_up_to_what_was_skipped(group: Groups, version: str, settings: dict[str, str]) -> None:
    crossed = group(version, settings)
    (reader,) = reads_through(crossed)
    assert values(reader) == crossed.crossing.due()
    assert crossed.crossing.is_committed(crossed.name)
    logs, topic = crossed.crossing.logs, crossed.crossing.topic
    marks = committed(crossed.crossing.cluster, [SEEN + crossed.name])[SEEN + crossed.name]
    told = {
        number: f"offset-sync/1 {offset_sync.__version__} skipped={len(log.read)} "
        f"list={log.start if log.read else '-'} by {crossed.name}-a\0"
        for number, log in logs.items()
    }
    assert {place[1]: mark.metadata for place, mark in marks.items()} == told
    behind = {log.end - marks[topic, number].offset for number, log in logs.items()}
    assert behind <= ({0, 1} if version == PYTHON else {0}), "librdkafka does not tell of the marker of a transaction"
    found = [reader.metrics[name] for name in ("skipped-total", "lists", "failed-total", "admin threads")]
    assert found == [crossed.crossing.read, 0, 0, 1]


@BOTH
def test_lists_of_another_cluster_that_its_other_clients_reach_take_nothing_out(
    group: Groups, clusters: dict[str, EmbeddedCluster], version: str, settings: dict[str, str]
) -> None:
    elsewhere = clusters["dc2"]
    crossed = group(version, settings | {"misled.to": elsewhere.bootstrap_servers}, interceptor=MISLED)
    give_in_both(crossed.crossing, elsewhere, crossed.name, copied=True)
    (reader,) = reads_through(crossed)
    assert values(reader) == crossed.crossing.due(skips=False)
    assert reader.metrics["skipped-total"] == 0
    (line,) = crossed.host.logged(f"SkipRead of group {crossed.name} cannot read its lists")
    assert " to cluster " in line
    assert f"reads from cluster {crossed.crossing.cluster_id}" in line
    assert committed(elsewhere, [USED + crossed.name])[USED + crossed.name] == {}


@BOTH
def test_who_seeks_back_gets_the_same_records_again(group: Groups, version: str, settings: dict[str, str]) -> None:
    crossed = group(version, settings)
    (reader,) = seeks_back(crossed, after=8)
    others = [each.value for each in reader.records if each.partition != 0]
    assert sorted(others) == sorted(crossed.crossing.logs[1].due() + crossed.crossing.logs[2].due())


def test_records_of_a_later_leader_epoch_are_delivered(
    hosts: Hosts, cluster: EmbeddedCluster, topic_name: str, group_name: str
) -> None:
    crossing = write_crossing(cluster, topic_name, records=120)
    cluster.restart()
    longer = crossing.with_later_records(60)
    later = longer.due(skips=False) - crossing.due(skips=False)
    assert sum(later.values()) == 60 * len(longer.logs)
    for number, version in enumerate((NEWEST, PYTHON)):
        name = f"{group_name}-{number}"
        longer.give(name, epoch=0)
        (reader,) = reads_through(Group(hosts(version), longer, name, CLASSIC))
        assert values(reader) == crossing.due() + later
