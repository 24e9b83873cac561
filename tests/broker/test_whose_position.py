"""Who wrote a commit, where its group is at home, and what ``cutover`` moves: beside running jobs, all at once.

Both clusters hold the same records at the same offsets, so an offset means the same at either. The clock of dc1's
broker is an hour ahead all the time: what is newer is not decided by it.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import TopicPartition

from broker.committed_offsets import admin_for
from broker.crafted_logs import Clusters
from broker.group_member import transaction
from broker.installation import until
from broker.performer import Performer, apart, write_records
from broker.skewed_clock import skewed_by
from broker.stage import SILENCE, SYNC, Case, Pause, Stage
from offset_sync.model.values import TopicPartition as Place
from offset_sync_demo.kafka.brokers import EmbeddedCluster, kill_clusters, start_clusters
from offset_sync_demo.kafka.clients import admin_of

pytestmark = [pytest.mark.broker, pytest.mark.long, pytest.mark.timeout(1200)]

HOUR_MS = 3_600_000


@pytest.fixture(scope="module")
def pair(clusters: Clusters, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clusters]:
    """A dc1 whose clock is fast, and dc2."""
    folder = tmp_path_factory.mktemp("fast")
    options = skewed_by(HOUR_MS, folder / "classes")
    fast: dict[str, EmbeddedCluster] = {}
    try:
        fast |= start_clusters(["dc1"], folder, offsets_partitions=1, java_options=options)
        yield {**fast, "dc2": clusters["dc2"]}
    finally:
        kill_clusters(fast)


def move(case: Performer, source: str, target: str, *options: str) -> None:
    """Move the group as planned; nothing may be wrong with it."""
    said = case.cutover("apply", source, target, "--planned", *options)
    assert said.failures == [], str(said)


def in_sync_and_silent(
    case: Performer, offset: int = 60, partitions: int = 1, home: str = "dc1", other: str = "dc2"
) -> Iterator[Pause]:
    """Let the group have committed at its home some while ago, and have that at the other cluster."""
    case.fill(partitions=partitions)
    for partition in range(partitions):
        case.commit(home, offset, partition=partition)
    yield SILENCE
    for partition in range(partitions):
        case.becomes(partition, **{other: offset})


def of_one_id_and_two_readers_without_membership_neither_is_moved(case: Performer) -> Iterator[Pause]:
    case.fill()
    here, there = case.keep_committing("dc1", 100), case.keep_committing("dc2", 50)
    yield SYNC
    assert case.offsets() == {"dc1": 100, "dc2": 50}
    there.offset = 60
    yield SILENCE
    assert (case.offsets(), here.problems, there.problems) == ({"dc1": 100, "dc2": 60}, [], [])
    rows = [(row["status"], row["state"], row["reason"]) for row in case.report()]
    assert {row[:2] for row in rows} == {("Withheld", "COMMITTED_AT_BOTH")}, rows
    assert all("dc1" in reason and "dc2" in reason for _, _, reason in rows), rows
    here.stop()
    yield SILENCE
    assert case.offsets() == {"dc1": 100, "dc2": 60}, "the group was not set back, so it is moved forward only"
    assert {row["status"] for row in case.report(source_cluster="dc2")} == {"Behind"}


def a_tool_that_alters_the_offset_at_the_target_of_a_member_moves_nothing(case: Performer) -> Iterator[Pause]:
    case.fill()
    case.join("dc1", 50)
    yield SYNC
    case.becomes(dc2=50)
    case.keep_committing("dc2", 70, every=2)
    yield SILENCE
    assert case.offsets() == {"dc1": 50, "dc2": 70}
    assert {row["status"] for row in case.report()} <= {"Withheld", "TargetActive"}


def a_group_that_leaves_a_fast_cluster_without_a_cutover_is_reset_where_it_goes(case: Performer) -> Iterator[Pause]:
    yield from in_sync_and_silent(case, 80)
    case.commit("dc2", 20)
    yield SYNC
    assert case.offset("dc2") == 20
    assert "REWIND" in case.states(source_cluster="dc2")
    yield SILENCE
    case.becomes(dc1=20, dc2=20)
    case.commit("dc2", 21)
    yield SYNC
    case.becomes(dc1=21, dc2=21)


def a_group_that_goes_to_a_fast_cluster_and_comes_back_is_followed(case: Performer) -> Iterator[Pause]:
    yield from in_sync_and_silent(case, 80, home="dc2", other="dc1")
    case.commit("dc1", 90)
    yield SILENCE
    case.becomes(dc1=90, dc2=90)
    case.commit("dc2", 30)
    yield SYNC
    case.becomes(dc1=30, dc2=30)
    named = [line for line in case.report_printed().splitlines() if "clock" in line]
    assert any("dc1" in line for line in named), named


def a_topic_deleted_at_the_source_by_mistake_leaves_the_offset_at_the_target(case: Performer) -> Iterator[Pause]:
    yield from in_sync_and_silent(case)
    case.delete_topic("dc1")
    yield SYNC
    assert case.offset("dc2") == 60
    before = case.commits_at("dc2")
    yield SILENCE
    until(lambda: case.commits_at("dc2") > before)  # it is refreshed, so it does not expire
    assert case.offset("dc2") == 60
    said = case.cutover("apply", "dc1", "dc2", "--disaster")
    assert (said.failures, case.offset("dc2")) == ([], 60), str(said)


def a_partition_that_was_never_committed_is_named_and_gets_its_start_by_the_move(case: Performer) -> Iterator[Pause]:
    case.fill(partitions=2)
    case.commit("dc1", 60)
    yield SILENCE
    case.becomes(dc2=60)
    assert case.offset("dc2", 1) is None
    said = case.cutover("plan", "dc1", "dc2")
    assert f"never committed: {case.topic} partitions 1;" in said.printed
    move(case, "dc1", "dc2")
    assert [case.offset("dc2", number) for number in (0, 1)] == [60, 0]


def a_move_that_is_killed_before_its_last_step_has_moved_nothing(case: Performer) -> Iterator[Pause]:
    """It dies once dc2 holds the start of the partition that was never committed, and before it is written down."""
    case.fill(partitions=2)
    case.commit("dc1", 60)
    yield SILENCE
    case.becomes(dc2=60)
    words = ["--from", "dc1", "--to", "dc2", "--groups", case.group, "--planned", "--timeout", "15s"]
    # Before it are check, wait, check, commit, read_back, verify, and the intent.
    assert case.installation.run("cutover", "apply", *words, kill_at="append.cutovers:8").exit_code == -9
    steps = {(row["step"], row["result"]) for row in case.installation.rows("cutovers", group_id=case.group)}
    assert ("commit", "begun") in steps
    assert not {step for step, _ in steps} & {"home"}
    assert case.offset("dc2", 1) == 0
    case.commit("dc1", 70)
    yield SYNC
    case.becomes(dc1=70, dc2=70)


def a_move_there_and_back_takes_idle_partitions_along(case: Performer) -> Iterator[Pause]:
    yield from in_sync_and_silent(case, partitions=2)
    move(case, "dc1", "dc2")
    case.commit("dc2", 20)  # a reset right after the move
    yield SILENCE
    case.becomes(0, dc1=20, dc2=20)
    move(case, "dc2", "dc1")
    case.commit("dc1", 80)
    yield SYNC
    case.becomes(0, dc1=80, dc2=80)
    case.becomes(1, dc1=60, dc2=60)


def a_partition_that_comes_later_has_a_position_before_it_is_committed(case: Performer) -> Iterator[Pause]:
    case.fill()
    case.commit("dc1", 60)
    yield SYNC
    case.becomes(dc2=60)
    for alias in ("dc1", "dc2"):
        case.add_partitions(alias, 2)
    write_records(case.clusters, case.topic, range(1, 2), 30)
    yield SYNC
    yield SILENCE
    case.becomes(1, dc2=0)
    assert {row["partition"] for row in case.report(source_cluster="dc1")} == {0, 1}


def a_commit_below_the_start_of_both_logs_loses_nothing_by_a_move(case: Performer) -> Iterator[Pause]:
    case.fill(records=200)
    case.commit("dc1", 10)
    yield SYNC
    place = Place(case.topic, 0)
    for cluster in case.clusters.values():
        admin = admin_of(cluster)  # held until the answer is there
        (deleted,) = admin.delete_records([TopicPartition(*place, 100)]).values()
        deleted.result(60)
        assert admin_for(cluster).ends([place])[place].log_start == 100
    yield SILENCE
    assert {(row["status"], row["lost"]) for row in case.report()} == {("InSync", 0)}
    offset = case.offset("dc2")
    assert offset is not None
    assert offset <= 100
    said = case.cutover("verify", "dc1", "dc2")
    assert said.failures == [], str(said)


def a_hanging_transaction_at_the_target_keeps_its_group_waiting_and_no_other(case: Performer) -> Iterator[Pause]:
    case.group = apart(case.group, is_alone=True)
    case.fill()
    case.commit("dc1", 20)
    case.commit_for("other", "dc1", 20)
    yield SYNC
    case.becomes(dc2=20)
    with transaction(case.clusters["dc2"], case.group, (case.topic, 0), 35) as producer:
        case.commit("dc1", 60)
        case.commit_for("other", "dc1", 60)
        yield SILENCE
        yield SILENCE
        assert case.offset("dc2", group=case.named("other")) == 60
        assert case.offset("dc2") == 20
        assert {row["status"] for row in case.report_of("other")} == {"InSync"}
        (row,) = case.report(source_cluster="dc1")
        assert row["status"] != "InSync"
        assert "transaction" in row["reason"], row["reason"]
        assert case.cutover("plan", "dc1", "dc2", group=case.named("other")).failures == []
        assert case.cutover("plan", "dc1", "dc2").failures != []
        producer.abort_transaction(60)
    yield SYNC
    yield SYNC
    case.becomes(dc2=60)


CASES: list[Case] = [
    of_one_id_and_two_readers_without_membership_neither_is_moved,
    a_tool_that_alters_the_offset_at_the_target_of_a_member_moves_nothing,
    a_group_that_leaves_a_fast_cluster_without_a_cutover_is_reset_where_it_goes,
    a_group_that_goes_to_a_fast_cluster_and_comes_back_is_followed,
    a_topic_deleted_at_the_source_by_mistake_leaves_the_offset_at_the_target,
    a_partition_that_was_never_committed_is_named_and_gets_its_start_by_the_move,
    a_move_that_is_killed_before_its_last_step_has_moved_nothing,
    a_move_there_and_back_takes_idle_partitions_along,
    a_partition_that_comes_later_has_a_position_before_it_is_committed,
    a_commit_below_the_start_of_both_logs_loses_nothing_by_a_move,
    a_hanging_transaction_at_the_target_keeps_its_group_waiting_and_no_other,
]


@pytest.fixture(scope="module")
def stage(pair: Clusters, spark_environment: None, tmp_path_factory: pytest.TempPathFactory) -> Stage:
    return Stage(pair, tmp_path_factory.mktemp("whose"), CASES)


@pytest.mark.parametrize("case", [each.__name__ for each in CASES])
def test_each_reader_keeps_its_position_and_what_is_moved_stays_moved(stage: Stage, case: str) -> None:
    stage.ended_well(case)
