"""Topics that are missing, differ, were recreated, cut or not indexed yet: the right state, and no effect on others.

Each topic holds 20 records of dc1 on dc1, and the same ones on dc2 unless its name says otherwise.
"""

from __future__ import annotations

import time

import pytest
from confluent_kafka import TopicPartition as Position

from broker.cluster_actions import Acts, only
from broker.committed_offsets import Partition, admin_for, commit
from broker.crafted_logs import Clusters, copied_log, create_topics, native_log, write_log
from broker.installation import install
from offset_sync.model.values import TopicPartition
from offset_sync_demo.kafka.brokers import EmbeddedCluster
from offset_sync_demo.kafka.clients import admin_of

pytestmark = [pytest.mark.broker, pytest.mark.timeout(1200)]

HEALTHY, ONLY_THERE, WIDER = "held-healthy", "held-only-on-dc1", "held-wider"
RECREATED, RECREATED_AT_SOURCE, GONE = "held-recreated-on-dc2", "held-recreated-on-dc1", "held-gone-on-dc2"
CUT, CUT_AT_SOURCE, EMPTIED, LATER = "held-cut-on-dc2", "held-cut-on-dc1", "held-emptied-on-dc2", "held-not-indexed"
EXPIRED, TRUNCATED = "held-expired-before-index", "held-truncated-on-dc2"
GROWN, FILLED = "held-grown-after-index", "held-hole-filled-late"
TOPICS = (HEALTHY, ONLY_THERE, WIDER, RECREATED, RECREATED_AT_SOURCE, GONE, CUT, CUT_AT_SOURCE, EMPTIED, LATER, EXPIRED)
TOPICS += (TRUNCATED,)
COUNT = 20


BEYOND = COUNT + 5


def group_of(topic: str, offset: int = 6) -> str:
    return f"{topic}-at-{offset}"


GROUPS = [*map(group_of, TOPICS), *(group_of(topic, 15) for topic in (CUT, CUT_AT_SOURCE, EXPIRED)), "held-all"]
GROUPS += [group_of(GROWN, BEYOND), group_of(FILLED, 5), group_of(WIDER, 7)]


@pytest.fixture(scope="module")
def acts(clusters: Clusters, spark_environment: None, tmp_path_factory: pytest.TempPathFactory) -> Acts:
    source, target = clusters["dc1"], clusters["dc2"]
    first = [topic for topic in TOPICS if topic != LATER]
    create(clusters, first)
    delete_below(source, EXPIRED, 8)
    delete_below(target, EXPIRED, 10)
    servers = {alias: clusters[alias].bootstrap_servers for alias in ("dc1", "dc2")}
    acts = Acts(clusters, install(tmp_path_factory.mktemp("held"), servers, ["held-.*"]), GROUPS)
    for cluster in (source, target):
        create_topics(cluster, {GROWN: 1, FILLED: 1})
    grow(clusters, COUNT)
    write_log(source, {(FILLED, 0): copied_log("dc2", [0, 1, 2, 4, 5])})
    write_log(target, {(FILLED, 0): native_log("dc2", 10)})
    assert acts.installation.index() == []
    grow(clusters, COUNT + 10)
    commit(source, {group_of(GROWN, BEYOND): {(GROWN, 0): BEYOND}, group_of(FILLED, 5): {(FILLED, 0): 5}})
    create(clusters, [LATER])
    commit(source, {group_of(topic): {place(topic): 6} for topic in TOPICS})
    commit(source, {group_of(topic, 15): {(topic, 0): 15} for topic in (CUT, CUT_AT_SOURCE, EXPIRED)})
    commit(source, {"held-all": {place(topic): 6 for topic in TOPICS}})
    commit(source, {group_of(WIDER, 7): {(WIDER, 0): 7}})
    delete_below(target, CUT, 10)
    delete_below(source, CUT_AT_SOURCE, 10)
    delete_below(target, EMPTIED, COUNT)
    recreate(target, RECREATED, copied_log("dc1", range(3)))
    delete_topic(target, GONE)
    acts.play()
    recreate(source, RECREATED_AT_SOURCE, native_log("dc1", COUNT))
    commit(source, {group_of(RECREATED_AT_SOURCE): {(RECREATED_AT_SOURCE, 0): 9}})
    write_log(source, {(FILLED, 0): copied_log("dc2", [0, 1, 2, 4, 5, 3])})
    lose_end(target, TRUNCATED)
    assert acts.installation.index() == []
    acts.play()
    write_log(target, {(TRUNCATED, 0): copied_log("dc1", range(5, 35))})
    commit(source, {group_of(TRUNCATED): {(TRUNCATED, 0): 18}})
    assert acts.installation.index() == []
    acts.play()
    return acts


