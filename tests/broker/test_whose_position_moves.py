"""What ``cutover`` moves stays moved, and the trouble of one partition or group is that one's alone.

What expires, is deleted, reset or committed at the side that was left; partitions that come, records that go,
transactions. Both clusters hold the same records at the same offsets, so an offset means the same at either.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from broker.committed_offsets import admin_for, commit, committed
from broker.crafted_logs import Clusters, native_log, write_log
from broker.installation import install
from broker.performer import Performer, fill_topic, write_records
from broker.raw_requests import commit_as_simple_consumer
from broker.stage import MODES, SILENCE, SYNC, Case, Pause, Stage
from offset_sync.model.values import TopicPartition as Place
from offset_sync_demo.kafka.clients import admin_of, client_options

pytestmark = [pytest.mark.broker, pytest.mark.long, pytest.mark.timeout(1200)]


def move(case: Performer, source: str, target: str, *options: str) -> None:
    """Move the group as planned; nothing may be wrong with it."""
    said = case.cutover("apply", source, target, "--planned", *options)
    assert said.failures == [], str(said)


def in_sync_and_silent(case: Performer, offset: int = 60, partitions: int = 1) -> Iterator[Pause]:
    """Let the group have committed at dc1 some while ago, and have that at dc2."""
    case.fill(partitions=partitions)
    for partition in range(partitions):
        case.commit("dc1", offset, partition=partition)
    yield SILENCE
    for partition in range(partitions):
        case.becomes(partition, dc2=offset)


def what_expires_at_the_side_that_was_left_stays_at_the_new_home(case: Performer) -> Iterator[Pause]:
    yield from in_sync_and_silent(case)
    move(case, "dc1", "dc2")
    homes = case.installation.rows("cutovers", group_id=case.group, step="home")
    assert [(row["source_cluster"], row["target_cluster"], row["result"]) for row in homes] == [("dc1", "dc2", "done")]
    case.delete_group("dc1")
    yield SYNC
    yield SYNC
    case.becomes(dc1=60, dc2=60)
    said = case.cutover("plan", "dc2", "dc1")
    assert said.failures == [], str(said)


def a_topic_deleted_at_the_source_by_mistake_leaves_the_offset_at_the_target(case: Performer) -> Iterator[Pause]:
    yield from in_sync_and_silent(case)
    case.delete_topic("dc1")
    yield SYNC
    assert case.offset("dc2") == 60
    before = case.commits_at("dc2")
    yield SILENCE
    assert case.offset("dc2") == 60
    assert case.commits_at("dc2") > before, "not refreshed, so it expires"
    said = case.cutover("apply", "dc1", "dc2", "--disaster")
    assert (said.failures, case.offset("dc2")) == ([], 60), str(said)


def a_partition_that_was_never_committed_is_named_and_gets_its_start_by_the_move(case: Performer) -> Iterator[Pause]:
    case.fill(partitions=2)
    case.commit("dc1", 60)
    yield SILENCE
    case.becomes(dc2=60)
    assert case.offset("dc2", 1) is None
    assert "never committed" in case.report_printed() or 1 in {row["partition"] for row in case.report()}
    said = case.cutover("plan", "dc1", "dc2")
    assert f"{case.topic}-1" in said.printed or f"never committed 1 partitions of {case.topic} (1)" in said.printed
    move(case, "dc1", "dc2")
    assert [case.offset("dc2", number) for number in (0, 1)] == [60, 0]


def a_partition_that_only_the_target_has_is_named_and_gets_its_start_by_the_move(case: Performer) -> Iterator[Pause]:
    case.fill()
    case.commit("dc1", 60)
    yield SILENCE
    case.becomes(dc2=60)
    case.add_partitions("dc2", 2)
    said = case.cutover("plan", "dc1", "dc2")
    assert f"never committed 1 partitions of {case.topic} (1)" in said.printed
    move(case, "dc1", "dc2")
    assert [case.offset("dc2", number) for number in (0, 1)] == [60, 0]


def a_partition_that_was_never_committed_is_left_so_on_demand(case: Performer) -> Iterator[Pause]:
    case.fill(partitions=2)
    case.commit("dc1", 60)
    yield SILENCE
    case.becomes(dc2=60)
    move(case, "dc1", "dc2", "--leave-uncommitted")
    assert [case.offset("dc2", number) for number in (0, 1)] == [60, None]


def a_reader_without_membership_that_commits_keeps_its_group_from_a_planned_move(case: Performer) -> Iterator[Pause]:
    case.fill()
    reader = case.keep_committing("dc1", 60)
    yield SYNC
    case.becomes(dc2=60)
    case.take_in()
    said = case.cutover("plan", "dc1", "dc2", "--planned")
    assert "without members" in said.printed + "".join(said.failures), str(said)
    case.take_in()  # else the newest commit that is known may be older than sync.home_silence by now
    said = case.cutover("apply", "dc1", "dc2", "--planned")
    assert len(said.failures) == 1
    assert "without members" in said.failures[0]
    assert case.installation.rows("cutovers", group_id=case.group, step="home") == []
    reader.stop()
    move(case, "dc1", "dc2", "--confirm-readers")


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
    yield SILENCE
    case.commit("dc1", 70)
    yield SYNC
    case.becomes(dc1=70, dc2=70)


def a_reset_right_after_the_move_is_followed(case: Performer) -> Iterator[Pause]:
    yield from in_sync_and_silent(case)
    move(case, "dc1", "dc2")
    case.commit("dc2", 20)
    yield SYNC
    case.becomes(dc1=20, dc2=20)


def a_reset_forward_right_after_the_move_is_followed(case: Performer) -> Iterator[Pause]:
    yield from in_sync_and_silent(case)
    move(case, "dc1", "dc2")
    case.commit("dc2", 90)
    yield SYNC
    case.becomes(dc1=90, dc2=90)


def a_move_there_and_back_takes_idle_partitions_along(case: Performer) -> Iterator[Pause]:
    yield from in_sync_and_silent(case, partitions=2)
    move(case, "dc1", "dc2")
    case.commit("dc2", 70)
    yield SILENCE
    case.becomes(0, dc1=70)
    move(case, "dc2", "dc1")
    case.commit("dc1", 80)
    yield SYNC
    case.becomes(0, dc1=80, dc2=80)
    case.becomes(1, dc1=60, dc2=60)


def a_reset_of_an_idle_partition_after_the_move_is_followed(case: Performer) -> Iterator[Pause]:
    yield from in_sync_and_silent(case, partitions=2)
    move(case, "dc1", "dc2")
    yield SYNC
    case.commit("dc2", 15, partition=1)
    yield SYNC
    case.becomes(0, dc1=60, dc2=60)
    case.becomes(1, dc1=15, dc2=15)


def moves_in_a_row_leave_the_group_where_the_last_one_led(case: Performer) -> Iterator[Pause]:
    yield from in_sync_and_silent(case)
    move(case, "dc1", "dc2")
    move(case, "dc1", "dc2")
    move(case, "dc2", "dc1")
    case.commit("dc1", 50)
    yield SYNC
    case.becomes(dc1=50, dc2=50)


def a_reader_that_was_left_at_the_old_side_after_a_move_is_not_pushed(case: Performer) -> Iterator[Pause]:
    yield from in_sync_and_silent(case)
    move(case, "dc1", "dc2")
    moved = case.keep_committing("dc2", 90)
    left = case.keep_committing("dc1", 65)
    yield SILENCE
    assert (case.offsets(), moved.problems, left.problems) == ({"dc1": 65, "dc2": 90}, [], [])
    assert "COMMITTED_AT_BOTH" in case.states()


def delete_records(case: Performer, alias: str, before: int) -> None:
    """Let the log of a cluster begin at *before*."""
    admin = admin_of(case.clusters[alias])  # held until the answer is there
    asked = admin.delete_records([TopicPartition(case.topic, 0, before)])
    for future in asked.values():
        future.result(60)
    place = Place(case.topic, 0)
    assert admin_for(case.clusters[alias]).ends([place])[place].log_start == before


def a_partition_that_comes_later_has_a_position_at_the_target_before_the_group_commits_it(
    case: Performer,
) -> Iterator[Pause]:
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
    said = case.cutover("plan", "dc1", "dc2")
    assert said.failures == [], str(said)


def partitions_added_at_the_source_alone_withhold_themselves_and_no_other(case: Performer) -> Iterator[Pause]:
    case.fill(partitions=2)
    case.commit("dc1", 60, partition=0)
    case.commit("dc1", 60, partition=1)
    yield SYNC
    case.becomes(0, dc2=60)
    case.becomes(1, dc2=60)
    case.add_partitions("dc1", 3)
    write_log(case.clusters["dc1"], {(case.topic, 2): native_log("dc1", 30)})
    case.commit("dc1", 70, partition=0)
    case.commit("dc1", 10, partition=1)
    case.commit("dc1", 20, partition=2)
    yield SYNC
    case.becomes(0, dc2=70)
    case.becomes(1, dc2=10)
    states = {number: case.states(partition=number) for number in range(3)}
    assert states[2] == {"PARTITIONS_DIFFER"}
    assert "PARTITIONS_DIFFER" not in states[0] | states[1]
    status = {row["partition"]: row["status"] for row in case.report()}
    assert status[2] == "Withheld"
    assert "Withheld" not in (status[0], status[1])


def a_commit_below_the_start_of_both_logs_loses_nothing_by_a_move(case: Performer) -> Iterator[Pause]:
    case.fill(records=200)
    case.commit("dc1", 10)
    yield SYNC
    for alias in ("dc1", "dc2"):
        delete_records(case, alias, before=100)
    yield SILENCE
    assert {(row["status"], row["lost"]) for row in case.report()} == {("InSync", 0)}
    offset = case.offset("dc2")
    assert offset is not None
    assert offset <= 100
    assert case.cutover("plan", "dc1", "dc2").failures == []
    said = case.cutover("verify", "dc1", "dc2")
    assert said.failures == [], str(said)


def a_hanging_transaction_at_the_target_keeps_its_group_waiting_and_no_other(case: Performer) -> Iterator[Pause]:
    case.fill()
    case.commit("dc1", 20)
    case.commit_for("other", "dc1", 20)
    yield SYNC
    case.becomes(dc2=20)
    hanging = Hanging(case)
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
    hanging.abort()
    yield SYNC
    yield SYNC
    case.becomes(dc2=60)


class Hanging:
    """A producer that has sent an offset of the case's group in a transaction, and says no more."""

    def __init__(self, case: Performer) -> None:
        cluster = case.clusters["dc2"]
        self._options = client_options(
            cluster.bootstrap_servers, transactional_id=case.group, transaction_timeout_ms=600_000
        )
        self._producer = Producer(self._options)
        consumer = Consumer(client_options(cluster.bootstrap_servers, group_id=case.group))
        self._producer.init_transactions(60)
        self._producer.begin_transaction()
        offsets = [TopicPartition(case.topic, 0, 35)]
        self._producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), 60)
        consumer.close()

    def abort(self) -> None:
        """End the transaction as another producer of the same id does."""
        Producer(self._options).init_transactions(60)


