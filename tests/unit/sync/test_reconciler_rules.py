"""Settling over an offset at a target: its writer, refusals, expiry, and groups that are not synced."""

from __future__ import annotations

import pytest

from builders.logs import log
from fakes.reconciler_site import ORDERS, Site, config_of, mirrored_site
from offset_sync.model.values import Rule, TopicPartition

PAY = TopicPartition("pay-out", 0)
HOURS_MS = 3_600_000


def test_a_value_of_another_client_is_only_ever_moved_forward() -> None:
    site = mirrored_site()
    site.commit("Y", "behind", 3)
    site.commit("Y", "ahead", 9)
    site.commit("X", "behind", 4)
    site.commit("X", "ahead", 4)
    site.reconcile()
    assert (site.target_offset("Y", "behind"), site.target_offset("Y", "ahead")) == (6, 9)
    assert {row.group_id: row.outcome for row in site.rows()} == {"behind": "COMMITTED", "ahead": "NOT_FORWARD"}
    assert {write.rule for _, write in site.asked} == {Rule.FORWARD}


def test_an_operators_reset_at_the_source_is_followed_over_another_clients_value() -> None:
    site = mirrored_site()
    site.commit("X", "readers", 8)
    site.commit("Y", "readers", 10)
    site.commit("X", "readers", 3)
    site.reconcile()
    assert (site.rows()[-1].state, site.target_offset("Y", "readers")) == ("REWIND", 5)


def test_a_reset_before_another_clients_commit_is_not_followed() -> None:
    site = mirrored_site()
    site.commit("X", "readers", 8)
    site.commit("X", "readers", 3)
    site.commit("Y", "readers", 10)
    site.commit("X", "readers", 4)
    site.reconcile()
    assert site.target_offset("Y", "readers") == 10


def test_our_own_value_follows_a_reset_and_the_row_says_so_once() -> None:
    site = mirrored_site()
    site.commit("X", "readers", 8)
    site.reconciled().commit("X", "readers", 3)
    site.reconcile()
    assert (site.rows()[0].state, site.target_offset("Y", "readers")) == ("REWIND", 5)
    site.commit("X", "readers", 4)
    site.reconcile()
    assert (site.rows()[0].state, site.target_offset("Y", "readers")) == ("EXACT", 6)


def test_our_own_value_is_taken_back_when_a_late_record_turns_up() -> None:
    site = Site(config_of(["X", "Y"], sync={"hole_grace": "0s"}))
    site.put(log("X", "X0:3 Y4 X4:6"))
    site.put(log("Y", "X0:3 Y3 Y4 X4:6"))
    site.commit("X", "readers", 5)
    site.reconcile()
    assert site.target_offset("Y", "readers") == 6  # Y3 was taken as dropped: X's group had passed it
    site.put(log("X", "X0:3 Y4 X4:6 Y3"))
    site.reconcile()
    assert site.target_offset("Y", "readers") == 3


def test_the_sources_metadata_may_speak_of_offsets_and_is_left_behind() -> None:
    site = mirrored_site()
    site.commit("X", "streams", 4, metadata="AgAAAYHr3Q==")
    for _ in range(3):
        site.reconcile()
    assert site.clusters["Y"].group_offsets["streams", ORDERS].metadata == ""
    assert site.clusters["X"].written == []


def test_after_a_move_an_idle_partition_belongs_to_where_the_group_is() -> None:
    site = mirrored_site("Y", "Z")
    site.commit("X", "readers", 4)
    site.reconciled()
    site.commit("Y", "readers", 6)  # started there, where nothing is left to read; our value, without our tag
    site.reconcile()
    assert {(row.source, row.target, row.wanted) for n in range(-2, 0) for row in site.rows(n)} == {
        ("Y", "X", 4),
        ("Y", "Z", 6),
    }
    assert [site.target_offset(alias, "readers") for alias in "XYZ"] == [4, 6, 6]
    site.clusters["X"].forget("readers", ORDERS)  # expires there after a week without a member
    site.reconcile()
    assert site.target_offset("X", "readers") == 4, "the way back has an offset"


