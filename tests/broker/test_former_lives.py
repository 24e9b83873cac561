"""Logs that begin another life on real brokers: recreated, truncated, and while a plan is repeated.

The answers about them are right for the present records. Each topic holds 20 records of dc1 on dc1, and the same ones
on dc2; what a group has read is known by content.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from broker.cluster_actions import Acts
from broker.committed_offsets import Partition, admin_for, commit, committed
from broker.crafted_logs import Clusters, Entries, copied_log, create_topics, delete_topic, native_log, write_log
from broker.installation import install
from broker.segments import keep_records
from offset_sync.kafka.leader_epochs import LeaderEpochs
from offset_sync.model.values import EpochChange, ReportedEnd, TopicPartition
from offset_sync.state import failpoints
from offset_sync_demo.kafka.brokers import EmbeddedCluster

pytestmark = [pytest.mark.broker, pytest.mark.long, pytest.mark.timeout(1200)]

RECREATED, RECREATED_AT_SOURCE = "held-recreated-on-dc2", "held-recreated-on-dc1"
GONE_AT_SOURCE, TRUNCATED = "held-gone-on-dc1", "held-truncated-on-dc2"
REGROWN = "held-regrown-on-dc1"
TOPICS = (RECREATED, RECREATED_AT_SOURCE, GONE_AT_SOURCE, TRUNCATED, REGROWN)
COUNT = 20
COMMITS = {**dict.fromkeys(TOPICS, 6), f"{REGROWN}-4": 4, f"{REGROWN}-8": 8}
"""What each group has committed at dc1; its id begins with its topic's name."""


def at(group: str) -> Partition:
    """Return what a group reads."""
    return next(each for each in TOPICS if group == each or group.startswith(f"{each}-")), 0


def create(clusters: Clusters) -> None:
    """Create the topics, with their records and copies in batches of at most six."""
    for cluster in clusters.values():
        create_topics(cluster, dict.fromkeys(TOPICS, 1))
    for count in (6, COUNT):
        write_log(clusters["dc1"], {(topic, 0): native_log("dc1", count) for topic in TOPICS})
        write_log(clusters["dc2"], {(topic, 0): copied_log("dc1", range(count)) for topic in TOPICS})


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
def acts(clusters: Clusters, spark_environment: None, tmp_path_factory: pytest.TempPathFactory) -> Acts:
    dc1, dc2 = clusters["dc1"], clusters["dc2"]
    create(clusters)
    acts = Acts(clusters, install(tmp_path_factory.mktemp("held"), clusters, ["held-.*"]), [*COMMITS])
    assert acts.installation.index() == []
    commit(dc1, {group: {at(group): offset} for group, offset in COMMITS.items()})
    recreate(dc2, RECREATED, copied_log("dc1", range(3)))
    acts.play()
    # dc1 loses records that dc2 has, and gets others at the same offsets, which go to dc2 too.
    keep_records(dc1, REGROWN, 0, 6)
    place = TopicPartition(REGROWN, 0)
    told = told_where_the_first_epoch_ended(dc1, place)
    assert told[:2] == [{place: ReportedEnd(6)}, {}], "a broker that lacks an epoch is no leader"
    assert told[2] == {place: ReportedEnd(6, is_certain=False)}, "of the epoch without records it tells another"
    write_log(dc1, {(REGROWN, 0): native_log("dc1", COUNT + 2)})
    write_log(dc2, {(REGROWN, 0): copied_log("dc1", [*range(COUNT), *range(6, COUNT + 2)])})
    delete_topic(dc1, GONE_AT_SOURCE)  # and the coordinator deletes its offsets
    recreate(dc1, RECREATED_AT_SOURCE, native_log("dc1", COUNT))
    commit(dc1, {RECREATED_AT_SOURCE: {at(RECREATED_AT_SOURCE): 9}})
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


def test_a_topic_that_the_target_has_recreated_is_answered_as_soon_as_it_is_indexed(acts: Acts) -> None:
    """Of the six records that the group has read the new log has three, and nothing else."""
    assert acts.failures == [[], [], []]
    assert (said(acts, 0, RECREATED), offsets(acts, RECREATED)[0]) == ([("TOPIC_RECREATED", "WITHHELD")], None)
    assert (said(acts, 1, RECREATED), offsets(acts, RECREATED)[1]) == ([("AT_FRONTIER", "COMMITTED")], 3)


def test_a_topic_deleted_at_its_source_leaves_the_offset_at_the_target(acts: Acts) -> None:
    assert acts.offset(1, "dc1", GONE_AT_SOURCE, at(GONE_AT_SOURCE)) is None
    assert offsets(acts, GONE_AT_SOURCE) == [6] * 3


def test_the_copies_of_a_topic_that_its_source_has_recreated_are_unread(acts: Acts) -> None:
    """The commit names the new topic, of whose records dc2 has none: what it has are copies of the old ones."""
    assert offsets(acts, RECREATED_AT_SOURCE)[:2] == [6, 0]
    assert said(acts, 1, RECREATED_AT_SOURCE) == [("EXACT", "COMMITTED")]


def test_a_target_that_lost_its_records_is_answered_by_its_present_ones(acts: Acts) -> None:
    """It came back empty, and then the mirror brought the records from 5 on; the group has read those below 18."""
    assert [said(acts, act, TRUNCATED)[-1][0] for act in range(3)] == ["EXACT", "AT_FRONTIER", "EXACT"]
    assert offsets(acts, TRUNCATED) == [6, 0, 13]


def test_a_commit_to_lost_records_is_not_taken_for_one_to_the_new_ones_at_their_offsets(acts: Acts) -> None:
    rows = acts.installation.rows("log_incarnations", cluster="dc1", topic=REGROWN)
    # Where the log ended when nothing was on its way any more is written down beside it, sooner or later; and that its
    # broker was elected again, where the machine kept it from answering in time.
    begun = [(row["begins_at"], row["reason"]) for row in rows if row["begins_at"] is not None]
    assert [each for each in begun if each[1] not in ("ARRIVED", "ELECTED")] == [(6, "LOG_TRUNCATED")]
    assert said(acts, 1, f"{REGROWN}-8") == [("LOG_TRUNCATED", "WITHHELD")]
    assert offsets(acts, f"{REGROWN}-8")[:2] == [8, 8]
    assert offsets(acts, f"{REGROWN}-4") == [4, 4, 4], "below the cut it is answered as before"


def before_runs() -> None:
    raise RuntimeError("before runs")


def test_a_target_that_was_recreated_after_a_plan_to_read_the_old_log_is_exact_again(
    clusters: Clusters, spark_environment: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The index goes on where it had planned to, at 400 of the old log, when the new one has five records."""
    place, group = ("anew", 0), "anew-readers"
    dc1, dc2 = clusters["dc1"], clusters["dc2"]
    for cluster in (dc1, dc2):
        create_topics(cluster, {place[0]: 1})
    write_log(dc1, {place: native_log("dc1", 400)})
    write_log(dc2, {place: copied_log("dc1", range(100))})
    installation = install(tmp_path, clusters, ["anew"])
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