CASES: list[Case] = [
    what_expires_at_the_side_that_was_left_stays_at_the_new_home,
    a_topic_deleted_at_the_source_by_mistake_leaves_the_offset_at_the_target,
    a_partition_that_was_never_committed_is_named_and_gets_its_start_by_the_move,
    a_partition_that_only_the_target_has_is_named_and_gets_its_start_by_the_move,
    a_partition_that_was_never_committed_is_left_so_on_demand,
    a_reader_without_membership_that_commits_keeps_its_group_from_a_planned_move,
    a_reset_right_after_the_move_is_followed,
    a_reset_forward_right_after_the_move_is_followed,
    a_move_that_is_killed_before_its_last_step_has_moved_nothing,
    a_move_there_and_back_takes_idle_partitions_along,
    a_reset_of_an_idle_partition_after_the_move_is_followed,
    moves_in_a_row_leave_the_group_where_the_last_one_led,
    a_reader_that_was_left_at_the_old_side_after_a_move_is_not_pushed,
    a_partition_that_comes_later_has_a_position_at_the_target_before_the_group_commits_it,
    partitions_added_at_the_source_alone_withhold_themselves_and_no_other,
    a_commit_below_the_start_of_both_logs_loses_nothing_by_a_move,
    a_hanging_transaction_at_the_target_keeps_its_group_waiting_and_no_other,
]


