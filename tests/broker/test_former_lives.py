"""Logs that begin another life on real brokers, and topics that are missing, differ, lost records or are not indexed.

The answers about them are right for the present records, and no other topic is concerned. Each topic holds 20 records
of dc1 on dc1, and the same ones on dc2 unless its name says otherwise; what a group has read is known by content.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition as Position

from broker.cluster_actions import Acts, only
from broker.committed_offsets import Partition, admin_for, commit, committed
from broker.crafted_logs import Clusters, Entries, copied_log, create_topics, delete_topic, native_log, write_log
from broker.installation import install
from broker.segments import keep_records
from offset_sync.kafka.leader_epochs import LeaderEpochs
from offset_sync.model.values import EpochChange, ReportedEnd, TopicPartition
from offset_sync.state import failpoints
from offset_sync_demo.kafka.brokers import EmbeddedCluster
from offset_sync_demo.kafka.clients import admin_of

pytestmark = [pytest.mark.broker, pytest.mark.long, pytest.mark.timeout(1200)]

HEALTHY, ONLY_THERE, WIDER = "held-healthy", "held-only-on-dc1", "held-wider"
RECREATED, RECREATED_AT_SOURCE, GONE = "held-recreated-on-dc2", "held-recreated-on-dc1", "held-gone-on-dc2"
DELETED, EMPTIED, LATER = "held-deleted-on-dc2", "held-emptied-on-dc2", "held-not-indexed"
TRUNCATED, FILLED = "held-truncated-on-dc2", "held-hole-filled-late"
REGROWN, THIRD = "held-regrown-on-dc1", "held-third"
COPIED = (
    HEALTHY, ONLY_THERE, WIDER, RECREATED, RECREATED_AT_SOURCE, GONE, DELETED, EMPTIED, LATER, TRUNCATED, REGROWN
)  # fmt: skip
COUNT = 20
COMMITS = {
    **dict.fromkeys(COPIED, 6),
    f"{WIDER}-0": 7,
    f"{DELETED}-15": 15,
    f"{REGROWN}-4": 4,
    f"{REGROWN}-8": 8,
    f"{THIRD}-10": 10,
    f"{THIRD}-35": 35,
    FILLED: 5,
}
"""What each group has committed at dc1; its id begins with its topic's name."""


def at(group: str) -> Partition:
    """Return what a group reads: of the topic that has more partitions at dc1, the one that is missing at dc2."""
    topic = next(each for each in (*COPIED, FILLED, THIRD) if group == each or group.startswith(f"{each}-"))
    return topic, int(group == WIDER)


def commit_for(clusters: Clusters, *groups: str) -> None:
    commit(clusters["dc1"], {group: {at(group): COMMITS[group]} for group in groups})


def create(clusters: Clusters, topics: Sequence[str]) -> None:
    """Create topics, with their records and copies in batches of at most six."""
    there = [topic for topic in topics if topic != ONLY_THERE]
    create_topics(clusters["dc1"], {topic: 2 if topic == WIDER else 1 for topic in topics})
    create_topics(clusters["dc2"], dict.fromkeys(there, 1))
    for count in (6, COUNT):
        write_log(clusters["dc1"], {(topic, 0): native_log("dc1", count) for topic in topics})
        write_log(clusters["dc2"], {(topic, 0): copied_log("dc1", range(count)) for topic in there})
    write_log(clusters["dc1"], {(WIDER, 1): native_log("dc1", COUNT)} if WIDER in topics else {})


def delete_below(cluster: EmbeddedCluster, topic: str, offset: int) -> None:
    admin = admin_of(cluster)  # held until the answer is there
    (future,) = admin.delete_records([Position(topic, 0, offset)]).values()
    assert future.result(120).low_watermark == offset


def recreate(cluster: EmbeddedCluster, topic: str, entries: Entries) -> None:
    delete_topic(cluster, topic)
    create_topics(cluster, {topic: 1})
    write_log(cluster, {(topic, 0): entries})


