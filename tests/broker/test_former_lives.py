"""Logs that begin another life on real brokers: recreated and truncated.

The answers about them are right for the present records. Each topic holds 20 records of dc1 on dc1, and the same ones
on dc2; what a group has read is known by content.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from broker.committed_offsets import Partition, admin_for, commit, committed
from broker.crafted_logs import Clusters, Entries, copied_log, create_topics, delete_topic, native_log, write_log
from broker.installation import Installation, install
from broker.segments import keep_records
from offset_sync.kafka.leader_epochs import LeaderEpochs
from offset_sync.model.values import EpochChange, ReportedEnd, TopicPartition
from offset_sync_demo.kafka.brokers import EmbeddedCluster

pytestmark = pytest.mark.timeout(1200)

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


def after_sync(clusters: Clusters, installation: Installation) -> tuple[dict[str, int | None], dict[str, str]]:
    """Return what each group has at dc2 once all is indexed and synced, and the newest state that this has told."""
    known = len(installation.translations())
    assert installation.sync() == []
    held = committed(clusters["dc2"], COMMITS)
    rows = [row for row in installation.translations()[known:] if row["target_cluster"] == "dc2"]
    offsets = {group: places[at(group)].offset if at(group) in places else None for group, places in held.items()}
    return offsets, {row["group_id"]: f"{row['state']} {row['outcome']}" for row in rows}


def test_logs_of_another_life_are_answered_by_their_present_records(
    clusters: Clusters, spark_environment: None, tmp_path: Path
) -> None:
    dc1, dc2 = clusters["dc1"], clusters["dc2"]
    create(clusters)
    installation = install(tmp_path, clusters, ["held-.*"])
    assert installation.index() == []
    commit(dc1, {group: {at(group): offset} for group, offset in COMMITS.items()})
    recreate(dc2, RECREATED, copied_log("dc1", range(3)))
    offsets, states = after_sync(clusters, installation)
    assert offsets == {**COMMITS, RECREATED: None}
    assert (states[RECREATED], states[TRUNCATED]) == ("TOPIC_RECREATED WITHHELD", "EXACT COMMITTED")
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
    assert installation.index() == []
    offsets, states = after_sync(clusters, installation)
    # Of the six records that the group has read the recreated log has three. Of the topic that its source has
    # recreated dc2 has copies of the old records only.
    assert offsets == {**COMMITS, RECREATED: 3, RECREATED_AT_SOURCE: 0, TRUNCATED: 0}
    assert (states[RECREATED], states[RECREATED_AT_SOURCE]) == ("AT_FRONTIER COMMITTED", "EXACT COMMITTED")
    assert states[f"{REGROWN}-8"] == "LOG_TRUNCATED WITHHELD", "its offset is another record's now"
    assert committed(dc1, [GONE_AT_SOURCE])[GONE_AT_SOURCE] == {}
    write_log(dc2, {(TRUNCATED, 0): copied_log("dc1", range(5, 35))})
    commit(dc1, {TRUNCATED: {at(TRUNCATED): 18}, f"{REGROWN}-8": {at(REGROWN): 9}})
    assert installation.index() == []
    offsets, _ = after_sync(clusters, installation)
    assert (offsets[TRUNCATED], offsets[f"{REGROWN}-4"], offsets[GONE_AT_SOURCE]) == (13, 4, 6)
    rows = installation.rows("log_incarnations", cluster="dc1", topic=REGROWN)
    # Where the log ended when nothing was on its way any more is written down beside it, sooner or later; and that its
    # broker was elected again, where the machine kept it from answering in time.
    begun = [(row["begins_at"], row["reason"]) for row in rows if row["begins_at"] is not None]
    assert [each for each in begun if each[1] not in ("ARRIVED", "ELECTED", "READ_AGAIN")] == [(6, "LOG_TRUNCATED")]