@pytest.fixture(scope="module")
def stage(clusters: Clusters, spark_environment: None, tmp_path_factory: pytest.TempPathFactory) -> Stage:
    return Stage(clusters, tmp_path_factory.mktemp("moves"), CASES)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", [each.__name__ for each in CASES])
def test_what_was_moved_stays_moved(stage: Stage, case: str, mode: str) -> None:
    stage.ended_well(case, mode)


@pytest.mark.parametrize("point", ["sync_offsets.after_commit", "sync_offsets.before_history"])
def test_what_a_driver_wrote_that_died_before_it_was_written_down_is_ours(
    clusters: Clusters, spark_environment: None, tmp_path_factory: pytest.TempPathFactory, topic_name: str, point: str
) -> None:
    group, place = f"{topic_name}-group", (topic_name, 0)
    fill_topic(clusters, topic_name, 1, 100)
    servers = {alias: clusters[alias].bootstrap_servers for alias in ("dc1", "dc2")}
    installation = install(tmp_path_factory.mktemp("died"), servers, [topic_name])
    commit(clusters["dc1"], {group: {place: 60}})
    assert installation.index() == []
    assert installation.run("sync_offsets", "--once", kill_at=point).exit_code == -9
    assert committed(clusters["dc2"], [group])[group][place].offset == 60
    assert installation.sync() == []
    commit(clusters["dc1"], {group: {place: 10}})
    assert installation.sync() == []
    held = {alias: committed(clusters[alias], [group])[group][place].offset for alias in ("dc1", "dc2")}
    assert held == {"dc1": 10, "dc2": 10}, installation.translations(group_id=group)
    assert installation.translations(group_id=group, state="COMMITTED_AT_BOTH") == []


def test_an_empty_group_id_is_left_out_and_fails_nothing(
    clusters: Clusters, spark_environment: None, tmp_path_factory: pytest.TempPathFactory, topic_name: str
) -> None:
    group, place = f"{topic_name}-group", (topic_name, 0)
    fill_topic(clusters, topic_name, 1, 100)
    servers = {alias: clusters[alias].bootstrap_servers for alias in ("dc1", "dc2")}
    installation = install(tmp_path_factory.mktemp("empty"), servers, [topic_name])
    assert commit_as_simple_consumer(clusters["dc1"], "", place, 40) == 0
    commit(clusters["dc1"], {group: {place: 60}})
    assert installation.index() == []
    for _ in range(2):
        assert installation.sync() == []
    assert committed(clusters["dc2"], [group])[group][place].offset == 60
    assert installation.report() == []
