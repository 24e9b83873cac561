"""Read lists as sync_offsets hands them over between real clusters, and consumers with the interceptor that go by them.

Both clusters produce into one topic::

    dc1   0    1    2       3    4       5    6    7
          n0   n1   dc2:0   n3   dc2:3   n5   n6   dc2:4     committed: 6
    dc2   0    1       2       3    4    5       6    7
          n0   dc1:0   dc1:1   n3   n4   dc1:3   n6   dc1:5  the start: 4, on the list: 5 and 7
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pytest

from broker.committed_offsets import Partition, commit, committed
from broker.crafted_logs import Clusters, create_topics, write_log
from broker.installation import Installation, install, until
from consumer.consumer_host import NEWEST, ConsumerHost, consumer_hosts
from consumer.moving import cutover
from offset_sync.translate.read_list import decode_read_list
from oracles.translation import LogRecord

pytestmark = [pytest.mark.broker, pytest.mark.long]
TOPIC = "handed-over"
PLACE: Partition = (TOPIC, 0)
AT_DC1 = [("dc1", 0), ("dc1", 1), ("dc2", 0), ("dc1", 3), ("dc2", 3), ("dc1", 5), ("dc1", 6), ("dc2", 4)]
AT_DC2 = [("dc2", 0), ("dc1", 0), ("dc1", 1), ("dc2", 3), ("dc2", 4), ("dc1", 3), ("dc2", 6), ("dc1", 5)]
RETURNING = "skipping-returning"
RETURNED: Partition = ("returned", 0)
"""The same, and each cluster has the last record of the other."""
SKIPPING = ["skipping-classic", "skipping-consumer"]


@pytest.fixture(scope="module")
def host(broker_parts: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsumerHost]:
    with consumer_hosts(tmp_path_factory) as hosts:
        yield hosts(NEWEST)


@dataclass(frozen=True)
class Handed:
    """The offsets at dc2 when it was synced, before any group read there."""

    installation: Installation
    stood: Mapping[str, tuple[int, str] | None]


@pytest.fixture(scope="module")
def handed(clusters: Clusters, spark_environment: None, tmp_path_factory: pytest.TempPathFactory) -> Handed:
    """Synced once, with a commit of 6 at dc1 by all groups."""
    for alias, log in (("dc1", AT_DC1), ("dc2", AT_DC2)):
        create_topics(clusters[alias], {TOPIC: 1})
        write_log(clusters[alias], {PLACE: [LogRecord(offset, *each) for offset, each in enumerate(log)]})
    for alias, log in (("dc1", [*AT_DC1, ("dc2", 6)]), ("dc2", [*AT_DC2, ("dc1", 6)])):
        create_topics(clusters[alias], {RETURNED[0]: 1})
        write_log(clusters[alias], {RETURNED: [LogRecord(offset, *each) for offset, each in enumerate(log)]})
    commit(clusters["dc1"], {**{group: {PLACE: 6} for group in (*SKIPPING, "plain")}, RETURNING: {RETURNED: 6}})
    servers = {alias: clusters[alias].bootstrap_servers for alias in ("dc1", "dc2")}
    lists = {"read_lists": {"groups": ["skipping-.*"]}}
    installation = install(tmp_path_factory.mktemp(TOPIC), servers, [TOPIC, RETURNED[0]], sync=lists)
    assert installation.index() == []
    assert installation.sync() == []
    groups = [each for group in (*SKIPPING, "plain") for each in (group, f"__offset-sync.read.{group}")]
    return Handed(installation, {group: held(clusters, "dc2", group) for group in groups})


def held(clusters: Clusters, alias: str, group: str, place: Partition = PLACE) -> tuple[int, str] | None:
    found = committed(clusters[alias], [group])[group].get(place)
    return None if found is None else (found.offset, found.metadata)


@pytest.mark.parametrize("group", SKIPPING)
def test_the_list_is_beside_the_answer_to_the_byte(handed: Handed, group: str) -> None:
    assert handed.stood[group] == (4, "")
    stands = handed.stood[f"__offset-sync.read.{group}"]
    assert stands is not None
    assert stands[1].endswith("\0")
    found = decode_read_list(stands[1])
    assert found is not None
    assert (found.read_list.start, stands[0]) == (4, 4)
    ranges = found.read_list.ranges
    assert (ranges.start.tolist(), ranges.length.tolist()) == ([5, 7], [1, 1])


def test_a_group_that_is_not_named_has_none_and_groups_of_ours_are_no_groups(handed: Handed) -> None:
    assert (handed.stood["plain"], handed.stood["__offset-sync.read.plain"]) == ((4, ""), None)
    assert handed.installation.sync() == []
    assert {row["group_id"] for row in handed.installation.translations()} == {*SKIPPING, RETURNING, "plain"}


@pytest.mark.parametrize("group", [*SKIPPING, "plain"])
def test_a_consumer_with_the_interceptor_gets_what_the_group_has_not_read(
    handed: Handed, clusters: Clusters, host: ConsumerHost, group: str
) -> None:
    protocol = {"group.protocol": "consumer" if group.endswith("consumer") else "classic"}
    servers = {"bootstrap.servers": clusters["dc2"].bootstrap_servers, "group.id": group}
    reader = host.start(f"{group}-at-dc2", TOPIC, servers | protocol)
    until(lambda: reader.positions.get(0) == len(AT_DC2) or reader.failure, 120)
    host.stop(f"{group}-at-dc2")
    assert [each.offset for each in reader.records] == ([4, 5, 6, 7] if group == "plain" else [4, 6])
    if group != "plain":
        assert handed.installation.sync() == []
        stands = held(clusters, "dc2", f"__offset-sync.read.{group}")
        assert stands is not None
        found = decode_read_list(stands[1])
        assert found is not None
        assert len(found.read_list.ranges.start) == 0, "the group is past it"


def test_a_group_moves_back_once_it_is_past_its_list_and_before_that_nothing_is_changed(
    handed: Handed, clusters: Clusters, host: ConsumerHost
) -> None:
    installation, of_group = handed.installation, ("--planned", "--groups", RETURNING)

    def stands() -> list[tuple[int, str] | None]:
        groups = (RETURNING, f"__offset-sync.read.{RETURNING}")
        return [held(clusters, alias, group, RETURNED) for alias in ("dc1", "dc2") for group in groups]

    before = stands()
    assert before[::2] == [(6, ""), (4, "")]
    assert cutover(installation, "apply", "dc1", "dc2", *of_group, "--skip-read", "--without-proof") == []
    for _ in range(3):
        assert cutover(installation, "plan", "dc2", "dc1", *of_group) == [f"{RETURNING} may not be moved"]
        (failure,) = cutover(installation, "apply", "dc2", "dc1", *of_group)
        assert "still skip up to 8 at dc2: start them there" in failure
        assert installation.sync() == []
        assert stands() == before  # the answer to 4 at dc2 is 3
    reader = host.start(
        RETURNING, RETURNED[0], {"bootstrap.servers": clusters["dc2"].bootstrap_servers, "group.id": RETURNING}
    )
    until(lambda: reader.positions.get(0) == len(AT_DC2) + 1 or reader.failure, 120)
    host.stop(RETURNING)
    assert [each.offset for each in reader.records] == [4, 6, 8]
    assert installation.sync() == []
    assert cutover(installation, "apply", "dc2", "dc1", *of_group, "--confirm-readers") == []
    assert installation.rows("cutovers", step="check", source_cluster="dc2", result="done")[-1]["duplicates"] == 0
    assert installation.sync() == []
    assert [each and each[0] for each in stands()[::2]] == [9, 9]
    assert not [row for row in installation.translations() if row["state"] == "REWIND" or row["outcome"] == "REWIND"]
