"""What happens to a group in the middle of a crossing; each returns the readers, all of them ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from broker.committed_offsets import admin_for
from broker.crafted_logs import create_topics
from broker.installation import until
from consumer.consumer_host import SKIP_READ, ConsumerHost, Reader
from consumer.crossing import Crossing
from offset_sync_demo.kafka.brokers import EmbeddedCluster

SLOWLY = {"max.poll.records": "5"}
_PAUSE_MS = 150


@dataclass(frozen=True)
class Group:
    """A group that crosses; *settings* are those of its consumers."""

    host: ConsumerHost
    crossing: Crossing
    name: str
    settings: Mapping[str, str]
    commits: str = "auto"
    interceptor: str | None = SKIP_READ

    def start(self, suffix: str, *, slowly: bool = False, **settings: str) -> Reader:
        """Start a consumer; an underscore in the name of a setting means a dot."""
        own = {name.replace("_", "."): value for name, value in settings.items()}
        servers = {"bootstrap.servers": self.crossing.cluster.bootstrap_servers, "group.id": self.name}
        return self.host.start(
            f"{self.name}-{suffix}",
            self.crossing.topic,
            servers | dict(self.settings) | (SLOWLY if slowly else {}) | own,
            interceptor=self.interceptor,
            commits=self.commits,
            pause_ms=_PAUSE_MS if slowly else 0,
        )

    def hurry(self, *suffixes: str) -> None:
        """Let these consumers pause no more."""
        self.host.hurry(*(f"{self.name}-{each}" for each in suffixes))

    def stop(self, *suffixes: str) -> None:
        """End these consumers."""
        self.host.stop(*(f"{self.name}-{each}" for each in suffixes))


def reads_through(group: Group, **settings: str) -> list[Reader]:
    """One consumer reads to the end."""
    reader = group.start("a", **settings)
    group.crossing.wait_until_read(reader)
    group.stop("a")
    return [reader]


def is_restarted(group: Group, **settings: str) -> list[Reader]:
    """One consumer is stopped and started again, twice in the middle."""
    readers = []
    for suffix in ("a", "b"):
        readers.append(group.start(suffix, slowly=True, **settings))
        _wait_for_some(readers[-1])
        group.stop(suffix)
    readers.append(group.start("c", **settings))
    group.crossing.wait_until_read(*readers)
    group.stop("c")
    return readers


def seeks_back(group: Group, *, after: int) -> list[Reader]:
    """One consumer seeks back to a listed record of the first partition, *after* so many others of it."""
    reader = group.start("a", slowly=True)
    until(lambda: len([each for each in reader.records if each.partition == 0]) >= after, 120)
    back = sorted(group.crossing.logs[0].read)[3]
    group.host.seek(f"{group.name}-a", group.crossing.topic, 0, back)
    group.hurry("a")
    group.crossing.wait_until_read(reader)
    group.stop("a")
    before, again = reader.records[: reader.sought_at], reader.records[reader.sought_at :]
    assert [each.value for each in again if each.partition == 0] == group.crossing.logs[0].due(back)
    once = {each.value for each in before if each.partition == 0}
    assert once == set(group.crossing.logs[0].due()[: len(once)])
    return [reader]


def give_in_both(crossing: Crossing, elsewhere: EmbeddedCluster, group: str, *, copied: bool) -> None:
    """Commit the lists of a group at its cluster, and others *elsewhere*, which are of there or *copied*."""
    if admin_for(elsewhere).partition_count(crossing.topic) is None:
        create_topics(elsewhere, {crossing.topic: len(crossing.logs)})
    there = Crossing(elsewhere, crossing.topic, crossing.logs)
    there.give(group, cluster_id=crossing.cluster_id if copied else None)
    crossing.give(group)


def is_rebalanced(group: Group) -> list[Reader]:
    """Members join and leave while others are in the middle."""
    first = group.start("a", slowly=True)
    _wait_for_some(first)
    second = group.start("b", slowly=True)
    _wait_for_some(second)
    third = group.start("c", slowly=True)
    _wait_for_some(third)
    group.stop("a")
    group.hurry("b", "c")
    group.crossing.wait_until_read(first, second, third)
    group.stop("b", "c")
    return [first, second, third]


def is_static(group: Group) -> list[Reader]:
    """A static member is restarted in the middle."""
    return is_restarted(group, group_instance_id=f"{group.name}-member")


SCENARIOS: Mapping[str, Callable[[Group], list[Reader]]] = {
    "reads through": reads_through,
    "is restarted": is_restarted,
    "is rebalanced": is_rebalanced,
    "is static": is_static,
}


def _wait_for_some(reader: Reader) -> None:
    until(lambda: len(reader.records) >= 5 or reader.failure is not None, 120)
    assert reader.failure is None, reader.failure