def told_where_the_first_epoch_ended(cluster: EmbeddedCluster, place: TopicPartition) -> list[object]:
    """Return what is told by who knows the present leader's epoch, and by who is not leader any more."""
    now = admin_for(cluster).ends([place])[place].leader_epoch
    assert now is not None
    assert now > 1, "it was without a leader in between"
    epochs = LeaderEpochs(cluster.alias, {"bootstrap.servers": cluster.bootstrap_servers})
    changes = EpochChange(0, now), EpochChange(0, now + 1), EpochChange(now - 1, now)
    return [epochs.ends_in_time({place: change}) for change in changes]


@pytest.fixture(scope="module")
def acts(three_clusters: Clusters, spark_environment: None, tmp_path_factory: pytest.TempPathFactory) -> Acts:
    clusters = three_clusters
    dc1, dc2, dc3 = (clusters[alias] for alias in ("dc1", "dc2", "dc3"))
    create(clusters, [topic for topic in COPIED if topic != LATER])
    for cluster in (dc1, dc2, dc3):
        create_topics(cluster, {THIRD: 1})
    write_log(dc3, {(THIRD, 0): native_log("dc3", 40)})
    for cluster in (dc1, dc2):
        write_log(cluster, {(THIRD, 0): copied_log("dc3", range(40))})
        create_topics(cluster, {FILLED: 1})
    write_log(dc1, {(FILLED, 0): copied_log("dc2", [0, 1, 2, 4, 5])})
    write_log(dc2, {(FILLED, 0): native_log("dc2", 10)})
    acts = Acts(clusters, install(tmp_path_factory.mktemp("held"), clusters, ["held-.*"]), [*COMMITS, "held-all"])
    assert acts.installation.index() == []
    create(clusters, [LATER])
    commit_for(clusters, *(group for group in COMMITS if at(group)[0] != THIRD))
    commit(dc1, {"held-all": {at(topic): 6 for topic in COPIED}})
    delete_below(dc2, DELETED, 10)
    delete_below(dc2, EMPTIED, COUNT)
    recreate(dc2, RECREATED, copied_log("dc1", range(3)))
    delete_topic(dc2, GONE)
    acts.play()
    # dc1 loses records that dc2 has, and gets others at the same offsets, which go to dc2 too.
    keep_records(dc1, REGROWN, 0, 6)
    told = told_where_the_first_epoch_ended(dc1, TopicPartition(REGROWN, 0))
    place = TopicPartition(REGROWN, 0)
    assert told[:2] == [{place: ReportedEnd(6)}, {}], "a broker that lacks an epoch is no leader"
    assert told[2] == {place: ReportedEnd(6, is_certain=False)}, "of the epoch without records it tells another"
    write_log(dc1, {(REGROWN, 0): native_log("dc1", COUNT + 2)})
    write_log(dc2, {(REGROWN, 0): copied_log("dc1", [*range(COUNT), *range(6, COUNT + 2)])})
    # dc3's topic is recreated; dc1 and dc2 have copies of the old life, dc2 the new ones behind them.
    recreate(dc3, THIRD, native_log("dc3", 20))
    write_log(dc2, {(THIRD, 0): copied_log("dc3", [*range(40), *range(20)])})
    commit_for(clusters, f"{THIRD}-10", f"{THIRD}-35")
    recreate(dc1, RECREATED_AT_SOURCE, native_log("dc1", COUNT))
    commit(dc1, {RECREATED_AT_SOURCE: {at(RECREATED_AT_SOURCE): 9}})
    write_log(dc1, {(FILLED, 0): copied_log("dc2", [0, 1, 2, 4, 5, 3])})
    keep_records(dc2, TRUNCATED, 0, 0)
    assert acts.installation.index() == []
    acts.play()
    write_log(dc2, {(TRUNCATED, 0): copied_log("dc1", range(5, 35))})
    commit(dc1, {TRUNCATED: {at(TRUNCATED): 18}, f"{REGROWN}-8": {at(REGROWN): 9}})
    assert acts.installation.index() == []
    acts.play()
    return acts


def offsets(acts: Acts, group: str, count: int = 3) -> list[int | None]:
    return [acts.offset(act, "dc2", group, at(group)) for act in range(count)]


def said(acts: Acts, act: int, group: str) -> list[tuple[str, str]]:
    return acts.said(act, group, target_cluster="dc2")


