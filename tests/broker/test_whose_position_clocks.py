"""A cluster whose brokers' clocks are an hour ahead, or behind: what is newer is not decided by them.

Both clusters hold the same records at the same offsets, so an offset means the same at either.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from broker.committed_offsets import commit
from broker.crafted_logs import Clusters, create_topics
from broker.log_contents import COMMITS
from broker.performer import Performer
from broker.skewed_clock import skewed_by
from broker.stage import MODES, SILENCE, SYNC, Case, Pause, Stage
from offset_sync_demo.kafka.brokers import EmbeddedCluster, kill_clusters, start_clusters
from offset_sync_demo.kafka.clients import read_partition

pytestmark = [pytest.mark.broker, pytest.mark.long, pytest.mark.timeout(1200)]

HOUR_MS = 3_600_000


@pytest.fixture(scope="module")
def unequal_clusters(broker_parts: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clusters]:
    """dc1's clock is an hour ahead."""
    folder = tmp_path_factory.mktemp("unequal")
    started: dict[str, EmbeddedCluster] = {}
    try:
        options = skewed_by(HOUR_MS, folder / "classes")
        started |= start_clusters(["dc1"], folder, offsets_partitions=1, java_options=options)
        started |= start_clusters(["dc2"], folder, offsets_partitions=1)
        yield started
    finally:
        kill_clusters(started)


def in_sync_at(case: Performer, home: str, other: str) -> Iterator[Pause]:
    case.fill()
    case.commit(home, 80)
    yield SILENCE
    case.becomes(dc1=80, dc2=80)


def moved_without_a_cutover(case: Performer, home: str, other: str, offset: int) -> Iterator[Pause]:
    """Let the group go on at *other*, where it is reset to *offset* or has read as far."""
    yield from in_sync_at(case, home, other)
    case.commit(other, offset)
    yield SYNC
    assert case.offset(other) == offset
    yield SILENCE
    case.becomes(dc1=offset, dc2=offset)
    case.commit(other, offset + 1)
    yield SYNC
    case.becomes(dc1=offset + 1, dc2=offset + 1)


def a_group_that_leaves_a_fast_cluster_is_reset_where_it_goes(case: Performer) -> Iterator[Pause]:
    yield from moved_without_a_cutover(case, "dc1", "dc2", 20)


def a_group_that_leaves_a_cluster_that_is_fast_goes_on(case: Performer) -> Iterator[Pause]:
    yield from moved_without_a_cutover(case, "dc1", "dc2", 90)


def a_group_that_goes_to_a_cluster_that_is_fast_is_reset_there(case: Performer) -> Iterator[Pause]:
    yield from moved_without_a_cutover(case, "dc2", "dc1", 20)


def a_group_that_comes_back_from_a_cluster_that_is_fast_is_followed(case: Performer) -> Iterator[Pause]:
    yield from moved_without_a_cutover(case, "dc2", "dc1", 90)
    yield SILENCE
    case.commit("dc2", 30)
    yield SYNC
    case.becomes(dc1=30, dc2=30)


def a_move_from_a_cluster_that_is_fast_is_in_force_at_once(case: Performer) -> Iterator[Pause]:
    yield from in_sync_at(case, "dc1", "dc2")
    said = case.cutover("apply", "dc1", "dc2", "--planned")
    assert said.failures == [], str(said)
    case.commit("dc2", 20)
    yield SYNC
    case.becomes(dc1=20, dc2=20)


def the_report_names_the_cluster_that_is_fast(case: Performer) -> Iterator[Pause]:
    yield from in_sync_at(case, "dc1", "dc2")
    printed = case.report_printed()
    assert "clock" in printed, printed
    assert any("clock" in line and "dc1" in line for line in printed.splitlines()), printed


CASES: list[Case] = [
    a_group_that_leaves_a_fast_cluster_is_reset_where_it_goes,
    a_group_that_leaves_a_cluster_that_is_fast_goes_on,
    a_group_that_goes_to_a_cluster_that_is_fast_is_reset_there,
    a_group_that_comes_back_from_a_cluster_that_is_fast_is_followed,
    a_move_from_a_cluster_that_is_fast_is_in_force_at_once,
    the_report_names_the_cluster_that_is_fast,
]


@pytest.fixture(scope="module")
def stage(unequal_clusters: Clusters, spark_environment: None, tmp_path_factory: pytest.TempPathFactory) -> Stage:
    return Stage(unequal_clusters, tmp_path_factory.mktemp("fast"), CASES)


def test_the_broker_stamps_commits_an_hour_ahead(unequal_clusters: Clusters, topic_name: str) -> None:
    create_topics(unequal_clusters["dc1"], {topic_name: 1})
    commit(unequal_clusters["dc1"], {f"{topic_name}-group": {(topic_name, 0): 0}})
    stamped = [
        record.timestamp()[1]
        for record in read_partition(unequal_clusters["dc1"], (COMMITS, 0))
        if topic_name.encode() in (record.key() or b"")
    ]
    assert abs(stamped[-1] - time.time() * 1000 - HOUR_MS) < 60_000


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", [each.__name__ for each in CASES])
def test_a_wrong_clock_decides_nothing(stage: Stage, case: str, mode: str) -> None:
    stage.ended_well(case, mode)
