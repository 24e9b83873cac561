"""Whose commit counts, and what may be done to the value at the target; three acts with a sync each.

    dc1   b0 .. b9            a10 .. a59        dc2   b0 .. b9  (aborted)  a10 .. a59
          0     9             10     59               0     9   10   11    12     61

So from offset 10 on, what is c at dc1 is c + 2 at dc2.
"""

from __future__ import annotations

import base64
import time

import pytest

from broker.cluster_actions import Acts, only
from broker.committed_offsets import Partition, commit
from broker.crafted_logs import Clusters, copied_log, create_topics, native_log, write_log
from broker.installation import install
from offset_sync.kafka.requests import Committed
from offset_sync_demo.kafka.clients import admin_of

pytestmark = [pytest.mark.broker, pytest.mark.timeout(1200)]

TOPIC = "own"
PLACE: Partition = (TOPIC, 0)
NOTES = {
    "none": "",
    "text": "a user's note",
    "streams": base64.b64encode(b"\x02" + (1_700_000_000_000).to_bytes(8, "big")).decode(),
    "unicode": "grüße 組 😀",
    "long": "x" * 4096,
    "hostile": "'; DROP TABLE\n\x1b[31m\t\"",
}
STRANGE = ["with spaces", "grüße-組-😀", "'\";--\n\x1b[31m", "own-" + "x" * 20_000]
GROUPS = [
    *("plain", "behind", "ahead", "reset-under-stranger", "moved", "there-and-back", "rewound"),
    *("idle", "deleted", "deleted-there", "console-consumer-1", "beyond"),
    *(f"noted-{name}" for name in NOTES),
    *STRANGE,
]
ALIASES = ("dc1", "dc2")


@pytest.fixture(scope="module")
def acts(clusters: Clusters, spark_environment: None, tmp_path_factory: pytest.TempPathFactory) -> Acts:
    for alias in ALIASES:
        create_topics(clusters[alias], {TOPIC: 1})
    write_log(clusters["dc1"], {PLACE: [*copied_log("dc2", range(10)), *native_log("dc1", 50, first=10)]})
    write_log(
        clusters["dc2"], {PLACE: [*native_log("dc2", 10), None, None, *copied_log("dc1", range(10, 60), first=12)]}
    )
    servers = {alias: clusters[alias].bootstrap_servers for alias in ALIASES}
    acts = Acts(clusters, install(tmp_path_factory.mktemp("own"), servers, [TOPIC]), GROUPS)
    set_offsets(clusters, "dc2", {"behind": 20, "ahead": 50, "reset-under-stranger": 50})
    set_offsets(clusters, "dc1", {group: 30 for group in GROUPS if not group.startswith("noted-")})
    set_offsets(clusters, "dc1", {f"noted-{name}": (30, note) for name, note in NOTES.items()})
    set_offsets(clusters, "dc1", {"beyond": 99_999_999})
    assert acts.installation.index() == []
    acts.play()
    set_offsets(clusters, "dc2", {"moved": 42, "there-and-back": 42, "idle": 32})
    set_offsets(clusters, "dc1", {"rewound": 0, "reset-under-stranger": 5})
    delete_group(clusters, "dc1", "deleted")
    delete_group(clusters, "dc2", "deleted-there")
    acts.play()
    set_offsets(clusters, "dc1", {"there-and-back": 55})
    delete_group(clusters, "dc1", "idle")  # as when its offsets expire there
    acts.play()
    return acts


def set_offsets(clusters: Clusters, alias: str, offsets: dict[str, int | tuple[int, str]]) -> None:
    """Commit in a millisecond of their own, as commits of one group on two clusters are never made at once."""
    time.sleep(0.05)
    commit(clusters[alias], {group: {PLACE: offset} for group, offset in offsets.items()})
    time.sleep(0.05)


def delete_group(clusters: Clusters, alias: str, group: str) -> None:
    admin = admin_of(clusters[alias])  # held until the answer is there
    admin.delete_consumer_groups([group])[group].result(120)


def test_every_pass_is_done_without_a_failure(acts: Acts) -> None:
    assert acts.failures == [[], [], []]


def test_a_commit_appears_on_the_target_with_our_tag(acts: Acts) -> None:
    assert acts.value(0, "dc2", "plain", PLACE) == Committed(32, "")
    row = only(acts.rows(0, group_id="plain"))
    assert (row["state"], row["outcome"], row["error"]) == ("EXACT", "COMMITTED", None)
    assert (row["source_offset"], row["target_offset"], row["previous_target_offset"]) == (30, 32, None)
    assert row["committed_at"] >= row["translated_at"] > row["source_committed_at"]


def test_unchanged_offsets_are_neither_written_nor_recorded_again(acts: Acts) -> None:
    assert [acts.said(act, "plain") for act in (1, 2)] == [[], []]


@pytest.mark.parametrize("name", NOTES)
def test_the_metadata_of_the_source_is_left_behind(acts: Acts, name: str) -> None:
    assert acts.value(0, "dc2", f"noted-{name}", PLACE) == Committed(32, "")