def test_what_is_wrong_with_other_topics_does_not_concern_a_healthy_one(acts: Acts) -> None:
    assert acts.failures == [[], [], []]
    assert said(acts, 0, HEALTHY) == [("EXACT", "COMMITTED")]
    assert offsets(acts, HEALTHY) == [acts.offset(act, "dc2", "held-all", at(HEALTHY)) for act in range(3)] == [6] * 3
    rows = acts.installation.rows("log_incarnations", topic=HEALTHY)
    assert {row["reason"] for row in rows} <= {None, "ELECTED"}, "its log only got another leader"
    assert said(acts, 0, f"{WIDER}-0") == [("EXACT", "COMMITTED")], "the partition that both clusters have"
    assert offsets(acts, f"{WIDER}-0", 1) == [7]


@pytest.mark.parametrize(
    ("topic", "state"),
    [
        (ONLY_THERE, "TOPIC_MISSING"),
        (GONE, "TOPIC_MISSING"),
        (WIDER, "PARTITIONS_DIFFER"),
        (RECREATED, "TOPIC_RECREATED"),
        (LATER, "NOT_INDEXED"),
    ],
)
def test_a_topic_that_cannot_be_translated_is_withheld_with_the_reason(acts: Acts, topic: str, state: str) -> None:
    for group in (topic, "held-all"):
        assert acts.value(0, "dc2", group, at(topic)) is None
        row = only(acts.rows(0, group_id=group, topic=topic, target_cluster="dc2"))
        assert (row["state"], row["outcome"], row["target_offset"]) == (state, "WITHHELD", None)


def test_a_topic_is_answered_as_soon_as_it_is_indexed_and_so_is_its_new_life(acts: Acts) -> None:
    """Of the six records that the group has read the new log has three, and nothing else."""
    assert (said(acts, 1, LATER), offsets(acts, LATER)[1]) == ([("EXACT", "COMMITTED")], 6)
    assert (said(acts, 1, RECREATED), offsets(acts, RECREATED)[1]) == ([("AT_FRONTIER", "COMMITTED")], 3)
    ids = {row["topic_id"] for row in acts.installation.rows("indexed_topics", cluster="dc2", topic=RECREATED)}
    assert len(ids) == 2


def test_the_copies_of_a_topic_that_its_source_has_recreated_are_unread(acts: Acts) -> None:
    """The commit names the new topic, of whose records dc2 has none: what it has are copies of the old ones."""
    assert offsets(acts, RECREATED_AT_SOURCE)[:2] == [6, 0]
    assert said(acts, 1, RECREATED_AT_SOURCE) == [("EXACT", "COMMITTED")]


def test_a_target_that_lost_its_records_is_answered_by_its_present_ones(acts: Acts) -> None:
    """It came back empty, and then the mirror brought the records from 5 on; the group has read those below 18."""
    assert [said(acts, act, TRUNCATED)[-1][0] for act in range(3)] == ["EXACT", "AT_FRONTIER", "EXACT"]
    assert offsets(acts, TRUNCATED) == [6, 0, 13]


def test_a_record_that_the_mirror_brings_late_moves_our_offset_back_to_it(acts: Acts) -> None:
    assert offsets(acts, FILLED)[:2] == [6, 3]


def test_an_answer_below_the_log_start_is_committed_there_and_its_loss_counted(acts: Acts) -> None:
    found = {
        group: only(acts.rows(0, group_id=group, target_cluster="dc2")) for group in (DELETED, f"{DELETED}-15", EMPTIED)
    }
    assert [(row["target_offset"], row["lost"]) for row in found.values()] == [(10, 4), (15, 0), (COUNT, COUNT - 6)]
    assert [offsets(acts, group)[0] for group in found] == [10, 15, COUNT]


def test_a_commit_to_lost_records_is_not_taken_for_one_to_the_new_ones_at_their_offsets(acts: Acts) -> None:
    rows = acts.installation.rows("log_incarnations", cluster="dc1", topic=REGROWN)
    # Where the log ended when nothing was on its way any more is written down beside it, sooner or later; and that its
    # broker was elected again, where the machine kept it from answering in time.
    begun = [(row["begins_at"], row["reason"]) for row in rows if row["begins_at"] is not None]
    assert [each for each in begun if each[1] not in ("ARRIVED", "ELECTED")] == [(6, "LOG_TRUNCATED")]
    assert said(acts, 1, f"{REGROWN}-8") == [("LOG_TRUNCATED", "WITHHELD")]
    assert offsets(acts, f"{REGROWN}-8")[:2] == [8, 8]
    assert offsets(acts, f"{REGROWN}-4") == [4, 4, 4], "below the cut it is answered as before"