def create(clusters: Clusters, topics: list[str]) -> None:
    source, target = clusters["dc1"], clusters["dc2"]
    there = [topic for topic in topics if topic != ONLY_THERE]
    create_topics(source, {topic: 2 if topic == WIDER else 1 for topic in topics})
    create_topics(target, dict.fromkeys(there, 1))
    write_log(source, {each: native_log("dc1", COUNT) for topic in topics for each in {place(topic), (topic, 0)}})
    write_log(target, {(topic, 0): copied_log("dc1", range(COUNT)) for topic in there})


def grow(clusters: Clusters, count: int) -> None:
    write_log(clusters["dc1"], {(GROWN, 0): native_log("dc1", count)})
    write_log(clusters["dc2"], {(GROWN, 0): copied_log("dc1", range(count))})


def delete_below(cluster: EmbeddedCluster, topic: str, offset: int) -> None:
    admin = admin_of(cluster)  # held until the answer is there
    futures = admin.delete_records([Position(topic, 0, offset)])
    assert [future.result(120).low_watermark for future in futures.values()] == [offset]


def delete_topic(cluster: EmbeddedCluster, topic: str) -> None:
    admin = admin_of(cluster)
    admin.delete_topics([topic])[topic].result(120)
    while topic in admin.list_topics(timeout=120).topics:
        time.sleep(0.05)


def recreate(cluster: EmbeddedCluster, topic: str, entries: list) -> None:
    delete_topic(cluster, topic)
    create_topics(cluster, {topic: 1})
    write_log(cluster, {(topic, 0): entries})


def lose_end(cluster: EmbeddedCluster, topic: str) -> None:
    """Let the log come back empty, as after the election of a leader that had none of it."""
    cluster.kill()
    (segment,) = cluster.directory.glob(f"logs/{topic}-0/*.log")
    segment.write_bytes(b"")
    cluster.start()
    assert admin_for(cluster).ends([TopicPartition(topic, 0)])[TopicPartition(topic, 0)].log_end == 0


def states(acts: Acts, act: int, topic: str, offset: int = 6) -> tuple[str, str]:
    """What was said of a topic, for its own group and for the one that reads them all."""
    found = {(row["state"], row["outcome"]) for row in acts.rows(act, group_id=group_of(topic, offset), topic=topic)}
    if offset == 6:
        assert found == {(r["state"], r["outcome"]) for r in acts.rows(act, group_id="held-all", topic=topic)}
    (state,) = found
    return state


def place(topic: str) -> Partition:
    """Return where groups have read a topic: of the one that has more partitions at dc1 those missing at dc2."""
    return topic, int(topic == WIDER)


def test_every_pass_is_done_without_a_failure(acts: Acts) -> None:
    assert acts.failures == [[], [], []]


def test_what_is_wrong_with_other_topics_does_not_concern_a_healthy_one(acts: Acts) -> None:
    assert states(acts, 0, HEALTHY) == ("EXACT", "COMMITTED")
    assert acts.offset(0, "dc2", "held-all", place(HEALTHY)) == 6


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
    assert states(acts, 0, topic) == (state, "WITHHELD")
    for group in (group_of(topic), "held-all"):
        assert acts.value(0, "dc2", group, place(topic)) is None
        row = only(acts.rows(0, group_id=group, topic=topic))
        assert (row["target_offset"], row["committed_at"]) == (None, None)


def test_the_other_partition_of_a_topic_that_has_more_at_the_source_is_followed(acts: Acts) -> None:
    assert acts.said(0, group_of(WIDER, 7)) == [("EXACT", "COMMITTED")]
    assert acts.offset(0, "dc2", group_of(WIDER, 7), (WIDER, 0)) == 7


def test_a_recreated_topic_is_answered_again_once_its_new_life_is_indexed(acts: Acts) -> None:
    """Of the six records that the group has read the new log has three, and nothing else."""
    assert acts.said(1, group_of(RECREATED)) == [("AT_FRONTIER", "COMMITTED")]
    assert acts.offset(1, "dc2", group_of(RECREATED), place(RECREATED)) == 3
    ids = {row["topic_id"] for row in acts.installation.rows("indexed_topics", cluster="dc2", topic=RECREATED)}
    assert len(ids) == 2