def test_our_own_commits_are_known_as_ours_and_do_not_come_back(acts: Acts) -> None:
    own = {
        (row["group_id"], row["committed_offset"])
        for row in acts.installation.rows("offset_commits", cluster="dc2", topic=TOPIC, is_own=True)
    }
    assert {(f"noted-{name}", 32) for name in NOTES} | {("plain", 32)} <= own
    for act in range(3):
        assert acts.rows(act, source_cluster="dc2", group_id="plain") == []
        for group in ["plain", *(f"noted-{name}" for name in NOTES)]:
            assert acts.offset(act, "dc1", group, PLACE) == 30


@pytest.mark.parametrize("group", STRANGE)
def test_strange_group_ids_are_only_text(acts: Acts, group: str) -> None:
    assert acts.offset(0, "dc2", group, PLACE) == 32


def test_an_older_value_of_another_client_is_moved_forward(acts: Acts) -> None:
    row = only(acts.rows(0, group_id="behind"))
    assert (row["outcome"], row["previous_target_offset"]) == ("COMMITTED", 20)
    assert acts.value(0, "dc2", "behind", PLACE) == Committed(32, "")


def test_an_older_value_of_another_client_is_never_moved_back(acts: Acts) -> None:
    assert acts.said(0, "ahead") == [("EXACT", "NOT_FORWARD")]
    assert [acts.value(act, "dc2", "ahead", PLACE) for act in range(3)] == [Committed(50, "")] * 3


def test_a_reset_at_the_source_is_followed_under_another_clients_value_too(acts: Acts) -> None:
    assert acts.offset(0, "dc2", "reset-under-stranger", PLACE) == 50
    assert acts.offset(1, "dc2", "reset-under-stranger", PLACE) == 5
    assert acts.said(1, "reset-under-stranger") == [("REWIND", "COMMITTED")]


def test_a_rewind_at_the_source_is_followed_and_recorded(acts: Acts) -> None:
    assert [acts.offset(act, "dc2", "rewound", PLACE) for act in range(3)] == [32, 0, 0]
    row = only(acts.rows(1, group_id="rewound"))
    assert (row["state"], row["outcome"], row["previous_target_offset"]) == ("REWIND", "COMMITTED", 32)


def test_a_newer_commit_on_the_target_makes_it_the_owner_and_flows_the_other_way(acts: Acts) -> None:
    assert acts.offset(1, "dc2", "moved", PLACE) == 42
    assert acts.value(1, "dc1", "moved", PLACE) == Committed(40, "")
    assert [row["source_cluster"] for row in acts.rows(1, group_id="moved")] == ["dc2"]
    assert acts.said(2, "moved") == []


def test_a_group_that_moved_and_came_back_is_followed_both_ways(acts: Acts) -> None:
    assert [acts.offset(act, "dc2", "there-and-back", PLACE) for act in range(3)] == [32, 42, 57]
    assert [acts.offset(act, "dc1", "there-and-back", PLACE) for act in range(3)] == [30, 40, 55]


def test_a_group_that_was_moved_and_has_read_nothing_since_may_be_moved_back(acts: Acts) -> None:
    assert acts.value(0, "dc2", "idle", PLACE) == Committed(32, "")
    assert acts.value(1, "dc2", "idle", PLACE) == Committed(32, "")  # its own commit, of the value that we brought
    assert {row["source_cluster"] for row in acts.rows(1, group_id="idle")} == {"dc2"}
    assert acts.value(2, "dc1", "idle", PLACE) == Committed(30, "")


def test_a_group_deleted_at_the_source_is_recorded_and_the_target_keeps_its_offset(acts: Acts) -> None:
    tombstones = acts.installation.rows("offset_commits", group_id="deleted", cluster="dc1", is_tombstone=True)
    assert [(row["partition"], row["committed_offset"]) for row in tombstones] == [(0, None)]
    assert [acts.offset(act, "dc2", "deleted", PLACE) for act in range(3)] == [32, 32, 32]
    assert acts.said(2, "deleted") == []


def test_what_is_deleted_on_the_target_is_written_again(acts: Acts) -> None:
    assert acts.said(1, "deleted-there") == [("EXACT", "COMMITTED")]
    assert acts.offset(1, "dc2", "deleted-there", PLACE) == 32


def test_an_excluded_group_is_recorded_and_not_synced(acts: Acts) -> None:
    assert acts.installation.rows("offset_commits", group_id="console-consumer-1", cluster="dc1")
    assert acts.offset(2, "dc2", "console-consumer-1", PLACE) is None


def test_a_commit_beyond_the_end_of_the_log_is_withheld(acts: Acts) -> None:
    assert acts.said(0, "beyond") == [("COMMIT_BEYOND_END", "WITHHELD")]
    assert acts.rows(0, group_id="beyond")[0]["target_offset"] is None
    assert acts.offset(2, "dc2", "beyond", PLACE) is None
