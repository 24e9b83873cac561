"""Consumers with the interceptor of `consumer/` at a real broker: they get what is due, and never less.

What is due is told by what producers wrote: all that the group has not read elsewhere, each record once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest

import offset_sync
from broker.committed_offsets import commit, committed
from broker.installation import until
from consumer.consumer_host import FAILING, MISLED, NEWEST, Hosts, consumer_hosts
from consumer.crossing import READ, SEEN, USED, Crossing, values, write_crossing
from consumer.scenarios import (
    SCENARIOS,
    Group,
    give_in_both,
    is_set_back,
    is_set_back_unasked,
    reads_through,
    seeks_back,
)
from offset_sync_demo.kafka.brokers import EmbeddedCluster

pytestmark = [pytest.mark.broker, pytest.mark.long]
CLASSIC, CONSUMER = {"group.protocol": "classic"}, {"group.protocol": "consumer"}
QUICK_CLASSIC = {"heartbeat.interval.ms": "200", "session.timeout.ms": "6000"}
OLDEST = "2.1.1"
BOTH = [(NEWEST, CLASSIC | QUICK_CLASSIC), (NEWEST, CONSUMER)]


def named(param: object) -> str | None:
    """Return the text for settings in the name of a test."""
    return str(param.get("group.protocol", "classic")) if isinstance(param, dict) else None


@pytest.fixture(scope="module")
def hosts(broker_parts: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    """A JVM for each version of kafka-clients, started with the first test that asks for it."""
    with consumer_hosts(tmp_path_factory) as started:
        yield started


@pytest.fixture(scope="module")
def crossing(clusters: dict[str, EmbeddedCluster]) -> Crossing:
    """A topic that many groups cross, each with lists of its own."""
    return write_crossing(clusters["dc1"], "skip-read")


@pytest.fixture
def group(hosts: Hosts, crossing: Crossing, group_name: str) -> Callable[..., Group]:
    """Return a group with its lists and its start; *version* is that of its consumers."""

    def crossed(version: str, settings: dict[str, str], **how: object) -> Group:
        crossing.give(group_name)
        return Group(hosts(version), crossing, group_name, settings, **how)  # type: ignore[arg-type]

    return crossed


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize(("version", "settings"), BOTH, ids=named)
def test_what_is_due_is_delivered_once_and_nothing_else(
    group: Callable[..., Group], version: str, settings: dict[str, str], scenario: str
) -> None:
    crossed = group(version, settings)
    readers = SCENARIOS[scenario](crossed)
    assert values(*readers) == crossed.crossing.due()
    own = committed(crossed.crossing.cluster, [crossed.name])[crossed.name]
    ends = {number: log.end for number, log in crossed.crossing.logs.items()}
    assert {place[1]: found.offset for place, found in own.items()} == ends, "skipped tails are committed too"


@pytest.mark.parametrize(("commits", "scenario"), [("batch", "is restarted"), ("record", "is rebalanced")])
@pytest.mark.parametrize(("version", "settings"), BOTH, ids=named)
def test_so_it_is_where_the_application_commits(
    group: Callable[..., Group], version: str, settings: dict[str, str], commits: str, scenario: str
) -> None:
    crossed = group(version, settings, commits=commits)
    assert values(*SCENARIOS[scenario](crossed)) == crossed.crossing.due()


@pytest.mark.parametrize(
    ("version", "settings", "scenario"),
    [
        ("4.0.1", CLASSIC | QUICK_CLASSIC, "is restarted"),
        ("4.0.1", CONSUMER, "is rebalanced"),
        ("3.6.2", QUICK_CLASSIC, "is rebalanced"),
        ("2.8.2", QUICK_CLASSIC, "reads through"),
    ],
    ids=named,
)
def test_so_it_is_with_other_versions(
    group: Callable[..., Group], version: str, settings: dict[str, str], scenario: str
) -> None:
    crossed = group(version, settings)
    assert values(*SCENARIOS[scenario](crossed)) == crossed.crossing.due()


@pytest.mark.parametrize("settings", [CLASSIC, CONSUMER], ids=named)
def test_marks_add_up_to_what_was_skipped(group: Callable[..., Group], settings: dict[str, str]) -> None:
    crossed = group(NEWEST, settings)
    (reader,) = reads_through(crossed)
    logs = crossed.crossing.logs
    marks = committed(crossed.crossing.cluster, [SEEN + crossed.name])[SEEN + crossed.name]
    assert {place[1]: mark.offset for place, mark in marks.items()} == {each: log.end for each, log in logs.items()}
    told = {
        place[1]: f"offset-sync/1 {offset_sync.__version__} skipped={len(logs[place[1]].read)} "
        f"list={logs[place[1]].start if logs[place[1]].read else '-'} by {crossed.name}-a\0"
        for place in marks
    }
    assert {place[1]: mark.metadata for place, mark in marks.items()} == told
    assert reader.metrics == {
        "skipped-total": crossed.crossing.read,
        "lists": 0,
        "asked-total": reader.metrics["asked-total"],
        "failed-total": 0,
        "admin threads": 1,
    }
    passed = crossed.host.logged(f" of group {crossed.name} has passed its read list from ")
    assert sum(int(re.findall(r"(\d+) records skipped", line)[0]) for line in passed) == crossed.crossing.read


def test_without_marks_the_client_ends_with_the_last_list(group: Callable[..., Group]) -> None:
    crossed = group(NEWEST, CLASSIC | {"offset.sync.marks": "false"})
    (reader,) = reads_through(crossed)
    assert values(reader) == crossed.crossing.due()
    assert reader.metrics["admin threads"] == 0
    assert committed(crossed.crossing.cluster, [SEEN + crossed.name])[SEEN + crossed.name] == {}


def test_clients_that_cannot_write_commits_deliver_everything(group: Callable[..., Group]) -> None:
    crossed = group(OLDEST, {})
    (reader,) = reads_through(crossed)
    assert values(reader) == crossed.crossing.due(skips=False)
    (line,) = crossed.host.logged(f"SkipRead of group {crossed.name} ")
    assert line.endswith(" delivers everything: it needs kafka-clients 2.5 or newer")


@pytest.mark.parametrize(("version", "settings"), [*BOTH, ("2.8.2", QUICK_CLASSIC)], ids=named)
@pytest.mark.parametrize("copied", [False, True], ids=["a list of its own", "a copy of the right list"])
def test_lists_of_another_cluster_that_the_admin_client_reaches_take_nothing_out(
    hosts: Hosts,
    clusters: dict[str, EmbeddedCluster],
    crossing: Crossing,
    group_name: str,
    version: str,
    settings: dict[str, str],
    copied: bool,
) -> None:
    elsewhere = clusters["dc2"]
    give_in_both(crossing, elsewhere, group_name, copied=copied)
    misled = settings | {"misled.to": elsewhere.bootstrap_servers}
    crossed = Group(hosts(version), crossing, group_name, misled, interceptor=MISLED)
    (reader,) = reads_through(crossed)
    assert values(reader) == crossing.due(skips=False)
    assert reader.metrics["skipped-total"] == 0
    (line,) = crossed.host.logged(f"SkipRead of group {group_name} cannot read its lists")
    assert "leads its Admin client to cluster " in line
    assert line.endswith(f", and the consumer reads from cluster {crossing.cluster_id}")
    assert committed(elsewhere, [USED + group_name])[USED + group_name] == {}


@pytest.mark.parametrize(("version", "settings"), BOTH, ids=named)
def test_who_seeks_back_gets_the_same_records_again(
    group: Callable[..., Group], version: str, settings: dict[str, str]
) -> None:
    crossed = group(version, settings)
    (reader,) = seeks_back(crossed, after=20)
    others = [each.value for each in reader.records if each.partition != 0]
    assert sorted(others) == sorted(crossed.crossing.logs[1].due() + crossed.crossing.logs[2].due())


@pytest.mark.parametrize(("version", "settings"), BOTH, ids=named)
def test_a_group_set_back_below_its_list_gets_everything(
    group: Callable[..., Group], version: str, settings: dict[str, str]
) -> None:
    crossed = group(version, settings)
    _, again, rest = is_set_back(crossed)
    due = [value for log in crossed.crossing.logs.values() for value in log.due(log.start - 20, skips=False)]
    assert sorted(each.value for each in [*again.records, *rest.records]) == sorted(due), "after a restart, too"


@pytest.mark.parametrize("settings", [CLASSIC, CONSUMER], ids=named)
def test_so_does_one_that_has_read_into_its_list_before_it_could_be_asked_for(
    group: Callable[..., Group], settings: dict[str, str]
) -> None:
    crossed = group(NEWEST, settings, interceptor=FAILING)
    reader = is_set_back_unasked(crossed, questions=5)
    due = [value for log in crossed.crossing.logs.values() for value in log.due(log.start - 20, skips=False)]
    assert sorted(each.value for each in reader.records) == sorted(due)
    assert reader.metrics["failed-total"] == 5
    assert reader.metrics["asked-total"] > 5


def test_a_list_that_is_taken_away_meanwhile_is_used_for_ten_seconds_at_most(group: Callable[..., Group]) -> None:
    crossed = group(NEWEST, CLASSIC)
    nothing = {(crossed.crossing.topic, number): (0, "") for number in crossed.crossing.logs}
    reader = crossed.start("a", slowly=True)
    until(lambda: len(reader.records) >= 15, 120)
    commit(crossed.crossing.cluster, {READ + crossed.name: nothing})
    crossed.stop("a")
    again = crossed.start("b")
    crossed.crossing.wait_until_read(again)
    crossed.stop("b")
    got = values(reader, again)
    assert crossed.crossing.due() - got == {}, "nothing is lost"
    assert sum(got.values()) > sum(crossed.crossing.due().values()), "and what was skipped no more is delivered"


@pytest.mark.parametrize("settings", [CLASSIC, CONSUMER], ids=named)
@pytest.mark.parametrize("interceptor", [None, FAILING], ids=["no interceptor", "an error thrown inside"])
def test_without_a_working_interceptor_everything_is_delivered(
    group: Callable[..., Group], settings: dict[str, str], interceptor: str | None
) -> None:
    crossed = group(NEWEST, settings, interceptor=interceptor)
    (reader,) = reads_through(crossed)
    assert values(reader) == crossed.crossing.due(skips=False)
    assert interceptor is None or reader.metrics["failed-total"] >= 1


@pytest.mark.parametrize("settings", [CLASSIC, CONSUMER], ids=named)
def test_a_group_without_lists_gets_everything(
    hosts: Hosts, crossing: Crossing, group_name: str, settings: dict[str, str]
) -> None:
    start = {(crossing.topic, number): log.start for number, log in crossing.logs.items()}
    commit(crossing.cluster, {group_name: start})
    (reader,) = reads_through(Group(hosts(NEWEST), crossing, group_name, settings))
    assert values(reader) == crossing.due(skips=False)
    assert reader.metrics["failed-total"] == 0


@pytest.mark.parametrize("settings", [CLASSIC, CONSUMER], ids=named)
def test_lists_that_cannot_be_had_in_time_cost_repeats_and_no_record(
    group: Callable[..., Group], settings: dict[str, str]
) -> None:
    crossed = group(NEWEST, settings)
    (reader,) = reads_through(crossed, offset_sync_wait_ms="1")
    got = values(reader)
    assert crossed.crossing.due() - got == {}, "nothing is lost"
    assert got - crossed.crossing.due(skips=False) == {}, "and nothing delivered twice"
    assert reader.metrics["failed-total"] >= 1


def test_records_of_a_later_leader_epoch_are_delivered(
    hosts: Hosts, clusters: dict[str, EmbeddedCluster], topic_name: str, group_name: str
) -> None:
    crossing = write_crossing(clusters["dc1"], topic_name, records=120)
    clusters["dc1"].restart()
    longer = crossing.with_later_records(60)
    longer.give(group_name, epoch=0)
    (reader,) = reads_through(Group(hosts(NEWEST), longer, group_name, CLASSIC))
    later = longer.due(skips=False) - crossing.due(skips=False)
    assert sum(later.values()) == 60 * len(longer.logs)
    assert values(reader) == crossing.due() + later