def test_the_copies_of_a_topic_that_its_source_has_recreated_are_unread(acts: Acts) -> None:
    """The commit names the new topic, of whose records dc2 has none: what it has are copies of the old ones."""
    assert states(acts, 0, RECREATED_AT_SOURCE) == ("EXACT", "COMMITTED")
    assert acts.said(1, group_of(RECREATED_AT_SOURCE)) == [("EXACT", "COMMITTED")]
    assert acts.offset(1, "dc2", group_of(RECREATED_AT_SOURCE), place(RECREATED_AT_SOURCE)) == 0


def test_a_log_that_was_cut_is_answered_by_its_present_records(acts: Acts) -> None:
    """It came back empty, and then the mirror brought the records from 5 on; the group has read those below 18."""
    assert states(acts, 0, TRUNCATED) == ("EXACT", "COMMITTED")
    assert acts.said(1, group_of(TRUNCATED)) == [("AT_FRONTIER", "COMMITTED")]
    assert acts.said(2, group_of(TRUNCATED)) == [("EXACT", "COMMITTED")]
    assert [acts.offset(act, "dc2", group_of(TRUNCATED), place(TRUNCATED)) for act in (0, 1, 2)] == [6, 0, 13]


def test_a_topic_is_answered_as_soon_as_it_is_indexed(acts: Acts) -> None:
    assert states(acts, 1, LATER) == ("EXACT", "COMMITTED")
    assert acts.offset(1, "dc2", "held-all", place(LATER)) == 6


def test_a_commit_beyond_what_is_indexed_goes_as_far_as_is_known_and_on_with_the_index(acts: Acts) -> None:
    assert acts.said(0, group_of(GROWN, BEYOND)) == [("AT_FRONTIER", "COMMITTED")]
    assert acts.said(1, group_of(GROWN, BEYOND)) == [("EXACT", "COMMITTED")]
    assert [acts.offset(act, "dc2", group_of(GROWN, BEYOND), place(GROWN)) for act in (0, 1)] == [COUNT, BEYOND]


def test_a_record_that_the_mirror_brings_late_moves_our_offset_back_to_it(acts: Acts) -> None:
    assert [acts.offset(act, "dc2", group_of(FILLED, 5), place(FILLED)) for act in (0, 1)] == [6, 3]
    assert acts.said(1, group_of(FILLED, 5)) == [("EXACT", "COMMITTED")]


def test_an_answer_below_the_log_start_is_committed_there_and_its_loss_counted(acts: Acts) -> None:
    assert states(acts, 0, CUT) == ("EXACT", "COMMITTED")
    row = only(acts.rows(0, group_id=group_of(CUT)))
    assert (row["target_offset"], row["lost"], row["duplicates"]) == (10, 4, 0)
    assert acts.offset(0, "dc2", group_of(CUT), place(CUT)) == 10


def test_an_answer_above_the_log_start_loses_nothing(acts: Acts) -> None:
    assert states(acts, 0, CUT, 15) == ("EXACT", "COMMITTED")
    row = only(acts.rows(0, group_id=group_of(CUT, 15)))
    assert (row["target_offset"], row["lost"]) == (15, 0)


def test_a_log_emptied_on_the_target_gets_its_end_and_the_loss_of_all_unread(acts: Acts) -> None:
    row = only(acts.rows(0, group_id=group_of(EMPTIED)))
    assert (row["target_offset"], row["lost"], row["outcome"]) == (COUNT, COUNT - 6, "COMMITTED")
    assert acts.offset(0, "dc2", group_of(EMPTIED), place(EMPTIED)) == COUNT


@pytest.mark.parametrize("offset", [6, 15])
def test_a_commit_is_translated_unchanged_where_the_source_has_lost_its_beginning(acts: Acts, offset: int) -> None:
    assert states(acts, 0, CUT_AT_SOURCE, offset) == ("EXACT", "COMMITTED")
    assert acts.offset(0, "dc2", group_of(CUT_AT_SOURCE, offset), place(CUT_AT_SOURCE)) == offset


def test_logs_that_had_lost_their_beginning_before_they_were_indexed_are_translated(acts: Acts) -> None:
    assert acts.offset(0, "dc2", group_of(EXPIRED, 15), place(EXPIRED)) == 15
    assert acts.offset(0, "dc2", group_of(EXPIRED), place(EXPIRED)) == 10


def test_our_commits_carry_our_tag_also_where_something_was_lost(acts: Acts) -> None:
    value = acts.value(0, "dc2", group_of(CUT), place(CUT))
    assert value is not None
    assert value.metadata == ""