def test_an_active_target_is_recorded_and_asked_again_but_is_no_failure() -> None:
    site = mirrored_site()
    site.clusters["Y"].refused["readers"] = "UNKNOWN_MEMBER_ID"
    site.commit("X", "readers", 4)
    for _ in range(5):
        assert site.reconcile() == []
    assert (site.rows()[0].outcome, site.rows()[0].error) == ("TARGET_ACTIVE", "UNKNOWN_MEMBER_ID")
    site.clusters["Y"].refused.clear()
    site.reconcile()
    assert site.target_offset("Y", "readers") == 6


def test_a_refused_write_is_one_line_per_reason_and_names_the_first_key() -> None:
    site = mirrored_site()
    for group in ("a", "b", "c"):
        site.commit("X", group, 4)
    site.clusters["Y"].refused.update(a="TOPIC_AUTHORIZATION_FAILED", b="TOPIC_AUTHORIZATION_FAILED", c="OFFSET_X")
    assert site.reconcile() == [
        "X to Y: 2 offsets not committed, first a/orders/0: TOPIC_AUTHORIZATION_FAILED",
        "X to Y: 1 offsets not committed, first c/orders/0: OFFSET_X",
    ]


def test_a_dry_run_asks_and_writes_nothing() -> None:
    site = mirrored_site()
    site.is_dry_run = True
    site.commit("X", "readers", 4)
    assert site.reconcile() == []
    assert [row.outcome for row in site.rows()] == ["DRY_RUN"]
    assert (site.clusters["Y"].written, site.target_offset("Y", "readers")) == ([], None)


# Expiry


def test_our_own_value_is_written_again_before_it_expires_and_then_left_alone() -> None:
    site = mirrored_site(sync={"refresh_interval": "12h"})
    site.commit("X", "readers", 4)
    site.reconciled().pass_time(12 * HOURS_MS - 1000)
    site.reconcile()
    assert site.asked == []
    site.pass_time(2000)
    site.reconcile()
    assert [(write.refresh, write.offset, write.expected_offset) for _, write in site.asked] == [(True, 6, 6)]
    assert site.rows()[0].outcome == "COMMITTED"
    site.reconciled().reconcile()
    assert site.asked == []


def test_another_clients_value_is_not_kept_alive_by_us() -> None:
    site = mirrored_site(sync={"refresh_interval": "12h"})
    site.commit("Y", "readers", 6)
    site.commit("X", "readers", 4)
    site.reconciled().pass_time(13 * HOURS_MS)
    site.reconcile()
    assert site.asked == []


# What is not synced


@pytest.mark.parametrize(("group", "place"), [("console-consumer-1", ORDERS), ("readers", TopicPartition("x", 0))])
def test_an_excluded_group_or_topic_is_not_even_asked_about(group: str, place: TopicPartition) -> None:
    site = mirrored_site()
    site.commit("X", group, 4, place)
    assert site.reconcile(is_first=True) == []
    assert (site.reconciliations, site.clusters["Y"].questions) == ([], 0)


def test_a_deleted_offset_is_not_answered_until_it_is_committed_again() -> None:
    site = mirrored_site()
    site.commit("X", "readers", 4)
    site.clusters["X"].forget("readers", ORDERS)
    site.reconcile()
    assert site.asked == []
    site.commit("X", "readers", 5)
    site.reconcile()
    assert site.target_offset("Y", "readers") == 7


def test_a_negative_offset_is_no_position() -> None:
    site = mirrored_site()
    site.commit("X", "readers", -1)
    site.reconcile()
    assert site.asked == []
    site.commit("X", "others", 4)
    site.commit("X", "others", -1)
    site.reconcile()
    assert site.target_offset("Y", "others") == 6


def test_commit_zero_and_empty_partitions_are_committed_explicitly() -> None:
    site = mirrored_site()
    site.put(log("X", ""), PAY)
    site.put(log("Y", ""), PAY)
    site.commit("X", "readers", 0)
    site.commit("X", "readers", 0, PAY)
    assert site.reconcile() == []
    assert (site.target_offset("Y", "readers"), site.target_offset("Y", "readers", PAY)) == (2, 0)


def test_what_is_committed_with_an_empty_group_id_is_left_out_and_is_no_failure() -> None:
    site = mirrored_site()
    for group in ("", "readers"):
        site.commit("X", group, 4)
    assert site.reconcile() == []
    assert [row.group_id for row in site.rows()] == ["readers"]
    assert site.clusters["Y"].group_offsets.keys() == {("readers", ORDERS)}