def test_a_third_clusters_new_records_are_not_taken_for_its_old_ones(acts: Acts) -> None:
    """dc1 has the old life only: of the new one, from 40 on at dc2, the group has read nothing."""
    assert [offsets(acts, f"{THIRD}-{offset}")[1] for offset in (10, 35)] == [10, 35]


@pytest.fixture
def pair(three_clusters: Clusters) -> Callable[[str], tuple[EmbeddedCluster, EmbeddedCluster]]:
    def created(topic: str) -> tuple[EmbeddedCluster, EmbeddedCluster]:
        dc1, dc2 = three_clusters["dc1"], three_clusters["dc2"]
        for cluster in (dc1, dc2):
            create_topics(cluster, {topic: 1})
        return dc1, dc2

    return created


def test_a_target_that_was_cut_is_answered_up_to_the_cut_before_the_index_has_looked(
    pair: Callable[[str], tuple[EmbeddedCluster, EmbeddedCluster]], spark_environment: None, tmp_path: Path
) -> None:
    """dc2 has lost its copies 4 and 5 and got the next ones instead: it ends where it did, and 6 would skip 6 and 7.

    What was committed above the cut before is set back.
    """
    place, group = ("taken-orders", 0), "taken-readers"
    dc1, dc2 = pair(place[0])
    write_log(dc1, {place: native_log("dc1", 12)})
    write_log(dc2, {place: copied_log("dc1", range(4))})
    write_log(dc2, {place: copied_log("dc1", range(6))})
    clusters = {"dc1": dc1, "dc2": dc2}
    acts = Acts(clusters, install(tmp_path, clusters, ["taken-.*"]), [group])
    assert acts.installation.index() == []
    commit(dc1, {group: {place: 6}})
    acts.play()
    keep_records(dc2, place[0], 0, 4)
    write_log(dc2, {place: copied_log("dc1", [*range(4), 6, 7])})
    acts.play()
    while acts.said(-1, group) == [("CLUSTER_UNREACHABLE", "WITHHELD")]:  # the leader has not said yet where it ended
        assert acts.offset(-1, "dc2", group, place) == 6
        acts.play()
    assert acts.said(-1, group) == [("AT_FRONTIER", "COMMITTED")]
    assert acts.offset(-1, "dc2", group, place) == 4


def before_runs() -> None:
    raise RuntimeError("before runs")


def test_a_target_that_was_recreated_after_a_plan_to_read_the_old_log_is_exact_again(
    pair: Callable[[str], tuple[EmbeddedCluster, EmbeddedCluster]],
    spark_environment: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The index goes on where it had planned to, at 400 of the old log, when the new one has five records."""
    place, group = ("anew", 0), "anew-readers"
    dc1, dc2 = pair(place[0])
    write_log(dc1, {place: native_log("dc1", 400)})
    write_log(dc2, {place: copied_log("dc1", range(100))})
    installation = install(tmp_path, {"dc1": dc1, "dc2": dc2}, ["anew"])
    assert installation.index() == []
    write_log(dc2, {place: copied_log("dc1", range(400))})
    with monkeypatch.context() as fails:  # as if it had been killed before its micro-batch wrote anything
        fails.setattr(failpoints, "failpoint", lambda name: before_runs() if name == failpoints.BEFORE_RUNS else None)
        assert len(installation.index()) == 1
    recreate(dc2, place[0], copied_log("dc1", range(5)))
    commit(dc1, {group: {place: 200}})
    assert installation.index() == []
    write_log(dc2, {place: copied_log("dc1", range(300))})
    assert [*installation.index(), *installation.sync()] == []
    assert committed(dc2, [group])[group][place].offset == 200
    reasons = {row["reason"] for row in installation.rows("log_incarnations", cluster="dc2", topic=place[0])}
    assert reasons - {"ARRIVED", "ELECTED"} == {None, "TOPIC_RECREATED", "READ_AGAIN"}
    assert "LOG_TRUNCATED" not in {row["state"] for row in installation.translations()}
