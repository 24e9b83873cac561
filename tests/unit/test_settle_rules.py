"""Settling over what stands at a target: whose value it is, who refuses it, when it expires, what is not synced."""

from __future__ import annotations

import pytest

from offset_sync.model import Rule, TopicPartition
from offset_sync.testing.settling import ORDERS, Site, config_of, mirrored_site
from offset_sync.testing.written import log

PAY = TopicPartition("pay-out", 0)
HOURS_MS = 3_600_000


def test_a_value_of_somebody_else_is_only_ever_moved_forward() -> None:
    made = mirrored_site()
    made.commit("Y", "behind", 3)
    made.commit("Y", "ahead", 9)
    made.commit("X", "behind", 4)
    made.commit("X", "ahead", 4)
    made.settle()
    assert (made.standing("Y", "behind"), made.standing("Y", "ahead")) == (6, 9)
    assert {row.group_id: row.outcome for row in made.rows()} == {"behind": "COMMITTED", "ahead": "NOT_FORWARD"}
    assert {write.rule for _, write in made.asked} == {Rule.FORWARD}


def test_an_operators_reset_at_the_source_is_followed_over_somebody_elses_value() -> None:
    made = mirrored_site()
    made.commit("X", "readers", 8)
    made.commit("Y", "readers", 10)
    made.commit("X", "readers", 3)
    made.settle()
    assert (made.rows()[-1].state, made.standing("Y", "readers")) == ("REWIND", 5)


def test_a_reset_before_somebody_elses_commit_is_not_followed() -> None:
    made = mirrored_site()
    made.commit("X", "readers", 8)
    made.commit("X", "readers", 3)
    made.commit("Y", "readers", 10)
    made.commit("X", "readers", 4)
    made.settle()
    assert made.standing("Y", "readers") == 10


def test_our_own_value_follows_a_reset_and_the_row_says_so_once() -> None:
    made = mirrored_site()
    made.commit("X", "readers", 8)
    made.settled().commit("X", "readers", 3)
    made.settle()
    assert (made.rows()[0].state, made.standing("Y", "readers")) == ("REWIND", 5)
    made.commit("X", "readers", 4)
    made.settle()
    assert (made.rows()[0].state, made.standing("Y", "readers")) == ("EXACT", 6)


def test_our_own_value_is_taken_back_when_a_late_record_turns_up() -> None:
    made = Site(config_of(["X", "Y"], sync={"hole_grace": "0s"}))
    made.put(log("X", "X0:3 Y4 X4:6"))
    made.put(log("Y", "X0:3 Y3 Y4 X4:6"))
    made.commit("X", "readers", 5)
    made.settle()
    assert made.standing("Y", "readers") == 6  # Y3 was taken as dropped: X's group had passed it
    made.put(log("X", "X0:3 Y4 X4:6 Y3"))
    made.settle()
    assert made.standing("Y", "readers") == 3


def test_the_sources_metadata_is_carried_over_and_wins_over_our_tag() -> None:
    made = mirrored_site()
    made.commit("X", "streams", 4, metadata="AgAAAYHr3Q==")
    for _ in range(3):
        made.settle()
    assert made.clusters["Y"].standing["streams", ORDERS].metadata == "AgAAAYHr3Q=="
    assert made.clusters["X"].written == []


def test_an_active_target_is_recorded_and_asked_again_but_is_no_failure() -> None:
    made = mirrored_site()
    made.clusters["Y"].refused["readers"] = "UNKNOWN_MEMBER_ID"
    made.commit("X", "readers", 4)
    for _ in range(5):
        assert made.settle() == []
    assert (made.rows()[0].outcome, made.rows()[0].error) == ("TARGET_ACTIVE", "UNKNOWN_MEMBER_ID")
    made.clusters["Y"].refused.clear()
    made.settle()
    assert made.standing("Y", "readers") == 6


def test_a_refused_write_is_one_line_per_reason_and_names_the_first_key() -> None:
    made = mirrored_site()
    for group in ("a", "b", "c"):
        made.commit("X", group, 4)
    made.clusters["Y"].refused.update(a="TOPIC_AUTHORIZATION_FAILED", b="TOPIC_AUTHORIZATION_FAILED", c="OFFSET_X")
    assert made.settle() == [
        "X to Y: 2 offsets not committed, first a/orders/0: TOPIC_AUTHORIZATION_FAILED",
        "X to Y: 1 offsets not committed, first c/orders/0: OFFSET_X",
    ]


def test_a_dry_run_asks_and_writes_nothing() -> None:
    made = mirrored_site()
    made.is_dry_run = True
    made.commit("X", "readers", 4)
    assert made.settle() == []
    assert [row.outcome for row in made.rows()] == ["DRY_RUN"]
    assert (made.clusters["Y"].written, made.standing("Y", "readers")) == ([], None)


# Expiry


def test_our_own_value_is_written_again_before_it_expires_and_then_left_alone() -> None:
    made = mirrored_site(sync={"refresh_interval": "12h"})
    made.commit("X", "readers", 4)
    made.settled().pass_time(12 * HOURS_MS - 1000)
    made.settle()
    assert made.asked == []
    made.pass_time(2000)
    made.settle()
    assert [(write.refresh, write.offset, write.expected_offset) for _, write in made.asked] == [(True, 6, 6)]
    assert made.rows()[0].outcome == "COMMITTED"
    made.settled().settle()
    assert made.asked == []


def test_somebody_elses_value_is_not_kept_alive_by_us() -> None:
    made = mirrored_site(sync={"refresh_interval": "12h"})
    made.commit("Y", "readers", 6)
    made.commit("X", "readers", 4)
    made.settled().pass_time(13 * HOURS_MS)
    made.settle()
    assert made.asked == []


# What is not synced


@pytest.mark.parametrize(("group", "place"), [("console-consumer-1", ORDERS), ("readers", TopicPartition("x", 0))])
def test_an_excluded_group_or_topic_is_not_even_asked_about(group: str, place: TopicPartition) -> None:
    made = mirrored_site()
    made.commit("X", group, 4, place)
    assert made.settle(is_first=True) == []
    assert (made.settlements, made.clusters["Y"].questions) == ([], 0)


def test_a_deleted_offset_is_not_answered_until_it_is_committed_again() -> None:
    made = mirrored_site()
    made.commit("X", "readers", 4)
    made.clusters["X"].forget("readers", ORDERS)
    made.settle()
    assert made.asked == []
    made.commit("X", "readers", 5)
    made.settle()
    assert made.standing("Y", "readers") == 7


def test_a_negative_offset_is_no_position() -> None:
    made = mirrored_site()
    made.commit("X", "readers", -1)
    made.settle()
    assert made.asked == []
    made.commit("X", "others", 4)
    made.commit("X", "others", -1)
    made.settle()
    assert made.standing("Y", "others") == 6


def test_commit_zero_and_empty_partitions_are_committed_explicitly() -> None:
    made = mirrored_site()
    made.put(log("X", ""), PAY)
    made.put(log("Y", ""), PAY)
    made.commit("X", "readers", 0)
    made.commit("X", "readers", 0, PAY)
    assert made.settle() == []
    assert (made.standing("Y", "readers"), made.standing("Y", "readers", PAY)) == (2, 0)
